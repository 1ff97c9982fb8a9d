#include "host/studies/run/oracle_index.hpp"

#include "host/lanes/model/draw_instance.hpp"

namespace pandora {
namespace {

ProjectedLaw law_of(const Study& study) {
  Instance instance;  // D = one unit row and theta_* = 1 make the projection the drawn vector
  instance.environment = study.environments[0];
  instance.seed = study.seed;
  instance.dimensions = study.dimensions;
  instance.dimensions.reward_features = 1;
  instance.theta = {1.0};
  instance.D = unit_sphere(instance.stream(Purpose::projection_vector), instance.dimensions.output);
  const ShockSample sample = draw_shock_sample(instance, study.oracle.samples);
  return empirical_law(sample.projected, sample.link);
}

}  // namespace

OracleIndex::OracleIndex(const Study& study) : law_(law_of(study)), solver_(law_) {}

OracleIndex::Found OracleIndex::operator()(double shift, double scale, double cost) {
  if (shift != shift_ || scale != scale_) solver_.evaluate(shift, scale);
  shift_ = shift;
  scale_ = scale;
  const double sigma = solver_.index(cost);
  return {sigma, solver_.standard_error(sigma)};
}

}  // namespace pandora
