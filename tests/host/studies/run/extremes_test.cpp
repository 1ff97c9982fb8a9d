// At the ends of its keys' ranges, a study still gives the same results in the reference engine and in the fast one.

#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {
using test::Words;

class Extremes : public test::ManyRunsTest {
 protected:
  void SetUp() override {
    ManyRunsTest::SetUp();
    write("study.toml", R"(seed = 3
replications = 2
periods = 200
T0 = [0, 7]
environments = ["uniform"]
policies = ["online_plugin", "dow", "shrunk_weitzman", "atsidakou", "epsilon_greedy_weitzman"]
[dimensions]
context = 6
reward_features = 3
output = 10
radius_draws = 2000
[environment.uniform]
law = "gaussian"
truncation_radius = inf
[oracle]
samples = 1000
grid = [9, 9, 9]
bins = 100
[hyperparameters]
c_rho = [0.1, 1]
c_theta = [0.1]
epsilon = [0.1]
[output]
order = false
hdf5 = false
instances = false
)");
  }

  // The rows of summary.csv.
  std::vector<std::string> rows(const std::string& engine, const Words& more) {
    const test::ProgramResult result =
        run(joined({"run", "study.toml", "--quiet", "--backend", "cpu", "--threads", "1", "--force", "--out", "out"},
                   {"--engine", engine, "--precision", "double"}, more));
    EXPECT_EQ(result.exit_code, 0) << result.err;  // no lane fails
    return split(text("out/summary.csv"), '\n');
  }

  void expect_alike(const std::vector<Words>& extremes) {
    for (const Words& extreme : extremes) {
      SCOPED_TRACE(extreme[0]);
      const std::vector<std::string> plain = rows("reference", test::set(extreme)),
                                     fast = rows("blocked", test::set(extreme));
      ASSERT_EQ(plain.size(), fast.size());
      ASSERT_GT(plain.size(), 50u);
      std::size_t differ = 0;
      for (std::size_t k = 0; k < plain.size(); ++k) differ += plain[k] != fast[k] ? 1 : 0;
      EXPECT_LE(differ, plain.size() / 50);  // rounding may decide a near-tie differently
    }
  }
};

TEST_F(Extremes, BothEnginesDecideAlike) {
  expect_alike({{"estimation.eta_index=1e-6"},
                {"environment.uniform.u=1e6"},
                {"estimation.ridge_own=0.01", "estimation.shrinkage=fixed"}});
}

TEST_F(Extremes, SlowBothEnginesDecideAlike) {
  expect_alike({{"estimation.eta_index=1e-4"},
                {"estimation.eta_index=1e8"},
                {"estimation.eta_slopes=1e-6"},
                {"estimation.eta_slopes=1e8", "estimation.eta_index=1e-6"},
                {"estimation.eta_reward=1e-3"},
                {"estimation.eta_reward=1e8"},
                {"environment.uniform.scale=100"},
                {"environment.uniform.scale=1e-6"},
                {"estimation.ridge_mean=0.01", "estimation.shrinkage=fixed"},
                {"estimation.ridge_own=1e12", "estimation.shrinkage=fixed"}});
}

}  // namespace
}  // namespace pandora
