#include "pandora/paper_setting.hpp"

#include <algorithm>

namespace pandora {

const std::array<Environment, 3>& paper_environments() {
  // Radii: the 99th percentiles given in Section 6; sqrt(0.6) gives t_5 coordinates unit variance.
  static const std::array<Environment, 3> environments = {{
      {"uniform", 0, Law::uniform, 1.0f, std::numeric_limits<float>::infinity(), 0.23},
      {"gaussian", 1, Law::gaussian, 1.0f, 11.65f, 0.20},
      {"student_t5", 2, Law::student_t5, 0.774596669f, 13.56f, 0.27},
  }};
  return environments;
}

bool is_plain_name(const std::string& name) {
  constexpr std::size_t kLongest = 64;
  return !name.empty() && name.size() <= kLongest && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

const char* regime_name(Regime regime) {
  return regime == Regime::A ? "A" : "B";
}

}  // namespace pandora
