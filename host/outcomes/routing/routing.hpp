// Routing: which models are opened for a prompt, and which answer is deployed. Every opened answer is paid, one is
// deployed, and the utility of a prompt is the quality of the deployed answer minus price x dollars.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace pandora {

/// Prompts x models as routing meets them. Views: what they look at must outlive them.
struct Outcomes {
  std::size_t models = 0;
  std::span<const double> seen;          ///< rows x models, row-major: what an answer seems worth once it is opened
  std::span<const double> quality;       ///< likewise: what it is worth if it is deployed
  std::span<const double> dollars;       ///< likewise: what opening it costs
  std::span<const double> latency = {};  ///< likewise: seconds, NaN where not known; empty where nobody asks

  std::size_t rows() const { return models == 0 ? 0 : quality.size() / models; }
  double utility(std::size_t at, double price) const { return quality[at] - price * dollars[at]; }
};

/// Models in a fixed order. An opened answer is accepted, and opening ends, where what is seen of it reaches the
/// model's threshold; the last model has none. The best seen answer is deployed, the first of equal ones. A single
/// model is a cascade of one.
struct FixedCascade {
  std::vector<std::size_t> order;  ///< models, each at most once; not empty
  std::vector<double> thresholds;  ///< order.size() - 1
  bool operator==(const FixedCascade&) const = default;
};

/// Weitzman's policy without a context: models in the order of their indices, until the best that is seen reaches the
/// index of the next one. The first model is opened in any case. The best seen answer is deployed, the first of equal
/// ones.
struct ModelIndices {
  std::vector<std::size_t> order;  ///< models
  std::vector<double> indices;     ///< of `order`, descending, in units of quality
  bool operator==(const ModelIndices&) const = default;
};

/// What became of some prompts, in their order, or is estimated of them.
struct Routed {
  std::vector<double> quality, dollars;  ///< of the deployed answer; of all opened ones
  std::vector<double> calls;             ///< opened answers
  std::vector<double> latency = {};      ///< seconds of the calls in series; empty where nobody asks
  static constexpr std::vector<double> Routed::*kNumbers[] = {&Routed::quality, &Routed::dollars, &Routed::calls};

  std::vector<double> utility(double price) const;
};

/// Room for as many rows, and some rows put into it: some[i] is that of rows[i].
Routed empty_rows(std::size_t rows);
void put_rows(Routed& all, const Routed& some, std::span<const std::size_t> rows);
/// The rows that are named.
Routed routed_of(const Routed& routed, std::span<const std::size_t> rows);

/// The rows of `outcomes` that are named.
Routed evaluate(const Outcomes& outcomes, const FixedCascade& cascade, std::span<const std::size_t> rows);
Routed evaluate(const Outcomes& outcomes, const ModelIndices& policy, std::span<const std::size_t> rows);

/// Every prompt's answer with the greatest quality - price x dollars, opened alone: a bound on every policy.
Routed best_answers(const Outcomes& outcomes, double price, std::span<const std::size_t> rows);

/// The model with the greatest mean utility on these rows, the first of equal ones. rows is not empty.
std::size_t best_single_model(const Outcomes& outcomes, double price, std::span<const std::size_t> rows);

/// The sigma with mean((value - sigma)^+) = cost, cost >= 0: what would have to be seen already for opening to be worth
/// nothing more. Below the least value it is mean - cost; at cost = 0 it is the greatest value. values is not empty.
double reservation_value(std::span<const double> values, double cost);

/// The indices of the models' marginal laws on these rows: of what is seen of an answer, at a cost of price x the mean
/// of its dollars. The order that they give is optimal where the models' answers are independent. rows is not empty.
ModelIndices fit_model_indices(const Outcomes& outcomes, double price, std::span<const std::size_t> rows);

/// 0 to rows - 1.
std::vector<std::size_t> all_rows(std::size_t rows);

}  // namespace pandora
