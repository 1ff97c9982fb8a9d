#include "host/studies/study/price_list.hpp"

#include <gmock/gmock.h>

#include "pandora/error.hpp"
#include "tests/host/folder_test.hpp"

namespace pandora {
namespace {

using testing::HasSubstr;

class PriceListTest : public test::FolderTest {
 protected:
  TokenPrices read(const std::string& text) {
    std::ofstream(base_ / "prices.toml", std::ios::binary) << text;
    return read_price_list(base_ / "prices.toml");
  }
  std::string refusal(const std::string& text) {
    try {
      (void)read(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      return error.what();
    }
    return "";
  }
};

TEST_F(PriceListTest, TakesPairsInBothForms) {
  for (const char* head : {"", "[prices]\n"}) {
    const TokenPrices prices = read(std::string(head) + "\"gpt-4.1\" = { in = 2, out = 8.0 }\nsmall = [0.15, 1]\n");
    ASSERT_EQ(prices.size(), 2u);
    EXPECT_EQ(prices.at("gpt-4.1").in, 2.0);
    EXPECT_EQ(prices.at("gpt-4.1").out, 8.0);
    EXPECT_EQ(prices.at("small").in, 0.15);
    EXPECT_EQ(prices.at("small").out, 1.0);
  }
}

TEST_F(PriceListTest, RefusesWhatIsNoPrice) {
  for (const char* line : {"small = 3", "small = [1]", "small = [1, 2, 3]", "small = [1, \"2\"]", "small = { in = 1 }",
                           "small = { in = 1, output = 2 }", "gpt-4.1 = [1, 2]"})
    EXPECT_THAT(refusal(std::string("\n") + line), HasSubstr("prices.toml:2: the price of")) << line;
  EXPECT_THAT(refusal("gpt-4.1 = [1, 2]"), HasSubstr("a name with a dot stands in quotes"));
  EXPECT_THAT(refusal(""), HasSubstr("has no price"));
  EXPECT_THAT(refusal("[prices]"), HasSubstr("has no price"));
  EXPECT_THAT(refusal("x = "), HasSubstr("prices.toml:1: not TOML"));
  EXPECT_THAT(refusal("[!]"), HasSubstr("not TOML"));
}

}  // namespace
}  // namespace pandora
