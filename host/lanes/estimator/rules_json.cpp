// A lane's rules and its settings of estimation as JSON, as files of cascades store them.
#include "host/lanes/estimator/rules_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "host/ground/files/sealed_file.hpp"

namespace pandora {

namespace {

using Json = nlohmann::json;

struct MemberWriter {
  Json out = Json::object();

  template <class T>
  void operator()(const char* name, T& value, double = 0.0, double = 0.0) {
    if constexpr (std::is_enum_v<T>)
      out[name] = static_cast<int>(value);
    else
      out[name] = value;
  }
  // A number that is left out if it has its default, 0.
  void unless_zero(const char* name, double& value) {
    if (value != 0.0) out[name] = value;
  }
};

struct MemberReader {
  const Json& in;

  template <class T>
  void operator()(const char* name, T& value, double least, double greatest) {
    const auto found = in.find(name);
    const bool sound = found != in.end() && (std::is_same_v<T, bool> ? found->is_boolean() : found->is_number());
    if (!sound) throw Damaged(fmt::format("has rules without a sound {}", name));
    if constexpr (std::is_same_v<T, bool>) {
      value = found->template get<bool>();
    } else {
      const double x = found->template get<double>();
      if (!(x >= least && x <= greatest) || (!std::is_same_v<T, double> && x != std::floor(x)))
        throw Damaged(fmt::format("has rules with {} = {:g}", name, x));
      value = static_cast<T>(std::is_same_v<T, double> ? x : static_cast<std::int64_t>(x));
    }
  }
  void unless_zero(const char* name, double& value) {
    if (in.contains(name)) (*this)(name, value, 0.0, std::numeric_limits<double>::max());
  }
};

constexpr double kAny = std::numeric_limits<double>::max(), kInt = 2147483647.0;

// Enumerations, by their last value.
template <class Members>
void visit_rules(Members& member, LaneSpec& rules) {
  member("order", rules.order, 0, static_cast<double>(Order::random));
  member("score", rules.score, 0, static_cast<double>(Score::hindsight));
  member("stop", rules.stop, 0, static_cast<double>(Stop::never));
  member("reward", rules.reward, 0, static_cast<double>(RewardModel::learned));
  member("learning", rules.learning, 0, static_cast<double>(Learning::online));
  member("c_rho", rules.c_rho, -kAny, kAny);
  member("c_theta", rules.c_theta, -kAny, kAny);
  member("c_b", rules.c_b, -kAny, kAny);
  member("T0", rules.T0, 0, kInt);
  member("bonus", rules.bonus.kind, 0, static_cast<double>(Bonus::theory));
  Theory& theory = rules.bonus.theory;
  member("theory_scale", theory.scale, -kAny, kAny);
  member("theory_base", theory.base, -kAny, kAny);
  member("theory_ridge", theory.ridge, -kAny, kAny);
  member("theory_features", theory.features, -kAny, kAny);
  member("theory_confidence", theory.confidence, -kAny, kAny);
  member("theory_reward_scale", theory.reward_scale, -kAny, kAny);
  member("theory_reward_offset", theory.reward_offset, -kAny, kAny);
  member("theory_reward_growth", theory.reward_growth, -kAny, kAny);
  member("theory_reward_confidence", theory.reward_confidence, -kAny, kAny);
  member("thompson", rules.thompson, 0, 1);
  member("epsilon", rules.epsilon, 0, 1);
  member("forced", rules.forced, 0, kInt);
  member("loss", rules.loss, 0, static_cast<double>(Loss::linear_quadratic));
  member("fit", rules.fit, 0, static_cast<double>(Fit::shrunk));
  member("shrinkage", rules.shrinkage, 0, static_cast<double>(Shrinkage::fixed));
  member("ridge_mean", rules.ridge_mean, 0, kAny);
  member("ridge_own", rules.ridge_own, 0, kAny);
  member("joint_steps", rules.joint_steps, 1, 1000);
  member("joint_tolerance", rules.joint_tolerance, 0, kAny);
}

template <class Members>
void visit_estimation(Members& member, EstimationOptions& options) {
  member("refit", options.refit.kind, 0, static_cast<double>(RefitSchedule::Kind::tracking));
  member("refit_every", options.refit.every, 1, kInt);
  member("refit_growth", options.refit.growth, 1, kAny);
  member("eta_1", options.ridge_index, 0, kAny);
  member("eta_0", options.ridge_reward, 0, kAny);
  member("forget", options.forgetting.half_life, 0, kAny);
  member("most_samples", options.most_samples, 0, kInt);
  member.unless_zero("eta_slopes", options.ridge_slopes);
  member.unless_zero("eta_loss", options.ridge_loss);
  member.unless_zero("radius_rho", options.radius_rho);
  member.unless_zero("radius_theta", options.radius_theta);
  double payoff = options.ridge_payoff == 1.0 ? 0.0 : options.ridge_payoff;
  member.unless_zero("eta_payoff", payoff);
  if (payoff != 0.0) options.ridge_payoff = payoff;
  RewardSchedule& reward = options.refit_reward;  // whether theta_hat takes steps; it does unless this is 0
  double solves_alone = reward.steps ? 0.0 : reward.growth;
  member.unless_zero("refit_reward", solves_alone);
  if (solves_alone != 0.0) reward = {.growth = solves_alone, .steps = false};
}

}  // namespace

Json rules_json(const LaneSpec& rules) {
  LaneSpec copy = rules;
  MemberWriter writer;
  visit_rules(writer, copy);
  return writer.out;
}

LaneSpec rules_of(const Json& json) {
  LaneSpec rules;
  MemberReader reader{json};
  visit_rules(reader, rules);
  return rules;
}

Json estimation_json(const EstimationOptions& options) {
  EstimationOptions copy = options;
  MemberWriter writer;
  visit_estimation(writer, copy);
  return writer.out;
}

EstimationOptions estimation_of(const Json& json) {
  EstimationOptions options;
  MemberReader reader{json};
  visit_estimation(reader, options);
  return options;
}

Stream stream_of(const Json& json, Purpose purpose) {
  const auto is_number = [](const Json& x) { return x.is_number_unsigned(); };
  if (!json.is_array() || json.size() != 4 || !std::all_of(json.begin(), json.end(), is_number) || json[1] > 255u ||
      json[2] > 255u || json[3] > 4294967295u)
    throw Damaged("has a stream of draws that is none");
  return {json[0].get<std::uint64_t>(), purpose, json[1].get<std::uint8_t>(), json[2].get<std::uint8_t>(),
          json[3].get<std::uint32_t>()};
}

}  // namespace pandora
