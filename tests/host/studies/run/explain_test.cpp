#include "host/studies/run/explain.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "oracle/oracle.hpp"
#include "tests/host/studies/study/study_texts.hpp"
#include "tests/reference/naive_index.hpp"

namespace pandora {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

constexpr const char* kExplained = R"(replications = 2
periods = 120
T0 = [0, 9]
environments = ["uniform"]
regimes = ["B"]
[dimensions]
context = 6
reward_features = 3
output = 10
radius_draws = 2000
[hyperparameters]
c_rho = [0.1]
c_theta = [0.1]
c_b = [0.1]
[oracle]
samples = 2000
grid = [9, 5, 9]
)";

// Reads a number of a box, a query or a period.
double number(const Json& of, const char* name) {
  return of[name].get<double>();
}

const Json& box_of(const Json& p, const Json& q) {
  return p["boxes"][q["box"].get<std::size_t>() - 1];
}

class Explain : public testing::Test {
 protected:
  std::vector<PlannedSetting> settings_ = make_plans(StudyConfig::parse(kExplained, "test"));

  FoundLane lane(const std::string& name) const { return FoundLane(settings_[0], name); }

  // Makes the study anew with other values of these keys.
  void change(const std::map<std::string, std::string>& values) {
    StudyConfig config = StudyConfig::parse(kExplained, "test");
    for (const auto& [key, value] : values) config.set(key, value, "test");
    settings_ = make_plans(config);
  }

  // A lane of a policy that the study does not name, in replication 1, with this value of its hyperparameters.
  FoundLane added_lane(const Policy& policy, const Grids& grids, int T0 = 0) {
    settings_[0].plan.lanes.push_back({&policy, policy.variants(grids)[0], T0});
    return lane("uniform/B/1/" + lane_name(settings_[0].plan.lanes.back()));
  }
};

// In a problem that changes, regrets add up to the tally's. The oracle opens boxes that are there, and its index
// balances the expected cost under the period's parameters.
TEST_F(Explain, FollowsBoxesThatComeAndParametersThatDrift) {
  const std::vector<PlannedSetting> changing = make_plans(StudyConfig::parse(
      std::string(kExplained) +
          "[environment.uniform]\ndrift = \"step:60:1\"\narrives = [{ box_number = 3, at = 40 }]\n"
          "leaves = { box_number = 1, at = 80 }\noutput_costs = \"centred\"\n[feedback]\nshare = 0.5\n",
      "test"));
  const FoundLane found(changing[0], "uniform/B/1/9/dow/unknown/c_rho=0.1;c_theta=0.1");
  const UnitResult result = found.run(found.prepare());
  const Explanation all = explain(found, 1, 120);
  double regret = 0.0, realised = 0.0, expected = 0.0;
  for (const Json& p : all.told["periods"]) {
    regret += number(p, "regret");
    for (const Json& q : p["oracle"]["queries"]) EXPECT_TRUE(box_of(p, q).value("there", true)) << p["period"];
    EXPECT_EQ(p["boxes"][2].value("there", true), p["period"] >= 40);
    EXPECT_EQ(p["boxes"][0].value("there", true), p["period"] < 80);
    for (const Json& q : p["policy"]["queries"]) {
      realised += number(q, "cost");
      expected += number(box_of(p, q), "expected_cost");
    }
  }
  EXPECT_NEAR(regret, result.lanes[0].utility - result.lanes[1].utility, 1e-9);
  EXPECT_NEAR(realised, expected, 0.1 * expected);
  EXPECT_THAT(explanation_text(explain(found, 10, 10)), HasSubstr("(is not there)"));
}

