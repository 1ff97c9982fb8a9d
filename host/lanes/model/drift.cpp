#include "host/lanes/model/drift.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "host/ground/base/printable.hpp"
#include "host/lanes/model/draw_instance.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

using Moves = ParameterDrift::Kind;

[[noreturn]] void refuse() {
  throw Error(ExitCode::usage,
              "give swap:PERIODS, step:PERIODS:SHARE or walk:SPEED, such as swap:1000,3000 with periods that ascend "
              "from 1 on, step:1000:0.5 with a share above 0 and at most 1, walk:0.01 with an angle above 0 and at "
              "most 0.5");
}

double wanted(const std::string& word, double least, double most) {
  const std::optional<double> number = number_within(word, least, most);
  if (!number) refuse();
  return *number;
}

// Two boxes, drawn uniformly from all pairs, exchange their parameters.
void swap_boxes(Instance& instance, std::uint32_t change) {
  const std::size_t A = static_cast<std::size_t>(instance.dimensions.boxes);
  if (A < 2) return;
  std::uint32_t words[4][1];
  philox<1>(instance.stream(Purpose::drift), {0}, {change}, {0}, words);
  const std::size_t one = static_cast<std::size_t>(open_uniform(words[0][0]) * static_cast<double>(A));
  std::size_t other = static_cast<std::size_t>(open_uniform(words[1][0]) * static_cast<double>(A - 1));
  if (other >= one) ++other;
  for (const InstanceField::Member parameter : kParametersOfBoxes) {
    std::vector<double>& values = instance.*parameter;
    const auto columns = static_cast<std::ptrdiff_t>(values.size() / A);
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(one) * columns;
    std::swap_ranges(first, first + columns, values.begin() + static_cast<std::ptrdiff_t>(other) * columns);
  }
}

void redraw(Instance& instance, double share, std::uint32_t change) {
  for (int a = 0; a < instance.dimensions.boxes; ++a)
    for (std::size_t k = 0; k < std::size(kParametersOfBoxes); ++k) {
      std::uint32_t words[4][1];
      philox<1>(instance.stream(Purpose::drift), {static_cast<std::uint32_t>(k / 4)}, {change},
                {static_cast<std::uint32_t>(a)}, words);
      if (open_uniform(words[k % 4][0]) < share)
        draw_row_of_box(instance, kParametersOfBoxes[k], a, static_cast<int>(change));
    }
}

// Turns every direction by `angle` towards a direction drawn uniformly from those orthogonal to it.
void turn(Instance& instance, double angle, std::uint32_t change) {
  const int A = instance.dimensions.boxes, n = instance.dimensions.context;
  if (n < 2) return;  // in one dimension there is no other direction
  std::uint32_t box = 0;
  for (const InstanceField::Member parameter : {&Instance::alpha, &Instance::beta0})
    for (int a = 0; a < A; ++a, ++box) {
      if (parameter == &Instance::alpha && instance.environment.output_scales == OutputScales::constant) continue;
      double* const v = (instance.*parameter).data() + static_cast<std::ptrdiff_t>(a) * n;
      std::vector<double> u = unit_sphere(instance.stream(Purpose::drift), n, change, box);
      double along = 0.0, rest = 0.0;
      for (int j = 0; j < n; ++j) along += u[static_cast<std::size_t>(j)] * v[j];
      for (int j = 0; j < n; ++j) {
        double& x = u[static_cast<std::size_t>(j)];
        x -= along * v[j];
        rest += x * x;
      }
      for (int j = 0; j < n; ++j)
        v[j] = std::cos(angle) * v[j] + std::sin(angle) * u[static_cast<std::size_t>(j)] / std::sqrt(rest);
    }
}

class ChangesAt : public Course {
 public:
  explicit ChangesAt(const ParameterDrift& drift) : drift_(drift) {}

  int advance(int period, Instance& instance) override {
    for (; next_ < drift_.at.size() && drift_.at[next_] <= period + 1; ++next_) {
      const auto change = static_cast<std::uint32_t>(next_ + 1);
      drift_.kind == Moves::swap ? swap_boxes(instance, change) : redraw(instance, drift_.share, change);
    }
    return next_ < drift_.at.size() ? drift_.at[next_] - 1 : std::numeric_limits<int>::max();
  }

