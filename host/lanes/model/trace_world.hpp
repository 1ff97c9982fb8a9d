// An environment that is a table of outcomes: its tables, read once, and replications drawn from them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/lanes/model/drawn_rows.hpp"
#include "host/lanes/model/preparation.hpp"
#include "host/lanes/model/trace_keys.hpp"
#include "host/outcomes/tables/features.hpp"
#include "host/outcomes/tables/trace_table.hpp"
#include "kernels/tape/instance.hpp"
#include "pandora/environment.hpp"

namespace pandora {

/// What an environment's table makes of its sizes.
struct TraceSizes {
  int boxes = 0;            ///< A, models
  int context = 0;          ///< d_x, numbers of a prompt's context; at least 1
  int reward_features = 0;  ///< d = A (1 + scores)
  int calibration = 0;      ///< rows of the calibration table, of which x_0 is one
  int online = 0;           ///< rows of the online table

  Dimensions dimensions() const;
  std::vector<std::int64_t> list() const { return {boxes, context, reward_features, calibration, online}; }
};

/// The tables of an environment with the features of their prompts.
class TraceWorld {
 public:
  /// Reads the tables, or gives what this process has read before for the same keys; may be called by several threads.
  /// Throws Error (bad_data) where a table is not sound or does not have what the keys name, Error (mismatch) where
  /// keys.digest is another.
  static std::shared_ptr<const TraceWorld> of(const TraceKeys& keys, const std::string& environment);

  /// Called while tables are read, with a file's name and the bytes of it that were read; may throw.
  static void set_progress(std::function<void(const std::string& file, std::uint64_t done, std::uint64_t total)> told);

  const TraceSizes& sizes() const { return sizes_; }
  const std::string& digest() const { return digest_; }
  const std::vector<std::string>& models() const { return online_.table.models; }
  const TraceTable& calibration() const { return calibration_.table; }
  const TraceTable& online() const { return online_.table; }
  const FeatureMap& features() const { return features_; }
  /// Of the online table.
  std::shared_ptr<const PromptOutcomes> outcomes() const { return outcomes_; }
  /// Memory of all of it; while a table is read, the table may take as much again.
  std::uint64_t bytes() const;
  /// What readers and features left out, a sentence each.
  const std::vector<std::string>& notes() const { return notes_; }

  /// As prepare_replication; depends on its arguments and the tables alone. mu* is the quality, the cost is
  /// price x dollars, the reward what the feedback says. The first row of the calibration table is x_0.
  Replication draw(const ReplicationRequest& request) const;

  /// The rows of the online table behind the request's T online periods.
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
  FeatureMap features_;
  TraceSizes sizes_;
  std::shared_ptr<const PromptOutcomes> outcomes_;
  std::string digest_;
  std::vector<std::string> notes_;
};

/// The sizes of an environment with a table: those of its keys, or of the table.
TraceSizes trace_sizes(const Environment& environment);

}  // namespace pandora
