// Messages name the mistake, and the commands in them can be copied as they stand.
#include <gmock/gmock.h>

#include "tests/host/run_program.hpp"

namespace pandora {
namespace {
using testing::HasSubstr;
using testing::Not;
using Messages = test::ProgramTest;

std::vector<std::string> query_all_run(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"reproduce", "--environment", "uniform", "--regime",       "A", "--periods",
                                    "20",        "--samples",     "1000",    "--t0",           "0", "--policy",
                                    "query_all", "--table",       "1",       "--replications", "2", "--quiet"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
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
  const test::ProgramResult result = run({"policies"});
  ::unsetenv("PANDORA_LEVEL");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("PANDORA_LEVEL=v9: this program is compiled for one kind of processor"));
}

TEST_F(Messages, CommandsQuoteTheirPaths) {
  std::vector<std::string> words = query_all_run({"--out", "a b's", "--set", "hyperparameters.c_rho=[1e300]"});
  std::replace(words.begin(), words.end(), std::string("query_all"), std::string("dow"));
  const test::ProgramResult result = run(words);
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(test::read_file(work() / "a b's" / "failures.csv"), HasSubstr("replay study.toml --lane 'uniform/A/"));
  EXPECT_THAT(result.out, Not(HasSubstr("nan")));
  EXPECT_THAT(test::read_file(work() / "a b's" / "summary.csv"), Not(HasSubstr("nan")));
  EXPECT_THAT(test::read_file(work() / "a b's" / "oracle.csv"), Not(HasSubstr("nan")));
}

TEST_F(Messages, SolvesHaveALimit) {
  const test::ProgramResult result = run({"oracle", "check", "--solves", "2147483647"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--solves 2147483647: out of range; give an integer from 1 to 10000"));
}

TEST_F(Messages, NoKeyOfDimensionsIsBlamedOnADefault) {
  for (const std::string value : {"1", "2", "6", "7", "16"})
    EXPECT_THAT(run(query_all_run({"--set", "dimensions.boxes=" + value, "--plan"})).err, Not(HasSubstr("default of")));
}

}  // namespace
}  // namespace pandora
