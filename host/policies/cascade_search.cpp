#include "host/policies/cascade_search.hpp"

#include <fmt/format.h>

#include <limits>

#include "pandora/error.hpp"

namespace pandora {
namespace {

constexpr int kThresholds = 11;
constexpr double kTie = 1e-9;

// Depth-first over thresholds: the periods still running after position j are filtered once per prefix, so that
// candidates with a common prefix share its work.
class Search {
 public:
  Search(const Tape& tape, int T0) : tape_(tape), T0_(T0) {}

  Cascade run() {
    for (int length = 1; length <= tape_.boxes(); ++length) {
      std::vector<int> boxes;
      extend(boxes, length);
    }
    return best_;
  }

 private:
  struct Running {
    int row;
    double best_mu;
    double reward_of_best;
    double spent;
  };

  void extend(std::vector<int>& boxes, int length) {
    if (static_cast<int>(boxes.size()) == length) {
      std::vector<Running> start;
      for (int k = 0; k < T0_; ++k) start.push_back({tape_.calibration_row(k), -1.0, 0.0, 0.0});
      std::vector<double> thresholds;
      descend(boxes, thresholds, start, 0.0);
      return;
    }
    for (int a = 0; a < tape_.boxes(); ++a) {
      bool used = false;
      for (int b : boxes) used = used || a == b;
      if (used) continue;
      boxes.push_back(a);
      extend(boxes, length);
      boxes.pop_back();
    }
  }

  void descend(const std::vector<int>& boxes, std::vector<double>& thresholds, std::vector<Running> running,
               double utility) {
    const std::size_t position = thresholds.size();
    const bool terminal = position + 1 == boxes.size();
    std::vector<double> mu(running.size());
    for (std::size_t i = 0; i < running.size(); ++i) {
      Running& r = running[i];
      const std::size_t at = tape_.at(r.row, boxes[position]);
      mu[i] = tape_.mu[at];
      r.spent += tape_.cost[at];
      if (mu[i] > r.best_mu) {
        r.best_mu = mu[i];
        r.reward_of_best = tape_.reward[at];
      }
    }
    if (terminal) {
      for (const Running& r : running) utility += r.reward_of_best - r.spent;
      if (utility / T0_ > best_utility_ + kTie) {
        best_utility_ = utility / T0_;
        best_ = {boxes, thresholds};
      }
      return;
    }
    for (int k = 0; k < kThresholds; ++k) {
      const double threshold = k / 10.0;
      double accepted = utility;
      std::vector<Running> left;
      for (std::size_t i = 0; i < running.size(); ++i) {
        if (mu[i] >= threshold)
          accepted += running[i].reward_of_best - running[i].spent;
        else
          left.push_back(running[i]);
      }
      thresholds.push_back(threshold);
      descend(boxes, thresholds, std::move(left), accepted);
      thresholds.pop_back();
    }
  }

  const Tape& tape_;
  const int T0_;
  Cascade best_;
  double best_utility_ = -std::numeric_limits<double>::infinity();
};

}  // namespace

std::uint64_t cascade_candidates(int boxes) {
  std::uint64_t total = 0, count = 1;
  for (int length = 1; length <= boxes && count < (std::uint64_t{1} << 50); ++length) {
    count *= static_cast<std::uint64_t>(boxes - length + 1) * (length > 1 ? kThresholds : 1);
    total += count;
  }
  return total;
}

Cascade search_cascade(const Tape& tape, int T0) {
  if (cascade_candidates(tape.boxes()) > kMostCascades)
    throw Error(ExitCode::usage, fmt::format("frugalgpt: {} boxes give more than {} cascades to search; use at most 5 "
                                             "boxes or leave the policy out",
                                             tape.boxes(), kMostCascades));
  return Search(tape, T0).run();
}

}  // namespace pandora
