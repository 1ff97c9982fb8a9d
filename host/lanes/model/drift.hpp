// Parameters that change while periods pass: how a study writes the drift, the instance of every period, and the oracle
// that moves with them.
#pragma once

#include <memory>
#include <string>

#include "oracle/oracle.hpp"

namespace pandora {

/// Reads "swap:1000,3000", "step:1000:0.5", "walk:0.01" (docs/scenarios.md, "Drift"); empty: no drift. Throws Error
/// (usage).
ParameterDrift parse_drift(const std::string& text);
std::string drift_text(const ParameterDrift& drift);

/// The number of periods for which a walk keeps its directions.
inline constexpr int kWalkHolds = 16;

/// The course of the instance's own drift; null if it has none.
std::unique_ptr<Course> course_of(const Instance& instance);

/// The inputs of (eq:sigma) in a tape's online periods, each with the parameters of its period; NaN in earlier rows.
IndexInputs moving_inputs(const Instance& instance, const ShockSample& sample, const Tape& tape,
                          const OracleOptions& options);

/// oracle_indices() of a tape whose parameters took that course: every row's index uses the parameters of its period.
std::vector<double> moving_indices(const Instance& instance, const ShockSample& sample, const Tape& tape,
                                   const OracleOptions& options);

}  // namespace pandora
