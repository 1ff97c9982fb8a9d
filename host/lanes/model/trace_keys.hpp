// What a study says of an environment that is a table of outcomes: the keys of [environment.NAME] beside `stream`.
//
// The evaluator is what a policy sees when it opens a model, as the reward features phi:
//
//   quality      the quality itself: (1 of the model, logit(quality) of the model), d = 2 A
//   score        one judge's score in place of the quality; score:NAME names the judge
//   noisy:S      the logit of the quality plus S standard normal draws: made up, for experiments
//   column:NAME  the numbers of a column, d of each model, as they are
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/outcomes/tables/trace_table.hpp"
#include "kernels/random/philox.hpp"
#include "kernels/tape/instance.hpp"

namespace pandora {

/// How the prompts of a replication are drawn from a table.
enum class Resample {
  permute,     ///< all, in a random order
  bootstrap,   ///< with replacement
  in_order,    ///< as they stand in the file
  independent  ///< each model's answers in a random order of their own: models do not depend on each other
};

struct TraceKeys : OtherSource {
  std::string table;                 ///< path; calibration comes from here
  std::string online;                ///< path; empty: a part of `table`
  double split = 0.5;                ///< share of `table` that is for calibration, without `online`
  std::string part;                  ///< column of `table` with "calibration" or "online" instead; empty: none
  std::vector<std::string> models;   ///< empty: all of the table
  std::vector<std::string> context;  ///< specs of FeatureMap (host/outcomes/tables/features.hpp)
  std::string evaluator = "quality";
  std::string feedback = "graded";
  std::string index;   ///< column with an index for every model, the benchmark's; empty: hindsight
  double price = 0.0;  ///< utility per dollar
  Resample resample = Resample::permute;
  bool repeat = false;  ///< whether prompts come round again where the horizon is longer than the table
  bool drop_missing = false;
  // As TraceOptions has them.
  std::vector<std::string> ranges;  ///< "score=1:5"
  std::vector<std::string> prices;  ///< "gpt=0.15:0.6"
  bool free_calls = false, repeats = false;
  std::string quality;
  std::vector<std::string> prompt_key;
  std::string drift;         ///< "MODEL:FACTOR": its quality from the middle of the horizon on; empty: none
  std::string regime = "B";  ///< the name in tables and the coordinate of the random streams: A or B
  // Filled in by a run, so that its results are read without the table.
  std::string digest;               ///< of both tables as they were read, SHA-256; empty: not known
  std::vector<std::int64_t> sizes;  ///< A, d_x, d, calibration rows, online rows; empty: not known
};

struct Drift {
  std::string model;
  double factor = 1.0;  ///< in [0, 1]
};

/// Of TraceKeys::drift; nothing if it is empty. Throws Error (usage) if it is malformed.
std::optional<Drift> drift_of(const std::string& text);

/// Of an environment that is a table of outcomes; null for the others.
inline const TraceKeys* trace_keys(const Environment& environment) {
  return static_cast<const TraceKeys*>(environment.trace.get());  // there is no other source
}

/// Whether the environment is a table of outcomes and each of its periods one prompt, which intervals then count.
inline bool periods_are_prompts(const Environment& environment) {
  const TraceKeys* const keys = trace_keys(environment);
  return keys != nullptr && keys->resample != Resample::independent;
}

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
