#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "host/studies/sweep/prepare_replication.hpp"
#include "kernels/base/aligned.hpp"
#include "kernels/base/error.hpp"
#include "pandora/environment.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

template <class Real>
using Word = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;

// Of whole words, so that it needs no branch per number: exponents of ones alone are infinity and NaN.
template <class Real>
bool all_finite(const Real* values, std::size_t n) {
  using Bits = Word<Real>;
  constexpr Bits kExponent = static_cast<Bits>(sizeof(Bits) == 4 ? 0x7f800000 : 0x7ff0000000000000);
  Bits found = 0;
  for (std::size_t i = 0; i < n; ++i)
    found |= static_cast<Bits>((std::bit_cast<Bits>(values[i]) & kExponent) == kExponent);
  return found == 0;
}

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

template <class Vector>
std::size_t first_not_finite(const Vector& values, std::size_t from = 0) {
  if (values.size() <= from || all_finite(values.data() + from, values.size() - from)) return kNone;
  while (std::isfinite(values[from])) ++from;
  return from;
}

// A row of a tape in words: "online period 17".
std::string period_of(const Tape& tape, std::size_t row) {
  const std::size_t online = static_cast<std::size_t>(tape.online_row(0));
  return row == 0       ? "the initial context"
         : row < online ? fmt::format("calibration period {}", row)
                        : fmt::format("online period {}", row - online + 1);
}

// Where a number stands in an array of `size` numbers per row or, where it has them, per row and box.
std::string place_of(const Tape& tape, const char* name, std::size_t at, std::size_t size, bool boxes) {
  const std::size_t A = boxes ? static_cast<std::size_t>(tape.boxes()) : 1;
  return fmt::format("{}{} in {}", name, boxes ? fmt::format(" of box {}", at / size % A + 1) : "",
                     period_of(tape, at / size / A));
}

[[noreturn]] void refuse(const ReplicationRequest& asked, const std::string& what) {
  throw Error(ExitCode::usage, fmt::format("environment {}/{}/{}: {}", asked.environment.name,
                                           regime_name(asked.regime), asked.replication, what));
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
             fmt::format("{} is {}, not {}, as {} boxes, {} calibration and {} online periods need; mend what its "
                         "code draws",
                         name, found, wanted, dim.boxes, asked.calibration_periods, asked.periods));
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

// `first`: the first row that counts.
template <class Values>
void require_within(const Tape& tape, const ReplicationRequest& asked, const char* name, const Values& values,
                    std::size_t size, bool boxes, double least, double greatest, const char* wanted, int first = 0) {
  using Real = typename Values::value_type;
  const Real low = static_cast<Real>(least), high = static_cast<Real>(greatest);
  const std::size_t A = boxes ? static_cast<std::size_t>(tape.boxes()) : 1,
                    from = static_cast<std::size_t>(first) * A * size;
  unsigned outside = 0;  // without a branch for each number
  for (std::size_t at = from; at < values.size(); ++at)
    outside |= static_cast<unsigned>(!(values[at] >= low && values[at] <= high));
  for (std::size_t at = from; outside != 0 && at < values.size(); ++at) {
    if (values[at] >= low && values[at] <= high) continue;
    refuse(asked, fmt::format("{} (index [{}{}]) is {}; give {}, or mend what its code draws",
                              place_of(tape, name, at, size, boxes), at / size / A,
                              boxes ? fmt::format(", {}", at / size % A) : "", values[at], wanted));
  }
}

template <class Real>
bool same_bits(Real a, Real b) {
  return std::bit_cast<Word<Real>>(a) == std::bit_cast<Word<Real>>(b);
}

}  // namespace

