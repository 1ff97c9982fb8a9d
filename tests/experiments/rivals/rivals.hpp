// The names of the policies in experiments/rivals, for tests that must hold for every policy there.
#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace pandora::test {

inline std::set<std::string> names_of_rivals() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(PANDORA_SOURCE "/experiments/rivals"))
    if (entry.path().extension() == ".cpp") names.insert(entry.path().stem());
  return names;
}

}  // namespace pandora::test
