// Studies that would overflow the parser's stack or fill the memory are refused before the parser sees them.
#include "host/studies/study/toml_text.hpp"

#include <gmock/gmock.h>

#include "host/studies/study/study_config.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {
using testing::HasSubstr;

std::string repeated(const std::string& text, int n) {
  std::string out;
  for (int k = 0; k < n; ++k) out += text;
  return out;
}

// The error's text; empty if there is none.
std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_LT(std::string(error.what()).size(), 400u);
    return error.what();
  }
  return "";
}
std::string refusal(const std::string& text) {
  return error_of([&] { StudyConfig::parse(text, "s.toml"); });
}

TEST(TomlText, DepthOfEveryKindIsLimited) {
  const std::string keys = repeated("a.", 45000) + "a";
  for (const std::string& text :
       {keys + " = 1", "[" + keys + "]", "[[" + keys + "]]", "x = {" + keys + " = 1}", "x = [" + repeated("[", 45000),
        "x = " + repeated("{a = ", 45000), "x = [\"\"\"a\"\"\"\", {" + keys + " = 1}]",
        "x = ['''a''''', {" + keys + " = 1}]", "x = [ # [[[\n" + repeated("[\n", 40)}) {
    EXPECT_THAT(refusal("\n" + text), HasSubstr("nest deeper than 32")) << text.substr(0, 100);
  }
  EXPECT_THAT(refusal("\n\n" + keys + " = 1"), testing::StartsWith("s.toml:3: "));
}

TEST(TomlText, WhatIsNoDepthCountsForNothing) {
  const std::string points = repeated(".", 1000), open = repeated("[{", 1000);
  for (const std::string& text :
       {"title = \"" + points + open + "\"", "title = '" + points + open + "'",
        "# " + points + open + "\ntitle = \"a\"", "title = \"\"\"\n" + points + open + "\\\"\"\"\"\"",
        "title = \"\\\"" + open + "\"", "hyperparameters.c_rho = [" + repeated("0.5, 1.5, 2.5, ", 30) + "]",
        repeated("# a.b.c\n[dimensions]\n", 1) + "boxes = 3 # " + points}) {
    EXPECT_THAT(refusal(text), Not(HasSubstr("nest deeper"))) << text.substr(0, 100);
  }
  EXPECT_THAT(refusal("x = [" + repeated("[1.5, 2.5],\n", 1000) + "]"), HasSubstr("unknown key x"));
}

TEST(TomlText, AStudyHasALimitedSize) {
  EXPECT_EQ(refusal("# " + std::string(kMostStudyBytes - 2, 'x')), "");
  EXPECT_THAT(refusal("# " + std::string(kMostStudyBytes, 'x')),
              HasSubstr("has 1048578 bytes, but a study has at most 1048576 (1 MiB)"));
}

// Otherwise the prefixes of long names would take quadratic memory.
TEST(TomlText, KeysHaveALimitedLength) {
  const std::string name(500000, 'k');
  EXPECT_THAT(refusal("[" + name + "]\n" + repeated("a = 1\n", 1)), HasSubstr("a key of 500000 characters"));
  EXPECT_THAT(refusal("[a]\n" + name + " = 1"), HasSubstr("no key of a study has more than 200"));
}

TEST(TomlText, ValuesOfOptionsAreLimitedToo) {
  StudyConfig config;
  const auto refusal_of = [&config](const std::string& key, const std::string& word) {
    return error_of([&] { config.set(key, word, "--set " + key + "=" + word); });
  };
  EXPECT_THAT(refusal_of("T0", repeated("[", 45000)), HasSubstr("nest deeper than 32"));
  EXPECT_THAT(refusal_of("T0", "{" + repeated("a.", 45000) + "a = 1}"), HasSubstr("nest deeper than 32"));
  EXPECT_THAT(refusal_of("title", std::string(2 * kMostStudyBytes, 'x')), HasSubstr("1 MiB"));
  EXPECT_THAT(refusal_of(repeated("a.", 45000), "1"), HasSubstr("a key of 90000 characters"));
  EXPECT_EQ(refusal_of("title", repeated("a.", 1000)), "");
}

}  // namespace
}  // namespace pandora
