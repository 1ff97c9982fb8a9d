// Small replications and data for tests. They have few boxes and features, so that naive versions are fast.
#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "host/lanes/estimator/reference_engine.hpp"
#include "host/lanes/model/draw_instance.hpp"
#include "host/lanes/model/ties.hpp"
#include "host/studies/study/study.hpp"
#include "oracle/oracle.hpp"
#include "pandora/paper_setting.hpp"
#include "pandora/policy.hpp"

namespace pandora::test {

/// Random doubles from a fixed seed. Unlike those of the standard distributions, they are the same with every library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  double uniform(double least, double greatest) {
    return least + (greatest - least) * (static_cast<double>(engine_() >> 11) * 0x1p-53);
  }
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }

 private:
  std::mt19937_64 engine_;
};

/// The number of calibration periods in small problems that need only one.
inline constexpr int kCalibration = 12;

inline Dimensions small_dimensions(int boxes, int context, int reward_features) {
  Dimensions dimensions;
  dimensions.boxes = boxes;
  dimensions.context = context;
  dimensions.output = 8;
  dimensions.radius_draws = 2048;
  dimensions.reward_features = reward_features;
  return dimensions;
}

/// The oracle options of small problems: a coarse but valid oracle.
inline OracleOptions small_oracle() {
  OracleOptions options;
  options.samples = 2000;
  options.grid = {9, 7, 9};
  options.bins = 200;
  return options;
}

/// Two replications of 60 periods.
inline Study small_study(const Dimensions& dimensions, std::vector<Environment> environments, std::vector<int> T0,
                         std::uint64_t seed) {
  Study study;
  study.dimensions = dimensions;
  study.environments = std::move(environments);
  study.T0 = std::move(T0);
  study.replications = 2;
  study.periods = 60;
  study.seed = seed;
  study.oracle = small_oracle();
  return study;
}

/// An environment with lower costs than the paper's, so that several boxes are opened in many periods.
inline Environment cheap_environment() {
  Environment environment = paper_environments()[0];
  environment.cost_level = 0.1;
  return environment;
}

inline Replication small_replication(const Dimensions& dimensions, Regime regime, int calibration, int periods,
                                     std::uint64_t seed, std::uint32_t replication = 0, Actions actions = {}) {
  Replication out;
  out.actions = actions;
  out.instance = draw_instance(dimensions, cheap_environment(), regime, replication, seed);
  const ShockSample sample = draw_shock_sample(out.instance, small_oracle().samples);
  out.tape = draw_tape(out.instance, calibration, periods, nullptr, actions.openings);
  out.sigma = oracle_indices(out.instance, sample, out.tape.contexts, small_oracle());
  return out;
}

/// Contexts with these rows psi. All other members are empty.
inline Contexts contexts_of(const std::vector<std::vector<float>>& psi) {
  Contexts contexts;
  contexts.rows = static_cast<int>(psi.size());
  contexts.boxes = 1;
  contexts.index_size = static_cast<int>(psi[0].size());
  contexts.index_stride = padded_to_vector<float>(contexts.index_size);
  for (const std::vector<float>& row : psi) {
    contexts.psi.insert(contexts.psi.end(), row.begin(), row.end());
    contexts.psi.resize(contexts.psi.size() + contexts.index_stride - row.size(), 0.0f);
  }
  return contexts;
}

/// The root of an increasing function on [low, high].
template <class Function>
double bisect(Function&& increasing, double low, double high) {
  for (int i = 0; i < 200; ++i) {
    const double middle = 0.5 * (low + high);
    (increasing(middle) > 0.0 ? high : low) = middle;
  }
  return 0.5 * (low + high);
}

/// An online period of a lane.
struct PeriodView {
  int period;                   ///< 0 .. T-1
  const double *score, *width;  ///< A scores before the walk, and widths
  const PeriodOutcome* outcome;
};

/// Runs a lane in the reference engine. Then `look` gets its periods one by one.
template <class Look>
LaneTally run_observed(const Replication& replication, const LaneSpec& lane, const EstimationOptions& options,
                       Look&& look) {
  LaneRecord record;
  const LaneTally tally = run_reference_lane(replication, lane, options, &record);
  const std::size_t A = static_cast<std::size_t>(replication.tape.boxes());
  for (std::size_t t = 0; t < record.outcomes.size(); ++t)
    look(PeriodView{static_cast<int>(t), &record.scores[t * A], &record.widths[t * A], &record.outcomes[t]});
  return tally;
}

/// The lanes of all policies that are combinations of rules, for each given T_0 at which they apply.
/// `tied`: also lanes with tied slopes, those of boxes 1 and 2. On a device they keep all others out of cohorts.
inline std::vector<LaneSpec> all_lanes(const Replication& replication, const std::vector<int>& T0s,
                                       const std::vector<double>& hyperparameters = {0.1}, bool tied = false) {
  std::vector<LaneSpec> lanes;
  Grids grids(hyperparameters);
  grids.set("c_shrunk_theta", {0.0});  // lanes of DOW test the bonus on rewards
  for (const Policy& policy : all_policies())
    for (const PolicyVariant& variant : policy.variants(grids))
      for (const int T0 : T0s)
        if (variant.lane && (T0 > 0 || !policy.needs_calibration)) {
          LaneSpec lane = variant.lane(replication, T0);
          const int A = replication.tape.boxes();
          tie_slopes(lane, A > 1 ? BoxGroups{{0, 1}} : BoxGroups{}, A);
          const bool wider =
              lane.unopened || lane.follow != Follow::nothing;  // only where boxes may be deployed unopened
          if ((!wider || replication.actions.uninspected) && (tied || !lane.fits_tied())) lanes.push_back(lane);
        }
  return lanes;
}

}  // namespace pandora::test
