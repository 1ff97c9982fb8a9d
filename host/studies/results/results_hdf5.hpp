// results.h5: everything that is known of every replication.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/studies/results/identity.hpp"
#include "host/studies/study/study.hpp"

namespace pandora {

/// One group per (setting, environment, regime), such as /uniform_A or, where keys vary, /000/uniform_A. The contents
/// of a group are described in docs/files.md and by the attributes of every dataset.
class ResultsHdf5 {
 public:
  ResultsHdf5(const StudyConfig& config, const Identity& identity);
  ~ResultsHdf5();

  /// The units of one (environment, regime), all replications.
  void add(const Setting& setting, std::size_t number, const Plan& group, const std::vector<UnitResult>& results);

  /// The file.
  std::string bytes();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pandora
