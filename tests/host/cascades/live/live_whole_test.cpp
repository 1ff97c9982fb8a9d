// Calls that happen whole or not at all; contexts that estimates can be solved of; what is held fits into a file.
#include <gtest/gtest.h>

#include "host/cascades/live/cascade_state.hpp"
#include "host/outcomes/tables/features.hpp"
#include "pandora/weitzman.hpp"
#include "tests/host/cascades/live/play.hpp"
#include "tests/host/outcomes/tables/made_up_traces.hpp"

namespace pandora {
namespace {

CascadeOptions learner(const LaneSpec& rules, const char* schedule = "geometric:1.5", int m = 3) {
  CascadeOptions options;
  options.models = {"a", "b"};
  options.price = 2.0;
  options.rules = rules;
  options.evaluator = rules.learns_reward() ? "score" : "quality";
  options.estimation.refit = parse_refit(schedule);
  options.index_features = m;
  return options;
}

// A period: what an estimator can be told, of that number and of no other.
void tell(WeitzmanEstimator& estimator, const EstimatorShape& shape, bool payoffs, int t,
          std::vector<double>& indices) {
  test::Random random(static_cast<std::uint64_t>(t));
  const auto numbers = [&](int n) {
    std::vector<float> out(static_cast<std::size_t>(n), 1.0f);
    for (float& x : out) x = static_cast<float>(random.uniform(-1, 1));
    return out;
  };
  const std::vector<float> psi = numbers(shape.index_features),
                           phi[] = {numbers(shape.reward_features), numbers(shape.reward_features)};
  const Output outputs[] = {{0, phi[0], random.uniform(0, 0.2), random.uniform(0, 1)},
                            {1, phi[1], random.uniform(0, 0.2), random.uniform(0, 1)}};
  estimator.begin({t % 1000, psi, {}});
  for (int a = 0; a < 2; ++a) indices.push_back(estimator.index(a));
  estimator.learn_outputs(std::span(outputs).first(t % 3 == 0 ? 1 : 2));
  estimator.learn_reward(outputs[0], static_cast<float>(random.uniform(0, 1)));
  estimator.end_period();
  if (t % 17 == 0 && !payoffs) estimator.scale_costs(1.3);
  if (t % 29 == 0 && !payoffs) estimator.keep_at_most(1000 - t % 1000);
}

// Into each period falls another one, of other numbers, that is taken back; some with a box more.
TEST(EstimatorThatIsRolledBack, IsWhatItWasInEveryBit) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 6, 3), Regime::B, 12, 20, 21);
  for (const char* schedule : {"geometric:1.5", "tracking", "every:3"})
    for (const double forget : {0.0, 6.0})
      for (const auto& [policy, reward] :
           {std::pair{"dow", "unknown"}, {"dow", "known"}, {"shrunk_weitzman", "unknown"}, {"linucb_online", "none"}}) {
        SCOPED_TRACE(std::string(schedule) + " " + policy + " " + reward + " " + std::to_string(forget));
        const LaneSpec rules = test::spec_of(policy, reward, replication, 0);
        EstimationOptions options;
        options.refit = parse_refit(schedule);
        options.forgetting.half_life = forget;
        options.most_samples = 40;
        const EstimatorShape shape{2, 3, rules.learns_reward() ? 4 : 0, {}};
        WeitzmanEstimator plain(shape, rules, options), disturbed(shape, rules, options);
        std::vector<double> wanted, indices, unused;
        for (int t = 1; t < 90; ++t) {
          tell(plain, shape, rules.learns_payoff(), t, wanted);
          const std::string before = disturbed.saved();
          disturbed.mark();
          tell(disturbed, shape, rules.learns_payoff(), 1000 + t, unused);
          if (t % 10 == 0 && !rules.learns_payoff()) disturbed.add_box(rules.learns_reward() ? 2 : 0);
          if (t % 20 == 0 && !rules.learns_payoff()) disturbed.scale_costs(2.0);
          ASSERT_FALSE(disturbed.saved() == before);
          disturbed.roll_back();
          ASSERT_TRUE(disturbed.saved() == before) << t;
          tell(disturbed, shape, rules.learns_payoff(), t, indices);
        }
        EXPECT_EQ(indices, wanted);
        EXPECT_TRUE(disturbed.saved() == plain.saved());
      }
}

