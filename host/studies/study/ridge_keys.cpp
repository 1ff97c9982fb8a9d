// The keys of what holds the estimates of rho_a and theta_* back: ridges, and the balls that the paper minimises over.
#include "host/studies/study/study_keys.hpp"
#include "host/studies/study/value_checks.hpp"

namespace pandora {

std::vector<StudyKey> ridge_keys() {
  const auto number = StudyValue::Kind::number;
  const auto unless_zero = [number](const char* name, const char* meaning, double EstimationOptions::*member) {
    return StudyKey{
        name, number, "0, or number from 1e-06 to 1e+08", "", meaning, "0", [member](Study& s, const StudyValue& v) {
          if (v.numbers[0] != 0.0) s.estimation.*member = number_within(v, 1e-6, 1e8);
        }};
  };
  return {
      {"estimation.eta_index", number, "number from 1e-06 to 1e+08", "", "eta_1, ridge of the index fit and of V.", "1",
       [](Study& s, const StudyValue& v) { s.estimation.ridge_index = number_within(v, 1e-6, 1e8); }},
      unless_zero("estimation.eta_slopes",
                  "Its part on the slopes of every rho_a, in the fit and in V; eta_1 is then the intercepts' alone "
                  "(docs/conventions.md); 0: eta_1.",
                  &EstimationOptions::ridge_slopes),
      {"estimation.eta_reward", number, "number from 0.001 to 1e+08", "", "eta_0, ridge of the reward fit and of Phi.",
       "1", [](Study& s, const StudyValue& v) { s.estimation.ridge_reward = number_within(v, 1e-3, 1e8); }},
      unless_zero("estimation.eta_loss",
                  "Ridge of the index fit alone, where V keeps eta_1 and eta_slopes, for engine.kind = \"reference\" "
                  "(docs/conventions.md); 0: that of V.",
                  &EstimationOptions::ridge_loss),
      unless_zero("estimation.radius_rho",
                  "Radius of the ball around 0 that rho_hat is minimised over, for engine.kind = \"reference\"; 0: "
                  "over all rho.",
                  &EstimationOptions::radius_rho),
      unless_zero("estimation.radius_theta", "The same for theta_hat.", &EstimationOptions::radius_theta),
  };
}

}  // namespace pandora