// For every policy, the periods add up to its tally, in every form of the output.
TEST_F(Explain, PeriodsAddUpToTheRegretOfTheLane) {
  for (const PlannedLane& planned : settings_[0].plan.lanes) {
    const FoundLane found = lane("uniform/B/1/" + lane_name(planned));
    const UnitResult result = found.run(found.prepare());
    const Explanation all = explain(found, 1, 120);
    ASSERT_EQ(all.told["periods"].size(), 120u);
    double regret = 0.0, cost = 0.0, quality = 0.0, queries = 0.0;
    for (const Json& p : all.told["periods"]) {
      regret += number(p, "regret");
      queries += static_cast<double>(p["policy"]["queries"].size());
      for (const Json& q : p["policy"]["queries"]) {
        cost += number(q, "cost");
        if (q["box"] == p["policy"]["deployed"]) quality += number(q, "mu");
      }
    }
    EXPECT_NEAR(regret, result.lanes[0].utility - result.lanes[1].utility, 1e-9) << found.name();
    EXPECT_NEAR(number(all.told["periods"].back(), "regret_so_far"), regret, 1e-9);
    EXPECT_NEAR(cost, result.lanes[1].cost, 1e-9) << found.name();
    EXPECT_NEAR(quality, result.lanes[1].quality, 1e-9) << found.name();
    EXPECT_EQ(queries, result.lanes[1].queries()) << found.name();
  }
}

// Each stop follows the policy's rule, by the numbers that are printed beside it.
TEST_F(Explain, SaysWhyALaneStopped) {
  const Json told = explain(lane("uniform/B/0/9/dow/unknown/c_rho=0.1;c_theta=0.1"), 1, 120).told;
  for (const Json& p : told["periods"]) {
    const Json& queries = p["policy"]["queries"];
    double best = 0.0, left = -1e300;
    for (const Json& q : queries) best = std::max(best, number(q, "estimate"));
    for (const Json& b : p["boxes"]) {
      const bool open =
          std::any_of(queries.begin(), queries.end(), [&](const Json& q) { return q["box"] == b["box"]; });
      EXPECT_GT(number(b, "width"), 0.0);
      if (!open) left = std::max(left, number(b, "score"));
    }
    const std::string stopped = p["policy"]["stopped"];
    if (queries.size() == 3) {
      EXPECT_THAT(stopped, HasSubstr("every box is open"));
    } else {
      EXPECT_GE(best, left);
      EXPECT_THAT(stopped, HasSubstr("reaches the largest index left"));
    }
  }
  const Explanation single = explain(lane("uniform/B/0/-/best_single/none"), 5, 5);
  EXPECT_EQ(single.told["periods"][0]["policy"]["stopped"], "it queries one box alone");
  EXPECT_EQ(explain(lane("uniform/B/0/-/query_all/known"), 5, 5).told["periods"][0]["policy"]["stopped"],
            "every box is open");
}

// The printed parts of a score are those that the engines add.
TEST_F(Explain, ShowsWhatScoresAreMadeOf) {
  for (const char* engine : {"blocked", "reference"}) {
    SCOPED_TRACE(engine);
    change({{"engine.kind", engine}});
    const Explanation dow = explain(lane("uniform/B/0/9/dow/known/c_rho=0.1"), 1, 120),
                      plain = explain(lane("uniform/B/0/9/online_plugin/known"), 120, 120),
                      linucb = explain(lane("uniform/B/0/9/linucb_online/none/c_b=0.1"), 1, 120);
    EXPECT_EQ(dow.prediction_name, "rho'psi");
    EXPECT_EQ(linucb.prediction_name, "eta'psi");
    for (const Json& p : dow.told["periods"])
      for (const Json& b : p["boxes"]) {
        EXPECT_NE(number(b, "prediction"), 0.0);
        EXPECT_NEAR(number(b, "bonus"), 0.1 * number(b, "width"), 1e-6);
        EXPECT_NEAR(number(b, "score"), std::tanh(number(b, "prediction") + number(b, "bonus")), 1e-6);
      }
    for (const Json& b : plain.told["periods"][0]["boxes"]) {
      EXPECT_EQ(number(b, "bonus"), 0.0);
      EXPECT_NEAR(number(b, "score"), std::tanh(number(b, "prediction")), 1e-6);
    }
    for (const Json& p : linucb.told["periods"])
      for (const Json& b : p["boxes"]) {
        EXPECT_NEAR(number(b, "bonus"), 0.1 * number(b, "width"), 1e-6);
        EXPECT_NEAR(number(b, "score"), number(b, "prediction") + number(b, "bonus"), 1e-6);
      }
  }
}

