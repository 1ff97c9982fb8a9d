// What a policy sees when it opens a model, as the reward features phi.
//
//   quality      the quality itself: (1 of the model, logit(quality) of the model), d = 2 A
//   score        one judge's score in place of the quality; score:NAME names the judge
//   noisy:S      the logit of the quality plus S standard normal draws: made up, for experiments
//   column:NAME  the numbers of a column, d of each model, as they are
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/outcomes/tables/trace_table.hpp"
#include "kernels/random/philox.hpp"

namespace pandora {

/// The judges that a table is read with; absent: all. Throws Error (usage) if the evaluator is none of the above.
std::optional<std::vector<std::string>> scores_wanted(const std::string& evaluator);

/// Whether a policy that is told mu* knows more than the evaluator shows.
bool hides_quality(const std::string& evaluator);

class Evaluator {
 public:
  /// The table must outlive it. Throws Error (bad_data) where it does not have the judge or column.
  Evaluator(const std::string& name, const TraceTable& table);

  /// d
  int size() const { return size_; }

  /// d numbers for a row and a model. `noise`: behind noisy:S, of the replication.
  void append_features(std::size_t row, std::size_t model, const Stream& noise, std::vector<float>& out) const;

 private:
  const TraceTable& table_;
  const std::vector<double>* shown_ = nullptr;  // rows x A
  const PromptColumn* column_ = nullptr;
  double noise_ = 0.0;
  int size_ = 0;
};

}  // namespace pandora
