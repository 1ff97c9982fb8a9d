// A single prompt, as a server has it.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

namespace pandora {

struct Prompt {
  /// std::monostate: an unknown value.
  using Value = std::variant<double, std::string, std::vector<double>, std::monostate>;
  std::string text;
  std::map<std::string, Value> columns;  ///< those that the features use
};

}  // namespace pandora