// The expected cost beside sigma* is the cost that sigma* balances on the oracle's own sample.
TEST_F(Explain, ShowsTheCostThatSigmaBalances) {
  for (const auto& [regime, location] :
       {std::pair{"[\"A\"]", "common"}, {"[\"B\"]", "common"}, {"[\"B\"]", "none"}, {"[\"B\"]", "own"}}) {
    change({{"regimes", regime},
            {"environment.uniform.location", location},
            {"oracle.bins", "0"},
            {"oracle.grid", "[41,21,41]"}});
    const FoundLane found = lane(lane_names(settings_[0])[0]);
    const ShockSample sample = draw_shock_sample(found.prepare().instance, 2000);
    const Explanation explanation = explain(found, 1, 20);
    EXPECT_EQ(explanation_text(explanation).find("reward shift ") == std::string::npos, location == std::string("own"));
    for (const Json& p : explanation.told["periods"])
      for (const Json& b : p["boxes"]) {
        ASSERT_TRUE(b["expected_cost"].is_number());
        EXPECT_TRUE(p["reward_shift"].is_null() || p["reward_shift"] == b["reward_shift"]);
        EXPECT_EQ(p["reward_shift"].is_number(), location != std::string("own"));
        EXPECT_GT(number(b, "expected_cost"), number(b, "context_cost"));
        double excess = 0.0;
        for (const float w : sample.projected) {
          const double mu = naive::G(number(b, "reward_shift") + number(b, "scale") * sample.projection_norm * w);
          excess += std::max(0.0, mu - number(b, "sigma")) / 2000.0;
        }
        EXPECT_NEAR(excess, number(b, "expected_cost"), 2e-3) << regime << location;
      }
  }
}

// If a period of epsilon-greedy explores, the output says so. In other periods the stop is Weitzman's.
TEST_F(Explain, SaysWhenALaneExplores) {
  const Explanation found = explain(added_lane(*find_policy("epsilon_greedy_weitzman"), {0.3}), 1, 120);
  int random = 0, opens_all = 0;
  for (const Json& p : found.told["periods"]) {
    const std::string stopped = p["policy"]["stopped"];
    random += stopped.find("exploring in a random order") != std::string::npos ? 1 : 0;
    if (stopped.find("exploring, it opens all") == std::string::npos) continue;
    EXPECT_EQ(p["policy"]["queries"].size(), 3u);
    ++opens_all;
  }
  EXPECT_NEAR(random, 36, 20);
  EXPECT_NEAR(opens_all, 36, 20);
}

TEST_F(Explain, AsTextAndJson) {
  const Explanation found = explain(lane("uniform/B/0/9/dow/unknown/c_rho=0.1;c_theta=0.1"), 7, 8);
  const std::string text = explanation_text(found);
  for (const char* part : {"period 7: request with 7 index features", "period 8:", "rho'psi", "bonus", "index", "width",
                           "oracle's sigma*", "expected cost", "context cost", "index: tanh(rho'psi + bonus)",
                           "E[(mu* - sigma*)^+] = expected cost", "scale s(x): ", "reward shift: ",
                           "the policy queries box", "estimated at", "the oracle stops", "regret of the period"})
    EXPECT_THAT(text, HasSubstr(part));
  const Json& told = found.told;
  EXPECT_EQ(told["lane"], "uniform/B/0/9/dow/unknown/c_rho=0.1;c_theta=0.1");
  EXPECT_EQ(told["periods"].size(), 2u);
  const Json& p = told["periods"][0];
  EXPECT_EQ(p["period"], 7);
  EXPECT_EQ(p["psi"].size(), 7u);
  EXPECT_EQ(p["boxes"].size(), 3u);
  for (const char* name : {"expected_cost", "prediction", "width", "bonus", "score", "sigma"})
    EXPECT_TRUE(p["boxes"][2][name].is_number()) << name;
}

