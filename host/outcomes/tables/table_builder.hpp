// A table of outcomes while its file is read. Cells come in any order; a wrong one is refused at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>

#include "host/outcomes/tables/column_builder.hpp"
#include "host/outcomes/tables/read_trace.hpp"

namespace pandora {

/// Names in the order in which they came.
class NameList {
 public:
  /// Returns kNone if the name is not in the list.
  std::size_t find(std::string_view name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? TraceTable::kNone : found->second;
  }
  std::size_t add(std::string_view name) {
    const auto [found, is_new] = numbers_.try_emplace(std::string(name), names_.size());
    if (is_new) names_.emplace_back(name);
    return found->second;
  }
  std::size_t size() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::size_t, std::less<>> numbers_;
};

/// The meaning of a column or member of an answer. `score...` is a judge's name.
inline bool is_quality(std::string_view name) {
  return name == "quality" || name == "reward";
}
inline bool is_cost(std::string_view name) {
  return name == "cost" || name == "total_cost";
}
inline bool is_score(std::string_view name) {
  return name == "score" || name.starts_with("score_") || name.starts_with("score:");
}
inline bool is_tokens(std::string_view name) {
  return !canonical_count(name).empty();
}
/// What a log has for each call besides: the call's probability, and the probability that its quality became known.
inline bool is_probability(std::string_view name) {
  return name == "propensity" || name == "label_propensity";
}
inline constexpr std::string_view kLatency = "latency", kAnswer = "answer", kBatch = "batch",
                                  kPlace = "place of the call", kByRules = "probability of the rules";
/// Whether a stated range belongs to a quantity. As for evaluators, "score:2" also means "score_2".
inline bool is_range_of(const StatedRange& range, std::string_view name) {
  return range.name == name || (is_quality(range.name) && is_quality(name)) ||
         (range.name.starts_with("score:") && name.starts_with("score_") &&
          std::string_view(range.name).substr(6) == name.substr(6));
}
inline constexpr double kAbsentCell = -1.0;   ///< never seen
inline constexpr double kMissingCell = -2.0;  ///< seen without a value
inline constexpr const char* kScoresAlone =
    "has a judge's scores and no quality; to use the scores as the quality, say so (quality, --quality score)";
/// The names that the column of the prompt's name may have, in order of preference.
inline constexpr std::string_view kPromptNames[] = {"prompt_id", "sample_id", "id"};

class TableBuilder {
 public:
  static constexpr std::size_t kNone = TraceTable::kNone;
  using Label = std::initializer_list<std::string_view>;  ///< a column in messages

  /// `infer`: texts of prompts may be numbers (in a CSV file all cells are texts). Both references must outlive the
  /// builder.
  TableBuilder(const FilePlace& place, const TraceOptions& options, bool infer);

  /// Whether a column or member of that name belongs to answers.
  bool is_of_answers(std::string_view name) const {
    return says_quality(name) || is_cost(name) || is_score(name) || name == kLatency ||
           (is_tokens(name) && !options_.prices.empty()) || (name == kBatch && prices_batches_) ||
           (name == "label_propensity" ? options_.holes
                                       : log_ && (is_probability(name) || name == kPlace || name == kByRules));
  }

  /// Whether a member of an answer is an object with counts of tokens, and prices are given.
  bool is_usage(std::string_view name) const { return !options_.prices.empty() && holds_counts(name); }
  /// Whether it is an answer's quality, or a value from which the quality is taken, such as a judge's scores.
  bool says_quality(std::string_view name) const {
    return options_.quality.empty() || is_score(options_.quality) ? is_quality(name) : name == options_.quality;
  }
  bool gives_quality(std::string_view name) const {
    return says_quality(name) || (is_score(name) && (options_.scores_alone || is_score(options_.quality)));
  }
  const TraceOptions& options() const { return options_; }

  /// The number of a model, of a value of answers (quality, cost, a score...), or of a prompt's column; kNone if it is
  /// not kept. A new name gets a new number.
  std::size_t model(std::string_view name);
  std::size_t known_model(std::string_view name) const { return models_.find(name); }
  std::size_t quantity(std::string_view name);
  std::size_t column(std::string_view name);
  /// Notes a part of the file that has no place in the table.
  void unused(std::string_view name) {
    if (unused_.size() < kMostNoted) unused_.add(name);
  }
  /// Leaves the current row out.
  void leave_out() { left_out_.insert(row_); }
  /// Adds a note.
  void note(std::string text) { notes_.push_back(std::move(text)); }

