#include <gtest/gtest.h>

#include <cmath>

#include "host/ground/statistics/statistics.hpp"

namespace pandora {
namespace {

// Values of printed tables.
TEST(StudentT, EqualsTheTables) {
  EXPECT_NEAR(student_t_quantile(0.975, 1.0), 12.7062, 1e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 10.0), 2.2281, 1e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 49.0), 2.0096, 1e-4);
  EXPECT_NEAR(student_t_p_value(2.2281388520, 10.0), 0.05, 1e-8);
  EXPECT_NEAR(student_t_p_value(-2.2281388520, 10.0), 0.05, 1e-8);
  EXPECT_EQ(student_t_p_value(0.0, 5.0), 1.0);
  EXPECT_TRUE(std::isnan(student_t_p_value(NAN, 5.0)));
  EXPECT_EQ(student_t_p_value(-INFINITY, 5.0), 0.0);
}

}  // namespace
}  // namespace pandora
