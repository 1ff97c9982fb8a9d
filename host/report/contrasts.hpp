// Differences of regrets, replication by replication, and what is claimed of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/report/verdict.hpp"

namespace pandora {

inline constexpr int kLargeCalibration = 1000, kSmallCalibration = 100;  ///< T_0 of which the findings speak

using Values = std::vector<double>;

double mean_of_values(const Values& values);

/// Mean and 95% half-width by Student's t.
Estimate student_t_interval(const Values& values);

/// a - factor b.
Values less(const Values& a, const Values& b, double factor = 1.0);

/// Whether a number that is claimed to be below 0 is.
Holds below_zero(const Estimate& e);

/// A cell from what is shown, from a margin that is claimed to be below 0, and from the published margin.
FindingCell cell_of(std::string name, std::string compared, const Values& shown, const Values& margin,
                    std::optional<double> published);

/// Such as "A uniform", and "A uniform, T0=50".
std::string panel_text(const Panel& panel);
std::string panel_text(const Panel& panel, int T0);

/// Of an entry of that panel.
std::optional<double> published_mean(const Panel& panel, const RegretEntry& entry);
std::optional<double> difference_of(const std::optional<double>& a, const std::optional<double>& b);

/// The T_0 of a panel's entries.
std::vector<int> calibrations(const Panel& panel);

/// Findings five and six, which are about what learns.
std::vector<Finding> findings_of_learning(const std::vector<Panel>& panels);

}  // namespace pandora
