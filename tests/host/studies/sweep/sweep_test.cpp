// A sweep's numbers depend only on the study, and not on threads or on the order and number of its cells.
#include "host/studies/sweep/sweep.hpp"

#include <gmock/gmock.h>

#include <set>

#include "host/studies/results/result_rows.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "pandora/error.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

using testing::IsSupersetOf;
using testing::Property;
using testing::Throws;

Study small_study() {
  Study study = test::small_study(test::small_dimensions(3, 4, 2), {paper_environments()[0], paper_environments()[2]},
                                  {0, 12, 40}, 81);
  study.hyperparameters = {0.1, 1.0};
  study.order_contexts = 50;
  return study;
}

std::string csv_of(const Study& study, int threads) {
  const Plan plan = make_plan(study);
  SweepOptions options;
  options.threads = threads;
  const Summary summary = summarise(study, plan, run_sweep(study, plan, options));
  ResultRows rows({}, plan, "pandora");
  rows.add_summary(summary, {});
  return rows.csv("summary") + rows.csv("oracle") + rows.csv("oracle_order");
}

// The rows of all three files as a set. Rows are unique, so sets compare files in any order.
std::set<std::string> rows_of(const Study& study) {
  const std::vector<std::string> lines = split(csv_of(study, 2), '\n');
  return {lines.begin(), lines.end()};
}

const std::set<std::string>& full_set() {
  static const std::set<std::string> rows = rows_of(small_study());
  return rows;
}

TEST(Sweep, IsTheSameForAnyNumberOfThreads) {
  const std::string one = csv_of(small_study(), 1);
  EXPECT_EQ(one, csv_of(small_study(), 2));
  EXPECT_EQ(one, csv_of(small_study(), 7));
}

TEST(Sweep, IsTheSameForAnyNumberOfLanesAdvancedTogether) {
  Study study = small_study();
  const std::string usual = csv_of(study, 2);
  for (const int chunk : {1, 4, 1000}) {
    study.engine.chunk = chunk;
    EXPECT_EQ(csv_of(study, 2), usual) << chunk;
  }
}

TEST(Sweep, IsTheSameForAnyOrderOfCells) {
  Study study = small_study();
  std::swap(study.environments[0], study.environments[1]);
  study.regimes = {Regime::B, Regime::A};
  study.T0 = {40, 0, 12};
  EXPECT_EQ(rows_of(study), full_set());
}

// The oracle's indices belong to the replication. Other values of T_0 in the run must not change them.
TEST(Sweep, SubsetsOfEnvironmentsRegimesPoliciesAndT0HaveTheSameRows) {
  Study place = small_study(), policies = place, of_A = place, of_B = place;
  place.environments = {paper_environments()[2]};
  place.regimes = {Regime::B};
  policies.policies = {"query_all", "linucb_online", "dow"};
  of_A.regimes = {Regime::A};
  of_B.regimes = {Regime::B};
  of_A.T0 = of_B.T0 = {12};
  for (const Study& study : {place, policies, of_A, of_B}) EXPECT_THAT(full_set(), IsSupersetOf(rows_of(study)));
}

TEST(Sweep, ResultsAreMeansPerPeriodInThePlansOrder) {
  Study study = small_study();
  study.engine.kind = EngineSettings::Kind::reference;
  study.environments.resize(1);
  study.policies = {"dow", "query_all"};
  const Plan plan = make_plan(study);
  const auto results = run_sweep(study, plan, {});
  ASSERT_EQ(results.size(), plan.units.size());
  for (std::size_t u = 0; u < plan.units.size(); ++u) {
    const Replication replication = prepare_replication(study, plan, plan.units[u], nullptr);
    ASSERT_EQ(results[u].lanes.size(), plan.lanes.size());
    for (std::size_t l = 0; l < plan.lanes.size(); ++l) {
      const LaneTally tally =
          run_reference_lane(replication, plan.lanes[l].variant.lane(replication, plan.lanes[l].T0), study.estimation);
      EXPECT_EQ(results[u].lanes[l], tally);
    }
  }
}

TEST(Sweep, ReportsProgressOnceForEveryLane) {
  Study study = small_study();
  study.engine.chunk = 1;
  study.regimes = {Regime::A};
  const Plan plan = make_plan(study);
  for (const bool regret : {true, false}) {
    study.regret = regret;
    const std::size_t total = plan.units.size() * (regret ? plan.lanes.size() : 1);
    std::vector<std::size_t> seen;
    SweepOptions options;
    options.threads = 3;
    options.progress = [&](std::size_t done, std::size_t all) {
      EXPECT_EQ(all, total);
      seen.push_back(done);
    };
    run_sweep(study, plan, options);
    ASSERT_EQ(seen.size(), total);
    for (std::size_t i = 0; i < total; ++i) EXPECT_EQ(seen[i], i + 1);
  }
}

TEST(Sweep, InterruptionEndsItBetweenLanes) {
  Study study = small_study();
  study.engine.chunk = 1;
  const Plan plan = make_plan(study);
  for (const int threads : {1, 3}) {
    std::atomic<bool> interrupted{false};
    std::size_t done = 0;
    SweepOptions options;
    options.threads = threads;
    options.interrupted = &interrupted;
    options.progress = [&](std::size_t n, std::size_t) {
      done = n;
      if (n == 5) interrupted.store(true);
    };
    EXPECT_THAT([&] { run_sweep(study, plan, options); }, Throws<Error>(Property(&Error::code, ExitCode::interrupted)));
    EXPECT_GE(done, 5u);
    EXPECT_LE(done, 5u + static_cast<std::size_t>(threads));
  }
}

TEST(Sweep, FailureInALaneSurfaces) {
  const Study study = small_study();
  for (const int threads : {1, 3}) {
    Plan plan = make_plan(study);
    plan.lanes[4].variant.lane = [](const Replication&, int) -> LaneSpec {
      throw Error(ExitCode::bad_data, "made to fail");
    };
    SweepOptions options;
    options.threads = threads;
    EXPECT_THAT([&] { run_sweep(study, plan, options); },
                Throws<Error>(AllOf(Property(&Error::code, ExitCode::bad_data),
                                    Property(&Error::what, testing::StrEq("made to fail")))));
  }
}

// The fingerprint must also show differences in arithmetic that do not change decisions.
TEST(Fingerprint, DependsOnTheEngineAndIsStable) {
  const auto fingerprint = [](const std::string& key, const std::string& value) {
    StudyConfig config = StudyConfig::parse("", "test");
    if (!key.empty()) config.set(key, value, "");
    return fingerprint_of(config.settings(), {});
  };
  const std::string standard = fingerprint("", "");
  EXPECT_EQ(standard.size(), 16u);
  EXPECT_EQ(fingerprint("", ""), standard);
  EXPECT_EQ(fingerprint("seed", "9"), standard);  // it depends on the arithmetic and not on the study
  EXPECT_EQ(fingerprint("engine.chunk", "1"), standard);
  EXPECT_NE(fingerprint("engine.precision", "double"), standard);
  EXPECT_NE(fingerprint("engine.kind", "reference"), fingerprint("engine.precision", "double"));
  EXPECT_NE(fingerprint("engine.block", "8"), standard);
}

}  // namespace
}  // namespace pandora
