// Models that come and go, prices that change, files that are damaged.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "host/ground/files/sealed_file.hpp"
#include "tests/host/cascades/live/play.hpp"
#include "tests/host/folder_test.hpp"
#include "tests/host/outcomes/routing/naive_cascade.hpp"

namespace pandora {
namespace {

using test::learner;

// `requests` made-up ones; what was deployed and what explain() says of each.
std::vector<std::string> serve(Cascade& cascade, int requests, std::uint64_t seed, double dollars = 0.05) {
  test::Random random(seed);
  std::vector<std::string> out;
  cascade.set_epoch(0);  // requests 1, 2, ..., whatever the object
  for (int t = 0; t < requests; ++t) {
    const float psi[] = {1.0f, static_cast<float>(random.uniform(-1, 1)), static_cast<float>(random.uniform(-1, 1))};
    const std::uint64_t request = cascade.begin(psi);
    while (const auto model = cascade.next(request))
      cascade.observe(request, *model, {dollars * (1.0 + static_cast<double>(*model)), {random.uniform(0, 1)}});
    const std::size_t deployed = cascade.deploy(request);
    out.push_back(cascade.explain_json(request) + " " + std::to_string(deployed));
    cascade.feedback(request, random.uniform(0, 1));
  }
  return out;
}

class LiveChanges : public testing::TestWithParam<bool> {
 protected:
  LaneSpec rules() const { return GetParam() ? dow_rules(true, 0.2, 0.1) : shrunk_rules(false, 0.2); }
};
INSTANTIATE_TEST_SUITE_P(Cascade, LiveChanges, testing::Bool(),
                         [](const auto& one) { return one.param ? "DowLearned" : "ShrunkKnown"; });

TEST_P(LiveChanges, AModelThatIsAddedAtOnceIsAModelFromTheStart) {
  CascadeOptions one = learner(1, rules());
  one.trial_calls = 0;
  Cascade three(learner(3, rules())), grown(one);
  grown.add_model("b");
  EXPECT_EQ(grown.add_model("c"), 2u);
  EXPECT_EQ(serve(grown, 60, 7), serve(three, 60, 7));
}

TEST_P(LiveChanges, AModelThatIsAddedLaterIsLearnedAndSaved) {
  Cascade cascade(learner(2, rules()));
  serve(cascade, 40, 7);
  const float psi[] = {1.0f, 0.5f, -0.5f};
  cascade.add_model("c");
  const std::uint64_t request = cascade.begin(psi);
  const CascadeExplanation explained = cascade.explain(request);
  EXPECT_GT(explained.models[2].width, explained.models[0].width);
  if (!GetParam()) {
    EXPECT_EQ(cascade.next(request), 2u);  // forced until it has five samples
  }
  Cascade again = Cascade::parse(cascade.text(), "memory");
  EXPECT_EQ(serve(again, 60, 8), serve(cascade, 60, 8));
  EXPECT_TRUE(again.text() == cascade.text());
}

TEST_P(LiveChanges, ARemovedModelIsNotCalledAndComesBackWithWhatItHasLearned) {
  Cascade cascade(learner(3, rules()));
  serve(cascade, 40, 7);
  const float psi[] = {1.0f, 0.5f, -0.5f};
  const std::uint64_t before = cascade.begin(psi);
  const double score = cascade.explain(before).models[*cascade.next(before)].score;
  const std::size_t first = *cascade.next(before);
  const std::string name = cascade.models()[first].name;
  cascade.remove_model(name);
  EXPECT_NE(cascade.next(before), first);  // the open request goes on without it
  for (const std::string& served : serve(cascade, 30, 9))
    EXPECT_EQ(served.find("\"calls\":[{\"dollars\":0.05,\"model\":\"" + name), std::string::npos) << served;
  EXPECT_TRUE(Cascade::parse(cascade.text(), "memory").models()[first].removed);
  Cascade fresh(learner(3, rules()));
  serve(fresh, 40, 7);
  fresh.remove_model(name);
  EXPECT_EQ(fresh.add_model(name), first);
  const std::uint64_t after = fresh.begin(psi);
  EXPECT_EQ(fresh.explain(after).models[first].score, score);
}

TEST_P(LiveChanges, APriceMakesOverWhatWasLearned) {
  EstimationOptions exact = live_estimation();
  exact.refit = {RefitSchedule::Kind::every, 1, 1.5};
  CascadeOptions at_two = learner(3, rules()), at_six = at_two;
  at_two.estimation = at_six.estimation = exact;
  at_six.price = 6.0;
  Cascade changed(at_two), wanted(at_six);
  // The same samples at either price: every model once, by calibration.
  test::Random random(4);
  for (int t = 0; t < 60; ++t) {
    const float psi[] = {1.0f, static_cast<float>(random.uniform(-1, 1)), static_cast<float>(random.uniform(-1, 1))};
    const Observation observation{random.uniform(0.0, 0.05), {random.uniform(0, 1)}};
    for (Cascade* cascade : {&changed, &wanted}) cascade->calibrate(t + 1, psi, t % 3, observation, 0.5);
  }
  const float psi[] = {1.0f, 0.5f, -0.5f};
  changed.begin(psi);
  changed.set_price(6.0);
  EXPECT_EQ(changed.options().price, 6.0);
  const std::uint64_t own = changed.begin(psi), other = wanted.begin(psi);
  for (std::size_t a = 0; a < 3; ++a)
    EXPECT_NEAR(changed.explain(own).models[a].prediction, wanted.explain(other).models[a].prediction,
                GetParam() ? 1e-7 : 0.003);  // learned ridges remember a little
  const std::string before = changed.text();
  changed.set_price(6.0);
  EXPECT_EQ(changed.text(), before);  // as after a kill, where it is not known whether the call was made
  test::expect_refused([&] { changed.set_price(0.0); }, "both must be positive");
}

TEST_P(LiveChanges, ARefusedChangeLeavesACascadeThatGoesOn) {
  Cascade cascade(learner(2, rules())), other(learner(2, rules()));
  serve(cascade, 30, 7);
  serve(other, 30, 7);
  test::expect_refused([&] { cascade.set_price(1e300); }, "at most 1e9");
  const float psi[] = {1.0f, 0.5f, -0.5f};
  const std::uint64_t request = cascade.begin(psi);
  test::expect_refused([&] { cascade.observe(request, *cascade.next(request), {1e200, {0.5}}); }, "1e+200 dollars");
  other.begin(psi);
  try {  // whether or not it can be made over to such a price, all is as one says
    cascade.set_price(9e8);
  } catch (const Error& error) {
    EXPECT_EQ(cascade.options().price, 2.0);
    EXPECT_TRUE(Cascade::parse(cascade.text(), "memory").text() == cascade.text());
    cascade.add_model("c");
    other.add_model("c");
    EXPECT_EQ(serve(cascade, 30, 8), serve(other, 30, 8));
  }
}

TEST(LiveThresholds, GoOnWithoutAModel) {
  CascadeOptions options;
  options.models = {"a", "b", "c"};
  options.price = 1.0;
  options.order = {2, 0, 1};
  options.thresholds = {0.9, 0.5};
  Cascade cascade(options);
  const float psi[] = {1.0f};
  const std::uint64_t open = cascade.begin(psi);
  cascade.observe(open, 2, {0.1, {0.3}});
  cascade.remove_model("a");
  EXPECT_EQ(cascade.next(open), 1u);
  EXPECT_EQ(cascade.options().order, (std::vector<std::size_t>{2, 1}));
  EXPECT_EQ(cascade.options().thresholds, std::vector<double>{0.9});
  cascade.remove_model("b");
  EXPECT_FALSE(cascade.next(open).has_value());
  EXPECT_EQ(cascade.deploy(open), 2u);
  test::expect_refused([&] { cascade.remove_model("c"); }, "it calls c alone");
  test::expect_refused([&] { cascade.add_model("d"); }, "fit again on a table that has it");
  test::expect_refused([&] { cascade.set_price(2.0); }, "fit again with --price");
}

TEST(LiveThresholds, DoWhatTheTableSays) {
  test::Random random(11);
  constexpr std::size_t kRows = 300, kModels = 3;
  std::vector<double> seen, dollars;
  for (std::size_t k = 0; k < kRows * kModels; ++k) {
    seen.push_back(random.below(20) / 19.0);
    dollars.push_back(random.uniform(0, 0.1));
  }
  const FixedCascade fixed{{1, 2, 0}, {0.6, 0.4}};
  const test::Routed wanted = test::route({kModels, seen, seen, dollars}, fixed);
  CascadeOptions options;
  options.models = {"a", "b", "c"};
  options.price = 1.0;
  options.order = fixed.order;
  options.thresholds = fixed.thresholds;
  Cascade cascade(options);
  const float psi[] = {1.0f};
  for (std::size_t row = 0; row < kRows; ++row) {
    const std::uint64_t request = cascade.begin(psi);
    double spent = 0.0;
    std::uint32_t calls = 0;
    while (const auto model = cascade.next(request)) {
      const std::size_t at = row * kModels + *model;
      cascade.observe(request, *model, {dollars[at], {seen[at]}});
      spent += dollars[at];
      ++calls;
    }
    EXPECT_EQ(seen[row * kModels + cascade.deploy(request)], wanted.quality[row]);
    EXPECT_EQ(spent, wanted.dollars[row]);
    EXPECT_EQ(calls, wanted.calls[row]);
  }
}

class CascadeFiles : public test::FolderTest {};

TEST_F(CascadeFiles, ThatAreNotWholeAreRefused) {
  Cascade cascade(learner(2, shrunk_rules(true, 0.2)));
  serve(cascade, 20, 7);
  const float psi[] = {1.0f, 0.0f, 0.0f};
  cascade.begin(psi);
  const std::filesystem::path file = base_ / "cascade.json";
  cascade.save(file);
  EXPECT_TRUE(Cascade::load(file).text() == cascade.text());
  const std::string text = cascade.text();
  const auto refused = [&](const std::string& changed, const std::string& part) {
    test::expect_refused([&] { Cascade::parse(changed, "c.json"); }, part, ExitCode::bad_data);
  };
  for (std::size_t cut = 0; cut + 2 < text.size(); cut += text.size() / 50 + 1)
    refused(text.substr(0, cut), "c.json: ");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string out = text;
    return out.replace(out.find(from), from.size(), to);
  };
  refused(with("\"price\": 2.0", "\"price\": 3.0"), "its digest differs");
  refused(with("\"version\": 1", "\"version\": 9"), "another version");
  nlohmann::json forged = nlohmann::json::parse(text);
  forged["index_features"] = 1e40;  // no int has that value
  forged.erase("digest");
  forged["digest"] = sha256(forged.dump(-1, ' ', true));
  refused(forged.dump(), "has a \"index_features\" that is no integer");
  refused("[]", "is no cascade");
  refused("{]", "is not JSON");
  test::Random random(5);
  for (int k = 0; k < 200; ++k) {
    std::string flipped = text;
    char& c = flipped[static_cast<std::size_t>(random.below(static_cast<int>(text.size()) - 1))];
    c = static_cast<char>(c ^ (1 << random.below(7)));
    try {  // a change of blanks alone changes nothing
      EXPECT_TRUE(Cascade::parse(flipped, "c.json").text() == text);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::bad_data) << error.what();
    }
  }
  test::expect_refused([&] { Cascade::load(base_ / "absent.json"); }, "absent.json", ExitCode::bad_data);
}