// psi of 1e7, as a fit may have seen them, of which no estimate can be solved: a call that fails has changed nothing.
TEST(LiveCalls, HappenWholeOrNotAtAll) {
  int failures = 0;
  for (const bool learns : {false, true})
    for (const char* schedule : {"geometric:1.5", "tracking", "every:1"}) {
      CascadeOptions options = learner(dow_rules(learns, 0.2, 0.1), schedule);
      options.psi_range = {{1.0f, 1.0f}, {-1e9f, 1e9f}, {-1e9f, 1e9f}};
      Cascade cascade(options);
      test::Random random(3);
      const auto whole = [&](const auto& call) {
        const std::string before = cascade.text();
        try {
          call();
          return true;
        } catch (const LaneFailure&) {
          ++failures;
          EXPECT_TRUE(cascade.text() == before);
          return false;
        } catch (const Error&) {  // a price or a model that cannot be taken in
          EXPECT_TRUE(cascade.text() == before);
          return false;
        }
      };
      for (int t = 0; t < 60; ++t) {
        const float scale = t % 5 == 4 ? 1e7f : 1.0f;
        const float psi[] = {1.0f, scale * static_cast<float>(random.uniform(-1, 1)), scale};
        std::uint64_t request = 0;
        if (!whole([&] { request = cascade.begin(psi); })) continue;
        while (const auto model = cascade.next(request))
          if (!whole([&] { cascade.observe(request, *model, {random.uniform(0, 0.1), {random.uniform(0, 1)}}); }))
            break;
        if (!whole([&] { cascade.deploy(request); })) continue;
        whole([&] { cascade.feedback(request, random.uniform(0, 1)); });
        if (t % 20 == 10) whole([&] { cascade.set_price(random.uniform(1, 100)); });
        if (t == 30) whole([&] { cascade.add_model("c"); });
      }
    }
  EXPECT_GT(failures, 10);
}

TEST(LiveContexts, BeyondWhatEstimatesCanBeSolvedOfAreRefusedAndTold) {
  for (const bool learns : {false, true})
    for (const char* schedule : {"geometric:1.5", "tracking", "every:1"})
      for (const LaneSpec& rules : {dow_rules(learns, 0.2, 0.1), shrunk_rules(learns, 0.2)}) {
        Cascade cascade(learner(rules, schedule));
        test::Random random(3);
        for (int t = 0; t < 300; ++t) {  // every other one at the bound
          const float far = static_cast<float>(t % 2 == 0 ? kMostPsi : 1.0);
          const float psi[] = {1.0f, far * (random.below(2) == 0 ? 1.0f : -1.0f),
                               far * static_cast<float>(random.uniform(-1, 1))};
          const std::uint64_t request = cascade.begin(psi);
          while (const auto model = cascade.next(request))
            cascade.observe(request, *model, {random.uniform(0, 0.1), {random.uniform(0, 1)}});
          cascade.deploy(request);
          cascade.feedback(request, random.uniform(0, 1));
        }
        const std::string before = cascade.text();
        const float beyond[] = {1.0f, 1e7f, 0.0f};
        test::expect_refused([&] { cascade.begin(beyond); }, "number 2 of psi is 1e+07; give numbers between -");
        EXPECT_TRUE(cascade.text() == before);
      }
}

// A raw column beyond what the fit saw is taken for the nearest that it saw, and the file says so.
TEST(LiveContexts, AreClippedToWhatTheFitSaw) {
  TraceTable table = test::drawn_table(test::TraceLaw(0.2), 200, 3);
  PromptColumn size{"size", PromptColumn::Kind::number, 1, {}, {}};
  for (std::size_t row = 0; row < table.rows(); ++row) size.numbers.push_back(2000.0 + static_cast<double>(row % 100));
  table.columns.push_back(size);
  const FeatureMap features = FeatureMap::fit(table, {"raw:size"});
  CascadeOptions options = learner(shrunk_rules(false, 0.0));
  options.models = table.models;
  options.features = features.to_json().dump();
  const std::vector<double> values = features.apply(table);
  const std::vector<float> psi(values.begin(), values.end());
  const auto [least, most] = std::minmax_element(psi.begin(), psi.end());
  options.psi_range = {{1.0f, 1.0f}, {*least, *most}};
  Cascade fitted(options);
  for (std::size_t row = 0; row < table.rows(); ++row)
    for (std::size_t m = 0; m < table.models.size(); ++m)
      fitted.calibrate(static_cast<int>(row) + 1, std::array{1.0f, psi[row]}, m,
                       {table.cost[3 * row + m], {table.quality[3 * row + m]}}, table.quality[3 * row + m]);
  EXPECT_NE(fitted.text().find("\"psi_range\""), std::string::npos);
  Cascade again = Cascade::parse(fitted.text(), "memory");
  const auto scores = [&](double x) {
    Prompt prompt;
    prompt.columns["size"] = x;
    std::vector<double> out;
    for (const CascadeExplanation::Model& model : again.explain(again.begin(prompt)).models) out.push_back(model.score);
    return out;
  };
  EXPECT_EQ(scores(1e9), scores(2099.0));
  EXPECT_EQ(scores(0.0), scores(2000.0));
  EXPECT_NE(scores(2000.0), scores(2099.0));
}

