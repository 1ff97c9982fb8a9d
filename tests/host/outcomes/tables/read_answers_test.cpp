// Everything that an answer may have beside its quality: scales, tokens at prices, free calls, latencies, several
// answers. Also the parts of a file that are not used.
#include "tests/host/outcomes/tables/trace_files.hpp"

namespace pandora {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class ReadAnswersTest : public test::TraceTest {
 protected:
  std::string usage(const TraceOptions& options) {
    return refusal_of([&] { (void)read("a,a|cost\n1,1\n", options); }, ExitCode::usage);
  }
};

TEST_F(ReadAnswersTest, StatedRangesBecomeZeroToOne) {
  const TraceOptions options{.scale = {{"quality", 0, 100}, {"score", 1, 5}, {"score:b", -1, 1}}};
  for (const char* text : {"a,a|cost,a|score,a|score_b,a|score_c\n25,2,4,-1,0.5\n100,2,1,0.5,1\n",
                           "prompt_id,model,reward,cost,score,score_b,score_c\n1,a,25,2,4,-1,0.5\n2,a,100,2,1,0.5,1\n",
                           R"({"models": {"a": {"quality": 25, "cost": 2, "score": 4, "score_b": -1, "score_c": 0.5}}}
{"models": {"a": {"quality": 100, "cost": 2, "score": 1, "score_b": 0.5, "score_c": 1}}})"}) {
    const TraceTable table = read(text, options);
    EXPECT_THAT(table.quality, ElementsAre(0.25, 1));
    EXPECT_THAT(table.cost, ElementsAre(2, 2));
    EXPECT_THAT(find_score(table, "score").values, ElementsAre(0.75, 0));
    EXPECT_THAT(find_score(table, "b").values, ElementsAre(0, 0.75));
    EXPECT_THAT(find_score(table, "c").values, ElementsAre(0.5, 1));
  }
}

TEST_F(ReadAnswersTest, WhatLiesOutsideAStatedRangeIsRefused) {
  EXPECT_EQ(refusal("a,a|cost,a|score\n1,1,6\n", {.scale = {{"score", 1, 5}}}),
            "row 1 (line 2), column \"a|score\": 6 is outside [1, 5], the stated range (scale, --scale)");
  EXPECT_THAT(refusal("a,a|cost\n1,1\n-1,1\n", {.scale = {{"quality", 0, 100}}}), HasSubstr("-1 is outside [0, 100]"));
  EXPECT_THAT(refusal("a,a|cost,a|score\n1,1,4\n"), HasSubstr("state theirs (scale, --scale), such as score=1:5"));
  EXPECT_EQ(refusal("a,a|cost,a|score_good\n1,1,1\n", {.scale = {{"score:god", 1, 5}}}),
            "has no score \"score:god\"; the nearest is score_good");
  EXPECT_THAT(usage({.scale = {{"score", 5, 1}}}), StartsWith("scale score=5:1: is no range"));
  EXPECT_THAT(usage({.scale = {{"score", 1, INFINITY}}}), HasSubstr("is no range"));
  EXPECT_THAT(usage({.scale = {{"cost", 0, 5}}}), StartsWith("scale cost=0:5: names neither quality nor a judge"));
  EXPECT_THAT(usage({.scale = {{"quality", 0, 5}, {"reward", 0, 4}}}), HasSubstr("is given twice"));
}

TEST_F(ReadAnswersTest, TokensAtPricesAreCosts) {
  const TraceOptions options{.prices = {{"a", {0.15, 0.6}}, {"b", {1, 2}}, {"other", {3, 3}}}};
  for (const char* text :
       {"prompt_id,a,a|prompt_tokens,a|completion_tokens,b,b|prompt_tokens,b|completion_tokens\n"
        "p,1,1000,100,0,2000,500\n",
        "prompt_id,model,quality,prompt_tokens,completion_tokens\np,a,1,1000,100\np,b,0,2000,500\n",
        R"({"prompt_id": "p", "model": "a", "quality": 1, "prompt_tokens": 1000, "completion_tokens": 100}
{"prompt_id": "p", "model": "b", "quality": 0, "prompt_tokens": 2000, "completion_tokens": 500})",
        R"({"id": "p", "models": {"a": {"quality": 1, "prompt_tokens": 1000, "completion_tokens": 100}, )"
        R"("b": {"quality": 0, "prompt_tokens": 2000, "completion_tokens": 500}}})"}) {
    const TraceTable table = read(text, options);
    EXPECT_THAT(table.cost, ElementsAre((1000 * 0.15 + 100 * 0.6) / 1e6, 3e-3));
    EXPECT_THAT(table.notes, IsEmpty());
    EXPECT_THAT(table.columns, IsEmpty());
  }
}

