// Checks arrays of numbers, and names the place of a wrong one.
#include "host/studies/sweep/sound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "host/ground/base/fail.hpp"
#include "kernels/base/aligned.hpp"
#include "kernels/base/error.hpp"
#include "pandora/environment.hpp"

namespace pandora {
namespace {

// An array of a tape, with that many numbers per row, or per row and box. `first`: the first row that counts.
struct Layout {
  const Tape& tape;
  const char* name;
  std::size_t size;
  bool has_boxes;
  int first = 0;

  std::size_t boxes() const { return has_boxes ? static_cast<std::size_t>(tape.boxes()) : 1; }

  /// The first number for which `fits` does not hold.
  template <class Values, class Fits>
  std::optional<std::size_t> first_unfit(const Values& values, Fits&& fits) const {
    const std::size_t from = std::min(static_cast<std::size_t>(first) * boxes() * size, values.size());
    const auto found = std::find_if_not(values.begin() + static_cast<std::ptrdiff_t>(from), values.end(), fits);
    return found == values.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - values.begin()));
  }

  /// The place of number `at`, such as "mu of box 2 in online period 17".
  std::string place(std::size_t at) const {
    const std::size_t row = at / size / boxes(), online = static_cast<std::size_t>(tape.online_row(0));
    const std::string period = row == 0       ? "the initial context"
                               : row < online ? fmt::format("calibration period {}", row)
                                              : fmt::format("online period {}", row - online + 1);
    return fmt::format("{}{} in {}", name, has_boxes ? fmt::format(" of box {}", at / size % boxes() + 1) : "", period);
  }
};

template <class... T>
[[noreturn]] void refuse(const ReplicationRequest& asked, fmt::format_string<T...> what, T&&... values) {
  fail(ExitCode::usage, "environment {}/{}/{}: {}", asked.environment.name, regime_name(asked.regime),
       asked.replication, fmt::format(what, std::forward<T>(values)...));
}

void require_shape(const Replication& drawn, const ReplicationRequest& asked) {
  const Tape& tape = drawn.tape;
  const Contexts& contexts = tape.contexts;
  const Dimensions& dim = asked.dimensions;
  const std::size_t rows = 1 + static_cast<std::size_t>(asked.calibration_periods) +
                           static_cast<std::size_t>(asked.periods),
                    cells = rows * static_cast<std::size_t>(dim.boxes);
  const auto require = [&](const char* name, auto found, auto wanted) {
    if (!std::cmp_equal(found, wanted))
      refuse(asked,
             "{} is {}, not {}, as {} boxes, {} calibration and {} online periods need; mend what its code draws", name,
             found, wanted, dim.boxes, asked.calibration_periods, asked.periods);
  };
  const int whole = padded_to_vector<float>(1);
  require("tape.calibration_rows", tape.calibration_rows, asked.calibration_periods);
  require("tape.online_rows", tape.online_rows, asked.periods);
  require("contexts.rows", contexts.rows, rows);
  require("contexts.boxes", contexts.boxes, dim.boxes);
  require("contexts.index_size", contexts.index_size, dim.index_size());
  require("contexts.index_stride", contexts.index_stride,
          std::max((contexts.index_stride + whole - 1) / whole * whole, padded_to_vector<float>(dim.index_size())));
  require("contexts.reward_features", contexts.reward_features, dim.reward_features);
  require("the size of psi", contexts.psi.size(), rows * static_cast<std::size_t>(contexts.index_stride));
  require("the size of phi", tape.phi.size(), cells * static_cast<std::size_t>(dim.reward_features));
  require("the size of mu", tape.mu.size(), cells);
  require("the size of cost", tape.cost.size(), cells);
  require("the size of reward", tape.reward.size(), cells);
  require("the size of sigma", drawn.sigma.size(), cells);
}

template <class Values>
void require_within(const ReplicationRequest& asked, const Layout& layout, const Values& values, double least,
                    double greatest, const char* wanted) {
  using Real = typename Values::value_type;
  const Real low = static_cast<Real>(least), high = static_cast<Real>(greatest);
  const auto at = layout.first_unfit(values, [=](Real value) { return value >= low && value <= high; });
  if (!at) return;
  const std::size_t A = layout.boxes(), cell = *at / layout.size;
  refuse(asked, "{} (index [{}{}]) is {}; give {}, or mend what its code draws", layout.place(*at), cell / A,
         layout.has_boxes ? fmt::format(", {}", cell % A) : "", values[*at], wanted);
}

// Compares all bits.
bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace

std::string not_finite(const Replication& replication) {
  const Tape& tape = replication.tape;
  const Contexts& contexts = tape.contexts;
  const auto is_finite = [](auto x) { return std::isfinite(x); };
  for (const InstanceField& field : kInstanceFields) {
    const std::vector<double>& values = replication.instance.*field.member;
    if (const auto found = std::ranges::find_if_not(values, is_finite); found != values.end())
      return fmt::format("number {} of {}", found - values.begin(), field.symbol);
  }
  std::string found;
  const auto rows = [&](const char* name, const auto& values, std::size_t size, bool has_boxes, int first = 0) {
    const Layout layout{tape, name, size, has_boxes, first};
    if (found.empty() && size > 0 && layout.boxes() > 0)
      if (const auto at = layout.first_unfit(values, is_finite)) found = layout.place(*at);
  };
  const std::size_t d = static_cast<std::size_t>(contexts.reward_features), locations = contexts.location_at(1, 0);
  rows("psi", contexts.psi, static_cast<std::size_t>(contexts.index_stride), false);
  rows("Q x", contexts.reward_context, locations * d, false);
  rows("l", contexts.reward_shift, locations, false);
  rows("s", contexts.scale, 1, true);
  rows("the context's cost", contexts.context_cost, 1, true);
  rows("phi", tape.phi, d, true);
  rows("mu", tape.mu, 1, true);
  rows("the cost", tape.cost, 1, true);
  rows("the reward", tape.reward, 1, true);
  rows("the oracle's index", replication.sigma, 1, true, tape.online_row(0));
  return found;
}

