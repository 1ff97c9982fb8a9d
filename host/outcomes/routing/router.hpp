// A router: what each of some plans (a model alone, or models in order with thresholds) brings for a prompt, predicted
// from the prompt's features before any call. The plan of the greatest predicted utility is taken.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "host/outcomes/routing/linear_fits.hpp"
#include "host/outcomes/routing/nearest_prompts.hpp"
#include "host/outcomes/routing/routing.hpp"

namespace pandora {

/// What some plans bring for some prompts, or are predicted to: prompts x plans, row-major.
struct PlanWorths {
  std::size_t plans = 0;
  std::vector<double> quality, dollars;

  double utility(std::size_t at, double price) const { return quality[at] - price * dollars[at]; }
  /// The plan of the greatest utility for the prompt in that row, the first of equal ones.
  std::size_t best(std::size_t row, double price) const;
  /// With these plans alone.
  PlanWorths of_plans(const std::vector<std::size_t>& some) const;
  bool operator==(const PlanWorths&) const = default;
};

struct Router {
  enum class Learner { ridge, logistic, neighbours };

  Learner learner = Learner::ridge;
  std::size_t features = 1;  ///< m: numbers of psi, of which the first is 1
  /// Of the nearest prompts the mean (neighbours: what the plans brought for each prompt that is remembered), or m
  /// weights by plan: features x plans. With `logistic` quality is 1 / (1 + exp(-weights' psi)).
  PlanWorths known;
  std::vector<double> prompts;  ///< of neighbours: m x prompts
  std::size_t nearest = 0;      ///< of neighbours: how many are asked

  /// One row. psi: m numbers.
  PlanWorths predict(std::span<const float> psi) const;
  /// A row for each prompt. psi: prompts x m.
  PlanWorths predict_all(std::span<const float> psi) const;
  /// With these plans alone.
  Router with_plans(const std::vector<std::size_t>& plans) const;

  nlohmann::json to_json() const;
  /// Takes any JSON, hostile too; throws Damaged (sealed_file.hpp) if it is no router of so many plans and features.
  static Router from_json(const nlohmann::json& json, std::size_t plans, std::size_t features);
  bool operator==(const Router&) const = default;
};

/// "ridge", "logistic", "neighbours".
const char* learner_text(Router::Learner learner);

/// Mean over the rows that are named; one row.
PlanWorths mean_of(const PlanWorths& worths, std::span<const std::size_t> rows);

/// A router of some plans, by their numbers among those that there were.
struct RoutedPlans {
  Router router;
  std::vector<std::size_t> plans;  ///< ascending
  std::size_t learner = 0;         ///< of PlanPredictors::routers(), which are of all plans
};

/// What can be predicted of plans, by every learner: fitted once, and a router for any price.
///
///   ridge       of quality and of dollars on psi, each plan with the ridge that has the least squared error where each
///               prompt is left out (in closed form, by the prompts' leverages); the constant is not shrunk
///   logistic    the same of quality by logistic regression, the ridge by log loss (one Newton step without each
///               prompt); not for more than kMostLogistic features, nor for qualities outside [0, 1]
///   neighbours  means over the 10, 30, 100 or 300 nearest of at most kMostNeighbours prompts spread over the rows
///
/// The learner is the one whose choices are worth most where each prompt is left out, the first of equal ones, by at
/// most kMostAsked of the prompts.
class PlanPredictors {
 public:
  static constexpr std::size_t kMostLogistic = 64, kMostNeighbours = 3000, kMostAsked = 1000;

  /// psi: rows x m. `worths`: what the plans brought, in the same rows; both at least one.
  PlanPredictors(std::span<const float> psi, std::size_t m, PlanWorths worths);
  /// Of more plans for the same prompts: `worths` begins with the plans of `some`, whose fits are taken from there.
  PlanPredictors(const PlanPredictors& some, PlanWorths worths);

  /// The best learner at the price, of the plans that it chooses for some of the asked prompts.
  RoutedPlans best(double price) const;
  /// Of every learner; of neighbours one for each number that is asked.
  const std::vector<Router>& routers() const { return routers_; }
  /// What routers()[k] predicts of the asked prompts where each is left out, and which rows these are.
  const std::vector<PlanWorths>& left_out() const { return left_out_; }
  const std::vector<std::size_t>& asked() const { return prompts_->asked; }

 private:
  /// What does not depend on the plans.
  struct Prompts {
    std::size_t features;
    std::vector<std::size_t> remembered, asked;  // rows
    std::vector<double> remembered_psi;          // m x remembered
    LinearFits linear;
    std::vector<std::vector<std::size_t>> near;  // to each of the asked the nearest remembered, the nearest first
    Prompts(std::span<const float> psi, std::size_t m);
  };
  struct PlanFits {
    LinearFit quality, dollars;
    std::optional<LinearFit> logistic;  // of the quality
  };
  void fit();
  void add_linear();
  void add_neighbours();
  void add(Router router, PlanWorths left_out);

  std::shared_ptr<const Prompts> prompts_;
  PlanWorths worths_;
  std::vector<PlanFits> fits_;
  std::vector<Router> routers_;
  std::vector<PlanWorths> left_out_;
};

}  // namespace pandora
