// Environments that are not the paper's, from a study to a folder.
#include <gmock/gmock.h>

#include "tests/host/studies/run/hdf5_dataset.hpp"
#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {
using testing::HasSubstr;
using EnvironmentKinds = test::RunStudyTest;

// Locations and drawn indices: what belongs to an instance is in the file, and parts of it are read back.
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
  const hid_t opened = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  EXPECT_EQ(H5Lexists(opened, "/uniform_B/instances/rho", H5P_DEFAULT), 0);
  H5Fclose(opened);
  EXPECT_THAT(test::read_file(work() / "out" / "oracle.csv"), HasSubstr("\nB,linear,,"));
  const std::string summary = test::read_file(work() / "out" / "summary.csv");
  const test::ProgramResult again = run(words("out", {"--regime", "B", "--resume"}));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(test::read_file(work() / "out" / "summary.csv"), summary);
  const test::ProgramResult calibrated = run({"calibrate", "study.toml", "--boxes", "1.5", "--environment", "linear"});
  EXPECT_EQ(calibrated.exit_code, 2);
  EXPECT_THAT(calibrated.err, HasSubstr("environment linear: has linear indices"));
}

}  // namespace
}  // namespace pandora
