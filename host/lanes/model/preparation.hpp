// The preparation of a replication for its lanes, on any machine. Also Table 3 (tab:oracle-order-stats): how much the
// oracle's order of the boxes varies with the context.
#pragma once

#include <functional>
#include <stdexcept>

#include "oracle/oracle.hpp"
#include "pandora/environment.hpp"

namespace pandora {

/// The value and the cost of every model's answers in the rows of a table: rows x models, row-major.
struct PromptOutcomes {
  std::size_t rows = 0, models = 0;
  std::vector<float> quality;
  std::vector<float> dollars;
  std::vector<std::uint32_t> prompt;  ///< of every row, from 0 on; rows with the same prompt are one draw
};

struct OrderFrequencies {
  double permutations = 0.0;  ///< distinct orders that occurred
  double max_mass = 0.0;      ///< largest empirical probability of an order
  double min_mass = 0.0;      ///< smallest over the orders that occurred; 1 if there is one

  friend bool operator==(const OrderFrequencies&, const OrderFrequencies&) = default;
};

/// An index is NaN or infinite, so boxes have no order.
struct IndexNotFinite : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Counts the orders in the indices of some contexts, rows x A. Throws IndexNotFinite.
OrderFrequencies count_orders(const std::vector<double>& sigma, int A);

/// Counts the orders over `contexts` fresh iid contexts of the instance.
OrderFrequencies order_frequencies(const Instance& instance, const ShockSample& sample, int contexts,
                                   const OracleOptions& options);

/// The arguments of a preparation.
struct Preparation {
  ReplicationRequest request;
  bool tape = true;        ///< whether to draw tape and indices; otherwise only the instance
  int order_contexts = 0;  ///< contexts in which the oracle's orders are counted, if that is asked for
};

/// Draws instance, tape and the oracle's indices. Counts the oracle's orders into `order` unless it is null. Throws
/// IndexNotFinite and Error.
using ReplicationPreparer = std::function<Replication(const Preparation& from, OrderFrequencies* order)>;

}  // namespace pandora
