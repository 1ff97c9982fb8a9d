#include "tests/reference/small_instance.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "tests/reference/naive_draws.hpp"

namespace pandora::naive {

Instance small_instance(Dimensions dim, Law law, Regime regime) {
  std::mt19937 engine(99);
  std::uniform_real_distribution<double> signed_unit(-1.0, 1.0), unit(0.0, 1.0);
  const auto draw = [&engine](auto& distribution, int n) {
    std::vector<double> out;
    for (int i = 0; i < n; ++i) out.push_back(distribution(engine));
    return out;
  };
  Instance instance;
  instance.dimensions = dim;
  instance.regime = regime;
  instance.replication = 4;
  instance.seed = 0xfeedfacecafebeef;
  instance.environment.name = "small";
  instance.environment.id = 11;
  instance.environment.law = law;
  instance.environment.shock_scale = law == Law::student_t5 ? 0.774596669f : 1.0f;
  if (law != Law::uniform) instance.environment.truncation_radius = 1.3f * std::sqrt(static_cast<float>(dim.output));
  instance.environment.cost_level = 0.3;
  const int A = dim.boxes, d = dim.reward_features;
  instance.theta = draw(signed_unit, d);
  instance.D = draw(signed_unit, d * dim.output);
  instance.Q = draw(signed_unit, d * dim.context);
  instance.alpha = draw(signed_unit, A * dim.context);
  instance.beta0 = draw(signed_unit, A * dim.context);
  instance.beta1 = draw(signed_unit, A * dim.output);
  instance.c0 = draw(unit, A);
  instance.c1 = draw(unit, A);
  if (regime == Regime::A)
    for (std::vector<double>* zero : {&instance.Q, &instance.alpha, &instance.beta0, &instance.beta1})
      zero->assign(zero->size(), 0.0);
  return instance;
}

Instance with_location(Instance instance, Location location) {
  const Dimensions& dim = instance.dimensions;
  instance.environment.location = location;
  std::mt19937 engine(7);
  std::uniform_real_distribution<double> signed_unit(-1.0, 1.0);
  const std::size_t one = instance.Q.size();
  if (location == Location::none) instance.Q.assign(one, 0.0);
  if (location == Location::own)
    while (instance.Q.size() < one * static_cast<std::size_t>(dim.boxes))
      instance.Q.push_back(instance.contextual() ? signed_unit(engine) : 0.0);
  return instance;
}

Instance with_centred_costs(Instance instance) {
  const Dimensions& dim = instance.dimensions;
  instance.environment.output_costs = OutputCostLaw::centred;
  for (int a = 0; a < dim.boxes && instance.contextual(); ++a) {
    const std::vector<double> row =
        centred_row(instance.stream(Purpose::output_cost_coefficients), static_cast<std::uint32_t>(a), dim.output);
    std::copy(row.begin(), row.end(), instance.beta1.begin() + a * dim.output);
  }
  return instance;
}

Instance with_linear_rewards(Instance instance) {
  instance.environment.reward_link = RewardLink::linear;
  instance.environment.output_scales = OutputScales::constant;
  instance.alpha.assign(instance.alpha.size(), 0.0);
  for (double& value : instance.theta) value *= 3.0;  // some outputs lie beyond both ends of [0, 1]
  return instance;
}

Instance with_linear_indices(Instance instance) {
  const Dimensions& dim = instance.dimensions;
  instance.environment.indices = Indices::linear;
  instance.environment.name = "linear";
  std::mt19937 engine(8);
  std::uniform_real_distribution<double> signed_unit(-1.0, 1.0), unit(0.0, 1.0);
  for (int a = 0; a < dim.boxes; ++a) {
    instance.rho.push_back(0.3 + 0.3 * unit(engine));
    for (int k = 1; k < dim.index_size(); ++k)
      instance.rho.push_back(instance.contextual() && k <= dim.context ? 0.1 * signed_unit(engine) : 0.0);
  }
  for (std::vector<double>* zero : {&instance.beta0, &instance.beta1, &instance.c0, &instance.c1})
    zero->assign(zero->size(), 0.0);
  std::normal_distribution<double> normal(0.0, 1.5);
  for (int k = 0; k < 101; ++k) instance.shock_quantiles.push_back(normal(engine));  // no multiple of a strip
  std::sort(instance.shock_quantiles.begin(), instance.shock_quantiles.end(), std::greater<>());
  return instance;
}

}  // namespace pandora::naive
