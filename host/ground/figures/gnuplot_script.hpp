// A figure as two files for gnuplot: the data and the script that draws them.
#pragma once

#include <string>
#include <vector>

#include "host/ground/figures/figure.hpp"

namespace pandora {

/// Lines of at most `columns` columns of a terminal, broken between words; a longer word keeps a line of its own.
std::vector<std::string> wrapped_lines(const std::string& text, std::size_t columns);

/// The colour of a series, such as #0060A8: that of its place in the palette, in bars that of its part.
std::string series_colour(const Figure& figure, std::size_t series);

/// A string expression of gnuplot, one line of text per element. Nothing in it is replaced or executed.
std::string gnuplot_text(const std::vector<std::string>& lines);

/// NAME.dat: a block per series, two empty lines between blocks (gnuplot's `index`), tabs between columns, NaN where a
/// value is missing; the header names the columns.
std::string figure_data(const Figure& figure);

/// NAME.gp: makes NAME.pdf, NAME.svg and NAME.png in the working directory, or those named in the variable `formats`.
std::string figure_script(const Figure& figure);

}  // namespace pandora
