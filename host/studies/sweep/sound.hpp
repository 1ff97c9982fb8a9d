// Checks that keep numbers that are not finite out of results, because the NaN of a mean would look like a result. Also
// checks the draws of an environment's code before anything is computed with them.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <span>

#include "host/studies/study/study.hpp"

namespace pandora {

/// The first number of a replication that is not finite, such as "mu of box 2 in online period 17"; empty if all are
/// finite. Indices of rows before the online ones are not checked.
std::string not_finite(const Replication& replication);

/// Whether all sums are finite and within kGreatestSum. If these are, so are those over fewer periods.
bool sums_are_finite(const LaneTally& tally);

/// Marks lanes as failed in their last period if their sums are not finite, or beyond kGreatestSum, although each
/// period's numbers were.
void fail_sums_not_finite(std::span<LaneTally> lanes);

/// If the replication is not finite, marks all of its `count` lanes as failed before the first period, with the reason.
/// Returns whether it did.
bool fail_all_if_not_finite(const Replication& replication, std::size_t count, UnitResult& result);

/// Throws Error (usage) if the replication does not have the requested shape or holds an invalid number. mu* and
/// rewards must be in [0, 1] and costs at least 0; everything that policies see, and the oracle's indices of online
/// rows, must be finite. The error names array, box, period, value and remedy.
void require_sound(const Replication& drawn, const ReplicationRequest& asked);

/// Whether an environment changed costs or mu* but left the indices as they were: in some online period and box, cost
/// or mu* differ from the paper's model for the request, and the oracle's index equals the model's in every bit. Draws
/// the model for the comparison. False if Replication::sigma_is_meant is set, and for contexts that are not the
/// model's.
bool leaves_indices_behind(const Replication& drawn, const ReplicationRequest& asked);

/// Checks the first replication that an environment's code draws in either regime with leaves_indices_behind(), and
/// reports each environment once. Several threads may use it.
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
