// `pandora trace`, as its users meet it.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/host/run_program.hpp"

namespace pandora {
namespace {

using testing::HasSubstr;

class TraceCommand : public test::ProgramTest {
 protected:
  // A small model that is right in two of three, a large one that is nearly always, and a judge that does not know.
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
  nlohmann::json checked(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"trace", "check", "table.csv", "--format", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const test::ProgramResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return nlohmann::json::parse(result.out);
  }
};

TEST_F(TraceCommand, ChecksATable) {
  write_table();
  const test::ProgramResult result = run({"trace", "check", "table.csv"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  for (const char* part : {"60 prompts, 2 models", "Price 5:", "Price 50:", "best single", "fixed cascade",
                           "index policy", "bound", "routing can pay up to"})
    EXPECT_THAT(result.out, HasSubstr(part));
}

TEST_F(TraceCommand, GivesJson) {
  write_table();
  const nlohmann::json both = checked({});
  EXPECT_EQ(both["rows"], 60);
  EXPECT_EQ(both["models"], (std::vector<std::string>{"small", "large"}));
  ASSERT_EQ(both["prices"].size(), 2u);
  EXPECT_EQ(both["prices"][0]["price"], 5.0);
  EXPECT_THAT(both["prices"][0]["verdict"].get<std::string>(), testing::StartsWith("routing can pay up to"));
  const nlohmann::json judged = checked({"--price", "1.5", "--evaluator", "score"});
  ASSERT_EQ(judged["prices"].size(), 1u);
  EXPECT_THAT(judged["prices"][0]["verdict"].get<std::string>(),
              testing::StartsWith("no cascade is better than large with this evaluator (score) at price 1.5"));
  EXPECT_EQ(checked({"--models", "large"})["models"], std::vector<std::string>{"large"});
}

TEST_F(TraceCommand, DropsRowsWithMissingCellsWhereItIsAsked) {
  write_table();
  std::ofstream(work() / "table.csv", std::ios::app) << "60,small,0.5,0.0001,0.5\n";
  expect_refused({"trace", "check", "table.csv"}, 3, "table.csv");
  EXPECT_EQ(checked({"--missing", "drop"})["dropped"], 1);
  EXPECT_EQ(checked({"--missing", "drop"})["rows"], 60);
}

// A judge from 1 to 5, tokens in place of costs, answers of a cache, and two answers to a prompt.
TEST_F(TraceCommand, TakesALogAsItIs) {
  std::ofstream log(work() / "table.csv");
  log << "prompt_id;model;quality;score;prompt_tokens;completion_tokens;note\n";
  for (int row = 0; row < 30; ++row)
    for (const char* model : {"small", "large"})
      for (const char* note : {"first", "second"})
        log << row << ";" << model << ";0.5;" << 1 + row % 5 << ";" << (row == 3 ? 0 : 100) << ";0;" << note << "\n";
  log.close();
  std::ofstream(work() / "prices.toml") << "[prices]\nsmall = { in = 0.15, out = 0.6 }\n\"large\" = [2, 10]\n";
  const std::vector<std::string> all = {"--scale",      "score=1:5", "--prices",  "prices.toml",
                                        "--free-calls", "allowed",   "--repeats", "allowed"};
  const nlohmann::json found = checked(all);
  EXPECT_EQ(found["rows"], 60);
  EXPECT_EQ(found["prompts"], 30);
  const auto refused = [&](std::size_t without, int exit_code, const std::string& part) {
    std::vector<std::string> some = {"trace", "check", "table.csv"};
    for (std::size_t i = 0; i < all.size(); i += 2)
      if (i != without) some.insert(some.end(), {all[i], all[i + 1]});
    expect_refused(some, exit_code, part);
  };
  refused(0, 3, "such as score=1:5");
  refused(2, 3, "prompt_tokens and completion_tokens and prices");
  refused(4, 3, "free_calls");
  refused(6, 3, "repeats are allowed");
}

TEST_F(TraceCommand, RefusesWhatItIsNotGivenRight) {
  write_table();
  const auto refused = [&](std::vector<std::string> more, int exit_code, const std::string& part) {
    more.insert(more.begin(), {"trace", "check"});
    expect_refused(more, exit_code, part);
  };
  refused({"table.csv", "--format", "csv"}, 2, "--format csv");
  refused({"table.csv", "--missing", "guess"}, 2, "--missing guess");
  refused({"table.csv", "--free-calls", "yes"}, 2, "--free-calls yes: unknown; use refused or allowed");
  refused({"table.csv", "--scale", "score"}, 2, "--scale score: is no range; give NAME=LOW:HIGH");
  refused({"table.csv", "--scale", "score=5:1"}, 2, "scale score=5:1: is no range");
  refused({"table.csv", "--prices", "absent.toml"}, 2, "absent.toml: cannot be read");
  refused({"table.csv", "--price", "-1"}, 2, "price -1");
  refused({"table.csv", "--price", "5,nan"}, 2, "price nan");
  refused({"table.csv", "--price", "cheap"}, 2, "cheap");
  refused({"table.csv", "--price", ""}, 2, "--price \"\": is no number; give one or leave it out");
  refused({"table.csv", "--evaluator", "truth"}, 2, "evaluator truth");
  refused({"table.csv", "--evaluator", "score:gpt"}, 3, "gpt");
  refused({"table.csv", "--models", "huge"}, 3, "huge");
  refused({"absent.csv"}, 3, "absent.csv");
  refused({}, 2, "table");
  expect_refused({"trace"}, 2, "subcommand");
  expect_refused({"trace", "chek", "table.csv"}, 2, "trace chek: unknown command; the nearest is check");
  write_table(1);
  refused({"table.csv"}, 3, "at least 2 different prompts");
}

// `features` and `export` of a study of a table: nothing that is there is replaced unasked, no input at all.
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
  EXPECT_FALSE(std::filesystem::exists(work() / "new"));
}

}  // namespace
}  // namespace pandora
