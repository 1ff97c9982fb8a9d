#include "host/policies/cascade_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

namespace pandora {
namespace {

constexpr std::size_t kThresholds = 11;
using Groups = std::array<std::size_t, kThresholds + 1>;
constexpr double kTie = 1e-9;

double threshold(std::size_t k) {
  return static_cast<double>(k) / 10.0;
}

// A box over the periods.
struct Column {
  std::vector<double> mu, cost, reward;
  std::vector<std::size_t> accepting;  // how many of the thresholds mu reaches: the least ones
};

// A period that still runs.
struct Running {
  std::size_t period = 0;
  double best_mu = -1.0;
  double reward_of_best = 0.0;
  double spent = 0.0;

  void query(const Column& box) {
    const bool better = box.mu[period] > best_mu;  // no branch: which it is, is a coin flip
    spent += box.cost[period];
    reward_of_best = better ? box.reward[period] : reward_of_best;
    best_mu = better ? box.mu[period] : best_mu;
  }
  double utility() const { return reward_of_best - spent; }
};

// Depth-first over thresholds, so that candidates with a common prefix share its work. Periods are sorted by how many
// thresholds accept them: those that go on after a threshold are the first ones, and the last threshold need not be
// tried value by value, for sums over the periods of a kind give the utilities at all eleven. Sums in another order
// round differently, so that these only rule candidates out; one that may win is summed up period by period.
class Search {
 public:
  /// Over `periods` rows of the tape from `first_row` on; `reward`: of every row and box.
  template <class Rewards>
  Search(const Tape& tape, int first_row, int periods, const Rewards& reward)
      : T0_(periods), columns_(static_cast<std::size_t>(tape.boxes())) {
    for (std::size_t period = 0; period < static_cast<std::size_t>(T0_); ++period) all_.push_back({period});
    levels_.assign(columns_.size(), all_);
    std::vector<double> spent(all_.size());
    for (int a = 0; a < tape.boxes(); ++a)
      for (int period = 0; period < T0_; ++period) {
        const std::size_t at = tape.at(first_row + period, a);
        Column& column = columns_[static_cast<std::size_t>(a)];
        column.mu.push_back(tape.mu[at]);
        column.cost.push_back(tape.cost[at]);
        column.reward.push_back(static_cast<double>(reward[at]));
        std::size_t accepting = 0;
        while (accepting < kThresholds && tape.mu[at] >= threshold(accepting)) ++accepting;
        column.accepting.push_back(accepting);
        spent[static_cast<std::size_t>(period)] += std::abs(tape.cost[at]);
      }
    // A mean of utilities of at most this size, put together in up to 64 T0 steps, is off by less than that.
    const double greatest = 1.0 + *std::max_element(spent.begin(), spent.end());
    rounding_ = 64.0 * T0_ * std::numeric_limits<double>::epsilon() * greatest;
  }

  Cascade run() {
    const int boxes = static_cast<int>(columns_.size());
    for (int length = 1; length <= longest_cascade(boxes); ++length) {
      thresholds_.assign(static_cast<std::size_t>(length - 1), 0.0);
      extend(static_cast<std::size_t>(length));
    }
    if (best_.boxes.empty()) best_.boxes = {0};  // no utility is finite: the lane fails where it meets the number
    return best_;
  }

 private:
  void extend(std::size_t length) {
    if (boxes_.size() == length) {
      if (length == 1)
        consider();
      else
        descend(0, all_, 0.0);
      return;
    }
    for (int a = 0; a < static_cast<int>(columns_.size()); ++a) {
      if (std::find(boxes_.begin(), boxes_.end(), a) != boxes_.end()) continue;
      boxes_.push_back(a);
      extend(length);
      boxes_.pop_back();
    }
  }

  const Column& box_at(std::size_t position) const { return columns_[static_cast<std::size_t>(boxes_[position])]; }

