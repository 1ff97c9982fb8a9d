// An environment that is a table of outcomes: its tables, read once, and replications drawn from them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/lanes/model/drawn_rows.hpp"
#include "host/lanes/model/preparation.hpp"
#include "host/lanes/model/tape_writer.hpp"
#include "host/outcomes/tables/features.hpp"
#include "host/outcomes/tables/trace_table.hpp"
#include "kernels/tape/instance.hpp"
#include "pandora/environment.hpp"

namespace pandora {

/// The tables of an environment with the features of their prompts.
class TraceWorld {
 public:
  /// Reads the tables, or returns those that this process has read before for the same keys. Several threads may call
  /// it. Throws Error (bad_data) if a table is invalid or lacks something that the keys name, and Error (mismatch) if
  /// its digest differs from keys.digest.
  static std::shared_ptr<const TraceWorld> of(const TraceKeys& keys, const std::string& environment);

  /// Called while tables are read, with the file's name and how many of its bytes were read; may throw.
  static void set_progress(std::function<void(const std::string& file, std::uint64_t done, std::uint64_t total)> told);

  const TraceSizes& sizes() const { return sizes_; }
  const std::string& digest() const { return digest_; }
  const std::vector<std::string>& models() const { return online_.table.models; }
  const TraceTable& calibration() const { return calibration_.table; }
  const TraceTable& online() const { return online_.table; }
  const FeatureMap& features() const { return features_; }
  /// Throws Error (bad_data) if a prompt of the online table has fewer answers of each model than `openings`.
  void require_answers(int openings, const std::string& environment) const {
    answers_.require(online_.table, openings, environment);
  }
  /// The outcomes of the online table.
  std::shared_ptr<const PromptOutcomes> outcomes() const { return outcomes_; }
  /// The memory of all of it. While a table is read, the table may take as much again.
  std::uint64_t bytes() const;
  /// What readers and features left out, in one sentence each.
  const std::vector<std::string>& notes() const { return notes_; }

  /// Like prepare_replication; depends on its arguments and the tables alone. mu* is the quality, the cost is price x
  /// dollars, and the reward follows the feedback. x_0 is the first row of the calibration table.
  Replication draw(const ReplicationRequest& request) const;

  /// The rows of the online table behind the request's T online periods, and behind the openings if there are several.
  DrawnRows online_rows(const ReplicationRequest& request) const;

 private:
  struct Side {
    TraceTable table;
    std::vector<float> context;  // rows x d_x
  };

  explicit TraceWorld(const TraceKeys& keys, const std::string& environment);
  void read(const TraceKeys& keys, const std::string& environment);
  void fit(const TraceKeys& keys, const std::string& environment);

  Side calibration_, online_;
  PromptAnswers answers_;  // of the online table
  FeatureMap features_;
  TraceSizes sizes_;
  std::shared_ptr<const PromptOutcomes> outcomes_;
  std::string digest_;
  std::vector<std::string> notes_;
};

/// The sizes of an environment with a table or laws, from its keys or from the table.
TraceSizes trace_sizes(const Environment& environment);

}  // namespace pandora
