// A yardstick for correlated boxes: the best policy within a period, by dynamic programming.
#include <fmt/format.h>

#include <memory>

#include "normal_search.hpp"
#include "pandora/custom_policy.hpp"
#include "pandora/error.hpp"
#include "pandora/policy.hpp"

namespace pandora::rivals {
namespace {

constexpr int kCostSamples = 20000;  // for expected costs, which hardly vary given x

void refuse_what_it_cannot_play(const Instance& instance) {
  const Environment& environment = instance.environment;
  if (instance.dimensions.boxes > static_cast<int>(AdaptiveSearch::kMostBoxes))
    throw Error(ExitCode::usage, fmt::format("policy adaptive_oracle: it searches through at most {} boxes, not {}",
                                             AdaptiveSearch::kMostBoxes, instance.dimensions.boxes));
  if (environment.law != Law::gaussian || environment.trace != nullptr || moves(environment) ||
      !environment.arrives.empty() || !environment.leaves.empty())
    throw Error(
        ExitCode::usage,
        fmt::format(
            "policy adaptive_oracle: it knows the gaussian law with boxes and parameters that stay, and environment "
            "{} is another",
            environment.name));
}

// The best policy within a period for boxes with correlated shocks, for which Weitzman's rule is not the best. It is
// given the parameters and expected costs, and computes its decisions by dynamic programming.
//
// An output tells nothing about another box b beyond its theta_*' D xi_a, because the covariance of shocks is r I. The
// policy ignores what the realised cost tells beside it. It also ignores that shocks are truncated: it treats w as
// standard normal.
class AdaptiveOracle : public CustomPolicy {
 public:
  explicit AdaptiveOracle(const Replication& replication)
      : tape_(replication.tape),
        theta_(replication.instance.theta),
        shock_scale_(static_cast<double>(replication.instance.environment.shock_scale)),
        search_(replication.instance.environment.correlation, replication.instance.environment.reward_link),
        inputs_(index_inputs(replication.instance, draw_shock_sample(replication.instance, kCostSamples),
                             tape_.contexts, tape_.online_row(0))) {}

  bool waits_for_rewards() const override { return true; }  // mu is shown
  bool restarts() const override { return true; }           // it learns nothing

  void begin(const Request& request) override {
    boxes_.clear();
    for (int a = 0; a < tape_.boxes(); ++a) {
      const std::size_t at = tape_.at(tape_.online_row(request.period - 1), a);
      boxes_.push_back({inputs_.shift[at], shock_scale_ * inputs_.scale[at], inputs_.cost[at]});
    }
    search_.begin(boxes_);
  }
  int next() override { return search_.next(); }
  void opened(const Output& output) override {
    double z = 0.0;
    for (std::size_t k = 0; k < theta_.size(); ++k) z += theta_[k] * static_cast<double>(output.phi[k]);
    search_.opened(output.box, z);
  }
  int deploy() override { return search_.best(); }
  /// The utility of the best search that begins with each box.
  std::vector<double> scores() const override { return search_.search().starts(); }

  /// The tables at the smallest step, and the inputs of all periods.
  static CodeDemand demand(const Dimensions& dimensions, int, int periods) {
    constexpr std::uint64_t n = 2 * static_cast<std::uint64_t>(kLargestShock / kLeastShockStep) + 1;
    const auto cells = static_cast<std::uint64_t>(dimensions.boxes) * static_cast<std::uint64_t>(periods);
    return {sizeof(double) * (14 * n * n + 3 * cells), 1};
  }

 private:
  const Tape& tape_;
  const std::vector<double>& theta_;
  const double shock_scale_;
  NormalSearch search_;
  const IndexInputs inputs_;
  std::vector<SearchBox> boxes_;  // of the period
};

}  // namespace

Policy adaptive_oracle() {
  return {.name = "adaptive_oracle",
          .title = "Adaptive oracle",
          .short_title = "Adaptive",
          .group = PolicyGroup::yardstick,
          .summary =
              "yardstick: the best search where boxes depend on each other, by dynamic programming; at most three "
              "boxes, gaussian",
          .uses_calibration = false,
          .by_name_only = true,
          .variants = [](const Grids&) -> std::vector<PolicyVariant> {
            return {{"known",
                     "",
                     {},
                     [](const Replication& replication, int, const EstimationOptions&) {
                       refuse_what_it_cannot_play(replication.instance);
                       return std::make_unique<AdaptiveOracle>(replication);
                     },
                     AdaptiveOracle::demand}};
          }};
}

}  // namespace pandora::rivals