TEST_F(ReadAnswersTest, ACostThatStandsWinsAndIsTold) {
  const TraceTable table =
      read("prompt_id,model,quality,cost,prompt_tokens,completion_tokens\np,a,1,7,10,10\nq,a,1,,10,10\nr,a,1,5,,\n",
           {.prices = {{"a", {1, 1}}}});
  EXPECT_THAT(table.cost, ElementsAre(7, 2e-5, 5));
  EXPECT_THAT(table.notes,
              ElementsAre("1 of 3 answers have a cost beside their tokens: the cost is used, not the prices"));
  EXPECT_THAT(read("a,a|cost\n1,1\n", {.prices = {{"a", {1, 1}}}}).notes,
              ElementsAre("prices are not used: no answer has prompt_tokens and completion_tokens"));
}

TEST_F(ReadAnswersTest, CachedTokensHaveAPriceOfTheirOwn) {
  const std::string counts = R"("prompt_tokens": 27147, "completion_tokens": 351)";
  const std::string head = R"({"prompt_id": "p", "model": "a", "quality": 1, )";
  TokenPrice price{1.4, 4.4};
  const double plain = dollars_of(price, {27147, 351});
  EXPECT_EQ(plain, (27147 * 1.4 + 351 * 4.4) / 1e6);  // exact to the last digit
  price.cached = 0.26;
  for (const std::string cached :
       {R"("cached_tokens": 27146)", R"("cache_read_input_tokens": 27146)",
        R"("prompt_tokens_details": {"cached_tokens": 27146, "audio_tokens": 0})",
        R"("usage": {"cache_read_input_tokens": 27146, "prompt_tokens_details": {"cached_tokens": 27146}})",
        R"("prompt_tokens_details.cached_tokens": 27146, "completion_tokens_details": null)"}) {
    const std::string text = head + counts + ", " + cached + "}";
    const TraceTable table = read(text, {.prices = {{"a", price}}});
    EXPECT_NEAR(table.cost[0], 0.00860376, 1e-12) << text;
    EXPECT_THAT(table.notes, IsEmpty());
    EXPECT_THAT(table.columns, IsEmpty());
    const TraceTable without = read(text, {.prices = {{"a", {1.4, 4.4}}}});
    EXPECT_EQ(without.cost[0], plain);
    EXPECT_THAT(without.notes, ElementsAre(StartsWith("cached tokens of 1 answers are priced as other tokens")));
  }
  const std::string csv = "prompt_id,a,a|prompt_tokens,a|completion_tokens,a|cached_tokens\np,1,27147,351,27146\n";
  EXPECT_NEAR(read(csv, {.prices = {{"a", price}}}).cost[0], 0.00860376, 1e-12);
  EXPECT_THAT(
      refusal(head + R"("prompt_tokens": 1, "completion_tokens": 1, "cached_tokens": 2})", {.prices = {{"a", price}}}),
      HasSubstr("the answer of model \"a\" has more cached tokens than prompt_tokens"));
}

TEST_F(ReadAnswersTest, ReasoningThatOnlyTheTotalShowsIsPriced) {
  const std::string line = R"({"prompt_id": "p", "model": "a", "quality": 1, "prompt_tokens": 200, )"
                           R"("completion_tokens": 100, "total_tokens": 1300})";
  const TraceTable table = read(line, {.prices = {{"a", {0.2, 0.5}}}});
  EXPECT_NEAR(table.cost[0], 0.00059, 1e-12);
  EXPECT_THAT(table.notes,
              ElementsAre(StartsWith("total_tokens of 1 answers exceed prompt_tokens and completion_tokens, "
                                     "by 1000 on average")));
  const TokenPrice thoughts{.in = 0.2, .out = 0.5, .reasoning = 2.0};
  EXPECT_NEAR(read(line, {.prices = {{"a", thoughts}}}).cost[0], (200 * 0.2 + 100 * 0.5 + 1000 * 2.0) / 1e6, 1e-12);
}

