// Figures to files: data, scripts, and what gnuplot draws of them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "host/ground/figures/figure.hpp"

namespace pandora {

struct FigureOptions {
  bool pdf = true, svg = true, png = true;
  int threads = 1;                 ///< processes of gnuplot at once
  double seconds_per_figure = 60;  ///< after which gnuplot is taken to hang
};

struct FigureFailure {
  std::string name;
  std::string message;  ///< gnuplot's
};

struct FigureResult {
  bool rendered = false;                ///< every figure in every format that was asked for
  std::vector<FigureFailure> failures;  ///< in the order of the figures
  std::string message;                  ///< why not all were drawn and what to do; empty where they were
};

/// Writes NAME.dat and NAME.gp of each figure into the folder, which exists, and draws NAME.pdf, .svg and .png; what
/// stood there under these names is removed first. Without gnuplot the figures are not drawn, and `message` says so;
/// one that fails keeps none of the others from being drawn. Throws Error (output_lost) where a file cannot be written,
/// std::logic_error where check() does or two figures have one name.
FigureResult write_figures(const std::filesystem::path& folder, const std::vector<Figure>& figures,
                           const FigureOptions& options = {});

}  // namespace pandora
