// Reads tables of outcomes from files, in these forms:
//
//   wide CSV       header prompt_id?,prompt?,...,M,M|total_cost,M|score...: a row for each prompt; a model M is a
//                  column of qualities beside M|total_cost or M|cost. Other columns that begin with M| are left out
//   long CSV       header prompt_id,model,quality,cost,score...: a row for each answer
//   long JSONL     the same as one object per line
//   log            a long table with propensity, and perhaps decision and label_propensity: see TraceOptions::holes
//   nested JSONL   an object per line for each prompt: {"prompt": ..., "models": {M: {"quality", "cost", "score"...}}};
//                  `models` may be such an object written as text, also in a CSV file
//   a list         of the objects of either JSONL, in one file
//   decisions      a cascade's decision log (DecisionRows), which is a log
//   a folder       of JSON files, one for each model: read_folder.cpp
//
// The header of a CSV file tells whether commas, semicolons or tabs separate fields. Any file may be compressed by
// gzip. "reward" is another name of "quality", "arms" of "models", "sample_id" and "id" of "prompt_id". Scores are
// "score" and names that begin with "score_" or "score:". "latency" belongs to answers too (M|latency). With given
// prices so do "prompt_tokens", "completion_tokens", and counts such as cached_tokens (token_price.hpp). All other
// columns belong to the prompt. Its text is the first present column of "prompt", "text", "question", "query", "input",
// "instruction". docs/traces.md says what else is read and refused.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "host/outcomes/tables/token_price.hpp"
#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {

/// `failed` leaves out rows that lack dollars or a score, as of a failed call, and keeps those that lack a quality alone.
enum class MissingCells { refuse, drop, failed };

/// The range in which a file states qualities or a judge's scores: `low` becomes 0 and `high` becomes 1.
struct StatedRange {
  std::string name;  ///< "quality", "score", "score:NAME"
  double low = 0.0, high = 1.0;
};

/// Reads "NAME=LOW:HIGH", such as "score=1:5"; NAME may contain "=" and ":". Nothing if the text has another form.
std::optional<StatedRange> range_of(const std::string& text);

struct TraceOptions {
  /// Whether a row with a missing cell, or with a cost of zero for a model that costs elsewhere, is an error (with
  /// counts) or is left out and counted.
  MissingCells missing = MissingCells::refuse;
  /// Whether qualities may be unknown (unless `missing` is `drop`), and whether a long table with a
  /// column `propensity` is read as a log: a row for each call, and the rows of a decision in the order of its calls.
  /// Otherwise an unknown quality is a missing cell, and a propensity is refused.
  bool holes = false;
  /// Models to keep, in this order; empty: all of the file. Cells of other models are neither checked nor kept.
  std::vector<std::string> models = {};
  /// Judges to keep, by their names in the file; nothing: all. Cells of other judges are neither checked nor kept.
  std::optional<std::vector<std::string>> scores = {};
  /// The ranges of values that are not in [0, 1].
  std::vector<StatedRange> scale = {};
  /// The prices by which an answer with tokens but no cost gets its cost.
  TokenPrices prices = {};
  /// Whether a cost of zero is a real cost: answers from a cache, models that cost nothing.
  bool free_calls = false;
  /// The column or member of answers that is their quality. The name of a judge ("score", "score:NAME") takes its
  /// scores as the quality. Empty: quality or reward.
  std::string quality = {};
  /// Whether the first judge's scores are taken as the quality if no answer has a quality and `quality` is empty.
  bool scores_alone = false;
  /// The columns whose values together identify a prompt (TraceTable::by_name). Empty: prompt_id, sample_id or id names
  /// it, and rows with equal texts are one prompt.
  std::vector<std::string> prompt_key = {};
  /// Whether a second row of a prompt and model in a long table is another answer rather than a mistake.
  bool repeats = false;
  /// The most bytes of memory that the table may take; 0: half of the machine's memory.
  std::uint64_t most_bytes = 0;
  /// Called from time to time with the bytes read so far and the file's size, and once at the end. May throw.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
};

inline constexpr std::size_t kMostModels = 1024;                           ///< of a table
inline constexpr std::uint64_t kMostRecord = std::uint64_t{16} << 20;      ///< bytes of a row of the file
inline constexpr std::uint64_t kMostTraceFile = std::uint64_t{128} << 30;  ///< bytes of a file

/// Throws Error (usage) if a range or a price is invalid.
void require_sound(const TraceOptions& options);

/// Reads a table. Throws Error (bad_data) with file, row, column, value and remedy, also if the file cannot be read,
/// and Error (usage) as require_sound() does.
TraceTable read_trace(const std::filesystem::path& path, const TraceOptions& options = {});

/// The same for a folder, and for a file that is one list of objects (read_folder.cpp).
TraceTable read_trace_folder(const std::filesystem::path& path, const TraceOptions& options);

}  // namespace pandora
