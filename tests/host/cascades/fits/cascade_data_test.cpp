// Cascades on tables that real models made, where they are (../shared/data beside the repository).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "host/cascades/fits/fit_cascade.hpp"
#include "host/cascades/fits/frontier.hpp"
#include "host/cascades/fits/judge_cascade.hpp"
#include "host/outcomes/tables/read_trace.hpp"
#include "tests/host/cascades/fits/fitted_cascades.hpp"

namespace pandora {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class CascadeDataTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder_)) GTEST_SKIP() << folder_ << " is not here";
  }
  TraceTable read(const std::string& name) const { return read_trace(folder_ / (name + ".jsonl")); }
  static CascadeFitSettings settings(CascadeAim aim, const std::string& evaluator = "quality") {
    CascadeFitSettings out;
    out.aim = aim;
    out.evaluator = evaluator;
    out.indices = false;
    return out;
  }

  const std::filesystem::path folder_ = std::filesystem::path(PANDORA_SOURCE) / "../shared/data/llm_traces";
};

// The search that somebody writes in twenty lines: all orders of up to three models, thresholds from a short list.
struct Baseline {
  std::vector<std::size_t> order;
  std::vector<double> thresholds;
  double utility = -1e300;
};

// Means of quality and dollars.
std::pair<double, double> naive_walk(const TraceTable& table, const Baseline& b) {
  double quality = 0.0, dollars = 0.0;
  const std::size_t models = table.models.size();
  for (std::size_t row = 0; row < table.rows(); ++row) {
    double best = -1.0;
    for (std::size_t k = 0; k < b.order.size(); ++k) {
      const double q = table.quality[row * models + b.order[k]];
      dollars += table.cost[row * models + b.order[k]];
      best = std::max(best, q);
      if (k < b.thresholds.size() && q >= b.thresholds[k]) break;
    }
    quality += best;
  }
  const double rows = static_cast<double>(table.rows());
  return {quality / rows, dollars / rows};
}

Baseline baseline(const TraceTable& table, double price) {
  Baseline best;
  const std::size_t models = table.models.size();
  const std::vector<double> grid = {0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0};
  const auto consider = [&](const Baseline& b) {
    const auto [quality, dollars] = naive_walk(table, b);
    if (quality - price * dollars > best.utility) best = {b.order, b.thresholds, quality - price * dollars};
  };
  for (std::size_t a = 0; a < models; ++a) {
    consider({{a}, {}});
    for (std::size_t b = 0; b < models; ++b)
      for (const double s : grid) {
        if (b == a) continue;
        consider({{a, b}, {s}});
        for (std::size_t c = 0; c < models; ++c)
          for (const double t : grid)
            if (c != a && c != b) consider({{a, b, c}, {s, t}});
      }
  }
  return best;
}

TEST_F(CascadeDataTest, IsAsGoodAsASearchOfTwentyLines) {
  const TraceTable val = read("paretobandit_val_k4"), test = read("paretobandit_test_k4");
  const CascadeFit fit = fit_cascade(val, settings({CascadeAim::Kind::price, 20.0}));
  const JudgedCascade judged = judge_cascade(*fit.cascade, "cascade.json", test, "");
  const auto [quality, dollars] = naive_walk(test, baseline(val, 20.0));
  EXPECT_NEAR(quality, 0.962, 0.0005);  // what was measured by another program
  EXPECT_NEAR(1000.0 * dollars, 0.85, 0.03);
  EXPECT_GE(judged.worth.utility.value, quality - 20.0 * dollars - 1e-12);
  EXPECT_LT(judged.worth.utility.low, judged.worth.utility.value);
  EXPECT_GT(judged.worth.gain.low, 0.0);
  EXPECT_THAT(judged.verdict, StartsWith("the cascade is better than "));
  // What was promised is kept: within the promise's interval.
  EXPECT_GE(judged.worth.utility.value, fit.promise.utility.low);
  EXPECT_LE(judged.worth.utility.value, fit.promise.utility.high);
  // Against the dearest model.
  const JudgedCascade dearest = judge_cascade(*fit.cascade, "cascade.json", test, "google/gemini-2.5-pro");
  EXPECT_NEAR(dearest.worth.saving.value, 0.944, 0.01);
  EXPECT_NEAR(dearest.worth.quality.value - dearest.alone.quality.value, 0.029, 0.005);
}

