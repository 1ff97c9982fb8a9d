// Cascades that have learned nothing yet, as `pandora cascade new` and Cascade.new make them.
#include "host/cascades/live/new_cascade.hpp"

#include <gtest/gtest.h>

#include "tests/host/cascades/live/play.hpp"

namespace pandora {
namespace {

// How many of 400 requests end with the first model: it costs twice as much as the others and is worth 0.6, they are
// worth 0.9. What a score says is another thing for each model, so that nothing is known of a model that was never
// deployed.
int first_model_deployed(const NewCascade& settings) {
  Cascade cascade(new_cascade(settings));
  test::Random random(5);
  int first = 0;
  for (int t = 0; t < 400; ++t) {
    const float psi[] = {1.0f};
    const std::uint64_t request = cascade.begin(psi);
    while (const auto model = cascade.next(request))
      cascade.observe(request, *model, {*model == 0 ? 0.02 : 0.01, {random.uniform(0.4, 0.6)}});
    const std::size_t deployed = cascade.deploy(request);
    first += deployed == 0 ? 1 : 0;
    cascade.feedback(request, deployed == 0 ? 0.6 : 0.9);
  }
  return first;
}

// Without a bonus on rewards ties go to the first model, which is then the only one that anything is learned of.
TEST(NewCascade, LooksBeyondTheFirstModelWhereTheQualityIsLearned) {
  for (const char* policy : {"shrunk_weitzman", "dow"}) {
    SCOPED_TRACE(policy);
    NewCascade settings;
    settings.models = {"dear", "cheap", "other"};
    settings.price = 1.0;
    settings.evaluator = "score";
    settings.policy = policy;
    EXPECT_LT(first_model_deployed(settings), 50);
    settings.reward_width = 0.0;
    EXPECT_GT(first_model_deployed(settings), 350);
  }
}

// alg:DOW: "Query each box once".
TEST(NewCascade, BeginsWithACallOfEveryModel) {
  for (const char* policy : {"shrunk_weitzman", "dow"})
    for (const char* evaluator : {"quality", "score"}) {
      NewCascade settings;
      settings.models = {"a", "b", "c"};
      settings.price = 1.0;
      settings.policy = policy;
      settings.evaluator = evaluator;
      Cascade cascade(new_cascade(settings));
      const float psi[] = {1.0f};
      const std::uint64_t request = cascade.begin(psi);
      int called = 0;
      for (; const auto model = cascade.next(request); ++called) cascade.observe(request, *model, {0.01, {0.99}});
      EXPECT_EQ(called, 3) << policy << " " << evaluator;
    }
}

}  // namespace
}  // namespace pandora
