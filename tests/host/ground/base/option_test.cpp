// Options in messages: what() spells them as on the command line. For other readers they stay marked.
#include <gtest/gtest.h>

#include "host/ground/base/fail.hpp"
#include "host/ground/base/printable.hpp"

namespace pandora {
namespace {

TEST(OptionTest, AnErrorSpellsOptionsAsTheCommandLineDoes) {
  const std::string message =
      fmt::format("{}: is much; give {}, {} or {} to `pandora run --plan`", option("max-usd", 4), option("out", "a b"),
                  option("resume"), option("", "null"));
  const Error error(ExitCode::usage, message);
  EXPECT_STREQ(error.what(), "--max-usd 4: is much; give --out a b, --resume or null to `pandora run --plan`");
  EXPECT_EQ(error.marked(), message);
}

TEST(OptionTest, AnErrorOfAnErrorKeepsTheMarks) {
  try {
    try {
      fail(ExitCode::usage, "{}: is a file", option("out", "x"));
    } catch (const Error& error) {
      fail(error.code(), "study.toml: {}", printable(error.marked()));
    }
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "study.toml: --out x: is a file");
    EXPECT_EQ(error.marked(), "study.toml: " + option("out", "x") + ": is a file");
  }
}

}  // namespace
}  // namespace pandora
