// `pandora trace` as users run it.
#include <gmock/gmock.h>

#include "tests/host/run_program.hpp"

namespace pandora {
namespace {

using TraceCommand = test::ProgramTest;

// `features` and `export` of a study on a table replace existing files only if asked, and inputs never.
TEST_F(TraceCommand, WritesOverNothingThatIsThere) {
  std::ofstream(work() / "study.toml") << R"(environments = ["t"]
replications = 2
[environment.t]
table = "table.csv"
context = ["score_1"]
price = 5
)";
  {
    std::ofstream rows(work() / "table.csv");
    rows << "prompt_id,score_1,a,a|cost,b,b|cost\n";
    for (int row = 0; row < 60; ++row) rows << row << "," << row % 9 << ",0." << row << ",0.1,1,1\n";
  }
  const std::string table = test::read_file(work() / "table.csv"), study = test::read_file(work() / "study.toml");
  for (const test::Words& command : {test::Words{"trace", "features", "study.toml", "--out"},
                                     {"trace", "export", "study.toml", "--set", "T0=5", "--out"}}) {
    for (const char* input : {"table.csv", "study.toml"})
      for (const test::Words& words : {test::Words{input}, {input, "--force"}})
        expect_refusal(joined(command, words), 2, {std::string(input) + " itself; name another file"});
    std::ofstream(work() / "there") << "mine";
    expect_refusal(joined(command, {"there"}), 2,
                   {"--out there: is there already; name another file, or replace it with --force"});
    EXPECT_EQ(test::read_file(work() / "there"), "mine");
    output(joined(command, {"there", "--force"}));
    EXPECT_NE(test::read_file(work() / "there"), "mine");
  }
  EXPECT_EQ(test::read_file(work() / "table.csv"), table);
  EXPECT_EQ(test::read_file(work() / "study.toml"), study);
  for (const char* name : {"a\"b", "a.b", "", "ü"})
    expect_refusal({"trace", "export", "study.toml", "--out", "new", "--name", name}, 2, {"cannot stand in a study"});
  expect_refusal({"trace", "features", "--out", "new"}, 2, {"give a study's file with the key environment.NAME.table"});
  EXPECT_FALSE(std::filesystem::exists(work() / "new"));
}

}  // namespace
}  // namespace pandora
