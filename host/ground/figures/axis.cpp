#include "host/ground/figures/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace pandora {
namespace {

struct Range {
  double low = INFINITY, high = -INFINITY;
  bool any() const { return low <= high; }
  void take(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

// 1, 2 or 5 times a power of ten, so that at most `numbers` multiples lie in a range of that span.
double round_step(double span, int numbers) {
  const double rough = span / std::max(numbers - 1, 1);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double m : {1., 2., 5.})
    if (m * power >= rough * (1 - 1e-9)) return m * power;
  return 10 * power;
}

std::vector<Tick> linear_ticks(double low, double high, int numbers) {
  const double step = round_step(high - low, numbers);
  std::vector<Tick> ticks;
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k)
    ticks.push_back({k * step, tick_label(k * step)});
  return ticks;
}

std::vector<Tick> log_ticks(double low, double high, int numbers) {
  const int first = static_cast<int>(std::floor(std::log10(low) - 1e-9));
  const int last = static_cast<int>(std::ceil(std::log10(high) + 1e-9));
  const auto inside = [&](double at) { return at >= low * (1 - 1e-9) && at <= high * (1 + 1e-9); };
  int decades = 0;
  for (int k = first; k <= last; ++k) decades += inside(std::pow(10, k));
  // Powers of ten where there are enough of them, else 1, 2 and 5, else as on a linear axis.
  const std::vector<int> numbered = decades >= 3 ? std::vector<int>{1} : std::vector<int>{1, 2, 5};
  const int stride = decades >= 3 ? (decades + numbers - 1) / numbers : 1;
  std::vector<Tick> ticks;
  int labelled = 0;
  const bool plain = low >= 0.0099 && high <= 10100;
  for (int k = first; k <= last; ++k)
    for (int m = 1; m < 10; ++m) {
      const double at = m * std::pow(10, k);
      if (!inside(at)) continue;
      const bool number = std::find(numbered.begin(), numbered.end(), m) != numbered.end() && k % stride == 0;
      if (!number && stride > 1 && m != 1) continue;  // no room for short marks between so many decades
      labelled += number;
      const std::string label = !number ? "" : m == 1 && !plain ? fmt::format("10^{{{}}}", k) : tick_label(at);
      ticks.push_back({at, label});
    }
  return labelled >= 2 ? ticks : linear_ticks(low, high, numbers);
}

}  // namespace

std::string tick_label(double value) {
  if (value == 0 || std::abs(value) < 1e-300) return "0";
  const double size = std::abs(value);
  const std::string sign = value < 0 ? "−" : "";
  if (size < 0.000999 || size >= 999999.5) {
    int exponent = static_cast<int>(std::floor(std::log10(size)));
    std::string digits = fmt::format("{:.10g}", size / std::pow(10, exponent));
    if (digits == "10") {  // the logarithm was rounded down
      digits = "1";
      ++exponent;
    }
    return fmt::format("{}{}10^{{{}}}", sign, digits == "1" ? "" : digits + "×", exponent);
  }
  std::string digits = fmt::format("{:.10g}", size);
  if (size >= 999.5) {
    const std::size_t end = std::min(digits.find('.'), digits.size());
    for (std::size_t i = end; i > 3; i -= 3) digits.insert(i - 3, ",");
    if (digits.front() == ',') digits.erase(0, 1);
  }
  return sign + digits;
}

double place_of_zero(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !(value > 0 && std::isfinite(value)); });
  if (values.empty()) throw std::logic_error("a logarithmic axis without a positive value has no place for 0");
  std::sort(values.begin(), values.end());
  const auto next = std::find_if(values.begin(), values.end(), [&](double v) { return v > values[0] * 1.0001; });
  return values[0] / (next == values.end() ? 10 : std::clamp(*next / values[0], 2., 10.));
}

Axis make_axis(const AxisContent& content, int numbers) {
  Axis axis;
  axis.log = content.log;
  Range range;
  for (const double value : content.values)
    if (!content.log || value > 0) range.take(value);
  axis.first = range.low;
  if (content.log) {
    // An interval that nearly reaches 0 must not press the values into a corner.
    const Range values = range;
    for (const double end : content.ends)
      if (end > 0) range.take(values.any() ? std::clamp(end, values.low / 10, values.high * 10) : end);
    if (!range.any()) range = {1, 10};
    axis.low = range.low;
    axis.high = range.high;
    if (content.place_zero && values.any()) {
      axis.zero = place_of_zero(content.values);
      axis.low = std::min(*axis.zero, axis.low);
    }
    if (axis.high < axis.low * 1.2) {
      axis.low /= 1.5;
      axis.high *= 1.5;
    } else if (!content.tight || axis.zero) {
      const double margin = std::pow(axis.high / axis.low, 0.05);
      axis.low /= margin;
      axis.high *= margin;
    } else {
      axis.low *= 1 - 1e-4;  // a tick at the very end is lost to the rounding of logarithms
      axis.high *= 1 + 1e-4;
    }
    axis.ticks =
        log_ticks(axis.zero ? axis.first : axis.low, axis.high, axis.zero ? std::max(numbers - 1, 2) : numbers);
    if (axis.zero) {
      std::erase_if(axis.ticks, [&](const Tick& tick) { return tick.at < axis.first * (1 - 1e-9); });
      axis.ticks.insert(axis.ticks.begin(), Tick{*axis.zero, "0"});
    }
    return axis;
  }
  for (const double end : content.ends) range.take(end);
  if (content.from_zero) range.take(0);
  if (!range.any()) range = {0, 1};
  // Where 0 is near, it is the honest end of the axis.
  const bool from_zero = range.low >= 0 && range.low <= 0.3 * range.high;
  if (from_zero) range.low = 0;
  if (!(range.high - range.low > 1e-12 * std::max(std::abs(range.low), std::abs(range.high)))) {
    const double margin = range.low == 0 ? 1 : 0.1 * std::abs(range.low);
    range = {range.low - (from_zero ? 0 : margin), range.high + margin};
  }
  const double margin = content.tight ? 0 : 0.05 * (range.high - range.low);
  axis.low = range.low - (from_zero ? 0 : margin);
  axis.high = range.high + margin;
  if (content.from_zero && range.high == 0) axis.high = 0;
  axis.ticks = linear_ticks(axis.low, axis.high, numbers);
  return axis;
}

}  // namespace pandora
