// What a model that comes later gets of the calls.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/host/cascades/live/play.hpp"

namespace pandora {
namespace {

using test::learner;

// What a model that comes after 600 requests gets of the next 1,000, where its answers are worth `quality` and cost `dollars` on
// average and those of two others 0.55 for $0.01 and 0.7 for $0.03, on prompts that are harder or less so.
int calls_of_newcomer(double quality, double dollars, std::uint64_t seed, bool known_before) {
  CascadeOptions options = learner(2, shrunk_rules(false, 0.05));
  options.price = 5.0;
  if (known_before) options.models.push_back("new");
  Cascade cascade(options);
  test::Random random(seed);
  const double worth[] = {0.55, 0.7, quality}, cost[] = {0.01, 0.03, dollars};
  int calls = 0;
  for (int t = 0; t < 1'600; ++t) {
    if (t == 600 && !known_before) cascade.add_model("new");
    const double hard = random.uniform(-1.0, 1.0);
    const float psi[] = {1.0f, static_cast<float>(hard), static_cast<float>(random.uniform(-1.0, 1.0))};
    const std::uint64_t request = cascade.begin(psi);
    while (const auto model = cascade.next(request)) {
      const double q = std::clamp(worth[*model] - 0.2 * hard + random.uniform(-0.3, 0.3), 0.0, 1.0);
      cascade.observe(request, *model, {cost[*model] * random.uniform(0.7, 1.3), {q}});
      calls += t >= 600 && *model == 2;
    }
    cascade.deploy(request);
    cascade.feedback(request, 0.5);
  }
  return calls;
}

TEST(NewModel, ABetterOneIsAdoptedAndAWorseOneCostsItsTrial) {
  int adopted = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    adopted += 2 * calls_of_newcomer(0.8, 0.01, seed, false) >= calls_of_newcomer(0.8, 0.01, seed, true);
    EXPECT_LE(calls_of_newcomer(0.4, 0.03, seed, false), 30 + 10) << seed;
  }
  EXPECT_GE(adopted, 95);
}

}  // namespace
}  // namespace pandora