std::string not_finite(const Replication& replication) {
  const Instance& instance = replication.instance;
  const Tape& tape = replication.tape;
  const Contexts& contexts = tape.contexts;
  std::string found;
  const auto parameter = [&found](const char* name, const std::vector<double>& values) {
    if (!found.empty()) return;
    if (const std::size_t at = first_not_finite(values); at != kNone) found = fmt::format("number {} of {}", at, name);
  };
  const auto rows = [&](const char* name, const auto& values, std::size_t size, bool boxes, int first = 0) {
    const std::size_t A = boxes ? static_cast<std::size_t>(contexts.boxes) : 1;
    if (!found.empty() || size == 0 || A == 0) return;
    if (const std::size_t at = first_not_finite(values, static_cast<std::size_t>(first) * A * size); at != kNone)
      found = place_of(tape, name, at, size, boxes);
  };
  for (const InstanceField& field : kInstanceFields) parameter(field.symbol, instance.*field.member);
  rows("psi", contexts.psi, static_cast<std::size_t>(contexts.index_stride), false);
  rows("Q x", contexts.reward_context, contexts.location_at(1, 0) * static_cast<std::size_t>(contexts.reward_features),
       false);
  rows("l", contexts.reward_shift, contexts.location_at(1, 0), false);
  rows("s", contexts.scale, 1, true);
  rows("the context's cost", contexts.context_cost, 1, true);
  rows("phi", tape.phi, static_cast<std::size_t>(contexts.reward_features), true);
  rows("mu", tape.mu, 1, true);
  rows("the cost", tape.cost, 1, true);
  rows("the reward", tape.reward, 1, true);
  rows("the oracle's index", replication.sigma, 1, true, tape.online_row(0));
  return found;
}

bool sums_are_finite(const LaneTally& tally) {
  bool finite = true;
  for_each_number(tally, kMaxBoxes, tally.recorded,
                  [&finite](double number, int) { finite = finite && is_sum(number); });
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
  const auto require = [&](auto&&... arguments) { require_within(tape, asked, arguments...); };
  require("psi", tape.contexts.psi, stride, false, -kMostSingle, kMostSingle,
          "finite numbers, also in single precision");
  if (d > 0) require("phi", tape.phi, d, true, -kMostSingle, kMostSingle, "finite numbers, also in single precision");
  require("mu", tape.mu, std::size_t{1}, true, 0.0, 1.0, "what an output is worth, from 0 to 1");
  require("cost", tape.cost, std::size_t{1}, true, 0.0, kMost, "a finite cost from 0 on");
  require("reward", tape.reward, std::size_t{1}, true, 0.0, 1.0, "numbers in [0, 1]");
  require("sigma", drawn.sigma, std::size_t{1}, true, -kMost, kMost, "a finite index", tape.online_row(0));
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
    if (!same_bits(tape.cost[at], model.cost[at]) || !same_bits(tape.mu[at], model.mu[at])) changed.push_back(at);
  if (changed.empty()) return false;
  const std::vector<double> sigma = oracle_indices(instance, draw_shock_sample(instance, asked.oracle.samples),
                                                   model.contexts, asked.oracle, model.online_row(0));
  return std::ranges::any_of(changed, [&](std::size_t at) { return same_bits(drawn.sigma[at], sigma[at]); });
}

void BenchmarkWatch::operator()(const Replication& drawn, const ReplicationRequest& asked) {
  const std::string& name = asked.environment.name;
  {
    const std::lock_guard lock(mutex_);
    if (!note_ || told_.contains(name) || !looked_at_.insert(name + "/" + regime_name(asked.regime)).second) return;
  }
  try {
    if (!leaves_indices_behind(drawn, asked)) return;
  } catch (const InvalidInput&) {  // no model can be drawn for it: its code has drawn something else
    return;
  }
  const std::lock_guard lock(mutex_);
  if (told_.insert(name).second)
    note_(
        fmt::format("environment {}: it changes costs or what outputs are worth, and leaves the oracle's indices as "
                    "the model has them: the benchmark is not optimal, and every regret too low; make the indices "
                    "with indices_of (in Python request.indices), or set sigma_is_meant if they are right",
                    name));
}

}  // namespace pandora
