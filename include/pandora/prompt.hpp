// A prompt by itself, as a server has it.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

namespace pandora {

struct Prompt {
  using Value = std::variant<double, std::string, std::vector<double>>;
  std::string text;
  std::map<std::string, Value> columns;  ///< those that the features use; one that is absent is missing
};

}  // namespace pandora
