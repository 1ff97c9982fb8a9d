// Runs of environments that are not the paper's, from a study to a folder.
#include <gmock/gmock.h>

#include "tests/host/studies/run/hdf5_dataset.hpp"
#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {
using testing::HasSubstr;
using EnvironmentKinds = test::RunStudyTest;

// Own locations and drawn indices. The file has the parameters of the instance, and the test reads some of them back.
TEST_F(EnvironmentKinds, StandSideBySide) {
  write("study.toml", test::small_study_text(2, 60, R"("uniform", "apart", "linear")", 2000) + R"(
[environment.apart]
law = "uniform"
u = 0.2
stream = 40
location = "own"
[environment.linear]
law = "uniform"
stream = 41
indices = "linear"
)");
  ASSERT_EQ(run(words("out", {"--regime", "B"})).exit_code, 0);
  const std::filesystem::path file = work() / "out" / "results.h5";
  const auto shape_of = [&](const std::string& name) {
    std::vector<hsize_t> shape;
    test::dataset(file, name, shape);
    return shape;
  };
  using Shape = std::vector<hsize_t>;
  EXPECT_EQ(shape_of("/uniform_B/instances/Q"), (Shape{2, 3, 12}));
  EXPECT_EQ(shape_of("/apart_B/instances/Q"), (Shape{2, 9, 12}));
  EXPECT_EQ(shape_of("/linear_B/instances/rho"), (Shape{2, 3, 13}));
  EXPECT_EQ(shape_of("/linear_B/instances/shock_quantiles"), (Shape{2, 512}));
  EXPECT_FALSE(test::has_dataset(file, "/uniform_B/instances/rho"));
  EXPECT_THAT(text("out/oracle.csv"), HasSubstr("\nB,linear,,"));
  const std::string summary = text("out/summary.csv");
  const test::ProgramResult again = run(words("out", {"--regime", "B", "--resume"}));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(text("out/summary.csv"), summary);
  expect_refusal({"calibrate", "study.toml", "--boxes", "1.5", "--environment", "linear"}, 2,
                 {"environment linear: has linear indices"});
}

// With every change of the problem at the same time, shards, an extended run and a resumed one give the bytes of one
// process.
constexpr const char* kChanges = R"(
[environment.uniform]
correlation = 0.4
drift = { kind = "step", at = [30, 60], share = 0.5 }
arrives = { box_number = 3, at = 20 }
leaves = { box_number = 1, at = 70 }
[feedback]
delay = { law = "geometric", mean = 9 }
share = 0.8
flip = 0.1
poison = { from = 40, to = 50 }
restart = { at = 55, lost = 20 }
[estimation]
forget = 50
window = 60
[budget]
queries = 1.3
)";

TEST_F(EnvironmentKinds, ChangesOfTheProblemGiveTheSameBytesHoweverTheyAreRun) {
  write("study.toml", test::small_study_text(4, 90, R"("uniform")", 2000) + kChanges);
  expect_same_however_run({});
  for (const char* key :
       {"environment.uniform.correlation=0",
        "environment.uniform.drift=", "environment.uniform.arrives=", "environment.uniform.leaves=", "feedback.delay=0",
        "feedback.flip=0", "feedback.restart=", "budget.queries=0", "estimation.forget=0", "estimation.window=0"}) {
    const test::ProgramResult other = run(words("without", {"--force", "--set", key}));
    ASSERT_EQ(other.exit_code, 0) << other.err;
    EXPECT_NE(text("without/summary.csv"), text("reference/summary.csv")) << key;  // each key matters
  }
}

TEST_F(EnvironmentKinds, NeutralKeysChangeNoByte) {
  const std::string study = test::small_study_text(2, 60, R"("uniform")", 2000);
  write("study.toml", study);
  ASSERT_EQ(run(words("plain")).exit_code, 0);
  write("study.toml", study + R"(
[environment.uniform]
correlation = 0
drift = ""
arrives = ""
leaves = ""
output_costs = "paper"
output_scales = "contextual"
[feedback]
delay = 0
share = 1
flip = 0
poison = ""
restart = ""
[budget]
queries = 0
cost = 0
)");
  ASSERT_EQ(run(words("neutral")).exit_code, 0);
  for (const std::string file : {"/summary.csv", "/curves.csv", "/boxes.csv", "/oracle.csv"})  // study.toml differs
    EXPECT_EQ(text("neutral" + file), text("plain" + file));
}

}  // namespace
}  // namespace pandora
