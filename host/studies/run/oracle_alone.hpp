// Computations with the oracle only: reservation indices of an environment's law, and u, the upper bound of the cost
// levels, for a wanted number of boxes that the oracle opens per period.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

#include "host/studies/study/study.hpp"
#include "oracle/oracle.hpp"
#include "oracle/reservation_index.hpp"

namespace pandora {

/// sigma with E[(G(l + s w) - sigma)^+] = c, (eq:sigma), for the shock of an environment, projected on a unit vector.
class OracleIndex {
 public:
  struct Found {
    double sigma = 0.0, standard_error = 0.0;  ///< both from the Monte Carlo sample
  };

  /// Draws the vector and the sample (oracle.samples shocks) from the study's seed, for its first environment.
  explicit OracleIndex(const Study& study);
  OracleIndex(const OracleIndex&) = delete;

  /// `scale` and `cost` must be above 0. sigma is negative if the cost exceeds the expected reward.
  Found operator()(double shift, double scale, double cost);

 private:
  ProjectedLaw law_;
  ReservationSolver solver_;
  double shift_ = 0.0, scale_ = 0.0;  // of the last evaluation
};

struct CostSearch {
  Dimensions dimensions;
  std::vector<Regime> regimes = {Regime::A, Regime::B};  ///< both together, because the paper has one u for both
  double wanted_boxes = 1.5;
  int replications = 100;
  int contexts = 200;  ///< periods simulated per replication
  std::uint64_t seed = 1;
  OracleOptions oracle;
  int threads = 1;  ///< 0: all cores; the result does not depend on it
  /// Called with how many pieces of work are done and how many there are; all have a similar size. Any thread may call
  /// it, but never two at once.
  std::function<void(std::size_t done, std::size_t total)> progress;
  const std::atomic<bool>* interrupted = nullptr;  ///< polled; true ends the search with Error (interrupted)
};

struct CostSearchResult {
  double u = 0.0;              ///< boxes_per_period(u) = wanted_boxes to 1e-4 in u
  double boxes = 0.0;          ///< at u
  double half_width_95 = 0.0;  ///< of `boxes` over the replications
};

/// Throws Error (usage) if the environment's costs do not depend on a u.
void require_cost_level(const Environment& environment);

/// Finds u. All values of u use the same draws, so the number of boxes is monotone in u except for changes of the
/// order. Throws Error (usage) if no u in [0.001, 1] gives the wanted number, or as require_cost_level does.
CostSearchResult calibrate_cost(const Environment& environment, const CostSearch& search);

}  // namespace pandora
