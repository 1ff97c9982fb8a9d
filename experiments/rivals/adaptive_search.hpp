// The best adaptive search through at most three boxes whose shocks depend on each other, by dynamic programming.
//
// Box a has the value mu_a = G(l_a + s_a w_a), and opening it costs c_a in expectation. The w_a are exchangeable: their
// joint law is the same in whatever order boxes are opened.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "pandora/replication.hpp"

namespace pandora::rivals {

/// The law of w_1, w_2, w_3 on n nodes, as probabilities. It does not depend on which box comes first.
struct ShockGrid {
  std::vector<double> nodes;   ///< n, ascending
  std::vector<double> first;   ///< n: the law of w_1
  std::vector<double> second;  ///< n x n: the law of w_2, a row for each w_1
  std::vector<double> third;   ///< rows x n: the law of w_3
  std::vector<int> row;        ///< n x n: which row of `third` follows w_1 and w_2; symmetric

  std::size_t size() const { return nodes.size(); }
};

/// The parameters of a box that are known before it is opened.
struct SearchBox {
  double shift = 0.0;  ///< l
  double scale = 0.0;  ///< s >= 0
  double cost = 0.0;   ///< c

  friend bool operator==(const SearchBox&, const SearchBox&) = default;
};

/// The values of a period by backward induction, exact for the law of the grid. At least one box is opened, and the
/// best open one is deployed. So the state is the best mu so far, and the information of the seen shocks about those to
/// come.
class AdaptiveSearch {
 public:
  static constexpr std::size_t kMostBoxes = 3;
  static constexpr int kStop = -1;

  AdaptiveSearch(ShockGrid grid, RewardLink link)
      : grid_(std::move(grid)), link_(link), n_(grid_.size()), rows_(n_ == 0 ? 0 : grid_.third.size() / n_) {
    third_.resize(grid_.third.size());
    above_.assign((n_ + 1) * rows_, 0.0);
    backward_.resize(n_ * n_);
    for (std::size_t l = n_; l-- > 0;)
      for (std::size_t k = 0; k < rows_; ++k) {
        third_[l * rows_ + k] = grid_.third[k * n_ + l];
        above_[l * rows_ + k] = above_[(l + 1) * rows_ + k] + third_[l * rows_ + k];
      }
    grid_.third = {};
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < n_; ++j) backward_[i * n_ + j] = grid_.second[j * n_ + i];
    best_.resize(n_ * n_);
  }

  /// Solves for 1 to 3 boxes. Solving again for the same boxes costs nothing.
  void solve(std::span<const SearchBox> boxes) {
    assert(!boxes.empty() && boxes.size() <= kMostBoxes);
    if (std::ranges::equal(boxes, boxes_)) return;
    boxes_.assign(boxes.begin(), boxes.end());
    for (std::size_t a = 0; a < boxes_.size(); ++a) tabulate(a);
    for (std::size_t a = 0; a < boxes_.size(); ++a)
      for (std::size_t b = a + 1; b < boxes_.size(); ++b) go_on(a, b);
    starts_.assign(boxes_.size(), 0.0);
    for (std::size_t a = 0; a < boxes_.size(); ++a) {
      for (std::size_t i = 0; i < n_; ++i) {
        double value = mu_[a][i];
        for (std::size_t b = 0; b < boxes_.size(); ++b)
          if (b != a) value = std::max(value, after_[a][b][i]);
        starts_[a] += grid_.first[i] * value;
      }
      starts_[a] -= boxes_[a].cost;
    }
  }

  /// The nodes of the shocks.
  std::span<const double> nodes() const { return grid_.nodes; }
  std::span<const SearchBox> boxes() const { return boxes_; }

  /// The utility of the best search that begins with each box.
  const std::vector<double>& starts() const { return starts_; }
  int first() const { return static_cast<int>(std::ranges::max_element(starts_) - starts_.begin()); }
  double value() const { return starts_[static_cast<std::size_t>(first())]; }

