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
  std::span<const double> seen;     ///< rows x models, row-major: what an answer seems worth once it is opened
  std::span<const double> quality;  ///< likewise: what it is worth if it is deployed
  std::span<const double> dollars;  ///< likewise: what opening it costs

  std::size_t rows() const { return models == 0 ? 0 : quality.size() / models; }
};

/// Models in a fixed order. An opened answer is accepted, and opening ends, where what is seen of it reaches the
/// model's threshold; the last model has none. The best seen answer is deployed, the first of equal ones. A single
/// model is a cascade of one.
struct FixedCascade {
  std::vector<std::size_t> order;  ///< models, each at most once; not empty
  std::vector<double> thresholds;  ///< order.size() - 1
  bool operator==(const FixedCascade&) const = default;
};

/// What becomes of some prompts, in their order.
struct Routed {
  std::vector<double> quality, dollars;  ///< of the deployed answer; of all opened ones
  std::vector<double> calls;             ///< opened answers

  std::vector<double> utility(double price) const;
};

/// The rows of `outcomes` that are named.
Routed evaluate(const Outcomes& outcomes, const FixedCascade& cascade, std::span<const std::size_t> rows);

/// 0 to rows - 1.
std::vector<std::size_t> all_rows(std::size_t rows);

}  // namespace pandora