TEST(CascadeOptions, ThatContradictThemselvesAreRefused) {
  const auto refused = [](auto change, const std::string& part) {
    CascadeOptions options = test::two_thresholds();
    change(options);
    test::expect_refused([&] { Cascade cascade(options); }, part);
  };
  refused([](CascadeOptions& o) { o.models.clear(); }, "0 models; give 1 to 16");
  refused([](CascadeOptions& o) { o.models[1] = "dear"; }, "\"dear\" is empty or stands twice");
  refused([](CascadeOptions& o) { o.price = -1.0; }, "price -1");
  refused([](CascadeOptions& o) { o.evaluator = "judge"; }, "evaluator \"judge\"");
  refused([](CascadeOptions& o) { o.order = {1, 1}; }, "each at most once");
  refused([](CascadeOptions& o) { o.thresholds = {}; }, "a threshold for each of them but the last");
  refused([](CascadeOptions& o) { o.rules = dow_rules(false, 0.1, 0.0); }, "not both");
  refused(
      [](CascadeOptions& o) {
        o.order = {};
        o.thresholds = {};
        o.rules = dow_rules(false, 0.1, 0.0);
        o.index_features = 16000;
      },
      "take 7.6 GiB, more than 1");
  refused(
      [](CascadeOptions& o) {
        o.order = {};
        o.thresholds = {};
        o.rules = dow_rules(false, std::nan(""), 0.0);
      },
      "width of a bonus");
  refused([](CascadeOptions& o) { o.features = "{"; }, "the features are not JSON");
  refused([](CascadeOptions& o) { o.calibration = {{{0.0}, {0.5}}}; }, "1 calibrations for 2 models");
  refused([](CascadeOptions& o) { o.calibration = {{{1.0, 0.0}, {0.5, 0.6}}, {}}; }, "ascending scores");
}

