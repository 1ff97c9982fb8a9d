// Says where the best hyperparameter is the least or the greatest of those that were tried.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "host/studies/results/summary.hpp"

namespace pandora {

class EdgeNote {
 public:
  /// What a policy of that title chose among what was tried, as NAME=VALUE;NAME=VALUE. An end is a number with others
  /// on one side only, but for a least one of 0, beyond which a width or a probability does not go.
  void see(const std::string& title, const std::string& chosen, const std::vector<std::string>& tried);
  /// All best rows of a setting.
  void see(const Summary& summary);

  /// One line, each end of each policy once; nothing if there are none.
  void add_to(std::vector<std::string>& notes) const;

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> ends_;  // by title
};

}  // namespace pandora
