// Lanes of policies by code end when the run is interrupted, wherever they are.
#include <gtest/gtest.h>

#include <functional>

#include "host/studies/sweep/sweep.hpp"
#include "pandora/error.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

void expect_interrupted(const std::function<void()>& body) {
  try {
    body();
    ADD_FAILURE() << "ran on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::interrupted);
  }
}

// Opens box 0, counts its periods, and is interrupted in one of them.
struct Interrupted : CustomPolicy {
  std::atomic<bool>* flag = nullptr;
  int interrupted_in = 0, periods = 0, calibrations = 0;

  void calibrate(const Request&, const Output&, std::optional<double>) override {
    if (++calibrations == -interrupted_in) flag->store(true);
  }
  void begin(const Request& request) override {
    periods = request.period;
    if (request.period == interrupted_in) flag->store(true);
    open_ = false;
  }
  int next() override { return open_ ? kStop : 0; }
  void opened(const Output&) override { open_ = true; }
  int deploy() override { return 0; }

 private:
  bool open_ = false;
};

TEST(InterruptOfLane, EndsALaneOfCodeAtItsNextPeriod) {
  const Replication replication = test::small_replication(test::small_dimensions(2, 3, 2), Regime::A, 7, 60, 3);
  for (const int when : {5, -3}) {  // in period 5, or in the third calibration period
    std::atomic<bool> flag{false};
    Interrupted policy;
    policy.flag = &flag;
    policy.interrupted_in = when;
    const InterruptOfLane interrupt(&flag);
    expect_interrupted([&] { run_custom_lane(replication, policy, 7); });
    EXPECT_EQ(policy.periods, std::max(when, 0));
    EXPECT_EQ(policy.calibrations, when > 0 ? 7 : 3);
  }
  std::atomic<bool> flag{true};
  Interrupted policy;
  policy.flag = &flag;
  EXPECT_EQ(run_custom_lane(replication, policy, 7).periods, 60);  // without a flag it runs to its end
}

TEST(InterruptOfLane, EndsALaneOfTheReferenceEngine) {
  const Replication replication = test::small_replication(test::small_dimensions(2, 3, 2), Regime::A, 7, 60, 3);
  const std::atomic<bool> flag{true};
  const InterruptOfLane interrupt(&flag);
  expect_interrupted([&] { run_reference_lane(replication, LaneSpec(), {}); });
}

// The sweep's flag also reaches the lane by code that is running, and not only the next chunk.
TEST(InterruptOfLane, IsTheSweeps) {
  Study study = test::small_study(test::small_dimensions(2, 3, 2), {paper_environments()[0]}, {0}, 1);
  study.regimes = {Regime::A};
  study.policies = {"query_all"};
  study.replications = 1;
  study.order = false;
  std::atomic<bool> flag{false};
  int periods = 0;
  struct Counting : Interrupted {
    int& total;
    explicit Counting(int& to) : total(to) {}
    void begin(const Request& request) override {
      Interrupted::begin(request);
      total = request.period;
    }
  };
  const Policy policy = {.name = "interrupted", .uses_calibration = false};
  Plan plan = make_plan(study);
  plan.lanes.push_back({&policy,
                        {"known",
                         "",
                         {},
                         [&](const Replication&, int, const EstimationOptions&) {
                           auto made = std::make_unique<Counting>(periods);
                           made->flag = &flag;
                           made->interrupted_in = 11;
                           return made;
                         }},
                        0});
  SweepOptions options;
  options.threads = 1;
  options.interrupted = &flag;
  expect_interrupted([&] { run_sweep(study, plan, options); });
  EXPECT_EQ(periods, 11);
}

}  // namespace
}  // namespace pandora
