// What the code of an environment drew, looked at before anything is computed with it.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "pandora/environment.hpp"

namespace pandora {

/// Throws Error (usage) if the replication is not of the shape that was asked for, or holds a number that is none of
/// its kind: mu* and rewards are in [0, 1], costs at least 0, all that policies see and the oracle's indices of online
/// rows finite. The error names array, box, period, value and remedy. Reads the tape once, at the speed of memory.
void require_sound(const Replication& drawn, const ReplicationRequest& asked);

/// Whether indices were left behind: in some online period and box, cost or mu* are others than the paper's model draws
/// for the request, and the oracle's index has every bit of the model's. Draws the model to see that. False where
/// Replication::sigma_is_meant is set, and for contexts that are not the model's.
bool leaves_indices_behind(const Replication& drawn, const ReplicationRequest& asked);

/// Looks at the first replication that an environment's code draws in either regime, and tells once for each
/// environment of indices that were left behind. For several threads.
class BenchmarkWatch {
 public:
  explicit BenchmarkWatch(std::function<void(const std::string& message)> note) : note_(std::move(note)) {}

  void operator()(const Replication& drawn, const ReplicationRequest& asked);

 private:
  std::function<void(const std::string& message)> note_;
  std::mutex mutex_;
  std::set<std::string> looked_at_, told_;
};

}  // namespace pandora
