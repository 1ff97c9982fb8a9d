#include "host/ground/base/error.hpp"

#include "host/ground/base/option.hpp"

namespace pandora {
namespace {

std::string as_typed(std::string text) {
  const auto replace = [&text](std::string_view mark, std::string_view by) {
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos;) text.replace(at, mark.size(), by);
  };
  replace(std::string(kOptionBegins) + " ", "");
  replace(kOptionBegins, "--");
  replace(kOptionEnds, "");
  return text;
}

}  // namespace

Error::Error(ExitCode code, const std::string& message)
    : std::runtime_error(as_typed(message)), marked_(message), code_(code) {}

}  // namespace pandora
