// The settings of an environment that is a table of outcomes, or laws of boxes: the keys of [environment.NAME] besides
// `stream`.
//
// The evaluator decides what a policy sees when it opens a model, as the reward features phi:
//
//   quality      the quality itself: (1 of the model, logit(quality) of the model), d = 2 A
//   score        one judge's score in place of the quality; score:NAME names the judge
//   noisy:S      the logit of the quality plus S standard normal draws: made up, for experiments
//   column:NAME  the numbers of a column, d for each model, unchanged
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/outcomes/tables/trace_table.hpp"
#include "kernels/random/philox.hpp"
#include "kernels/tape/instance.hpp"
#include "oracle/exact_programme.hpp"

namespace pandora {

/// How the prompts of a replication are drawn from a table.
enum class Resample {
  permute,     ///< all, in a random order
  bootstrap,   ///< with replacement
  in_order,    ///< as they stand in the file
  independent  ///< each model's answers in a random order of its own, so that models do not depend on each other
};

struct TraceKeys : OtherSource {
  std::string table;   ///< path; the calibration is drawn from it
  std::string online;  ///< path; empty: a part of `table`
  double split = 0.5;  ///< share of `table` for the calibration, if there is no `online`
  std::string part;    ///< column of `table` with "calibration" or "online", instead of `split`; empty: none
  std::vector<std::string> models;   ///< empty: all models of the table
  std::vector<std::string> context;  ///< specs of FeatureMap (host/outcomes/tables/features.hpp)
  std::string evaluator = "quality";
  std::string feedback = "graded";
  std::string index;   ///< column with the benchmark's index for every model; empty: hindsight
  double price = 0.0;  ///< utility per dollar
  Resample resample = Resample::permute;
  bool repeat = false;  ///< whether prompts are used again if the horizon is longer than the table
  bool drop_missing = false;
  // The same as in TraceOptions:
  std::vector<std::string> ranges;  ///< "score=1:5"
  std::vector<std::string> prices;  ///< "gpt=0.15:0.6"
  bool free_calls = false, repeats = false;
  std::string quality;
  std::vector<std::string> prompt_key;
  std::string drift;         ///< "MODEL:FACTOR": its quality from the middle of the horizon on; empty: none
  std::string regime = "B";  ///< the name in tables and the coordinate of the random streams: A or B
  /// In place of a table: the laws of boxes, which are drawn in every period (finite_world.hpp). Other keys then have
  /// their defaults, and the price is 1.
  std::string laws;       ///< path
  std::string laws_text;  ///< TOML of `finite`; a run fills it in, so that its results need no file
  FiniteProblem finite;   ///< only laws and costs count; no boxes: the environment is a table
  // A run fills these in, so that its results can be read without the table.
  std::string digest;  ///< of both tables as they were read, SHA-256; empty: not known
  /// A, d_x, d, calibration rows, online rows; and online prompts, if several rows are of one prompt. Empty: not known.
  std::vector<std::int64_t> sizes;

  bool has_contexts() const override { return finite.boxes.empty(); }
};

struct Drift {
  std::string model;
  double factor = 1.0;  ///< in [0, 1]
};

/// The drift in TraceKeys::drift; nothing if it is empty. Throws Error (usage) if it is malformed.
std::optional<Drift> drift_of(const std::string& text);

/// The keys of an environment that is a table of outcomes, or laws; null for other environments.
inline const TraceKeys* trace_keys(const Environment& environment) {
  return static_cast<const TraceKeys*>(environment.trace.get());  // there is no other kind of source
}

/// The laws of an environment that has some in place of a table; null for other environments.
inline const FiniteProblem* laws_of(const Environment& environment) {
  const TraceKeys* const keys = trace_keys(environment);
  return keys == nullptr || keys->finite.boxes.empty() ? nullptr : &keys->finite;
}

/// Whether the environment is a table of outcomes and each of its periods is one prompt. Intervals then count prompts.
inline bool periods_are_prompts(const Environment& environment) {
  const TraceKeys* const keys = trace_keys(environment);
  return keys != nullptr && keys->resample != Resample::independent && keys->finite.boxes.empty();
}

/// The judges that the reader of the table needs; nothing: all. Throws Error (usage) if the evaluator is none of the
/// above.
std::optional<std::vector<std::string>> scores_wanted(const std::string& evaluator);

/// Whether a policy that is given mu* knows more than the evaluator shows.
bool hides_quality(const std::string& evaluator);

class Evaluator {
 public:
  /// The table must outlive the evaluator. Throws Error (bad_data) if the table does not have the judge or column.
  Evaluator(const std::string& name, const TraceTable& table);

  /// d
  int size() const { return size_; }

  /// Appends d numbers for a row and a model. `noise`: the replication's stream for noisy:S.
  void append_features(std::size_t row, std::size_t model, const Stream& noise, std::vector<float>& out) const;

 private:
  const TraceTable& table_;
  const std::vector<double>* shown_ = nullptr;  // rows x A
  const PromptColumn* column_ = nullptr;
  double noise_ = 0.0;
  int size_ = 0;
};

}  // namespace pandora
