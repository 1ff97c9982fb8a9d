// Numbers that are not finite must not become results: NaN in a mean would look like one. And what the code of an
// environment drew is looked at before anything is computed with it.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <span>

#include "host/studies/study/study.hpp"

namespace pandora {

/// What of a replication is not finite, such as "mu of box 2 in online period 17"; empty if everything is. Indices of
/// rows before the online ones are no part of it.
std::string not_finite(const Replication& replication);

/// Whether all sums are such. Those over fewer periods are finite if these are.
bool sums_are_finite(const LaneTally& tally);

/// A lane whose sums are not finite, or beyond kGreatestSum, though each of its periods was, has failed in its last
/// period.
void fail_sums_not_finite(std::span<LaneTally> lanes);

/// If the replication is not finite: all of its `count` lanes have failed before the first period, and say by what.
/// Returns whether they have.
bool fail_all_if_not_finite(const Replication& replication, std::size_t count, UnitResult& result);

/// Throws Error (usage) if the replication is not of the shape that was asked for, or holds a number that is none of
/// its kind: mu* and rewards are in [0, 1], costs at least 0, all that policies see and the oracle's indices of online
/// rows finite. The error names array, box, period, value and remedy.
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
