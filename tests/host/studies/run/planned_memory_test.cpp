// Compares the memory that `--plan` announces with the memory of the process.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "kernels/base/sanitisers.hpp"
#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {

using test::read_file;
using test::Words;

class PlannedMemory : public test::ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
#if defined(PANDORA_SANITISED)
    GTEST_SKIP() << "sanitisers take memory of their own";
#endif
    std::ofstream(work() / "s.toml")
        << "replications = 1\nperiods = 100\nT0 = [0]\nenvironments = [\"uniform\"]\nregimes = [\"B\"]\n"
           "policies = [\"query_all\"]\n[oracle]\nsamples = 20000\norder_contexts = 1000\n[output]\norder = false\n";
  }

  // The memory and time of a successful run of the study with these words.
  rusage used_by(const std::string& study, const Words& more) {
    const pid_t child = start(joined({"run", study, "--threads", "2", "--backend", "cpu"}, more));
    int status = 0;
    rusage used{};
    EXPECT_EQ(::wait4(child, &status, 0, &used), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << read_file(base_ / "err");
    return used;
  }

  void compare(const Words& settings) {
    SCOPED_TRACE(testing::PrintToString(settings));
    used_by("s.toml", joined(test::set(settings), {"--plan"}));
    const std::string plan = read_file(base_ / "out");
    const std::size_t at = plan.find("memory");
    ASSERT_NE(at, std::string::npos) << plan;
    const double expected = std::stod(plan.substr(at + 6)) * 1024.0;
    const rusage used = used_by("s.toml", joined(test::set(settings), {"--out", "v", "--force", "--quiet"}));
    const double peak = static_cast<double>(used.ru_maxrss) / 1024.0;
    EXPECT_LE(peak, 1.5 * expected + 64.0) << "MiB planned " << expected;
    EXPECT_LE(expected, 1.5 * peak + 64.0) << "MiB taken " << peak;
  }

  // Settings of a study with many quick replications.
  static Words many(const Words& more) {
    return joined({"periods=10", "dimensions.context=2", "dimensions.reward_features=2", "oracle.samples=1000",
                   "oracle.grid=[3,3,3]", "regimes=[\"A\"]", "dimensions.radius_draws=2000"},
                  more);
  }
};

TEST_F(PlannedMemory, OfContextsAndGridIsWhatTheyTake) {
  compare({"output.order=true", "output.regret=false", "oracle.order_contexts=400000"});
  compare({"oracle.grid=[201,201,201]", "oracle.bins=100"});
}

TEST_F(PlannedMemory, SlowOfTenShapesIsWhatTheyTake) {
  compare({});
  compare({"output.order=true", "output.regret=false", "oracle.order_contexts=1000000"});
  compare({"oracle.grid=[301,301,301]", "oracle.bins=100"});
  compare({"oracle.samples=4000000"});
  compare({"periods=200000", "replications=2"});
  compare({"T0=[0,100000]", "policies=[\"static_plugin\"]"});
  compare({"dimensions.context=600", "policies=[\"online_plugin\"]", "replications=2"});
  compare({"dimensions.context=600", "policies=[\"dow\"]"});  // one replication, so two threads share a tape
  compare({"dimensions.context=800", "policies=[\"shrunk_weitzman\"]"});
  compare({"dimensions.context=1000", "policies=[\"informed_weitzman\"]"});
  compare({"output.estimates=true", "policies=[\"dow\",\"online_plugin\"]", "replications=60"});
  compare(many({"replications=20000"}));
  compare(many({"replications=20000", "output.hdf5=false", "output.instances=false"}));
  compare({"replications=1000", "periods=5", "dimensions.context=300", "oracle.samples=1000", "oracle.grid=[3,3,3]"});
}

// The time and memory of planning do not grow with the study.
TEST_F(PlannedMemory, ThePlanOfAHugeStudyIsSmall) {
  for (const std::string setting :
       {"replications=100000000", "oracle.order_contexts=1000000000", "T0=[1000000000]", "dimensions.context=10000",
        "oracle.samples=2000000000", "periods=1000000000", "oracle.grid=[2001,2001,2001]"}) {
    const rusage used =
        used_by("s.toml", {"--set", setting, "--set", "oracle.bins=100", "--set", "output.order=true", "--plan"});
    EXPECT_LT(used.ru_maxrss / 1024, 600) << setting;
    EXPECT_LT(used.ru_utime.tv_sec, 30) << setting;
  }
}

// They do not grow with the values of T_0 or with the settings either, because only a few are probed.
TEST_F(PlannedMemory, ThePlanOfManyValuesIsSmall) {
  std::string T0 = "T0 = [0", eta = "\n[vary]\nestimation.eta_index = [1";
  for (int k = 1; k < 16000; ++k) T0 += fmt::format(",{}", k);
  for (int k = 1; k < 1000; ++k) eta += fmt::format(",{}", 1.0 + 0.001 * k);
  const std::string small = "periods = 1000\nreplications = 5\noracle.samples = 1000\ndimensions.radius_draws = 2000\n";
  for (const std::string& study : {small + T0 + "]\n", small + "T0 = [0]\n" + eta + "]\n"}) {
    std::ofstream(work() / "many.toml") << study;
    EXPECT_LT(used_by("many.toml", {"--plan"}).ru_utime.tv_sec, 20) << study.substr(0, 200);
  }
}

}  // namespace
}  // namespace pandora