// With everything adopted at once, learning beside decisions is learning.
TEST_P(LiveChanges, WhatIsLearnedBesideIsWhatIsLearned) {
  Cascade inline_one(learner(3, rules())), beside(learner(3, rules()));
  beside.set_beside(true);
  test::Random random(3);
  inline_one.set_epoch(0), beside.set_epoch(0);
  for (int t = 0; t < 80; ++t) {
    const float psi[] = {1.0f, static_cast<float>(random.uniform(-1, 1)), static_cast<float>(random.uniform(-1, 1))};
    const std::uint64_t request = inline_one.begin(psi);
    ASSERT_EQ(beside.begin(psi), request);
    while (const auto model = inline_one.next(request)) {
      ASSERT_EQ(beside.next(request), model) << t;
      const Observation seen{0.05, {random.uniform(0, 1)}};
      inline_one.observe(request, *model, seen), beside.observe(request, *model, seen);
    }
    const CascadeExplanation one = beside.explain(request), other = inline_one.explain(request);
    EXPECT_EQ(one.stopped, other.stopped);
    for (std::size_t a = 0; a < one.models.size(); ++a) {  // widths are summed in another order
      EXPECT_EQ(one.models[a].prediction, other.models[a].prediction);
      EXPECT_NEAR(one.models[a].score, other.models[a].score, 1e-12);
    }
    ASSERT_EQ(beside.deploy(request), inline_one.deploy(request));
    const double quality = random.uniform(0, 1);
    inline_one.feedback(request, quality), beside.feedback(request, quality);
    EXPECT_GT(beside.not_adopted(), 0u);
    if (t % 2 == 0) {
      beside.adopt(beside.learn_waiting());
    } else {
      beside.adopt(beside.not_adopted());  // as where calls are made again
    }
    EXPECT_EQ(beside.not_adopted(), 0u);
  }
  beside.set_beside(false);
  EXPECT_THROW(beside.adopt(1), Error);
}

