// `pandora verdict` as its users meet it.
#include <nlohmann/json.hpp>

#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {

using test::Words;
using testing::HasSubstr;
using testing::Not;

class VerdictCommand : public test::RunStudyTest {
 protected:
  void make(const Words& more) {
    Words options = {"--environment", "uniform"};
    options.insert(options.end(), more.begin(), more.end());
    ASSERT_EQ(run(words("out", options)).exit_code, 0) << test::read_file(base_ / "err");
  }
  std::string output(const Words& arguments) {
    const test::ProgramResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }
};

// A small study has findings, and no published numbers.
TEST_F(VerdictCommand, JudgesAFolderInEveryFormat) {
  make({"--replications", "5"});
  const std::string text = output({"verdict", "out"});
  EXPECT_THAT(text, HasSubstr("nothing published compares"));
  EXPECT_THAT(text, HasSubstr("The findings of Section 6.2"));
  EXPECT_THAT(text, HasSubstr("The price of an unknown reward"));
  EXPECT_THAT(text, Not(HasSubstr("Published numbers")));
  const nlohmann::json json = nlohmann::json::parse(output({"verdict", "out", "--format", "json"}));
  EXPECT_EQ(json["prices"].size(), 4u);  // two policies in two regimes
  EXPECT_EQ(json["prices"][0]["cells"], 2);
  EXPECT_TRUE(json["numbers"].empty());
  const std::string csv = output({"verdict", "out", "--part", "findings", "--format", "csv"});
  EXPECT_THAT(
      csv, testing::StartsWith("replications,finding,statement,cell,compared,difference_of,difference,half_width_95,"));
  EXPECT_THAT(output({"verdict", "out", "--part", "prices", "--format", "markdown"}), HasSubstr("| policy | regime |"));
  EXPECT_THAT(output({"verdict", "out", "--format", "latex"}), HasSubstr("\\begin{tabular}"));
}

TEST_F(VerdictCommand, SaysWhatIsWrong) {
  make({"--replications", "2"});
  expect_refusal({"verdict", "out", "--part", "number"}, 2, {"--part number", "the nearest is numbers"});
  expect_refusal({"verdict", "out", "--format", "xml"}, 2, {"--format xml", "json"});
  expect_refusal({"verdict", "nowhere"}, 3, {"nowhere"});
}

}  // namespace
}  // namespace pandora
