// A table of outcomes: what the answer of every model to every prompt was worth, and what it cost; and where in its
// file something stands, for refusals that say so.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/ground/base/error.hpp"
#include "host/ground/base/option.hpp"

namespace pandora {

/// A value as a message shows it: in quotes, one line, cut at a sensible length.
std::string in_quotes(std::string_view value);

struct FilePlace {
  std::string file;        ///< as it may be printed
  std::uint64_t row = 0;   ///< of the data, counted from 1; 0: the header, or none
  std::uint64_t line = 0;  ///< of the file, counted from 1, where the row begins; 0: rows are of no file

  explicit FilePlace(const std::filesystem::path& path);

  /// Error (bad_data): "FILE: what".
  [[noreturn]] void refuse(const std::string& what) const;
  template <class First, class... More>
  [[noreturn]] void refuse(fmt::format_string<First, More...> form, First&& first, More&&... more) const {
    refuse(fmt::format(form, std::forward<First>(first), std::forward<More>(more)...));
  }
  /// The same of a table of no form that is known; `found`: what is there instead.
  [[noreturn]] void refuse_form(std::string_view found) const;
  /// Error (bad_data): "FILE: row 2 (line 7): what".
  [[noreturn]] void refuse_row(const std::string& what) const;
  template <class First, class... More>
  [[noreturn]] void refuse_row(fmt::format_string<First, More...> form, First&& first, More&&... more) const {
    refuse_row(fmt::format(form, std::forward<First>(first), std::forward<More>(more)...));
  }
  /// Error (bad_data): "FILE: row 2 (line 7), column "models > a > cost": what".
  [[noreturn]] void refuse_cell(std::initializer_list<std::string_view> column, const std::string& what) const;
};

/// What nothing sensible goes beyond, so that sums of it stay numbers: utility per dollar, and dollars of a call.
inline constexpr double kMostPrice = 1e9, kMostCallUsd = 1e6;

/// Many texts in one piece of memory.
class TextColumn {
 public:
  std::size_t size() const { return ends_.size(); }
  std::string_view operator[](std::size_t row) const {
    const std::size_t begin = row == 0 ? 0 : ends_[row - 1];
    return std::string_view(bytes_).substr(begin, ends_[row] - begin);
  }
  void push_back(std::string_view text) {
    bytes_ += text;
    ends_.push_back(bytes_.size());
  }
  std::string_view bytes() const { return bytes_; }  ///< all of them, one after the other
  std::size_t memory() const { return bytes_.size() + ends_.size() * sizeof(std::size_t); }
  bool operator==(const TextColumn&) const = default;

 private:
  std::string bytes_;
  std::vector<std::size_t> ends_;  // of each row in bytes_
};

/// What a table says of its prompts beside their outcomes.
struct PromptColumn {
  enum class Kind { number, text, vector };
  std::string name;
  Kind kind = Kind::text;
  std::size_t length = 1;       ///< numbers of a vector; 1 otherwise
  std::vector<double> numbers;  ///< number and vector: rows x length, row-major; NaN where a cell is missing
  TextColumn texts;             ///< text: rows, in UTF-8; empty where a cell is missing
};

/// One judge's score of every answer.
struct ScoreColumn {
  std::string name;            ///< as in the file: "score", "score_2"
  std::vector<double> values;  ///< rows x models, row-major, in [0, 1]
};

/// Of a table whose rows are decisions of a service: which models each called, and with what probability. All rows x
/// models, row-major, NaN where the model was not called.
struct CallLog {
  std::vector<double> propensity;  ///< of the call, given all that was seen before it, in (0, 1]
  std::vector<double> place;       ///< 1, 2, ...: of the call among those of its decision
  /// Of the answer that the client had: with what probability the decision went by the rules in all of its steps, 0 where it
  /// did not; NaN of other answers. Empty: the log does not say.
  std::vector<double> by_rules;
};

/// A remedy in messages.
inline const std::string kDropThem = "leave such prompts out (missing = \"drop\", " + option("missing", "drop") + ")";

/// Prompts x models. Made by read_trace (read_trace.hpp). Every cell is there but where TraceOptions::holes lets
/// qualities be unknown: they are NaN. In a log so are cost and scores of models that were not called.
struct TraceTable {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::string source;               ///< the file, for messages; no part of the content
  std::vector<std::string> models;  ///< in the order of the file, or of TraceOptions::models
  TextColumn prompts;               ///< a name for each row: the file's, or its row counted from 1
  bool named_prompts = false;       ///< whether the file has names
  bool by_name = false;             ///< whether rows with equal names are one prompt, and equal texts are not
  std::vector<double> quality;      ///< rows x models, row-major, in [0, 1]
  std::vector<double> cost;         ///< rows x models, row-major, dollars, not negative
  std::vector<ScoreColumn> scores;
  std::vector<double> latency;        ///< rows x models, row-major, seconds; NaN where not known; empty: none has one
  std::vector<PromptColumn> columns;  ///< in the order of the file; the prompt's text is one of them
  /// rows x models, in (0, 1]: that a cell's quality became known; empty where nothing says so.
  std::vector<double> label_propensity;
  std::optional<CallLog> log;       ///< of a log of decisions
  std::size_t text_column = kNone;  ///< which of `columns` is the prompt's text, if one is
  std::size_t dropped = 0;          ///< rows that the file has and `missing = drop` left out
  std::string judged_by;            ///< the judge whose scores are taken for the quality; empty: none
  std::vector<std::string> notes;   ///< what of the file was left out, and how it was understood; a sentence each

