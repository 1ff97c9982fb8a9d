// The plot command of a script.
#pragma once

#include <string>

#include "host/ground/figures/figure.hpp"
#include "host/ground/figures/figure_layout.hpp"

namespace pandora {

struct PlotText {
  std::string before;   ///< functions and constants that the command uses, reference lines
  std::string command;  ///< `plot ...`
};

PlotText plot_commands(const Figure& figure, const FigureLayout& layout);

}  // namespace pandora
