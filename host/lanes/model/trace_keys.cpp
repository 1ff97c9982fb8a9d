#include "host/lanes/model/trace_keys.hpp"

#include <charconv>

#include "pandora/error.hpp"

namespace pandora {

std::optional<Drift> drift_of(const std::string& text) {
  if (text.empty()) return {};
  Drift out;
  const std::size_t colon = text.rfind(':');  // names of models may have one
  const char *begin = text.data() + (colon == std::string::npos ? 0 : colon + 1), *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, out.factor);
  if (colon == std::string::npos || colon == 0 || error != std::errc() || stop != end ||
      !(out.factor >= 0.0 && out.factor <= 1.0))
    throw Error(ExitCode::usage,
                "drift \"" + text + "\": give MODEL:FACTOR with a factor in [0, 1], such as small:0.5");
  out.model = text.substr(0, colon);
  return out;
}

}  // namespace pandora
