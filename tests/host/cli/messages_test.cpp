// Messages name the mistake, and the commands in them can be copied as they stand.
#include <gmock/gmock.h>

#include "tests/host/cli/cli_words.hpp"

namespace pandora {
namespace {
using testing::HasSubstr;
using testing::Not;
using Messages = test::ProgramTest;

test::Words query_all_run(const test::Words& more) {
  return joined(words_of("reproduce --environment uniform --regime A --periods 20 --samples 1000 --t0 0 --policy "
                         "query_all --table 1 --replications 2 --quiet"),
                more);
}

TEST_F(Messages, AFolderWhereAFileBelongsIsNoFullDisk) {
  std::filesystem::create_directories(work() / "v" / "summary.csv" / "inside");
  const test::ProgramResult result = run(query_all_run({"--out", "v", "--force"}));
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, Not(HasSubstr("free some space")));
}

// The variable chooses among programs for several levels of processors. This program is none of them.
TEST_F(Messages, ALevelThatIsNotThisProgramsIsRefused) {
  ::setenv("PANDORA_LEVEL", "v9", 1);
  expect_refusal({"policies"}, 2, {"PANDORA_LEVEL=v9: this program is compiled for one kind of processor"});
  ::unsetenv("PANDORA_LEVEL");
}

TEST_F(Messages, CommandsQuoteTheirPaths) {
  test::Words words = query_all_run({"--out", "a b's", "--set", "hyperparameters.c_rho=[1e300]"});
  std::replace(words.begin(), words.end(), std::string("query_all"), std::string("dow"));
  const test::ProgramResult result = run(words);
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(test::read_file(work() / "a b's" / "failures.csv"), HasSubstr("replay study.toml --lane 'uniform/A/"));
  EXPECT_THAT(result.out, Not(HasSubstr("nan")));
  for (const char* name : {"summary.csv", "oracle.csv"})
    EXPECT_THAT(test::read_file(work() / "a b's" / name), Not(HasSubstr("nan")));
}

TEST_F(Messages, SolvesHaveALimit) {
  expect_refusal({"oracle", "check", "--solves", "2147483647"}, 2,
                 {"--solves 2147483647: out of range; give an integer from 1 to 10000"});
}

TEST_F(Messages, NoKeyOfDimensionsIsBlamedOnADefault) {
  for (const std::string value : {"1", "2", "6", "7", "16"})
    EXPECT_THAT(run(query_all_run({"--set", "dimensions.boxes=" + value, "--plan"})).err, Not(HasSubstr("default of")));
}

}  // namespace
}  // namespace pandora
