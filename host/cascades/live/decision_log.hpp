// What a cascade decided, as files of JSON lines.
//
//   a decision  {"request", "time", "evaluator", "features", "psi", "candidates", "calls": [{"model", "propensity",
//               "dollars", "score", "latency", "deploy_propensity"}], "deployed", "prompt"?, "columns"?}
//   a feedback  {"request", "time", "quality"}
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "pandora/cascade.hpp"

namespace pandora {

/// Every log begins a file of its own, decisions-N.jsonl with the next free N, so that several processes can share a
/// folder, and a line that a crash cut off stays at its file's end. Its owner alone may read the files, which may hold
/// prompts.
class DecisionLog {
 public:
  /// Throws Error (usage) for bounds that are none, Error (output_lost) where the folder cannot be made.
  explicit DecisionLog(const DecisionLogOptions& options);
  ~DecisionLog();
  DecisionLog(const DecisionLog&) = delete;
  DecisionLog& operator=(const DecisionLog&) = delete;

  bool has_prompts() const { return options_.prompts; }
  /// Whether the line is with the system, whole.
  bool write(const nlohmann::json& line) noexcept;

 private:
  bool open_next();
  void remove_oldest() const;

  const DecisionLogOptions options_;
  int file_ = -1;
  std::uint64_t length_ = 0;
  std::uint64_t forks_ = 0;  // before the file was opened
};

/// {"prompt", "columns"} of those that there are.
nlohmann::json prompt_json(const Prompt& prompt);
/// Seconds since 1970.
double time_of_day();

}  // namespace pandora