 private:
  ParameterDrift drift_;
  std::size_t next_ = 0;
};

class Walks : public Course {
 public:
  explicit Walks(double speed) : angle_(speed * std::sqrt(static_cast<double>(kWalkHolds))) {}

  int advance(int period, Instance& instance) override {
    if (!instance.contextual()) return std::numeric_limits<int>::max();
    if (period > 0) turn(instance, angle_, static_cast<std::uint32_t>(period / kWalkHolds));
    return period + kWalkHolds;
  }

 private:
  double angle_;
};

}  // namespace

ParameterDrift parse_drift(const std::string& text) {
  ParameterDrift drift;
  if (text.empty()) return drift;
  const std::vector<std::string> words = split(text, ':');
  if (words.size() == 2 && words[0] == "walk") {
    drift.kind = Moves::walk;
    drift.speed = wanted(words[1], 1e-9, 0.5);
    return drift;
  }
  const bool swaps = words[0] == "swap" && words.size() == 2, steps = words[0] == "step" && words.size() == 3;
  if (!swaps && !steps) refuse();
  drift.kind = swaps ? Moves::swap : Moves::step;
  for (const std::string& at : split(words[1], ',')) {
    const std::optional<int> period = whole_within(at, 1, 1000000000);
    if (!period) refuse();
    drift.at.push_back(*period);
    if (drift.at.size() > 1 && drift.at.back() <= *(drift.at.end() - 2)) refuse();
  }
  constexpr std::size_t kMostChanges = 10000;  // periods of the streams of parameters
  if (drift.at.size() > kMostChanges) refuse();
  if (steps) drift.share = wanted(words[2], 1e-9, 1.0);
  return drift;
}

std::string drift_text(const ParameterDrift& drift) {
  switch (drift.kind) {
    case Moves::none:
      return "";
    case Moves::swap:
      return fmt::format("swap:{}", fmt::join(drift.at, ","));
    case Moves::step:
      return fmt::format("step:{}:{}", fmt::join(drift.at, ","), drift.share);
    case Moves::walk:
      return fmt::format("walk:{}", drift.speed);
  }
  return "";
}

std::unique_ptr<Course> course_of(const Instance& instance) {
  const ParameterDrift& drift = instance.environment.drift;
  if (drift.kind == Moves::none) return nullptr;
  if (drift.kind == Moves::walk) return std::make_unique<Walks>(drift.speed);
  return std::make_unique<ChangesAt>(drift);
}

IndexInputs moving_inputs(const Instance& instance, const ShockSample& sample, const Tape& tape,
                          const OracleOptions& options) {
  const Contexts& contexts = tape.contexts;
  const std::size_t first = tape.at(tape.online_row(0), 0);
  const auto [least, greatest] =
      std::minmax_element(contexts.scale.begin() + static_cast<std::ptrdiff_t>(first), contexts.scale.end());
  IndexInputs in = no_inputs(contexts);
  Instance now = instance;
  std::vector<double> of_beta1 = instance.beta1;
  OutputCostTable output_cost(sample, contexts.boxes, *least, *greatest);
  const std::unique_ptr<Course> course = course_of(instance);
  for (int begin = 0; begin < tape.online_rows;) {
    const int end = course == nullptr ? tape.online_rows : std::min(course->advance(begin, now), tape.online_rows);
    if (now.beta1 != of_beta1) {
      of_beta1 = now.beta1;
      output_cost = OutputCostTable(draw_shock_sample(now, options.samples), contexts.boxes, *least, *greatest);
    }
    fill_inputs(now, contexts, output_cost, sample.projection_norm, tape.at(tape.online_row(begin), 0),
                tape.at(tape.online_row(end), 0), in);
    begin = end;
  }
  return in;
}

std::vector<double> moving_indices(const Instance& instance, const ShockSample& sample, const Tape& tape,
                                   const OracleOptions& options) {
  const IndexInputs in = moving_inputs(instance, sample, tape, options);
  if (!instance.contextual()) return indices_of(sample, in, options);
  return interpolated_indices(grid_law(sample, options), in, options.grid, tape.at(tape.online_row(0), 0));
}

}  // namespace pandora