bool sums_are_finite(const LaneTally& tally) {
  bool finite = true;
  for_each_number(tally, kMaxBoxes, tally.recorded, [&finite](double number) { finite = finite && is_sum(number); });
  return finite;
}

void fail_sums_not_finite(std::span<LaneTally> lanes) {
  for (LaneTally& tally : lanes)
    if (tally.failure == Failure::none && !sums_are_finite(tally)) tally.fail(Failure::not_finite, tally.periods);
}

bool fail_all_if_not_finite(const Replication& replication, std::size_t count, UnitResult& result) {
  const std::string what = not_finite(replication);
  if (what.empty()) return false;
  result.resize(count);
  for (std::size_t lane = 0; lane < count; ++lane) {
    result.lanes[lane].start(replication.tape.online_rows);
    result.lanes[lane].fail(Failure::not_finite, 0);
    result.notes[lane].message = what;
  }
  return true;
}

void require_sound(const Replication& drawn, const ReplicationRequest& asked) {
  require_shape(drawn, asked);
  const Tape& tape = drawn.tape;
  const std::size_t stride = static_cast<std::size_t>(tape.contexts.index_stride),
                    d = static_cast<std::size_t>(tape.contexts.reward_features);
  constexpr double kMost = std::numeric_limits<double>::max(), kMostSingle = std::numeric_limits<float>::max();
  constexpr const char* kFinite = "finite numbers, also in single precision";
  require_within(asked, {tape, "psi", stride, false}, tape.contexts.psi, -kMostSingle, kMostSingle, kFinite);
  if (d > 0) require_within(asked, {tape, "phi", d, true}, tape.phi, -kMostSingle, kMostSingle, kFinite);
  require_within(asked, {tape, "mu", 1, true}, tape.mu, 0.0, 1.0, "what an output is worth, from 0 to 1");
  require_within(asked, {tape, "cost", 1, true}, tape.cost, 0.0, kMost, "a finite cost from 0 on");
  require_within(asked, {tape, "reward", 1, true}, tape.reward, 0.0, 1.0, "numbers in [0, 1]");
  require_within(asked, {tape, "sigma", 1, true, tape.online_row(0)}, drawn.sigma, -kMost, kMost, "a finite index");
}

bool leaves_indices_behind(const Replication& drawn, const ReplicationRequest& asked) {
  const Environment& environment = asked.environment;
  if (drawn.sigma_is_meant || asked.periods == 0 ||
      (environment.law == Law::custom && environment.coordinate == nullptr))
    return false;
  const Instance instance = draw_instance(asked.dimensions, environment, asked.regime, asked.replication, asked.seed);
  const Tape& tape = drawn.tape;
  const Contexts first = draw_contexts(instance, {{Purpose::online_context, 0, 1}});
  const float* const own = tape.contexts.psi_row(tape.online_row(0));
  if (!std::equal(own, own + first.index_size, first.psi_row(0))) return false;
  const Tape model = draw_tape(instance, asked.calibration_periods, asked.periods);
  std::vector<std::size_t> changed;
  for (std::size_t at = tape.at(tape.online_row(0), 0); at < tape.mu.size(); ++at)
    if (!same(tape.cost[at], model.cost[at]) || !same(tape.mu[at], model.mu[at])) changed.push_back(at);
  if (changed.empty()) return false;
  const std::vector<double> sigma = oracle_indices(instance, draw_shock_sample(instance, asked.oracle.samples),
                                                   model.contexts, asked.oracle, model.online_row(0));
  return std::ranges::any_of(changed, [&](std::size_t at) { return same(drawn.sigma[at], sigma[at]); });
}

void BenchmarkWatch::operator()(const Replication& drawn, const ReplicationRequest& asked) {
  const std::string& name = asked.environment.name;
  {
    const std::lock_guard lock(mutex_);
    if (!note_ || told_.contains(name) || !looked_at_.insert(name + "/" + regime_name(asked.regime)).second) return;
  }
  try {
    if (!leaves_indices_behind(drawn, asked)) return;
  } catch (const InvalidInput&) {  // the model cannot be drawn for it, so its code has drawn something else
    return;
  }
  const std::lock_guard lock(mutex_);
  if (told_.insert(name).second)
    note_(fmt::format(
        "environment {}: it changes costs or what outputs are worth, and leaves the oracle's indices as the model has "
        "them: the benchmark is not optimal, and every regret too low; make the indices with indices_of (in Python "
        "request.indices), or set sigma_is_meant if they are right",
        name));
}

}  // namespace pandora