TEST(TokenPriceTest, EveryPartHasItsPrice) {
  const TokenPrice price{
      .in = 1.0, .out = 10.0, .cached = 0.1, .cache_write = 1.25, .reasoning = 20.0, .batch_in = 0.5, .batch_out = 5.0};
  TokenUsage usage{.prompt = 1000, .completion = 100, .cached = 400, .cache_write = 200, .reasoning = 30};
  EXPECT_NEAR(dollars_of(price, usage), (400 * 1.0 + 400 * 0.1 + 200 * 1.25 + 70 * 10.0 + 30 * 20.0) / 1e6, 1e-15);
  const double alone = dollars_of(price, usage);
  usage.batch = 1;
  EXPECT_NEAR(dollars_of(price, usage), alone / 2, 1e-15);
  usage.batch = 0;
  usage.total = 1130;  // tokens of thought in addition to the completion
  EXPECT_NEAR(dollars_of(price, usage) - alone, 30 * 10.0 / 1e6, 1e-15);
  EXPECT_EQ(usage.fault(), nullptr);
  usage.reasoning = 131;
  EXPECT_THAT(usage.fault(), HasSubstr("more reasoning_tokens"));
}

TEST(TokenPriceTest, NamesAreOursOrLitellms) {
  using Named = std::vector<std::pair<std::string, double>>;
  const auto ours = price_named(Named{{"in", 1.4}, {"out", 4.4}, {"cached", 0.26}, {"batch", 0.5}});
  const auto theirs = price_named(Named{{"input_cost_per_token", 1.4e-6},
                                        {"output_cost_per_token", 4.4e-6},
                                        {"cache_read_input_token_cost", 2.6e-7},
                                        {"input_cost_per_token_batches", 7e-7},
                                        {"output_cost_per_token_batches", 2.2e-6},
                                        {"max_tokens", 8192}});
  ASSERT_TRUE(ours && theirs);
  for (const auto member :
       {&TokenPrice::in, &TokenPrice::out, &TokenPrice::cached, &TokenPrice::batch_in, &TokenPrice::batch_out})
    EXPECT_EQ((*ours).*member, (*theirs).*member);
  EXPECT_FALSE(price_named(Named{{"in", 1}}));
  EXPECT_FALSE(price_named(Named{{"in", 1}, {"out", 1}, {"cache", 1}}));
}

TEST(TokenPriceTest, LongPromptsHavePricesOfTheirOwn) {
  using Named = std::vector<std::pair<std::string, double>>;
  const auto price = price_named(Named{{"cache_read_input_token_cost", 1e-7},
                                       {"cache_creation_input_token_cost_above_1hr", 9e-6},
                                       {"input_cost_per_token", 1e-6},
                                       {"input_cost_per_token_above_200k_tokens", 2e-6},
                                       {"input_cost_per_token_above_32k_tokens", 1.5e-6},
                                       {"input_cost_per_token_above_200k_tokens_priority", 9e-6},
                                       {"output_cost_per_token", 4e-6},
                                       {"output_cost_per_token_above_200k_tokens", 6e-6},
                                       {"output_cost_per_token_above_200k_tokens_batches", 3e-6},
                                       {"output_cost_per_token_above_nank_tokens", 9e-6}});
  ASSERT_TRUE(price);
  const auto dollars = [&](double prompt, double cached, double batch) {
    return dollars_of(*price, {.prompt = prompt, .completion = 1000, .cached = cached, .batch = batch});
  };
  EXPECT_NEAR(dollars(32000, 0, 0), 0.032 + 0.004, 1e-12);
  EXPECT_NEAR(dollars(32001, 0, 0), 32001 * 1.5e-6 + 0.004, 1e-12);
  EXPECT_NEAR(dollars(200000, 0, 0), 0.3 + 0.004, 1e-12);
  EXPECT_NEAR(dollars(300000, 0, 0), 0.6 + 0.006, 1e-12);  // for the whole call, not only above the limit
  EXPECT_NEAR(dollars(300000, 100000, 0), 0.4 + 0.01 + 0.006, 1e-12);
  EXPECT_NEAR(dollars(300000, 0, 1), 0.6 + 0.003, 1e-12);
  EXPECT_FALSE(price_named(Named{{"input_cost_per_token_above_200k_tokens", 1}, {"output_cost_per_token", 1}}));
  EXPECT_FALSE(price_named(Named{{"in", 1}, {"out", 1}, {"in_above_200k_tokens", 2}}));  // only LiteLLM's names count
}

