#include <gmock/gmock.h>

#include "host/ground/base/printable.hpp"

namespace pandora {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Split, KeepsEmptyPiecesButForTheLast) {
  EXPECT_THAT(split("", ','), IsEmpty());
  EXPECT_THAT(split("a", ','), ElementsAre("a"));
  EXPECT_THAT(split(",a,,b c,", ','), ElementsAre("", "a", "", "b c"));
}

TEST(Split, WordsStandBetweenAnyNumberOfBlanks) {
  EXPECT_THAT(words_of(" \t\n"), IsEmpty());
  EXPECT_THAT(words_of("  one two\n\nthree "), ElementsAre("one", "two", "three"));
}

TEST(NumberOf, TakesTheWholeText) {
  EXPECT_EQ(number_of("1e3"), 1000.0);
  EXPECT_EQ(number_of("-0.5"), -0.5);
  for (const char* text : {"", "x", "1x", "1 ", "tracking", "geometric:1.5"}) EXPECT_EQ(number_of(text), std::nullopt);
}

}  // namespace
}  // namespace pandora
