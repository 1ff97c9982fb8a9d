// Tables of outcomes from files, in the forms that people have them in.
//
//   wide CSV       header prompt_id?,prompt?,...,M,M|total_cost,M|score...: a row for each prompt; a model M is a
//                  column of qualities beside M|total_cost or M|cost. What else begins with M| is left out
//   long CSV       header prompt_id,model,quality,cost,score...: a row for each answer
//   long JSONL     the same as an object a line
//   log            a long table with propensity, and perhaps decision and label_propensity: see TraceOptions::holes
//   nested JSONL   an object a line for each prompt: {"prompt": ..., "models": {M: {"quality", "cost", "score"...}}}
//   decisions      what a cascade logged (DecisionRows), which is a log
//   a folder       of JSON files, one for each model: read_folder.cpp
//
// CSV has commas, semicolons or tabs, by its header, and any file may be compressed by gzip. "reward" is another name of
// "quality", "arms" of "models", "sample_id" and "id" of "prompt_id". Scores are "score" and what begins with "score_" or
// "score:". "latency" is of answers too (M|latency), and so are "prompt_tokens" and "completion_tokens" where prices are
// given. All other columns are the prompt's; its text is the first of "prompt", "text", "question", "query", "input",
// "instruction" that is there. docs/traces.md says what else is taken and refused.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>

#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {

enum class MissingCells { refuse, drop };

/// The range in which a file states qualities or a judge's scores: `low` becomes 0 and `high` 1.
struct StatedRange {
  std::string name;  ///< "quality", "score", "score:NAME"
  double low = 0.0, high = 1.0;
};

/// "NAME=LOW:HIGH", such as "score=1:5"; a NAME may hold "=" and ":". Nothing if it is none.
std::optional<StatedRange> range_of(const std::string& text);

/// Dollars for a million tokens of a prompt and of an answer.
struct TokenPrice {
  double in = 0.0, out = 0.0;
};
using TokenPrices = std::map<std::string, TokenPrice>;  ///< by the model's name

struct TraceOptions {
  /// A row with a missing cell, or with a cost of zero for a model that costs elsewhere: an error with counts, or left
  /// out and counted.
  MissingCells missing = MissingCells::refuse;
  /// Qualities may be unknown where `missing` is not to drop their rows, and a long table with a column `propensity` is
  /// a log: a row for each call, rows of a decision in the order of its calls. Else an unknown quality is a missing
  /// cell, and a propensity is refused.
  bool holes = false;
  /// Models to keep, in this order; all of the file if empty. Cells of others are neither checked nor kept.
  std::vector<std::string> models;
  /// Judges to keep, by their names in the file; absent: all. Cells of others are neither checked nor kept.
  std::optional<std::vector<std::string>> scores;
  /// Where values lie that do not lie in [0, 1].
  std::vector<StatedRange> scale;
  /// Where an answer has tokens and no cost, its cost is computed from these.
  TokenPrices prices;
  /// Whether a cost of zero is one, though the model costs elsewhere: answers from a cache.
  bool free_calls = false;
  /// Whether a further row of a prompt and model in a long table is a further answer, and no mistake.
  bool repeats = false;
  /// Bytes of memory that the table may take; 0: half of the machine's memory.
  std::uint64_t most_bytes = 0;
  /// Called now and then with the bytes that were read and the file's size, and once at the end. May throw.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

inline constexpr std::size_t kMostModels = 1024;                           ///< of a table
inline constexpr std::uint64_t kMostRecord = std::uint64_t{16} << 20;      ///< bytes of a row of the file
inline constexpr std::uint64_t kMostTraceFile = std::uint64_t{128} << 30;  ///< bytes of a file

/// Throws Error (usage) for ranges and prices that are none.
void require_sound(const TraceOptions& options);

/// Throws Error (bad_data) with file, row, column, value and remedy; Unreadable's reasons become such errors too. Error
/// (usage) as require_sound().
TraceTable read_trace(const std::filesystem::path& path, const TraceOptions& options = {});

/// The same of a folder (read_folder.cpp).
TraceTable read_trace_folder(const std::filesystem::path& folder, const TraceOptions& options);

}  // namespace pandora