TEST_F(Explain, RefusesPeriodsAndLanesThatAreNotThere) {
  const FoundLane found = lane("uniform/B/0/-/query_all/known");
  for (const auto& [first, last] : {std::pair(0, 1), std::pair(3, 2), std::pair(1, 121)})
    EXPECT_THROW(explain(found, first, last), Error);
  EXPECT_THAT(test::refusal([&] { lane("uniform/B/0/9/dow/unknwon/c_rho=0.1;c_theta=0.1"); }),
              HasSubstr("the nearest is uniform/B/0/9/dow/unknown/c_rho=0.1;c_theta=0.1"));
}

TEST_F(Explain, ReplayTellsRegretAndCurve) {
  const FoundLane found = lane("uniform/B/0/9/frugalgpt/known");
  const UnitResult result = found.run(found.prepare());
  const std::string text = replay_text(found, result);
  for (const char* part : {"periods            120 of 120", "chosen beforehand  boxes ", "regret x 1000"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, testing::ContainsRegex("\n +120 .*\n$"));
}

// A policy by code without indices. The output shows the boxes that its code opened.
class Sweeper : public CustomPolicy {
 public:
  void begin(const Request&) override { next_ = 0; }
  int next() override { return next_ < 2 ? next_ : kStop; }
  void opened(const Output&) override { ++next_; }
  int deploy() override { return 1; }

 private:
  int next_ = 0;
};

TEST_F(Explain, PoliciesThatAreCode) {
  static const Policy sweeper = {
      .name = "sweeper", .uses_calibration = false, .variants = [](const Grids&) -> std::vector<PolicyVariant> {
        return {{"known", "", {}, [](const Replication&, int, const EstimationOptions&) {
                   return std::make_unique<Sweeper>();
                 }}};
      }};
  const Explanation found = explain(added_lane(sweeper, {}), 3, 3);
  const Json& own = found.told["periods"][0]["policy"];
  ASSERT_EQ(own["queries"].size(), 2u);
  EXPECT_EQ(own["queries"][0]["box"], 1);
  EXPECT_EQ(own["queries"][1]["box"], 2);
  EXPECT_EQ(own["deployed"], 2);
  EXPECT_FALSE(own["queries"][0].contains("estimate"));
  EXPECT_EQ(own["stopped"], "its code said so");
  EXPECT_EQ(found.told["score"], "");
}

// If a policy's code ranks boxes by scores, the output shows the scores that its order and its stop follow.
TEST_F(Explain, ScoresOfPoliciesThatAreCode) {
  const Explanation found = explain(added_lane(*find_policy("informed_weitzman"), {}, 9), 1, 120);
  EXPECT_EQ(found.told["score"], "score");
  EXPECT_EQ(found.prediction_name, "");
  EXPECT_THAT(explanation_text(found), HasSubstr("  forced  "));
  for (std::size_t t = 40; t < found.told["periods"].size(); ++t) {
    const Json& p = found.told["periods"][t];
    double best = 0.0, last = HUGE_VAL;
    for (const Json& q : p["policy"]["queries"]) {
      const double score = number(box_of(p, q), "score");
      EXPECT_GE(last, score);
      EXPECT_TRUE(last == HUGE_VAL || best < score);
      last = score;
      best = std::max(best, number(q, "mu"));
    }
  }
}

// A box that must be opened has no index to show.
TEST_F(Explain, SaysWhichBoxesAreForced) {
  const FoundLane found = added_lane(*find_policy("shrunk_weitzman"), {0.2});
  EXPECT_THAT(explanation_text(explain(found, 1, 1)), HasSubstr("   forced  "));
  EXPECT_THAT(explanation_text(explain(found, 20, 20)), Not(HasSubstr("forced")));
}

}  // namespace
}  // namespace pandora
