// Reservation indices of an environment's law alone, without a replication.
#pragma once

#include "host/studies/study/study.hpp"
#include "oracle/reservation_index.hpp"
#include "oracle/shock_sample.hpp"

namespace pandora {

/// sigma with E[(G(l + s w) - sigma)^+] = c, (eq:sigma), for the shock of an environment projected on a unit vector.
class OracleIndex {
 public:
  struct Found {
    double sigma = 0.0, standard_error = 0.0;  ///< of the Monte Carlo sample
  };

  /// Vector and sample (oracle.samples shocks) are drawn from the study's seed, for its first environment.
  explicit OracleIndex(const Study& study);
  OracleIndex(const OracleIndex&) = delete;

  /// `scale` and `cost` above 0; sigma is negative where the cost exceeds the expected reward.
  Found operator()(double shift, double scale, double cost);

 private:
  ProjectedLaw law_;
  ReservationSolver solver_;
  double shift_ = 0.0, scale_ = 0.0;  // of the last evaluation
};

}  // namespace pandora
