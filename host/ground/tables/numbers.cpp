#include "host/ground/tables/numbers.hpp"

#include <fmt/format.h>

#include <cmath>

namespace pandora {

std::string number_text(double x, int decimals) {
  if (!std::isfinite(x)) return "---";
  const std::string text = fmt::format("{:.{}f}", x, decimals);
  return text.find_first_not_of("-0.") == std::string::npos && text[0] == '-' ? text.substr(1) : text;
}

std::string p_value_text(double p) {
  return std::isnan(p) ? "---" : p < 1e-4 ? "< 1e-4" : fmt::format("{:.4f}", p);
}

Cell exact_cell(const std::string& text, double value, bool bold) {
  return {text, bold, std::isfinite(value) ? fmt::format("{:.9g}", value) : ""};
}

}  // namespace pandora
