// Routers that run: what they ask for, what they are without a model, and what their files say.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "pandora/cascade.hpp"
#include "pandora/error.hpp"
#include "tests/host/cascades/live/play.hpp"

namespace pandora {
namespace {

// psi = (1, x): below 0 "cheap" alone, above it "cheap" and, below 0.7, "dear".
CascadeOptions two_plans() {
  CascadeOptions options;
  options.models = {"dear", "cheap"};
  options.price = 2.0;
  options.evaluator = "score";
  options.index_features = 2;
  options.plans = {{{1}, {}}, {{1, 0}, {0.7}}};
  options.router = R"({"learner": "ridge", "quality": [0.5, 0.5, 0.0, 0.25], "dollars": [0.0, 0.0, 0.0, 0.0]})";
  return options;
}

constexpr float kLeft[] = {1.0f, -0.5f}, kRight[] = {1.0f, 0.5f};

TEST(LiveRouter, TheContextChoosesWhereItBeginsAndThresholdsGoOn) {
  Cascade cascade(two_plans());
  std::uint64_t request = cascade.begin(kLeft);
  EXPECT_FALSE(cascade.needs_score(request));
  cascade.observe(request, *cascade.next(request), {0.1, {}});  // nobody judged it
  EXPECT_FALSE(cascade.next(request).has_value());
  EXPECT_EQ(cascade.deploy(request), 1u);
  EXPECT_TRUE(std::isnan(cascade.explain(request).calls[0].quality));
  EXPECT_EQ(nlohmann::json::parse(cascade.explain_json(request))["calls"][0]["quality"], nullptr);
  cascade.feedback(request, 0.5);

  request = cascade.begin(kRight);
  EXPECT_TRUE(cascade.needs_score(request));
  test::expect_refused([&] { cascade.observe(request, 1, {0.1, {}}); }, "0 scores; the evaluator score shows 1");
  const CascadeExplanation explained = cascade.explain(request);
  EXPECT_NEAR(explained.models[1].prediction, 0.625, 1e-7);  // of the best plan that begins with it
  EXPECT_TRUE(std::isnan(explained.models[0].prediction));
  EXPECT_EQ(explained.models[1].score, 0.7);
  cascade.observe(request, 1, {0.1, {0.6}});
  EXPECT_EQ(cascade.next(request), std::optional<std::size_t>(0));
  const Cascade loaded = Cascade::parse(cascade.text(), "loaded");  // under way
  EXPECT_EQ(loaded.text(), cascade.text());
  cascade.observe(request, 0, {0.2, {0.5}});
  EXPECT_EQ(cascade.deploy(request), 1u);

  request = cascade.begin(kRight);
  cascade.observe(request, 1, {0.1, {0.75}});
  EXPECT_FALSE(cascade.next(request).has_value());
}

TEST(LiveRouter, WithoutAModelPlansGoOnWithTheOthers) {
  CascadeOptions options = two_plans();
  options.plans[0] = {{0}, {}};
  Cascade cascade(options);
  const std::uint64_t open = cascade.begin(kLeft);
  EXPECT_EQ(cascade.next(open), std::optional<std::size_t>(0));
  cascade.remove_model("dear");
  EXPECT_EQ(cascade.next(open), std::optional<std::size_t>(1));  // by the plan that is left
  EXPECT_EQ(cascade.options().plans[0].order.size(), 0u);
  EXPECT_EQ(cascade.options().plans[1].thresholds.size(), 0u);
  const std::uint64_t request = cascade.begin(kRight);
  EXPECT_FALSE(cascade.needs_score(request));
  Cascade loaded = Cascade::parse(cascade.text(), "loaded");
  EXPECT_EQ(loaded.text(), cascade.text());
  test::expect_refused([&] { loaded.remove_model("cheap"); }, "it calls cheap alone");
  EXPECT_EQ(loaded.text(), cascade.text());
  test::expect_refused([&] { loaded.add_model("new"); }, "the router does not say when to call new");
  test::expect_refused([&] { loaded.set_price(1.0); }, "a router holds for the price that it was fitted for");
}

// Programs of before read version 1 alone, and say so.
TEST(LiveRouter, ItsFileHasAVersionOfItsOwn) {
  const auto member = [](const CascadeOptions& options, const char* name) {
    return nlohmann::json::parse(Cascade(options).text())[name];
  };
  EXPECT_EQ(member(two_plans(), "version"), 2);
  EXPECT_EQ(member(two_plans(), "kind"), "routed");
  CascadeOptions alone = two_plans();
  alone.plans[1] = {{0}, {}};
  alone.evaluator = "none";
  EXPECT_EQ(member(alone, "kind"), "router");
  EXPECT_EQ(Cascade(alone).caution(), "");
  EXPECT_EQ(member(test::two_thresholds(), "version"), 1);
  EXPECT_FALSE(nlohmann::json::parse(Cascade(test::two_thresholds()).text()).contains("plans"));
}

TEST(LiveRouter, RefusesWhatContradictsItself) {
  const auto refused = [](auto change, const std::string& part) {
    CascadeOptions options = two_plans();
    change(options);
    test::expect_refused([&] { Cascade cascade(options); }, part);
  };
  refused([](CascadeOptions& o) { o.evaluator = "none"; }, "evaluator \"none\"");
  refused([](CascadeOptions& o) { o.order = {1}; }, "one of them alone");
  refused([](CascadeOptions& o) { o.plans = {{{}, {}}}; }, "one of which calls a model");
  refused([](CascadeOptions& o) { o.plans[0].order = {2}; }, "positions of models");
  refused([](CascadeOptions& o) { o.plans[1].thresholds = {}; }, "a threshold for each");
  refused([](CascadeOptions& o) { o.router = ""; }, "the router is not JSON");
  refused([](CascadeOptions& o) { o.index_features = 3; }, "too few or too many numbers");
}

}  // namespace
}  // namespace pandora
