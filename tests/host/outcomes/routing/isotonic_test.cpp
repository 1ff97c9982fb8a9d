// Qualities of a judge's scores.
#include <gtest/gtest.h>

#include "host/outcomes/routing/isotonic_map.hpp"

namespace pandora {
namespace {

TEST(IsotonicMap, IsLinearBetweenKnotsAndConstantBeyond) {
  const IsotonicMap map{{0.2, 0.4, 0.6, 0.8}, {0.1, 0.4, 0.4, 0.9}};
  EXPECT_EQ(map(0.0), 0.1);
  EXPECT_DOUBLE_EQ(map(0.3), 0.25);
  EXPECT_EQ(map(0.5), 0.4);
  EXPECT_DOUBLE_EQ(map(0.75), 0.775);
  EXPECT_EQ(map(0.8), 0.9);
  EXPECT_EQ(map(1.0), 0.9);
  EXPECT_EQ(IsotonicMap()(0.3), 0.3);  // without knots a score is its own quality
}

}  // namespace
}  // namespace pandora
