// The range and the ticks of an axis.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/ground/figures/figure.hpp"

namespace pandora {

struct Tick {
  double at = 0;
  std::string label;  ///< with gnuplot's ^{} for exponents; empty: a short mark without a number
};

struct Axis {
  bool log = false;
  double low = 0, high = 1;
  std::optional<double> zero;  ///< where x = 0 stands on a logarithmic axis
  double first = 0;            ///< the smallest positive value shown on it
  std::vector<Tick> ticks;
};

/// What an axis must show. Values that are not finite, and on a logarithmic axis those that are not positive, say
/// nothing.
struct AxisContent {
  std::vector<double> values = {};
  std::vector<double> ends = {};  ///< of intervals: they stretch a logarithmic axis by a factor of ten at most
  bool log = false;
  bool tight = false;       ///< the axis ends with the values
  bool place_zero = false;  ///< a logarithmic axis gets a place for values of 0
  bool from_zero = false;   ///< a linear axis includes 0
};

/// At most `numbers` ticks have numbers, where that many are enough for a reader (two at least).
Axis make_axis(const AxisContent& content, int numbers);

/// 30,000, 0.05, 2×10^{-5}: short, exact to ten digits, and without the e of programs.
std::string tick_label(double value);

/// The place of x = 0 on a logarithmic axis: left of the smallest positive value by as much as the next one is right of
/// it, but by a factor of 2 at least and 10 at most. Throws std::logic_error where no value is positive.
double place_of_zero(std::vector<double> values);

}  // namespace pandora
