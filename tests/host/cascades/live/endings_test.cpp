// Calls that fail, models that rest for it, requests that are given up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "pandora/error.hpp"
#include "tests/host/cascades/live/exploring.hpp"

namespace pandora {
namespace {

using test::in_order;
using test::Random;
using testing::HasSubstr;

CascadeOptions router() {
  CascadeOptions out = in_order({}, {}, 0.0);
  out.index_features = 2;
  out.plans = {{{0}, {}}, {{1, 2}, {0.5}}, {{2}, {}}};
  out.router = R"({"learner": "ridge", "quality": [0.6, 0.5, 0.4, 0.2, -0.3, 0.1], "dollars": [0, 0, 0, 0, 0, 0]})";
  return out;
}

// Calls and deployed models of requests, in which every call that `fails` names brings no answer.
std::vector<std::size_t> served(Cascade& cascade, int requests, const std::function<bool(std::size_t)>& fails) {
  Random random(5);
  std::vector<std::size_t> out;
  const auto m = static_cast<std::size_t>(cascade.options().index_features);
  for (int t = 0; t < requests; ++t) {
    std::vector<float> psi = {1.0f};
    while (psi.size() < m) psi.push_back(static_cast<float>(random.uniform(-1.0, 1.0)));
    double quality[3];
    for (double& q : quality) q = random.uniform(0.0, 1.0);
    const std::uint64_t request = cascade.begin(psi);
    while (const auto model = cascade.next(request)) {
      if (fails(*model)) {
        cascade.fail(request, *model);
        continue;
      }
      cascade.observe(request, *model, {0.05, {quality[*model]}});
      out.push_back(*model);
    }
    out.push_back(cascade.deploy(request));
    cascade.feedback(request, quality[out.back()]);
  }
  return out;
}

TEST(Endings, ARequestGoesOnAsIfTheModelThatFailedWereNotThere) {
  for (const CascadeOptions& options : {in_order({0, 1, 2}, {0.8, 0.4}, 0.0), router(), test::exploring_learner(0.0)})
    for (std::size_t gone = 0; gone < 3; ++gone) {
      CascadeOptions never = options;
      never.failures_until_rest = 0;
      Cascade failing(never), without(options);
      without.remove_model(without.model_name(gone));
      EXPECT_EQ(served(failing, 80, [&](std::size_t model) { return model == gone; }),
                served(without, 80, [](std::size_t) { return false; }))
          << gone << " of " << options.index_features;
      EXPECT_GT(failing.counts().failures, 0u);
    }
}

TEST(Endings, AModelThatFailsAgainAndAgainRestsAndIsTriedByOneRequest) {
  CascadeOptions options = in_order({0, 1}, {0.8}, 0.0);
  options.failures_until_rest = 3;
  options.requests_of_rest = 4;
  Cascade cascade(options);
  const std::vector<float> psi = {1.0f};
  const auto begin = [&] {
    const std::uint64_t request = cascade.begin(psi);
    return std::pair(request, cascade.next(request).value());
  };
  const auto end = [&](std::uint64_t request) {
    while (const auto model = cascade.next(request)) cascade.observe(request, *model, {0.1, {0.9}});
    cascade.deploy(request);
  };
  for (int k = 0; k < 3; ++k) {
    const auto [request, model] = begin();
    ASSERT_EQ(model, 0u);
    cascade.fail(request, 0, 0.01, "time-out");
    end(request);
  }
  EXPECT_EQ(cascade.models()[0].failures, 3);
  for (int k = 0; k < 4; ++k) {
    const auto [request, model] = begin();
    EXPECT_EQ(model, 1u);
    end(request);
  }
  // Of two that are open at once the first one tries it. It fails: the next four pass it over at once.
  const auto [first, of_first] = begin();
  const auto [second, of_second] = begin();
  EXPECT_EQ(of_first, 0u);
  EXPECT_EQ(of_second, 1u);
  cascade.fail(first, 0);
  end(first), end(second);
  for (int k = 0; k < 4; ++k) {
    const auto [request, model] = begin();
    EXPECT_EQ(model, 1u);
    end(request);
  }
  // A trial that is given up is none; one that succeeds ends the rest, also of a cascade that was saved meanwhile.
  const auto [given_up, of_given_up] = begin();
  EXPECT_EQ(of_given_up, 0u);
  cascade.cancel(given_up);
  cascade = Cascade::parse(cascade.text(), "memory");
  const auto [third, of_third] = begin();
  EXPECT_EQ(of_third, 0u);
  cascade.observe(third, 0, {0.1, {0.1}});
  const auto [fourth, of_fourth] = begin();
  EXPECT_EQ(of_fourth, 0u);
  EXPECT_EQ(cascade.models()[0].rests_until, 0u);
  EXPECT_EQ(cascade.counts().failures, 4u);
  EXPECT_EQ(cascade.counts().cancelled, 1u);
}

TEST(Endings, WhereAllRestTheyAreCalledAllTheSame) {
  CascadeOptions options = in_order({1}, {}, 0.0);
  options.failures_until_rest = 1;
  Cascade cascade(options);
  const std::uint64_t first = cascade.begin(std::vector<float>{1.0f});
  cascade.fail(first, 1, 0.02);
  EXPECT_FALSE(cascade.next(first));
  EXPECT_THAT(cascade.explain(first).stopped, HasSubstr("cancel it"));
  EXPECT_THROW(cascade.deploy(first), Error);
  EXPECT_EQ(Cascade::parse(cascade.text(), "memory").explain(first).stopped, cascade.explain(first).stopped);
  cascade.cancel(first);
  EXPECT_THROW(cascade.cancel(first), Error);
  EXPECT_DOUBLE_EQ(cascade.counts().dollars, 0.02);
  EXPECT_EQ(cascade.next(cascade.begin(std::vector<float>{1.0f})), 1u);
}

TEST(Endings, NothingIsLearnedOfWhatWasGivenUp) {
  Cascade cascade(test::exploring_learner(0.0));
  served(cascade, 40, [](std::size_t) { return false; });
  const std::vector<float> psi = {1.0f, 0.3f};
  const auto predicted = [&] {
    std::vector<double> out;
    const std::uint64_t request = cascade.begin(psi);
    for (const auto& model : cascade.explain(request).models) out.insert(out.end(), {model.prediction, model.width});
    cascade.cancel(request);
    return out;
  };
  const std::vector<double> before = predicted();
  const std::uint64_t request = cascade.begin(psi);
  cascade.observe(request, *cascade.next(request), {0.5, {0.0}});
  if (const auto model = cascade.next(request)) cascade.skip(request, *model);
  cascade.cancel(request);
  EXPECT_EQ(predicted(), before);
  EXPECT_EQ(cascade.counts().failures, 0u);
  const std::uint64_t deployed = cascade.begin(psi);
  EXPECT_THROW(cascade.fail(deployed, 7), Error);
  EXPECT_THROW(cascade.fail(deployed, *cascade.next(deployed), -1.0), Error);
  cascade.observe(deployed, *cascade.next(deployed), {0.5, {0.0}});
  cascade.deploy(deployed);
  EXPECT_THROW(cascade.cancel(deployed), Error);
  EXPECT_THROW(cascade.skip(deployed, 0), Error);
}

}  // namespace
}  // namespace pandora
