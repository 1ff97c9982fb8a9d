// The best adaptive search where shocks are standard normal with one correlation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "adaptive_search.hpp"

namespace pandora::rivals {

/// The law of w_c, given k standard normals with pairwise correlation r whose sum is `sum`.
struct ConditionalNormal {
  double mean, deviation;

  static ConditionalNormal given(double sum, int k, double r) {
    const double factor = r / (1.0 + (k - 1) * r);
    return {factor * sum, std::sqrt(std::max(0.0, 1.0 - k * r * factor))};
  }
};

/// Nodes at equal distances. For smooth integrands a sum over them is exact to far more digits than needed. At a kink
/// of the integrand its error is of the order of the square of the step.
inline constexpr double kShockStep = 0.1, kLeastShockStep = 0.025, kLargestShock = 6.0;

/// That law on nodes in [-6, 6] at most `step` apart, closer if the last shock is nearly known (r > 0.993). From r =
/// 0.9996 on, the smallest step limits how closely the last shock counts as known. r in [0, 1).
inline ShockGrid normal_grid(double r, double step = kShockStep) {
  step = std::min(step, std::max(kLeastShockStep, ConditionalNormal::given(0.0, 2, r).deviation));
  const std::size_t half = static_cast<std::size_t>(std::ceil(kLargestShock / step)), n = 2 * half + 1;
  ShockGrid grid;
  for (std::size_t i = 0; i < n; ++i)
    grid.nodes.push_back((static_cast<double>(i) - static_cast<double>(half)) * kLargestShock /
                         static_cast<double>(half));
  const auto add = [&grid, step](std::vector<double>& rows, ConditionalNormal law) {
    const std::size_t first = rows.size();
    double mass = 0.0;
    for (const double node : grid.nodes) {
      const double distance = (node - law.mean) / std::max(step, law.deviation);
      rows.push_back(std::exp(-0.5 * distance * distance));
      mass += rows.back();
    }
    for (std::size_t i = first; i < rows.size(); ++i) rows[i] /= mass;
  };
  add(grid.first, {0.0, 1.0});
  for (std::size_t i = 0; i < n; ++i) add(grid.second, ConditionalNormal::given(grid.nodes[i], 1, r));
  // The third law depends on the sum of two nodes, which is one of 2 n - 1 values.
  for (std::size_t k = 0; k < 2 * n - 1; ++k)
    add(grid.third,
        ConditionalNormal::given(2.0 * grid.nodes[0] + static_cast<double>(k) * (grid.nodes[1] - grid.nodes[0]), 2, r));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) grid.row.push_back(static_cast<int>(i + j));
  return grid;
}

/// Plays one period after another by the values of an AdaptiveSearch on that grid, interpolated between nodes.
class NormalSearch {
 public:
  static constexpr int kStop = AdaptiveSearch::kStop;

  NormalSearch(double r, RewardLink link, double step = kShockStep)
      : search_(normal_grid(r, step), link), link_(link) {}

  /// Begins a period with these boxes (1 to 3).
  void begin(std::span<const SearchBox> boxes) {
    search_.solve(boxes);
    open_.clear();
  }
  /// Box `box` was opened: mu = G(z).
  void opened(int box, double z) { open_.emplace_back(box, z); }

  /// The box to open next, or kStop. Of equally good choices it prefers kStop, then the lowest box.
  int next() const {
    if (open_.empty()) return search_.first();
    int choice = kStop;
    const double z = best_z();
    double most = reward_link(link_, z);
    for (int box = 0; box < static_cast<int>(search_.boxes().size()); ++box) {
      if (is_open(box)) continue;
      const double value = open_.size() == 1 ? after_one(box) : after_two(box, z);
      if (value > most) most = value, choice = box;
    }
    return choice;
  }

  /// The box to deploy.
  int best() const {
    return std::ranges::max_element(open_, [](const auto& a, const auto& b) { return a.second < b.second; })->first;
  }

  const AdaptiveSearch& search() const { return search_; }

 private:
  bool is_open(int box) const {
    return std::ranges::any_of(open_, [box](const auto& output) { return output.first == box; });
  }
  double best_z() const {
    double z = open_.front().second;
    for (const auto& output : open_) z = std::max(z, output.second);
    return z;
  }

  // w of an open box. A box without a scale tells nothing about it.
  double shock(const std::pair<int, double>& output) const {
    const SearchBox& box = search_.boxes()[static_cast<std::size_t>(output.first)];
    return box.scale > 0.0 ? (output.second - box.shift) / box.scale : 0.0;
  }

  // The node below a place, at least `margin` nodes from the ends, and the place's distance beyond it in steps.
  std::pair<std::size_t, double> place(double w, double least, std::size_t nodes, std::size_t margin) const {
    const std::span<const double> grid = search_.nodes();
    const double position = std::clamp((w - least) / (grid[1] - grid[0]), 0.0, static_cast<double>(nodes - 1));
    const std::size_t below = std::clamp(static_cast<std::size_t>(position), margin, nodes - 2 - margin);
    return {below, position - static_cast<double>(below)};
  }

  // Cubic between nodes.
  double after_one(int box) const {
    const std::span<const double> values = search_.after(open_[0].first, box);
    const auto [i, t] = place(shock(open_[0]), search_.nodes()[0], values.size(), 1);
    const double before = -t * (t - 1.0) * (t - 2.0) / 6.0, here = (t + 1.0) * (t - 1.0) * (t - 2.0) / 2.0;
    const double next = -(t + 1.0) * t * (t - 2.0) / 2.0, beyond = (t + 1.0) * t * (t - 1.0) / 6.0;
    return before * values[i - 1] + here * values[i] + next * values[i + 1] + beyond * values[i + 2];
  }

  // Linear between the rows of two neighbouring sums.
  double after_two(int box, double z) const {
    const auto [row, t] =
        place(shock(open_[0]) + shock(open_[1]), 2.0 * search_.nodes()[0], 2 * search_.nodes().size() - 1, 0);
    return (1.0 - t) * search_.last(box, z, row) + t * search_.last(box, z, row + 1);
  }

  AdaptiveSearch search_;
  RewardLink link_;
  std::vector<std::pair<int, double>> open_;  // box and z, in the order of opening
};

}  // namespace pandora::rivals
