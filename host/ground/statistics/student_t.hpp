// Student's law, for intervals and tests of means.
#pragma once

namespace pandora {

/// Quantile of Student's t. `probability` in (0, 1), `degrees_of_freedom` above 0.
double student_t_quantile(double probability, double degrees_of_freedom);
/// Two-sided p value of a statistic: NaN for NaN, 0 for an infinite one.
double student_t_p_value(double statistic, double degrees_of_freedom);

}  // namespace pandora
