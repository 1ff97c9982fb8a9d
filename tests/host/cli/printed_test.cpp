// Text from outside cannot control the terminal.
#include <gmock/gmock.h>

#include <array>

#include "tests/host/run_program.hpp"

namespace pandora {
namespace {
using test::ProgramResult;
using testing::HasSubstr;
using Printed = test::ProgramTest;

// It has ESC, CSI as one character, a right-to-left override, a bell, and a byte that is no UTF-8.
const std::string kHostile =
    "\033[2J\xC2\x9B"
    "1m\xE2\x80\xAE\007\xff";

bool is_harmless(const std::string& text) {
  return std::ranges::none_of(std::array{"\033", "\xC2\x9B", "\xE2\x80\xAE", "\007", "\xff"},
                              [&](const char* bad) { return text.find(bad) != std::string::npos; });
}

TEST_F(Printed, HostileWordsAreEscapedInEveryError) {
  const std::vector<std::vector<std::string>> commands = {
      {kHostile},
      {"run", kHostile},
      {"run", "--" + kHostile},
      {"reproduce", "--set", kHostile},
      {"reproduce", "--set", kHostile + "=1"},
      {"reproduce", "--set", "title=" + kHostile},
      {"reproduce", "--set", "periods=" + kHostile},
      {"reproduce", "--environment", kHostile},
      {"reproduce", "--policy", kHostile},
      {"reproduce", "--table", kHostile},
      {"reproduce", "--backend", kHostile},
      {"reproduce", "--shard", kHostile},
      {"reproduce", "--resume", "--out", kHostile},
      {"merge", kHostile},
      {"show", kHostile},
      {"compare", kHostile},
      {"report", kHostile},
      {"lanes", kHostile},
      {"replay", kHostile, "--lane", kHostile},
      {"explain", kHostile, "--lane", "x", "--period", kHostile},
      {"oracle", kHostile},
      {"oracle", "grid", "--out", kHostile + "/x"},
  };
  for (const auto& words : commands) {
    std::vector<std::string> tiny = words;
    if (words[0] == "reproduce") tiny.insert(tiny.end(), {"--periods", "1", "--plan", "--samples", "1000"});
    const ProgramResult result = run(tiny);
    EXPECT_TRUE(is_harmless(result.out + result.err)) << testing::PrintToString(words) << result.out << result.err;
    EXPECT_LE(result.error_lines(), 1) << result.err;
  }
}

TEST_F(Printed, LongWordsAreCut) {
  std::ofstream(work() / "s.toml") << std::string(150, 'k') << " = 1\n";
  const ProgramResult unknown = run({"reproduce", "--set", std::string(100000, 'k') + "=1"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_LT(unknown.err.size(), 2500u);
  EXPECT_LT(run({std::string(100000, 'c')}).err.size(), 2500u);
  EXPECT_LT(run({"run", std::string(100000, 'f')}).err.size(), 2500u);
  EXPECT_LT(run({"run", "s.toml"}).err.size(), 1000u);
}

// A study may bring such names for environments in tables, for settings in headings, and for lanes.
TEST_F(Printed, NamesOfAStudyAreEscapedInTables) {
  std::ofstream(work() / "s.toml")
      << "title = \"\\u001b[2J\"\nperiods = 20\nreplications = 1\nregimes = [\"A\"]\nT0 = [0]\n"
         "environments = [\"gaussian\"]\npolicies = [\"query_all\"]\noracle.samples = 1000\n[output]\norder = false\n";
  const std::string made = output({"run", "s.toml", "--out", "v\033[2J", "--threads", "1"});
  EXPECT_TRUE(is_harmless(made)) << made;
  EXPECT_THAT(made, HasSubstr("v\\x1b[2J"));
  for (const char* command : {"show", "lanes", "compare"}) {
    const ProgramResult shown = run({command, "v\033[2J"});
    EXPECT_TRUE(is_harmless(shown.out + shown.err)) << shown.out << shown.err;
  }
}

}  // namespace
}  // namespace pandora
