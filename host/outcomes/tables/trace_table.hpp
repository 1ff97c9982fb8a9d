// A table of outcomes: the value and the cost of every model's answer to every prompt. Also the place of a value in its
// file, for error messages.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/ground/base/error.hpp"
#include "host/ground/base/option.hpp"

namespace pandora {

/// A value as a message shows it: in quotes, one line, cut at a sensible length.
std::string in_quotes(std::string_view value);

struct FilePlace {
  std::string file;        ///< in a printable form
  std::uint64_t row = 0;   ///< of the data, counted from 1; 0: the header, or no row
  std::uint64_t line = 0;  ///< of the file, counted from 1, where the row begins; 0: rows do not come from a file

  explicit FilePlace(const std::filesystem::path& path);

  /// Throws Error (bad_data): "FILE: what".
  [[noreturn]] void refuse(const std::string& what) const;
  template <class First, class... More>
  [[noreturn]] void refuse(fmt::format_string<First, More...> form, First&& first, More&&... more) const {
    refuse(fmt::format(form, std::forward<First>(first), std::forward<More>(more)...));
  }
  /// The same for a table of no known form; `found`: what the file holds instead.
  [[noreturn]] void refuse_form(std::string_view found) const;
  /// Throws Error (bad_data): "FILE: row 2 (line 7): what".
  [[noreturn]] void refuse_row(const std::string& what) const;
  template <class First, class... More>
  [[noreturn]] void refuse_row(fmt::format_string<First, More...> form, First&& first, More&&... more) const {
    refuse_row(fmt::format(form, std::forward<First>(first), std::forward<More>(more)...));
  }
  /// Throws Error (bad_data): "FILE: row 2 (line 7), column "models > a > cost": what".
  [[noreturn]] void refuse_cell(std::initializer_list<std::string_view> column, const std::string& what) const;
};

/// Upper bounds that no sensible value exceeds, so that sums stay finite: utility per dollar, and dollars of a call.
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
  std::string_view bytes() const { return bytes_; }  ///< all texts, one after the other
  std::size_t memory() const { return bytes_.size() + ends_.size() * sizeof(std::size_t); }
  bool operator==(const TextColumn&) const = default;

 private:
  std::string bytes_;
  std::vector<std::size_t> ends_;  // the end of each row in bytes_
};

/// A column of values of prompts, besides their outcomes.
struct PromptColumn {
  enum class Kind { number, text, vector };
  std::string name;
  Kind kind = Kind::text;
  std::size_t length = 1;            ///< numbers of a vector; 1 otherwise
  std::vector<double> numbers = {};  ///< number and vector: rows x length, row-major; NaN where a cell is missing
  TextColumn texts = {};             ///< text: rows, in UTF-8; empty where a cell is missing
};

/// One judge's score of every answer.
struct ScoreColumn {
  std::string name;            ///< as in the file: "score", "score_2"
  std::vector<double> values;  ///< rows x models, row-major, in [0, 1]
};

/// For a table whose rows are a service's decisions: which models each decision called, and with what probability. All
/// are rows x models, row-major, NaN where the model was not called.
struct CallLog {
  std::vector<double> propensity;  ///< of the call, given everything seen before it, in (0, 1]
  std::vector<double> place;       ///< 1, 2, ...: the place of the call in its decision
  /// For the answer that the client got: the probability that the decision went by the rules in all of its steps, 0 if
  /// it did not; NaN for other answers. Empty: the log does not say.
  std::vector<double> by_rules;
};

/// A remedy in messages.
inline const std::string kDropThem = "leave such prompts out (missing = \"drop\", " + option("missing", "drop") + ")";

/// Prompts x models, made by read_trace (read_trace.hpp). Every cell has a value, with two exceptions. With
/// TraceOptions::holes qualities may be unknown, which is NaN. In a log, cost and scores of models that were not called
/// are NaN too.
struct TraceTable {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::string source;               ///< the file, for messages; not part of the content
  std::vector<std::string> models;  ///< in the order of the file, or of TraceOptions::models
  TextColumn prompts;               ///< a name for each row: from the file, or the row's number counted from 1
  bool named_prompts = false;       ///< whether the file has names
  bool by_name = false;             ///< whether equal names, not equal texts, make rows one prompt
  std::vector<double> quality;      ///< rows x models, row-major, in [0, 1]
  std::vector<double> cost;         ///< rows x models, row-major, dollars, not negative
  std::vector<ScoreColumn> scores;
  std::vector<double> latency;        ///< rows x models, row-major, seconds; NaN where unknown; empty: none is known
  std::vector<PromptColumn> columns;  ///< in the order of the file; the prompt's text is one of them
  /// rows x models, in (0, 1]: the probability that a cell's quality became known; empty if the file does not say.
  std::vector<double> label_propensity;
  std::optional<CallLog> log;       ///< for a log of decisions
  std::size_t text_column = kNone;  ///< the number of the column with the prompt's text, if there is one
  std::size_t dropped = 0;          ///< rows of the file that `missing = drop` left out
  std::string judged_by;            ///< the judge whose scores are taken as the quality; empty: none
  std::vector<std::string> notes;   ///< what was left out of the file, and how it was read; a sentence each
  /// The numbers in `notes` of those on which programs act: "judge" (its scores are the quality), "latency" (whose unit
  /// looks wrong), "unknown" (qualities) and "dropped" (prompts).
  std::map<std::string, std::size_t> note_on;

