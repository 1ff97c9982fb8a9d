#include "host/ground/statistics/student_t.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace pandora {
namespace {

// Values of printed tables.
TEST(StudentT, EqualsTheTables) {
  EXPECT_NEAR(student_t_quantile(0.975, 1.0), 12.7062, 1e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 10.0), 2.2281, 1e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 49.0), 2.0096, 1e-4);
  EXPECT_NEAR(student_t_p_value(2.2281388520, 10.0), 0.05, 1e-8);
  EXPECT_NEAR(student_t_p_value(-2.2281388520, 10.0), 0.05, 1e-8);
  EXPECT_NEAR(normal_p_value(1.959963985), 0.05, 1e-8);
  EXPECT_EQ(student_t_p_value(0.0, 5.0), 1.0);
  for (double (*p)(double) :
       {+[](double z) { return student_t_p_value(z, 5.0); }, +[](double z) { return normal_p_value(z); }}) {
    EXPECT_TRUE(std::isnan(p(NAN)));
    EXPECT_EQ(p(-INFINITY), 0.0);
  }
}

}  // namespace
}  // namespace pandora