TEST_F(ReadAnswersTest, TokensWithoutAPriceAreRefused) {
  const std::string text = "prompt_id,model,quality,prompt_tokens,completion_tokens\np,gpt-4,1,10,10\n";
  EXPECT_EQ(refusal(text, {.prices = {{"gpt-5", {1, 1}}}}),
            "model \"gpt-4\" has tokens and no cost, and no price is given for it; the nearest is gpt-5; add it to the "
            "prices");
  EXPECT_THAT(refusal(text), HasSubstr("a column cost is missing, or prompt_tokens and completion_tokens and prices"));
  EXPECT_EQ(refusal("prompt_id,model,quality,cost,prompt_tokens\np,a,1,1,10\n", {.prices = {{"a", {1, 1}}}}),
            "has prompt_tokens and no completion_tokens; a price needs both");
  EXPECT_THAT(
      refusal("prompt_id,model,quality,prompt_tokens,completion_tokens\np,a,1,-1,10\n", {.prices = {{"a", {1, 1}}}}),
      HasSubstr("column \"prompt_tokens\": -1 is negative"));
  EXPECT_THAT(
      refusal("prompt_id,model,quality,prompt_tokens,completion_tokens\np,a,1,1,1e9\n", {.prices = {{"a", {1, 1e6}}}}),
      HasSubstr("cost more than a million dollars"));
  EXPECT_THAT(usage({.prices = {{"a", {-1, 0}}}}), StartsWith("prices: -1 of model \"a\": give dollars for a million"));
}

TEST_F(ReadAnswersTest, FreeCallsAreTakenWhereTheyAreAllowed) {
  const std::string text = "a,a|cost\n1,1\n1,0\n";
  EXPECT_THAT(refusal(text), HasSubstr("if answers came from a cache, allow free calls (free_calls, --free-calls"));
  EXPECT_THAT(read(text, {.free_calls = true}).cost, ElementsAre(1, 0));
  EXPECT_EQ(read(text, {.missing = MissingCells::drop, .free_calls = true}).rows(), 2u);
}

TEST_F(ReadAnswersTest, LatenciesAreKeptWhereThereAreSome) {
  const TraceTable none = read("prompt_id,a,a|cost\np,1,1\nq,1,1\n");
  EXPECT_THAT(none.latency, IsEmpty());
  for (const char* text :
       {"prompt_id,a,a|cost,b,b|cost,b|latency\np,1,1,1,1,0.5\nq,1,1,1,1,\n",
        "prompt_id,model,quality,cost,latency\np,a,1,1,\np,b,1,1,0.5\nq,a,1,1,\nq,b,1,1,\n",
        R"({"id": "p", "models": {"a": {"quality": 1, "cost": 1}, "b": {"quality": 1, "cost": 1, "latency": 0.5}}}
{"id": "q", "models": {"a": {"quality": 1, "cost": 1}, "b": {"quality": 1, "cost": 1}}})"}) {
    const TraceTable table = read(text);
    EXPECT_THAT(table.latency,
                testing::Pointwise(testing::NanSensitiveDoubleEq(), std::vector<double>{NAN, 0.5, NAN, NAN}));
    EXPECT_EQ(select_models(table, {"b"}).latency[0], 0.5);
    EXPECT_EQ(select_rows(table, std::vector<std::size_t>{1, 0}).latency[3], 0.5);
    EXPECT_NE(content_digest(table), content_digest(read("prompt_id,a,a|cost,b,b|cost\np,1,1,1,1\nq,1,1,1,1\n")));
    EXPECT_THAT(select_models(none, {"a"}).latency, IsEmpty());
  }
  EXPECT_THAT(refusal("a,a|cost,a|latency\n1,1,-2\n"), HasSubstr("column \"a|latency\": -2 is negative"));
}