TEST(LiveContexts, NeedThePromptAndItsColumns) {
  TraceTable table = test::drawn_table(test::TraceLaw(0.2), 200, 3);
  PromptColumn size{"size", PromptColumn::Kind::number, 1, {}, {}}, kind{"kind", PromptColumn::Kind::text, 1, {}, {}};
  for (std::size_t row = 0; row < table.rows(); ++row) {
    size.numbers.push_back(static_cast<double>(row % 7));
    kind.texts.push_back(row % 2 == 0 ? "code" : "prose");
  }
  table.columns = {size, kind};
  CascadeOptions options = learner(shrunk_rules(true, 0.2));
  options.features = FeatureMap::fit(table, {"size", "kind"}).to_json().dump();
  Cascade cascade(options);
  Prompt prompt;
  test::expect_refused([&] { cascade.begin(prompt); },
                       "the features are made of the column kind, the column size; give them");
  prompt.columns["kind"] = "code";
  test::expect_refused([&] { cascade.begin(prompt); },
                       "made of the column size; give it (a value that is not known: null)");
  prompt.columns["size"] = std::monostate();
  EXPECT_EQ(cascade.context_of(prompt)[1], 0.0f);  // the mean
  cascade.begin(prompt);
  EXPECT_EQ(cascade.counts().requests, 1u);
}

// The state of a cascade as its file has it, in bytes.
std::size_t held(const Cascade& cascade) {
  return nlohmann::json::parse(cascade.text())["state"].get<std::string>().size() / 4 * 3;
}

