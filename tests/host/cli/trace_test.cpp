// `pandora trace` as users run it.
#include <gmock/gmock.h>

#include "tests/host/run_program.hpp"

namespace pandora {
namespace {

using testing::HasSubstr;

class TraceCommand : public test::ProgramTest {
 protected:
  // The small model is right in two of three prompts, the large one nearly always, and the judge knows nothing.
  void write_table(int rows = 60) {
    std::ofstream out(work() / "table.csv");
    out << "prompt_id,model,quality,cost,score\n";
    for (int row = 0; row < rows; ++row)
      out << row << ",small," << (row % 3 == 0 ? 0.1 : 1.0) << ",0.0001,0.5\n"
          << row << ",large," << (row % 7 == 0 ? 0.8 : 1.0) << ",0.01,0.5\n";
  }
  void expect_refused(const std::vector<std::string>& arguments, int exit_code, const std::string& part) {
    const test::ProgramResult result = run(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_EQ(result.error_lines(), 1) << result.err;
    EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_EQ(result.out, "");
  }
};

// `features` and `export` of a study on a table replace existing files only if asked, and inputs never.
TEST_F(TraceCommand, WritesOverNothingThatIsThere) {
  write_table();
  std::ofstream(work() / "study.toml") << R"(environments = ["t"]
replications = 2
[environment.t]
table = "table.csv"
context = ["score_1"]
price = 5
)";
  std::ofstream(work() / "table.csv") << "prompt_id,score_1,a,a|cost,b,b|cost\n";
  for (int row = 0; row < 60; ++row)
    std::ofstream(work() / "table.csv", std::ios::app) << row << "," << row % 9 << ",0." << row << ",0.1,1,1\n";
  const std::string table = test::read_file(work() / "table.csv"), study = test::read_file(work() / "study.toml");
  const std::vector<std::string> features = {"trace", "features", "study.toml", "--out"},
                                 exported = {"trace", "export", "study.toml", "--set", "T0=5", "--out"};
  for (const std::vector<std::string>& command : {features, exported}) {
    const auto with = [&command](std::vector<std::string> more) {
      more.insert(more.begin(), command.begin(), command.end());
      return more;
    };
    for (const char* input : {"table.csv", "study.toml"}) {
      expect_refused(with({input}), 2, std::string(input) + " itself; name another file");
      expect_refused(with({input, "--force"}), 2, std::string(input) + " itself; name another file");
    }
    std::ofstream(work() / "there") << "mine";
    expect_refused(with({"there"}), 2, "--out there: is there already; name another file, or replace it with --force");
    EXPECT_EQ(test::read_file(work() / "there"), "mine");
    const test::ProgramResult forced = run(with({"there", "--force"}));
    EXPECT_EQ(forced.exit_code, 0) << forced.err;
    EXPECT_NE(test::read_file(work() / "there"), "mine");
  }
  EXPECT_EQ(test::read_file(work() / "table.csv"), table);
  EXPECT_EQ(test::read_file(work() / "study.toml"), study);
  for (const char* name : {"a\"b", "a.b", "", "ü"})
    expect_refused({"trace", "export", "study.toml", "--out", "new", "--name", name}, 2, "cannot stand in a study");
  expect_refused({"trace", "features", "--out", "new"}, 2, "give a study's file with the key environment.NAME.table");
  EXPECT_FALSE(std::filesystem::exists(work() / "new"));
}

}  // namespace
}  // namespace pandora
