#include "host/base/split.hpp"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace pandora
