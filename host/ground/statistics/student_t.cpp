#include "host/ground/statistics/student_t.hpp"

#include <boost/math/distributions/students_t.hpp>  // here alone: it takes seconds to compile
#include <cmath>

namespace pandora {

double student_t_quantile(double probability, double degrees_of_freedom) {
  return boost::math::quantile(boost::math::students_t(degrees_of_freedom), probability);
}

double student_t_p_value(double statistic, double degrees_of_freedom) {
  if (!std::isfinite(statistic)) return std::isnan(statistic) ? statistic : 0.0;
  return 2.0 * boost::math::cdf(boost::math::students_t(degrees_of_freedom), -std::abs(statistic));
}

}  // namespace pandora
