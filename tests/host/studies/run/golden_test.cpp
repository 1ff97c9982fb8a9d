// The kept numbers of tiny studies with every policy. An unintended change of numbers shows here. Other compilers and
// instruction sets must agree with them within a bound.
#include "host/ground/files/sealed_file.hpp"
#include "host/ground/machine/build.hpp"
#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {

const std::filesystem::path kGolden = std::filesystem::path(PANDORA_SOURCE) / "tests/host/studies/run/golden";

// Runs a study of this folder. NAME.toml has its numbers in NAME.csv and its digests in the column NAME.
class Golden : public test::RunStudyTest, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    test::RunStudyTest::SetUp();
    ASSERT_EQ(run({"run", (kGolden / (GetParam() + ".toml")).string(), "--quiet", "--backend", "cpu", "--out", "here"})
                  .exit_code,
              0);
    summary_ = text("here/summary.csv");
  }
  std::string summary_;
};
INSTANTIATE_TEST_SUITE_P(Studies, Golden, testing::Values("study", "changed"));

// A release build by a compiler whose digest is kept must give every byte.
TEST_P(Golden, ItsBytesAreThoseOfThisInstructionSet) {
  const std::map<std::string, std::string> build = build_identity();
  if (!build.at("flags").starts_with("Release -O3")) return;  // other levels of optimisation may round differently
  const std::pair asked(build.at("compiler"), build.at("instructions"));
  for (const auto& kept : test::rows_of(test::read_file(kGolden / "digests.csv"))) {
    if (std::pair(kept.at("compiler"), kept.at("instructions")) == asked && !kept.at(GetParam()).empty()) {
      EXPECT_EQ(sha256(summary_), kept.at(GetParam())) << "see golden/study.toml";
    }
  }
}

// This holds for every build. Other rounding changes a few of hundreds of decisions, and so changes a regret by far
// less than its interval.
TEST_P(Golden, ItsNumbersAreTheSameEverywhere) {
  const auto kept = test::rows_of(test::read_file(kGolden / (GetParam() + ".csv"))), found = test::rows_of(summary_);
  ASSERT_EQ(found.size(), kept.size());
  for (std::size_t k = 0; k < kept.size(); ++k) {
    for (const auto& [name, value] : kept[k]) {
      if (name.find("x1000") == std::string::npos) {
        ASSERT_EQ(found[k].at(name), value);
      }
    }
    EXPECT_NEAR(std::stod(found[k].at("regret_x1000")), std::stod(kept[k].at("regret_x1000")),
                1e-6 + 0.25 * std::stod(kept[k].at("half_width_95_x1000")))
        << kept[k].at("lane");
  }
}

}  // namespace
}  // namespace pandora