  // All thresholds from a position on, for the periods that arrive there, given what the others have earned. Between
  // two thresholds that accept the same periods the lesser wins, for its candidates come first and the others tie.
  void descend(std::size_t position, std::span<const Running> arriving, double earned) {
    const Column& box = box_at(position);
    Groups found{}, end{};  // periods by the number of thresholds that accept, and where they end when sorted by it
    for (const Running& r : arriving) ++found[box.accepting[r.period]];
    std::partial_sum(found.begin(), found.end(), end.begin());
    if (position + 2 == boxes_.size()) {
      const std::array<double, kThresholds> utility = utilities(position, arriving, earned);
      for (std::size_t k = 0; k < kThresholds; ++k) {
        if (k > 0 && found[k] == 0) continue;
        thresholds_[position] = threshold(k);
        if (utility[k] / T0_ > best_utility_ + kTie - rounding_) consider();
      }
      return;
    }
    Groups at{};
    std::copy(end.begin(), end.end() - 1, at.begin() + 1);
    std::vector<Running>& sorted = levels_[position];
    for (Running r : arriving) {
      r.query(box);
      earned += r.utility();
      sorted[at[box.accepting[r.period]]++] = r;
    }
    for (std::size_t k = 0; k < kThresholds; ++k) {  // of all that is earned, what the periods that go on have not
      for (std::size_t i = k > 0 ? end[k - 1] : 0; i < end[k]; ++i) earned -= sorted[i].utility();
      if (k > 0 && found[k] == 0) continue;
      thresholds_[position] = threshold(k);
      descend(position + 1, std::span(sorted).first(end[k]), earned);
    }
  }

  // The candidates' utilities at each value of the last threshold, up to rounding.
  std::array<double, kThresholds> utilities(std::size_t position, std::span<const Running> arriving,
                                            double earned) const {
    const Column &box = box_at(position), &next = box_at(position + 1);
    std::array<double, kThresholds + 1> accepted{}, went_on{};
    for (Running r : arriving) {
      const std::size_t group = box.accepting[r.period];
      r.query(box);
      accepted[group] += r.utility();
      r.query(next);
      went_on[group] += r.utility();
    }
    std::array<double, kThresholds> out{};
    for (std::size_t k = 0; k < out.size(); ++k) {
      out[k] = earned;
      for (std::size_t group = 0; group < accepted.size(); ++group)
        out[k] += group > k ? accepted[group] : went_on[group];
    }
    return out;
  }

  // The candidate is the best if its utility, position by position and period by period, says so.
  void consider() {
    std::vector<Running> running = all_, left;
    double utility = 0.0;
    for (std::size_t position = 0; position < boxes_.size(); ++position) {
      const Column& box = box_at(position);
      left.clear();
      for (Running& r : running) {
        r.query(box);
        if (position + 1 == boxes_.size() || box.mu[r.period] >= thresholds_[position])
          utility += r.utility();
        else
          left.push_back(r);
      }
      std::swap(running, left);
    }
    if (utility / T0_ > best_utility_ + kTie) {
      best_utility_ = utility / T0_;
      best_ = {boxes_, thresholds_};
    }
  }

  const int T0_;
  std::vector<Column> columns_;
  std::vector<Running> all_;                  // every period, before the first box
  std::vector<std::vector<Running>> levels_;  // by position: room for the periods that arrive there
  double rounding_;
  std::vector<int> boxes_;
  std::vector<double> thresholds_;
  Cascade best_;
  double best_utility_ = -std::numeric_limits<double>::infinity();
};

}  // namespace

std::uint64_t cascade_candidates(int boxes, int longest) {
  std::uint64_t total = 0, count = 1;
  for (int length = 1; length <= longest && count < (std::uint64_t{1} << 50); ++length) {
    count *= static_cast<std::uint64_t>(boxes - length + 1) * (length > 1 ? kThresholds : 1);
    total += count;
  }
  return total;
}

int longest_cascade(int boxes) {
  int longest = 1;
  while (longest < boxes && cascade_candidates(boxes, longest + 1) <= kMostCascades) ++longest;
  return longest;
}

Cascade search_cascade(const Tape& tape, int T0) {
  return Search(tape, tape.calibration_row(0), T0, tape.reward).run();
}

Cascade best_cascade_in_hindsight(const Tape& tape) {
  return Search(tape, tape.online_row(0), tape.online_rows, tape.mu).run();
}

}  // namespace pandora
