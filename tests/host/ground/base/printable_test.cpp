#include "host/ground/base/printable.hpp"

#include <gmock/gmock.h>

namespace pandora {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Printable, PlainTextStays) {
  EXPECT_EQ(printable("a study: 1.5 ± 2, θ̂, 日本, 🎲"), "a study: 1.5 ± 2, θ̂, 日本, 🎲");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, WhatATerminalObeysIsEscaped) {
  EXPECT_EQ(printable("a\033[31mb\007"), "a\\x1b[31mb\\x07");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\\u{9b}31m");                                          // CSI as one character
  EXPECT_EQ(printable("\xE2\x80\xAEtxt.exe"), "\\u{202e}txt.exe");  // right to left
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Printable, OneLineIsOneLine) {
  EXPECT_EQ(printable("a\nb\r\nc\td\xE2\x80\xA8"
                      "e"),
            "a b  c d\\u{2028}e");
  EXPECT_EQ(printable_lines("a\nb\r\nc\033\n"), "a\nb \nc\\x1b\n");
}

TEST(Printable, WhatIsNotUtf8IsEscaped) {
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("\xC3"), "\\xc3");                    // ends too early
  EXPECT_EQ(printable("\xC0\xAF"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(Printable, LongTextsLoseTheirMiddle) {
  const std::string text(5000000, 'x');
  EXPECT_EQ(printable("begin " + text + " end", 20), "begin xxxx...(4999990 bytes left out)...xxxxxx end");
  EXPECT_LT(printable(std::string(5000000, '\xff'), 1000).size(), 4100u);
  std::string dice;
  for (int k = 0; k < 1000; ++k) dice += "🎲";
  for (std::size_t most = 5; most < 15; ++most) EXPECT_EQ(printable(dice, most).find('\\'), std::string::npos) << most;
}

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