TEST(LiveMemory, IsWhatAFileHasRoomFor) {
  CascadeOptions wide = learner(dow_rules(false, 0.2, 0.0), "geometric:1.5", 100);
  wide.models.clear();
  for (int a = 0; a < 16; ++a) wide.models.push_back("model" + std::to_string(a));
  const CascadeOptions bounded = Cascade(wide).options();
  EXPECT_LT(bounded.estimation.most_samples, 100'000);
  EXPECT_GT(bounded.estimation.most_samples, 30'000);
  EXPECT_EQ(Cascade(learner(dow_rules(true, 0.2, 0.1))).options().estimation.most_samples, 100'000);
  EXPECT_EQ(Cascade(learner(dow_rules(true, 0.2, 0.1))).options().most_requests, 65'536u);
  CascadeOptions any = learner(dow_rules(true, 0.2, 0.1));
  any.estimation.most_samples = 0;
  EXPECT_GT(Cascade(any).options().estimation.most_samples, 1'000'000);
  wide.index_features = 1600;
  test::expect_refused([&] { Cascade cascade(wide); },
                       "a saved cascade has 512 MiB, which 16 models with contexts of 1600");
  Cascade grows(bounded);
  test::expect_refused([&] { grows.add_model("one"); }, "16 models are the most");
}

// Samples that share no context, each with its feedback; requests that have called every model.
TEST(LiveMemory, IsReckonedByTheSampleAndTheRequest) {
  constexpr int kSamples = 500;
  for (const bool learns : {false, true})
    for (const double forget : {0.0, 1e6}) {
      EstimationOptions estimation;
      estimation.forgetting.half_life = forget;
      const EstimatorShape shape{2, 40, learns ? 6 : 0, {}};
      WeitzmanEstimator estimator(shape, dow_rules(learns, 0.2, 0.1), estimation);
      std::vector<double> unused;
      const std::vector<float> psi(40, 0.5f), phi(6, 0.5f);
      for (int t = 1; t <= 2 * kSamples; ++t) {
        const Output output{t % 2, phi, 0.1, 0.5};
        estimator.begin({t, psi, {}});
        estimator.learn(std::span(&output, 1), t % 2, 0.5);
      }
      if (forget > 0.0)
        estimator.begin({1'000'000, psi, {}}), estimator.end_period();  // from here on there are weights
      const int fit = estimator.most_samples_within(estimator.saved().size());
      EXPECT_LE(fit, kSamples);
      EXPECT_GE(fit, 0.97 * kSamples);
    }
  CascadeOptions options = learner(dow_rules(true, 0.2, 0.1), "every:100000", 40);
  options.rules->stop = Stop::never;
  options.models = {"a", "b", "c", "d"};
  options.most_requests = 1'000'000'000;
  Cascade cascade(options);
  const std::vector<float> psi(40, 0.5f);
  const auto wait = [&](int requests) {
    for (int k = 0; k < requests; ++k) {
      const std::uint64_t request = cascade.begin(psi);
      while (const auto model = cascade.next(request)) cascade.observe(request, *model, {0.0, {0.0}});
    }
    return static_cast<double>(held(cascade));
  };
  const double first = wait(100), each = (wait(100) - first) / 100.0;
  EXPECT_EQ(cascade.counts().calls, 800u);
  EXPECT_LE(each * static_cast<double>(cascade.options().most_requests), 128 << 20);
  EXPECT_GE(each * static_cast<double>(cascade.options().most_requests), 64 << 20);
}

// The only model that an open request could call goes, and another one has come since it began.
TEST(LiveModels, AnOpenRequestGoesByThoseThatHaveComeSince) {
  for (const bool learns : {false, true}) {
    CascadeOptions options = learner(learns ? dow_rules(true, 0.2, 0.1) : shrunk_rules(false, 0.2));
    options.models = {"old"};
    Cascade cascade(options);
    const float psi[] = {1.0f, 0.5f, -0.5f};
    const std::uint64_t open = cascade.begin(psi);
    EXPECT_EQ(cascade.model_name(cascade.add_model("new")), "new");
    cascade.remove_model("old");
    ASSERT_EQ(cascade.next(open), 1u);
    Cascade again = Cascade::parse(cascade.text(), "memory");
    for (Cascade* const one : {&cascade, &again}) {
      test::expect_refused([&] { one->observe(open, 0, {0.01, {0.5}}); }, "model old is not the one to call next, new");
      one->observe(open, 1, {0.01, {0.5}});
      EXPECT_EQ(one->deploy(open), 1u);
      one->feedback(open, 0.5);
    }
    EXPECT_TRUE(again.text() == cascade.text());
    test::expect_refused([&] { (void)cascade.model_name(2); }, "there is no model 2");
  }
}

// With samples that are soon forgotten, and so many requests open between two that are learned from that all are.
TEST(LiveForgetting, SavedAndLoadedGoesOnToTheSameBytes) {
  for (const double forget : {1.0, 5.0, 19.0})
    for (const char* schedule : {"geometric:1.5", "tracking"})
      for (const LaneSpec& rules : {dow_rules(true, 0.2, 0.1), shrunk_rules(true, 0.2), shrunk_rules(false, 0.2)}) {
        CascadeOptions options = learner(rules, schedule);
        options.estimation.forgetting.half_life = forget;
        const auto played = [&](int every) {
          Cascade cascade(options);
          cascade.set_epoch(0);
          test::Random random(7);
          std::vector<std::uint64_t> open;
          for (int t = 0; t < 200; ++t) {
            if (t % every == every - 1) cascade = Cascade::parse(cascade.text(), "memory"), cascade.set_epoch(0);
            const float psi[] = {1.0f, static_cast<float>(random.uniform(-3, 3)),
                                 static_cast<float>(random.uniform(-1, 1))};
            open.push_back(cascade.begin(psi));
            while (open.size() > static_cast<std::size_t>(t % 97 < 40 ? 38 : 3)) {
              const std::size_t at = static_cast<std::size_t>(random.below(static_cast<int>(open.size())));
              const std::uint64_t request = open[at];
              open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
              while (const auto model = cascade.next(request))
                cascade.observe(request, *model, {random.uniform(0, 0.1), {random.uniform(0, 1)}});
              cascade.deploy(request);
              if (random.below(3) > 0) cascade.feedback(request, random.uniform(0, 1));
            }
          }
          return cascade.text();
        };
        EXPECT_TRUE(played(13) == played(100000)) << forget << " " << schedule;
      }
}

}  // namespace
}  // namespace pandora
