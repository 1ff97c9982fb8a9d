// What a cascade tries beyond its rules.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "pandora/error.hpp"
#include "tests/host/cascades/live/exploring.hpp"

namespace pandora {
namespace {

using test::in_order;

// How likely the rules of docs/serving.md make each course of a request, written from that page alone: `course` is the
// models that were called, then the one whose answer is deployed. A model's score is the same whenever it is called.
struct Courses {
  std::vector<std::size_t> order;
  std::vector<double> thresholds, scores;
  double explore = 0.0;
  std::map<std::vector<std::size_t>, double> probability = {};

  void go_on(std::vector<std::size_t> called, double likely) {
    const auto has = [&](std::size_t model) { return std::find(called.begin(), called.end(), model) != called.end(); };
    bool accepted = false;
    for (std::size_t k = 0; k < thresholds.size(); ++k) accepted |= has(order[k]) && scores[order[k]] >= thresholds[k];
    std::vector<std::size_t> left;
    for (std::size_t model = 0; model < scores.size(); ++model)
      if (!has(model)) left.push_back(model);
    const auto next = std::find_if(order.begin(), order.end(), [&](std::size_t model) { return !has(model); });
    const bool stops = accepted || next == order.end();
    for (const std::size_t model : left) {
      const double of_rules = !stops && model == *next ? 1.0 - explore : 0.0;
      std::vector<std::size_t> more = called;
      more.push_back(model);
      go_on(more, likely * (explore / static_cast<double>(left.size()) + of_rules));
    }
    if (!stops) return;
    deploy(called, left.empty() ? likely : likely * (1.0 - explore));
  }
  void deploy(const std::vector<std::size_t>& called, double likely) {
    std::size_t best = called[0];
    for (const std::size_t model : called)
      if (scores[model] > scores[best]) best = model;
    const double each = called.size() > 1 ? explore / static_cast<double>(called.size()) : 0.0;
    for (const std::size_t model : called) {
      std::vector<std::size_t> course = called;
      course.push_back(model);
      probability[course] += likely * (each + (model == best ? 1.0 - each * static_cast<double>(called.size()) : 0.0));
    }
  }
};

// Every course comes as often as it is said to.
TEST(Explore, CoursesOfRequestsHaveTheirProbabilities) {
  Courses courses{{0, 1}, {0.7}, {0.5, 0.9, 0.6}, 0.4};
  for (const double first : {0.5, 0.8}) {
    courses.scores[0] = first;
    courses.probability.clear();
    courses.go_on({}, 1.0);
    Cascade cascade(in_order(courses.order, courses.thresholds, courses.explore));
    std::map<std::vector<std::size_t>, int> seen;
    const int requests = 40'000;
    for (int t = 0; t < requests; ++t) {
      const std::uint64_t request = cascade.begin(std::vector<float>{1.0f});
      std::vector<std::size_t> course;
      while (const auto model = cascade.next(request)) {
        cascade.observe(request, *model, {0.1, {courses.scores[*model]}});
        course.push_back(*model);
      }
      course.push_back(cascade.deploy(request));
      ++seen[course];
      cascade.feedback(request, 0.5);
    }
    double all = 0.0;
    for (const auto& [course, likely] : courses.probability) {
      const double expected = requests * likely;
      EXPECT_NEAR(seen[course], expected, 4.5 * std::sqrt(expected * (1.0 - likely)) + 1e-9)
          << testing::PrintToString(course);
      all += likely;
    }
    EXPECT_NEAR(all, 1.0, 1e-12);
    for (const auto& [course, count] : seen)
      EXPECT_TRUE(courses.probability.contains(course)) << testing::PrintToString(course);
  }
}

// Saved and loaded at every step it goes on to the same decisions, also with requests that explore.
TEST(Explore, AnExploringCascadeIsSavedAtAnyTime) {
  for (const CascadeOptions& options : {in_order({0, 1}, {0.6}, 0.5), test::exploring_learner(0.5)}) {
    Cascade steady(options), moved(options);
    steady.set_epoch(0), moved.set_epoch(0);
    test::Random random(4);
    for (int t = 0; t < 60; ++t) {
      const std::vector<float> psi(static_cast<std::size_t>(std::max(1, options.index_features)), 1.0f);
      const std::uint64_t request = steady.begin(psi);
      EXPECT_EQ(moved.begin(psi), request);
      for (;;) {
        moved = Cascade::parse(moved.text(), "memory");
        moved.set_epoch(0);
        EXPECT_EQ(moved.explain_json(request), steady.explain_json(request));
        const auto model = steady.next(request);
        ASSERT_EQ(moved.next(request), model);
        if (!model) break;
        if (random.uniform(0.0, 1.0) < 0.1) {
          steady.fail(request, *model, 0.1, "busy"), moved.fail(request, *model, 0.1, "busy");
          continue;
        }
        const Observation seen{0.1, {random.uniform(0.0, 1.0)}};
        steady.observe(request, *model, seen), moved.observe(request, *model, seen);
      }
      if (steady.explain(request).calls.empty()) {  // all have failed
        steady.cancel(request), moved.cancel(request);
        continue;
      }
      EXPECT_EQ(moved.deploy(request), steady.deploy(request));
      steady.feedback(request, 0.5), moved.feedback(request, 0.5);
    }
    EXPECT_EQ(moved.text(), steady.text());
  }
}

TEST(Explore, ModelsThatAreRemovedAreNotDrawn) {
  Cascade cascade(in_order({0, 1}, {0.6}, 1.0));
  std::vector<std::uint64_t> open;
  for (int t = 0; t < 30; ++t) open.push_back(cascade.begin(std::vector<float>{1.0f}));
  cascade.remove_model(cascade.model_name(2));
  for (const std::uint64_t request : open) {
    int calls = 0;
    for (; const auto model = cascade.next(request); ++calls) {
      EXPECT_NE(*model, 2u);
      cascade.observe(request, *model, {0.1, {0.9}});
    }
    EXPECT_EQ(calls, 2);
  }
  cascade.set_explore(0.0);
  const std::uint64_t request = cascade.begin(std::vector<float>{1.0f});
  EXPECT_EQ(cascade.next(request), 0u);
  cascade.observe(request, 0, {0.1, {0.9}});
  EXPECT_FALSE(cascade.next(request));
  EXPECT_EQ(cascade.text().find("\"explore\""), std::string::npos);
  EXPECT_THROW(cascade.set_explore(1.5), Error);
  EXPECT_THROW(cascade.observe(request, 1, {0.1, {0.9}, -1.0}), Error);
}

// A router without a judge calls one model, which may be a drawn one, and nothing after it.
TEST(Explore, WithoutAJudgeOneModelIsCalled) {
  CascadeOptions options = in_order({}, {}, 0.5);
  options.evaluator = "none";
  options.order = {1};
  Cascade cascade(options);
  std::map<std::size_t, int> called;
  for (int t = 0; t < 600; ++t) {
    const std::uint64_t request = cascade.begin(std::vector<float>{1.0f});
    EXPECT_FALSE(cascade.needs_score(request));
    const std::size_t model = cascade.next(request).value();
    cascade.observe(request, model, {0.1, {}});
    EXPECT_FALSE(cascade.next(request));
    EXPECT_EQ(cascade.deploy(request), model);
    ++called[model];
  }
  EXPECT_NEAR(called[1], 400, 4 * std::sqrt(600.0 * 2 / 9));
  EXPECT_NEAR(called[2], 100, 4 * std::sqrt(600.0 * 5 / 36));
}

}  // namespace
}  // namespace pandora