  /// The value of opening box b after box a alone, less b's cost: n values, one for each node of w_a. It includes mu of
  /// a.
  std::span<const double> after(int a, int b) const { return after_[at(a)][at(b)]; }
  /// The value of opening the last box c, less its cost, with a best mu = G(z) so far, where row `row` of the law
  /// holds.
  double last(int c, double z, std::size_t row) const {
    return worth_with(at(c), reward_link(link_, z), first_above(at(c), z), row) - boxes_[at(c)].cost;
  }

 private:
  static std::size_t at(int box) { return static_cast<std::size_t>(box); }

  // mu of a box at the nodes, and the sums of p mu from each node upwards in every row of the third law.
  void tabulate(std::size_t a) {
    z_[a].resize(n_);
    mu_[a].resize(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      z_[a][i] = boxes_[a].shift + boxes_[a].scale * grid_.nodes[i];
      mu_[a][i] = reward_link(link_, z_[a][i]);
    }
    if (boxes_.size() < 3) return;
    sum_[a].assign((n_ + 1) * rows_, 0.0);
    for (std::size_t l = n_; l-- > 0;) {
      const double mu = mu_[a][l];
      const double *const p = &third_[l * rows_], *const next = &sum_[a][(l + 1) * rows_];
      double* const sum = &sum_[a][l * rows_];
      for (std::size_t k = 0; k < rows_; ++k) sum[k] = next[k] + p[k] * mu;
    }
  }

  // The first node from which a box is better than G(z); n if there is none.
  std::size_t first_above(std::size_t c, double z) const {
    return static_cast<std::size_t>(std::upper_bound(z_[c].begin(), z_[c].end(), z) - z_[c].begin());
  }
  // E[max(m, mu_c)], given the first node from which mu_c > m.
  double worth_with(std::size_t c, double m, std::size_t above, std::size_t row) const {
    return m * (1.0 - above_[above * rows_ + row]) + sum_[c][above * rows_ + row];
  }

  // Writes the best value at each pair of nodes into best_, after boxes a and b are opened in either order.
  void open_both(std::size_t a, std::size_t b) {
    const bool more = boxes_.size() == 3;
    const std::size_t c = 3 - a - b;
    for (std::size_t i = 0; i < n_; ++i) {
      std::size_t above = 0;  // ascends with j, like max(z_a, z_b)
      for (std::size_t j = 0; j < n_; ++j) {
        const double m = std::max(mu_[a][i], mu_[b][j]);
        double& best = best_[i * n_ + j];
        best = m;
        if (!more) continue;
        const double z = std::max(z_[a][i], z_[b][j]);
        while (above < n_ && z_[c][above] <= z) ++above;
        const std::size_t row = static_cast<std::size_t>(grid_.row[i * n_ + j]);
        best = std::max(m, worth_with(c, m, above, row) - boxes_[c].cost);
      }
    }
  }

  // Computes after_[a][b] and after_[b][a].
  void go_on(std::size_t a, std::size_t b) {
    open_both(a, b);
    std::vector<double>&of_a = after_[a][b], &of_b = after_[b][a];
    of_a.assign(n_, -boxes_[b].cost);
    of_b.assign(n_, -boxes_[a].cost);
    for (std::size_t i = 0; i < n_; ++i) {
      const double *const best = &best_[i * n_], *const ahead = &grid_.second[i * n_], *const back = &backward_[i * n_];
      double sum = 0.0;
      for (std::size_t j = 0; j < n_; ++j) {
        sum += ahead[j] * best[j];
        of_b[j] += back[j] * best[j];
      }
      of_a[i] += sum;
    }
  }

  ShockGrid grid_;  // without the third law
  const RewardLink link_;
  const std::size_t n_, rows_;
  std::vector<double> third_, above_;  // n x rows and (n + 1) x rows: the third law, and its sums from a node upwards
  std::vector<double> backward_;       // n x n: the second law transposed
  std::vector<SearchBox> boxes_;
  std::array<std::vector<double>, kMostBoxes> z_, mu_, sum_;
  std::array<std::array<std::vector<double>, kMostBoxes>, kMostBoxes> after_;
  std::vector<double> best_, starts_;
};

}  // namespace pandora::rivals
