// Table 3 (tab:oracle-order-stats): how much the oracle's order of the boxes varies with the context.
#pragma once

#include "oracle/oracle.hpp"

namespace pandora {

struct OrderStatistics {
  double permutations = 0.0;  ///< distinct orders that occurred
  double max_mass = 0.0;      ///< largest empirical probability of an order
  double min_mass = 0.0;      ///< smallest over the orders that occurred; 1 if there is one

  friend bool operator==(const OrderStatistics&, const OrderStatistics&) = default;
};

/// Over `contexts` fresh iid contexts of the instance.
OrderStatistics order_statistics(const Instance& instance, const ShockSample& sample, int contexts,
                                 const OracleOptions& options);

}  // namespace pandora
