// What the figures of a study are put together from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/report/study_figures.hpp"
#include "host/studies/results/regret_tables.hpp"

namespace pandora {

/// A point with its interval; an unknown half-width draws none.
void add_point(Series& series, double x, const Estimate& y);

/// The policies that have rows, in the order of the tables.
std::vector<PolicyTitle> titles_shown(const Summary& summary);

/// An empty series of a policy.
Series series_of(const PolicyTitle& title);

/// The figure if a series is left that has points; of curves no more than axes bear, the first ones.
void add_if_any(std::vector<Figure>& figures, Figure figure);

/// Logarithmic axes, where what a figure of lines shows spans a decade or more.
void choose_axes(Figure& figure);

/// Such as " A = 3, d_x = 100, T = 30000, 50 replications.", what a caption ends with; without the keys that vary.
std::string study_sizes(const Study& study, const std::vector<std::string>& varied = {});

/// Names of files and captions for policies that see mu* and that do not: they have figures of their own.
inline constexpr const char* kKinds[] = {"unknown", "known"};
const char* kind_text(bool knows);

/// Regret against each key that varies, the others at their first values.
std::vector<FigureGroup> varied_figures(const std::vector<SettingSummary>& settings, int T0);

}  // namespace pandora
