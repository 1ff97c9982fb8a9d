// A router: what each of some plans (a model alone, or models in order with thresholds) brings for a prompt, predicted
// from the prompt's features before any call. The plan of the greatest predicted utility is taken.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

namespace pandora {

/// What some plans bring for some prompts, or are predicted to: prompts x plans, row-major.
struct PlanWorths {
  std::size_t plans = 0;
  std::vector<double> quality, dollars;

  double utility(std::size_t at, double price) const { return quality[at] - price * dollars[at]; }
  bool operator==(const PlanWorths&) const = default;
};

struct Router {
  enum class Learner { ridge, logistic, neighbours };  // as JSON has them

  Learner learner = Learner::ridge;
  std::size_t features = 1;  ///< m: numbers of psi, of which the first is 1
  /// Of the nearest prompts the mean (neighbours: what the plans brought for each prompt that is remembered), or m
  /// weights by plan: features x plans. With `logistic` quality is 1 / (1 + exp(-weights' psi)).
  PlanWorths known;
  std::vector<double> prompts;  ///< of neighbours: m x prompts
  std::size_t nearest = 0;      ///< of neighbours: how many are asked

  /// One row. psi: m numbers.
  PlanWorths predict(std::span<const float> psi) const;

  nlohmann::json to_json() const;
  /// Takes any JSON, hostile too; throws Damaged (sealed_file.hpp) if it is no router of so many plans and features.
  static Router from_json(const nlohmann::json& json, std::size_t plans, std::size_t features);
  bool operator==(const Router&) const = default;
};

}  // namespace pandora
