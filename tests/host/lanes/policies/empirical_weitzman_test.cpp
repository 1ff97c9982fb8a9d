// The policy's index is the reservation index of a box's samples. The test finds it by sorting the samples.
#include <gtest/gtest.h>

#include "host/lanes/engine/run_on_cpu.hpp"
#include "host/lanes/estimator/reference_engine.hpp"
#include "oracle/reservation_index.hpp"
#include "pandora/policy.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

TEST(EmpiricalWeitzman, ItsScoresAreTheIndicesOfItsSamples) {
  for (const Regime regime : {Regime::A, Regime::B}) {
    const Replication replication = test::small_replication(test::small_dimensions(3, 5, 2), regime, 12, 150, 11);
    const Tape& tape = replication.tape;
    const LaneSpec lane = find_policy("empirical_weitzman")->variants({})[0].lane(replication, 12);
    const EstimationOptions options{parse_refit("every_period"), 1e-6, 1.0};
    LaneRecord reference, blocked;
    run_reference_lane(replication, lane, options, &reference);
    blocked.decisions = &reference.outcomes;
    run_on_cpu<double>(replication, std::span(&lane, 1), {options, 16}, nullptr, std::span(&blocked, 1));
    std::vector<double> mu[3];
    double cost[3] = {};
    const auto add = [&](int row, int a) {
      mu[a].push_back(tape.mu[tape.at(row, a)]);
      cost[a] += tape.cost[tape.at(row, a)];
    };
    for (int k = 0; k < 12; ++k) add(tape.calibration_row(k), k % 3);
    for (std::size_t t = 0; t < reference.outcomes.size(); ++t) {
      for (int a = 0; a < 3; ++a) {
        const double wanted = index_of_values(mu[a], cost[a] / static_cast<double>(mu[a].size()));
        ASSERT_NEAR(reference.scores[t * 3 + static_cast<std::size_t>(a)], wanted, 1e-4) << t << " " << a;
        ASSERT_NEAR(blocked.scores[t * 3 + static_cast<std::size_t>(a)], wanted, 1e-3) << t << " " << a;
      }
      const PeriodOutcome& outcome = reference.outcomes[t];
      for (int k = 0; k < outcome.queried; ++k) add(tape.online_row(static_cast<int>(t)), outcome.order[k]);
    }
  }
}

}  // namespace
}  // namespace pandora
