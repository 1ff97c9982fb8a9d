// The command line: its lists, and the one line with which it refuses each wrong word.
#include <gmock/gmock.h>
#include <unistd.h>

#include "pandora/policy.hpp"
#include "tests/host/cli/cli_words.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;
using test::tiny;
using test::tiny_with;
using test::Words;
using testing::HasSubstr;
using Cli = test::ProgramTest;
using CliRefusal = test::ProgramTest;

TEST_F(Cli, ListsPoliciesVersionAndHelp) {
  const std::string policies = output(words_of("policies")), version = output(words_of("--version"));
  EXPECT_EQ(std::count(policies.begin(), policies.end(), '\n'), std::ssize(all_policies()));
  for (const char* name : {"oracle", "dow", "frugalgpt", "query_all"}) EXPECT_THAT(policies, HasSubstr(name));
  for (const char* part : {"pandora", "revision", "compiler", "flags", "cuda"}) EXPECT_THAT(version, HasSubstr(part));
  for (const Words& words : {Words{"--help"}, Words{"reproduce", "--help"}, Words{"oracle", "index", "--help"}}) {
    const test::ProgramResult help = run(words);
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_EQ(help.err, "");
    EXPECT_THAT(help.out,
                HasSubstr(words.size() == 1 ? "Usage: pandora [OPTIONS] SUBCOMMAND" : "\nExamples:\n  pandora "));
  }
  for (const char* code : {"0 done", "1 lanes failed", "2 usage", "3 bad data", "4 device", "5 results of another",
                           "6 results could not", "130 interrupted"})
    EXPECT_THAT(run(words_of("--help")).out, HasSubstr(code));
}

TEST_F(CliRefusal, UnknownNames) {
  expect_refusal(tiny_with("--policy", "greedy"), 2, {"--policy greedy", "pandora policies"});
  expect_refusal(tiny_with("--policy", "DOW"), 2, {"--policy DOW", "nearest is dow"});
  expect_refusal(tiny({"--set", "foo=1"}), 2, {"--set foo=1", "pandora run --print-defaults"});
  expect_refusal(words_of("reproduce --environment cauchy"), 2,
                 {"--environment cauchy", "uniform, gaussian, student_t5"});
  expect_refusal(words_of("reproduce --environment unifrom"), 2, {"--environment unifrom", "the nearest is uniform"});
  expect_refusal(words_of("reproduce --regime C"), 2, {"--regime C", "A, B"});
  expect_refusal(tiny_with("--table", "4"), 2, {"--table 4", "1, 2, 3 or all"});
  expect_refusal(tiny_with("--refit", "sometimes"), 2,
                 {"--refit sometimes", "every_period", "geometric:g", "tracking"});
  expect_refusal(tiny_with("--refit", "geometric:1"), 2, {"--refit geometric:1", "g > 1"});
  expect_refusal(tiny_with("--backend", "tpu"), 2, {"--backend tpu", "auto, cpu or cuda"});
  expect_refusal(tiny_with("--backend", "cuda"), 4, {"--backend cuda", "--backend cpu or auto"});  // there is none
  for (const char* grid : {"61x21", "61x21x1", "61x21x61x1", "ax2x2", "-3x21x61", "61x21x99999"})
    expect_refusal(tiny_with("--grid", grid), 2, {std::string("--grid ") + grid, "LxSxC"});
  EXPECT_TRUE(fs::is_empty(work()));
}

TEST_F(CliRefusal, CountsOutOfRange) {
  for (const char* option : {"--replications", "--periods", "--samples"})
    for (const char* value : {"0", "-3"})
      expect_refusal(tiny_with(option, value), 2, {std::string(option) + " " + value, "at least"});
  expect_refusal(tiny_with("--threads", "-1"), 2, {"--threads -1", "at least 0"});
  expect_refusal(tiny_with("--t0", "-5"), 2, {"--t0 -5", "at least 0"});
  expect_refusal(tiny_with("--t0", "5,5"), 2, {"--t0 5", "each once"});
  for (const char* option : {"--eta-index", "--eta-reward"})
    for (const char* value : {"0", "-1", "nan", "inf"})
      expect_refusal(tiny_with(option, value), 2, {std::string(option) + " " + value, "out of range"});
  expect_refusal(words_of("reproduce --environment uniform,uniform"), 2, {"--environment uniform", "each once"});
  expect_refusal(words_of("reproduce --regime B,B"), 2, {"--regime B", "each once"});
  EXPECT_TRUE(fs::is_empty(work()));
}

TEST_F(CliRefusal, WordsThatAreNotNumbers) {
  for (const char* option : {"--replications", "--periods", "--samples", "--threads", "--t0", "--eta-index"})
    for (const char* value : {"many", "5x", "1.5", "99999999999999999999999"})
      if (std::string(option) != "--eta-index" || (value[0] != '9' && value[0] != '1'))
        expect_refusal(tiny_with(option, value), 2, {option, value});
  for (const char* value : {"-1", "many", "5x", "99999999999999999999999"})
    expect_refusal(tiny_with("--seed", value), 2, {std::string("--seed ") + value, "integer"});
}

TEST_F(CliRefusal, UnknownCommand) {
  expect_refusal(words_of("paint"), 2, {"paint", "--help"});
  expect_refusal(words_of("reprodcue --periods 5"), 2, {"reprodcue", "nearest is reproduce", "`pandora --help`"});
  expect_refusal(words_of("oracle chek"), 2, {"oracle chek", "nearest is check", "`pandora oracle --help`"});
}

TEST_F(CliRefusal, UnknownWords) {
  expect_refusal(words_of("reproduce --polcy dow"), 2, {"--polcy", "nearest is --policy", "--help"});
  expect_refusal(words_of("oracle check --solve=5"), 2, {"--solve=5", "nearest is --solves", "--help"});
  expect_refusal(words_of("reproduce table1"), 2, {"table1", "--help"});
  expect_refusal({}, 2, {"subcommand", "--help"});
  expect_refusal(words_of("reproduce --periods"), 2, {"--periods", "--help"});
}

TEST_F(CliRefusal, TableOfAnotherRegime) {
  expect_refusal(words_of("reproduce --table 1 --regime B"), 2, {"--table 1", "--regime A"});
  expect_refusal(words_of("reproduce --table 2 --regime A,B"), 2, {"--table 2", "--regime B"});
}

TEST_F(CliRefusal, FoldersThatCannotTakeResults) {
  std::ofstream(work() / "file") << "mine";
  expect_refusal(tiny({"--out", "file"}), 2, {"--out file", "name a folder"});
  expect_refusal(tiny({"--out", "file", "--force"}), 2, {"--out file", "name a folder"});
  expect_refusal(tiny({"--out", "/proc/pandora"}), 2, {"--out /proc/pandora", "writable folder"});
  EXPECT_EQ(test::read_file(work() / "file"), "mine");
  if (::geteuid() == 0) return;  // root may write despite permissions
  fs::create_directory(work() / "locked");
  fs::permissions(work() / "locked", fs::perms::owner_read | fs::perms::owner_exec);
  expect_refusal(tiny({"--out", "locked"}), 2, {"--out locked", "writable folder"});
}

}  // namespace
}  // namespace pandora