  std::size_t rows() const { return prompts.size(); }
  /// Cells whose quality is not known, though the model answered.
  std::size_t unlabelled() const;
  /// The prompt's text; empty where the table has none.
  std::string_view text(std::size_t row) const {
    return text_column == kNone ? std::string_view() : columns[text_column].texts[row];
  }
  /// Error (bad_data): "SOURCE: what".
  [[noreturn]] void refuse(const std::string& what) const;
  template <class First, class... More>
  [[noreturn]] void refuse(fmt::format_string<First, More...> form, First&& first, More&&... more) const {
    refuse(fmt::format(form, std::forward<First>(first), std::forward<More>(more)...));
  }
};

/// The judge of that name; "2" finds "score_2" and "score:2" as well. Throws Error (bad_data) with near names.
const ScoreColumn& find_score(const TraceTable& table, const std::string& name);

/// The column of that name; nullptr if there is none.
const PromptColumn* find_column(const TraceTable& table, const std::string& name);

/// The same prompts with these models alone, in this order, at least one. Throws Error (bad_data) where one is not
/// there (with near names) or named twice.
TraceTable select_models(const TraceTable& table, const std::vector<std::string>& models);

/// These rows, in this order; a row may come several times.
TraceTable select_rows(const TraceTable& table, std::span<const std::size_t> rows);

struct TraceSplit {
  std::vector<std::size_t> first, second;  ///< rows, ascending
};

/// Each row is in the first part with probability `share` in (0, 1), by the stable_hash (text_hash.hpp) of the prompt's
/// text, of its name where there is no text. So equal texts stay together, and where a row goes depends on no other
/// row; in a table without both it is the row's number that decides. Throws Error (usage) for another share, and Error
/// (bad_data) where a part would be empty.
TraceSplit split_rows(const TraceTable& table, double share);

/// That two tables, such as one to calibrate on and one to run on, have the same models, in any order, and no prompt in
/// common: no text where both have texts, else no name where both have names. Throws Error (bad_data) with the first
/// rows that meet, and how many.
void require_apart(const TraceTable& calibration, const TraceTable& online);

/// SHA-256 of everything but `source`, `by_name`, `dropped`, `judged_by` and `notes`, as hexadecimal digits: equal for
/// equal tables, whatever form they were read from.
std::string content_digest(const TraceTable& table);

/// Bytes of memory of a table. While it is read, texts and matrices that grow may take twice as much.
std::uint64_t trace_bytes(const TraceTable& table);

/// Which prompt each row of a table has.
struct PromptGroups {
  std::vector<std::size_t> of_row;  ///< from 0 to count - 1, in the order of a hash
  std::size_t count = 0;            ///< different prompts
};

/// By the prompts' texts; by the row's name where there is no text or TraceTable::by_name, by its number where there are
/// no names either. The order is that of a stable hash, and another one than split_rows() uses, so that parts and folds
/// are independent.
PromptGroups group_prompts(const TraceTable& table);

/// What is seen of an answer when its model was called, as users name it.
struct EvaluatorSpec {
  enum class Kind { quality, score, noisy, column };
  Kind kind = Kind::quality;
  std::string name = {};  ///< of the judge, as find_score() takes it; of the column; the S of noisy:S
};

/// Of "quality", "score", "score:NAME", "noisy:S" or "column:NAME"; nothing of any other text.
std::optional<EvaluatorSpec> evaluator_of(const std::string& text);

}  // namespace pandora