TEST_P(LiveChanges, WhatIsNotAdoptedChangesNothing) {
  Cascade cascade(learner(3, rules()));
  cascade.set_beside(true);
  cascade.set_epoch(0);
  const float psi[] = {1.0f, 0.5f, -0.25f};
  const auto estimates = [&] {  // scores move with the number of requests, too
    const std::uint64_t request = cascade.begin(psi);
    (void)cascade.next(request);
    std::vector<double> out;
    for (const CascadeExplanation::Model& model : cascade.explain(request).models)
      out.insert(out.end(), {model.prediction, model.width});
    return out;
  };
  test::Random random(4);
  int changed = 0;
  for (int t = 0; t < 20; ++t) {
    const std::uint64_t request = cascade.begin(psi);
    while (const auto model = cascade.next(request)) cascade.observe(request, *model, {0.05, {random.uniform(0, 1)}});
    cascade.deploy(request);
    cascade.feedback(request, 0.5);
    const std::vector<double> before = estimates();
    const std::uint64_t learned = cascade.learn_waiting();
    EXPECT_EQ(estimates(), before) << t;
    cascade.adopt(learned);
    changed += estimates() != before;  // where a refit was due
  }
  EXPECT_GE(changed, 4);
}

}  // namespace
}  // namespace pandora
