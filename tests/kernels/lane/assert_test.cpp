// Kernels trust their callers. This build checks such conditions, and in a release the checks cost nothing.
#include "kernels/base/assert.hpp"

#include <gtest/gtest.h>

#include "tests/reference/gram_memory.hpp"

namespace pandora {
namespace {

#if defined(PANDORA_ASSERTIONS)
TEST(AssertDeathTest, AnUpdateMustFollowTheLastAndLieInTheBlock) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  test::GramMemory<float> memory(4, 8, true);
  const VectorTeam team;
  test::form_gram(team, memory.shape, memory.view, memory.contexts(8, [](int j, int k) { return j + 0.1 * k; }));
  engine::update_gram(team, memory.shape, memory.view, 8, 3, 1.0f);
  EXPECT_DEATH(engine::update_gram(team, memory.shape, memory.view, 8, 2, 1.0f), "gram.hpp:[0-9]+: not so: updates");
  EXPECT_DEATH(engine::update_gram(team, memory.shape, memory.view, 8, 8, 1.0f), "gram.hpp:[0-9]+: not so: 0 <= j");
}
#else
TEST(Assert, IsNothingInARelease) {
  int looked = 0;
  PANDORA_ASSERT(++looked > 0);
  EXPECT_EQ(looked, 0);
}
#endif

}  // namespace
}  // namespace pandora
