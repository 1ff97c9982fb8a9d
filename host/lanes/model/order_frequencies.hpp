// Table 3 (tab:oracle-order-stats): how much the oracle's order of the boxes varies with the context.
#pragma once

#include <stdexcept>

#include "oracle/oracle.hpp"

namespace pandora {

struct OrderFrequencies {
  double permutations = 0.0;  ///< distinct orders that occurred
  double max_mass = 0.0;      ///< largest empirical probability of an order
  double min_mass = 0.0;      ///< smallest over the orders that occurred; 1 if there is one

  friend bool operator==(const OrderFrequencies&, const OrderFrequencies&) = default;
};

/// Boxes have no order by an index that is NaN or infinite.
struct IndexNotFinite : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Of the indices of some contexts, rows x A. Throws IndexNotFinite.
OrderFrequencies count_orders(const std::vector<double>& sigma, int A);

/// Over `contexts` fresh iid contexts of the instance.
OrderFrequencies order_frequencies(const Instance& instance, const ShockSample& sample, int contexts,
                                   const OracleOptions& options);

}  // namespace pandora
