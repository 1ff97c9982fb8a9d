// The paper's environments, regimes and sizes (Section 6), as plain values.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/tape/instance.hpp"

namespace pandora {

/// uniform, gaussian and student_t5 with their truncation radii and calibrated u.
const std::array<Environment, 3>& paper_environments();

const char* regime_name(Regime regime);

/// Whether the text may be a name in files and study keys: at most 64 letters, digits, _ and -.
bool is_plain_name(const std::string& name);

inline constexpr int kPaperPeriods = 30000;
inline constexpr int kPaperReplications = 50;
inline constexpr int kPaperShockSample = 400000;                             ///< M
inline constexpr int kPaperOrderContexts = 5000;                             ///< contexts per replication in Table 3
inline const std::vector<int> kPaperCalibration = {0, 50, 100, 1000};        ///< T_0
inline const std::vector<double> kPaperHyperparameters = {0.001, 0.1, 1.0};  ///< c_rho, c_theta, c_b

}  // namespace pandora