TEST_F(ReadAnswersTest, NumberedAnswersAreRowsOfOnePrompt) {
  for (const char* text :
       {"prompt_id,answer,model,quality,cost\np,0,a,1,1\np,1,a,0,2\nq,0,a,1,1\np,1,b,0,4\nq,0,b,1,3\np,0,b,1,3\n",
        "prompt_id,answer,a,a|cost,b,b|cost\np,0,1,1,1,3\np,1,0,2,0,4\nq,0,1,1,1,3\n",
        R"({"id": "p", "answer": 0, "models": {"a": {"quality": 1, "cost": 1}, "b": {"quality": 1, "cost": 3}}}
{"id": "p", "answer": 1, "models": {"a": {"quality": 0, "cost": 2}, "b": {"quality": 0, "cost": 4}}}
{"id": "q", "answer": 0, "models": {"a": {"quality": 1, "cost": 1}, "b": {"quality": 1, "cost": 3}}})"}) {
    const TraceTable table = read(text);
    ASSERT_EQ(table.rows(), 3u);
    EXPECT_EQ(table.prompts[0], "p");
    EXPECT_EQ(table.prompts[1], "p");
    EXPECT_THAT(table.cost, ElementsAre(1, 3, 2, 4, 1, 3));
    EXPECT_EQ(group_prompts(table).count, 2u);
    EXPECT_THAT(table.notes, IsEmpty());
  }
}

TEST_F(ReadAnswersTest, AColumnOfThatNameThatHoldsSomethingElseIsAsAnyOther) {
  EXPECT_THAT(read("prompt_id,answer,model,quality,cost\np,x,a,1,1\np,y,b,1,1\n").notes,
              ElementsAre(HasSubstr("column \"answer\" differs")));
  const TraceTable same = read("prompt_id,answer,model,quality,cost\np,3,a,1,1\np,3,b,1,1\nq,4,a,1,1\nq,4,b,1,1\n");
  EXPECT_EQ(same.rows(), 2u);
  EXPECT_THAT(find_column(same, "answer")->numbers, ElementsAre(3, 4));
  EXPECT_THAT(same.notes, IsEmpty());
  EXPECT_THAT(refusal("prompt_id,answer,a,a|cost\np,0,1,1\nq,yes,1,1\n"),
              StartsWith("row 2 (line 3), column \"answer\": is not the number of an answer"));
  EXPECT_EQ(refusal("prompt_id,answer,a,a|cost\np,0,1,1\np,0,1,1\n"),
            "row 2: answer 0 of the prompt \"p\" occurs twice; number the answers of a prompt 0, 1, 2, ...");
}

TEST_F(ReadAnswersTest, FurtherRowsAreAnswersWhereTheyAreAllowed) {
  const std::string text = "prompt_id,model,quality,cost\np,a,1,1\np,a,0,2\np,b,0.5,3\nq,a,1,1\np,b,0.25,4\nq,b,1,1\n";
  EXPECT_THAT(refusal(text), HasSubstr("already; a model answers a prompt once, unless rows are numbered by a column "
                                       "answer or repeats are allowed"));
  TraceOptions options{.repeats = true};
  const TraceTable table = read(text, options);
  EXPECT_THAT(table.quality, ElementsAre(1, 0.5, 0, 0.25, 1, 1));
  EXPECT_EQ(group_prompts(table).count, 2u);
  options.models = {"b"};
  EXPECT_THAT(read(text, options).quality, ElementsAre(0.5, 1, 0.25));
  EXPECT_THAT(refusal("prompt_id,answer,model,quality,cost\np,7,b,1,1\np,7,b,0,1\n", options),
              HasSubstr("a quality for answer 7 of the prompt \"p\" already; number a model's answers to a prompt"));
}

TEST_F(ReadAnswersTest, WhatIsNotUsedIsNamed) {
  EXPECT_THAT(read(",prompt_id,a,a|cost,a|text,a|prompt_tokens,a|quality\n0,p,1,1,x,5,3\n").notes,
              ElementsAre("not used: \"a column without a name\", \"text\", \"prompt_tokens\", \"a|quality\""));
  EXPECT_THAT(read(R"({"models": {"a": {"quality": 1, "cost": 1, "near_best": true, "tokens": [1]}}})").notes,
              ElementsAre("not used: \"near_best\", \"tokens\""));
  EXPECT_THAT(read("prompt_id,a,a|cost\np,1,1\n").notes, IsEmpty());
}

}  // namespace
}  // namespace pandora
