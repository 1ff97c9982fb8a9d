#include "host/studies/study/price_list.hpp"

#include "tests/host/folder_test.hpp"
#include "tests/host/studies/study/study_texts.hpp"

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
    return test::refusal([&] { read(text); });
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

TEST_F(PriceListTest, TakesPricesOfPartsAndLitellmsNames) {
  const TokenPrices prices = read(
      "a = { in = 1.4, out = 4.4, cached = 0.26, cache_write = 1.75, reasoning = 5, batch = [0.7, 2.2] }\n"
      "b = { in = 2, out = 8, batch = 0.5 }\n"
      "[c]\ninput_cost_per_token = 1.4e-06\noutput_cost_per_token = 4.4e-06\ncache_read_input_token_cost = 2.6e-07\n"
      "mode = \"chat\"\nmax_tokens = 8192\n");
  EXPECT_EQ(prices.at("a").cached, 0.26);
  EXPECT_EQ(prices.at("a").cache_write, 1.75);
  EXPECT_EQ(prices.at("a").reasoning, 5.0);
  EXPECT_EQ(prices.at("a").batch_in, 0.7);
  EXPECT_EQ(prices.at("b").batch_out, 4.0);
  EXPECT_EQ(prices.at("c").in, 1.4);
  EXPECT_EQ(prices.at("c").cached, 0.26);
}

TEST_F(PriceListTest, RefusesWhatIsNoPrice) {
  for (const char* line : {"small = 3", "small = [1]", "small = [1, 2, 3]", "small = [1, \"2\"]", "small = { in = 1 }",
                           "small = { in = 1, output = 2 }", "gpt-4.1 = [1, 2]"})
    EXPECT_THAT(refusal(std::string("\n") + line), HasSubstr("prices.toml:2: the price of")) << line;
  for (const char* price : {"[1, 2]", "{ in = 2, out = 8 }"})
    EXPECT_THAT(refusal(std::string("gpt-4.1-mini.x = ") + price),
                HasSubstr("put a name with a dot in quotes, \"gpt-4.1-mini.x\" = ..."));
  EXPECT_THAT(refusal(""), HasSubstr("has no price"));
  EXPECT_THAT(refusal("[prices]"), HasSubstr("has no price"));
  EXPECT_THAT(refusal("x = "), HasSubstr("prices.toml:1: not TOML"));
  EXPECT_THAT(refusal("[!]"), HasSubstr("not TOML"));
}

}  // namespace
}  // namespace pandora