TEST_F(CascadeDataTest, WithACheaperJudgeOneModelIsBest) {
  for (const char* name : {"paretobandit_judged_val_k3", "paretobandit_judged_test_k3"})
    for (const double price : {5.0, 20.0}) {
      const CascadeFit fit = fit_cascade(read(name), settings({CascadeAim::Kind::price, price}, "score"));
      EXPECT_EQ(fit.choice.kind, CascadeKind::single) << name << " " << price;
      EXPECT_EQ(fit.single_model, "mistralai/mistral-large-2512");
      EXPECT_THAT(fit.verdict, StartsWith("use mistralai/mistral-large-2512 alone: no cascade is better"));
    }
  EXPECT_NE(fit_cascade(read("paretobandit_judged_val_k3"), settings({CascadeAim::Kind::price, 5.0})).choice.kind,
            CascadeKind::single);
}

// Through the judge's eyes the promise is kept by them, in a test and live; through the truth's it is not.
TEST_F(CascadeDataTest, PromisesAreKeptByTheEyesThatTheyWereMadeWith) {
  const TraceTable val = read("paretobandit_judged_val_k3"), test = read("paretobandit_judged_test_k3");
  const std::vector<double>& scores = find_score(test, "score").values;
  for (const bool indices : {false, true}) {
    CascadeFitSettings judged = settings({CascadeAim::Kind::price, 20.0}, "score");
    judged.indices = indices;
    const CascadeFit fit = fit_cascade(val, judged);
    const double tested = judge_cascade(*fit.cascade, "cascade.json", test, "", "score").worth.utility.value;
    const double live = test::live_utility(*fit.cascade, test, scores);
    for (const double kept : {tested, live}) {
      EXPECT_GE(kept, fit.promise.utility.low) << indices;
      EXPECT_LE(kept, fit.promise.utility.high) << indices;
    }
  }
  const CascadeFit truth = fit_cascade(val, settings({CascadeAim::Kind::price, 20.0}));
  EXPECT_NEAR(truth.promise.utility.value, 0.9368, 0.0005);
  const JudgedCascade blind = judge_cascade(*truth.cascade, "cascade.json", test, "", "score");
  EXPECT_NEAR(blind.worth.utility.value, 0.8961, 0.0005);
  EXPECT_NEAR(test::live_utility(*truth.cascade, test, scores), blind.worth.utility.value, 1e-12);
  EXPECT_LT(blind.worth.utility.high, truth.promise.utility.low);
  EXPECT_LT(blind.worth.gain.high, 0.0);  // one model alone is better
}

TEST_F(CascadeDataTest, BoundsHoldOnOtherPrompts) {
  const TraceTable val = read("paretobandit_val_k4"), test = read("paretobandit_test_k4");
  const CascadeFit good = fit_cascade(val, settings({CascadeAim::Kind::least_quality, 0.95}));
  EXPECT_TRUE(good.choice.chosen().met);
  const JudgedCascade quality = judge_cascade(*good.cascade, "cascade.json", test, "");
  EXPECT_GE(quality.worth.quality.value, 0.95);
  EXPECT_THAT(quality.verdict, HasSubstr("quality of at least 0.95 holds here"));
  const CascadeFit cheap = fit_cascade(val, settings({CascadeAim::Kind::most_usd, 0.001}));
  EXPECT_TRUE(cheap.choice.chosen().met);
  const JudgedCascade dollars = judge_cascade(*cheap.cascade, "cascade.json", test, "");
  EXPECT_LE(dollars.worth.usd_per_1000.value, 1.0);
  EXPECT_GE(dollars.worth.usd_per_1000.value, 0.5);  // and uses what it may
  EXPECT_GE(dollars.worth.quality.value, 0.95);
}

TEST_F(CascadeDataTest, BothKindsWithTheContext) {
  const TraceTable val = read("paretobandit_val_k4"), test = read("paretobandit_test_k4");
  CascadeFitSettings both = settings({CascadeAim::Kind::price, 20.0});
  both.indices = true;
  both.context = {"text:8", "length", "source"};
  const CascadeFit fit = fit_cascade(val, both);
  EXPECT_EQ(fit.kinds.size(), 2u);
  const JudgedCascade judged = judge_cascade(*fit.cascade, "cascade.json", test, "");
  EXPECT_NEAR(judged.worth.utility.value, fit.promise.utility.value, 0.01);
  EXPECT_GT(judged.worth.gain.low, 0.0);
}

TEST_F(CascadeDataTest, TheFrontierLiesAboveMixturesOfModels) {
  const TraceTable val = read("paretobandit_val_k4"), test = read("paretobandit_test_k4");
  const Frontier frontier = find_frontier(val, test, settings({}), {});
  ASSERT_GE(frontier.steps.size(), 5u);
  for (const std::size_t i : frontier.steps) {
    if (frontier.cascades[i].calls < 1.05) continue;
    EXPECT_GT(frontier.cascades[i].above_mixture, 0.0) << frontier.cascades[i].name;
  }
}

}  // namespace
}  // namespace pandora