  /// Which of several answers a row has, by its column "answer"; 0 if that column means something else, which the first
  /// row decides.
  std::uint32_t answer_number(const CellValue& value);

  /// Begins a new row, with one row for every prompt.
  void begin_row(std::uint32_t answer = 0);
  void name_row(std::string_view name);
  /// Makes the row of a prompt's answer the current one, whether it is new or not. `key` is the prompt's name, in a log
  /// that of a decision. With TraceOptions::repeats it is the first row without an answer of `model` (or kNone). Only
  /// in tables that never call begin_row.
  void find_row(std::string_view key, std::string_view name, std::size_t model, std::uint32_t answer = 0);
  /// Says that the table is a log. Call it before the first row.
  void is_log();
  /// Adds a call of a model (kNone: one that is not kept) to the current row's decision.
  void call(std::size_t model);

  /// Sets a value of the current row. If the row was found again and the value differs, the column does not belong to
  /// prompts.
  void value(std::size_t column, const CellValue& value);
  void cell(std::size_t model, std::size_t quantity, const CellValue& value, Label label);

  /// Finishes the table. Throws Error (bad_data) if rows are missing, double or not plausible.
  TraceTable finish() &&;

 private:
  static constexpr std::size_t kMostNoted = 1024;

  // A value of answers: numbers from `low` to `high`, which become 0 to 1 if they are scaled.
  struct Quantity {
    std::string name;
    std::vector<double> values = {};  // rows x stride, row-major
    double low = 0.0, high = 1.0;
    bool scaled = false;
    std::vector<std::uint8_t> words = {};  // for each column of the file: kNumbers, kTruths
  };
  static constexpr std::uint8_t kNumbers = 1, kTruths = 2;

  void add_quantity(std::string_view name);
  std::size_t find_quantity(std::string_view name) const;
  void find_row(std::string_view key, std::string_view name, std::uint32_t answer);
  bool numbers_answers() const { return numbered_.value_or(false); }
  bool answered(std::size_t row, std::size_t model) const;
  void widen(std::size_t stride);
  void require_memory(std::size_t stride, std::size_t quantities) const;
  void require_models_and_scores() const;
  void require_no_misspelt_name() const;
  void require_different_answers(const TraceTable& table) const;
  void price_tokens(TraceTable& table) const;
  void take_scores_for_quality(TraceTable& table) const;
  TraceTable assemble();
  void add_columns(TraceTable& table);
  void add_notes(TraceTable& table) const;

  const FilePlace& place_;
  const TraceOptions& options_;
  const bool infer_;
  const std::uint64_t most_bytes_;
  const bool prices_batches_;

  NameList models_, other_models_, other_scores_, unused_;
  std::vector<std::string> notes_;
  std::set<std::size_t> left_out_;                          // numbers of rows
  std::vector<Quantity> quantities_;                        // quality, cost, and all others
  std::size_t stride_ = 0, rows_ = 0, row_ = 0;             // models for which a row has room; rows; the current row
  TextColumn prompts_, keys_;                               // keys: the names by which rows are found
  std::vector<std::uint32_t> answers_;                      // for each row, if prompts have several
  std::optional<bool> numbered_;                            // whether the column "answer" is such a number
  bool log_ = false, found_again_ = false, keyed_ = false;  // the current row; whether names find rows
  std::vector<std::uint32_t> calls_;                        // for each decision so far
  std::unordered_map<std::uint64_t, std::size_t> row_of_;
  NameList column_names_;
  std::vector<ColumnBuilder> columns_;
  std::vector<std::uint8_t> differs_;  // whether a column's values differ between rows of one prompt
  std::uint64_t text_bytes_ = 0;
};

/// Checks a table whose cells may hold kMissingCell. Rows with a missing cell or price are refused or dropped; then
/// prompts that occur twice are refused. `repeats`: a prompt may have several rows.
TraceTable checked_table(TraceTable table, const FilePlace& place, const TraceOptions& options, bool repeats);

}  // namespace pandora