  std::size_t rows() const { return prompts.size(); }
  /// How many cells have no known quality although the model answered.
  std::size_t unlabelled() const;
  /// The prompt's text; empty if the table has none.
  std::string_view text(std::size_t row) const {
    return text_column == kNone ? std::string_view() : columns[text_column].texts[row];
  }
  /// Adds a note on one of these.
  void note(const std::string& on, std::string text) {
    note_on[on] = notes.size();
    notes.push_back(std::move(text));
  }
  /// Throws Error (bad_data): "SOURCE: what".
  [[noreturn]] void refuse(const std::string& what) const;
  template <class First, class... More>
  [[noreturn]] void refuse(fmt::format_string<First, More...> form, First&& first, More&&... more) const {
    refuse(fmt::format(form, std::forward<First>(first), std::forward<More>(more)...));
  }
};

/// The judge of that name; "2" also finds "score_2" and "score:2". Throws Error (bad_data) with near names.
const ScoreColumn& find_score(const TraceTable& table, const std::string& name);

/// The column of that name; nullptr if there is none.
const PromptColumn* find_column(const TraceTable& table, const std::string& name);

/// The same prompts with only these models (at least one), in this order. Throws Error (bad_data) if one does not exist
/// (with near names) or is named twice.
TraceTable select_models(const TraceTable& table, const std::vector<std::string>& models);

/// These rows, in this order; a row may come several times.
TraceTable select_rows(const TraceTable& table, std::span<const std::size_t> rows);

/// Two parts of a table: rows, ascending.
using TraceSplit = std::pair<std::vector<std::size_t>, std::vector<std::size_t>>;

/// Puts each row into the first part with probability `share` in (0, 1). The stable_hash (text_hash.hpp) of the
/// prompt's text decides, or of its name if there is no text. So equal texts stay together, and the part of a row does
/// not depend on other rows. In a table without texts and names the row's number decides. Throws Error (usage) for
/// another share, and Error (bad_data) if a part would be empty.
TraceSplit split_rows(const TraceTable& table, double share);

/// Checks that two tables, such as one for calibration and one for the run, have the same models, in any order, and no
/// prompt in common: no common text if both have texts, otherwise no common name if both have names. Throws Error
/// (bad_data) with the first rows that agree, and how many do.
void require_apart(const TraceTable& calibration, const TraceTable& online);

/// SHA-256 of everything except `source`, `by_name`, `dropped`, `judged_by` and `notes`, as hexadecimal digits. Equal
/// tables have equal digests, whatever form they were read from.
std::string content_digest(const TraceTable& table);

/// The bytes of a table in memory. While it is read, texts and matrices that grow may take twice as much.
std::uint64_t trace_bytes(const TraceTable& table);

/// Which prompt each row of a table has.
struct PromptGroups {
  std::vector<std::size_t> of_row;  ///< from 0 to count - 1, in the order of a hash
  std::size_t count = 0;            ///< number of different prompts
};

/// Groups rows by the prompts' texts. Without texts, or with TraceTable::by_name, by the row's name; without names, by
/// the row's number. The groups' order comes from a stable hash that differs from that of split_rows(), so that parts
/// and folds are independent.
PromptGroups group_prompts(const TraceTable& table);

/// The value that is seen of an answer once its model was called, as users name it.
struct EvaluatorSpec {
  enum class Kind { quality, score, noisy, column };
  Kind kind = Kind::quality;
  std::string name = {};  ///< the judge's name, for find_score(); the column's name; the S of noisy:S
};

/// Reads "quality", "score", "score:NAME", "noisy:S" or "column:NAME"; nothing for any other text.
std::optional<EvaluatorSpec> evaluator_of(const std::string& text);

}  // namespace pandora
