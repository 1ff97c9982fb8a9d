// The oracle of a replication as bodies for teams (kernels/team.hpp): the formulas of oracle/*.cpp. Sums are cut into
// pieces of a fixed length whatever the team's size, so their bits do not depend on it; they differ from the CPU's
// oracle by the order of summation alone.
#pragma once

#include <cmath>
#include <cstddef>

#include "kernels/elementary.hpp"
#include "kernels/instance.hpp"
#include "kernels/prepare/draw.hpp"

namespace pandora::prepare {

/// A law of the projected shock w (ProjectedLaw of oracle/reservation_index.hpp), cut into chunks.
struct LawArrays {
  double *points, *cumulative;  ///< size: descending; P(W >= w_i)
  int size;
  int chunk;  ///< about sqrt(size), so that a chunk takes as long as the totals of all

  PANDORA_HD int chunks() const { return (size + chunk - 1) / chunk; }
  PANDORA_HD int chunk_end(int c) const { return (c + 1) * chunk < size ? (c + 1) * chunk : size; }
};

/// The means of quantile bins of a sorted sample. Item: kBinsPerItem bins; a warp each.
struct CompressSample {
  static constexpr const char* kName = "compress";

  static constexpr int kBinsPerItem = 32;
  const float* descending;
  int samples;
  LawArrays law;  ///< size: number of bins, at most `samples`

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int) const {
    const std::size_t n = static_cast<std::size_t>(samples), k = static_cast<std::size_t>(law.size);
    const int first = item * kBinsPerItem;
    for (int bin = first + team.rank(); bin < first + kBinsPerItem && bin < law.size; bin += team.size()) {
      const std::size_t begin = static_cast<std::size_t>(bin) * n / k, end = static_cast<std::size_t>(bin + 1) * n / k;
      double sum = 0.0;
      for (std::size_t i = begin; i < end; ++i) sum += descending[i];
      law.points[bin] = sum / static_cast<double>(end - begin);
      law.cumulative[bin] = static_cast<double>(end) / static_cast<double>(n);
    }
  }
};

/// G over a law for one (l, s), with its prefix sums S_i = before[chunk of i] + within[i] in two levels.
struct LinkedLaw {
  LawArrays law;
  double* g;       ///< size: G(l + s w_i)
  double* within;  ///< size: sums of p_j g_j from the first of the chunk to i
  double* before;  ///< chunks: sum of a chunk, and after close() of all chunks before it

  /// g for elements [begin, end), shared by the members.
  template <class Team>
  PANDORA_HD void evaluate(const Team& team, double shift, double scale, int begin, int end) const {
    for (int i = begin + team.rank(); i < end; i += team.size()) g[i] = logistic(shift + scale * law.points[i]);
  }
  /// Sums of a chunk whose g are there; by one member.
  PANDORA_HD void sum_chunk(int c) const {
    double sum = 0.0;
    double below = c == 0 ? 0.0 : law.cumulative[c * law.chunk - 1];
    for (int i = c * law.chunk; i < law.chunk_end(c); ++i) {
      sum += (law.cumulative[i] - below) * g[i];
      below = law.cumulative[i];
      within[i] = sum;
    }
    before[c] = sum;
  }
  /// The second level, once all chunks are summed; by one member.
  PANDORA_HD void close() const {
    double sum = 0.0;
    for (int c = 0; c < law.chunks(); ++c) {
      const double total = before[c];
      before[c] = sum;
      sum += total;
    }
  }
  PANDORA_HD double partial(int i) const { return before[i / law.chunk] + within[i]; }

  /// sigma of (eq:sigma) for expected cost cbar > 0; IndexSolver::index of oracle/reservation_index.hpp.
  PANDORA_HD double index(double cbar) const {
    int low = 0, high = law.size - 1;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (partial(middle) - law.cumulative[middle] * g[middle + 1] >= cbar)
        high = middle;
      else
        low = middle + 1;
    }
    return (partial(low) - cbar) / law.cumulative[low];
  }
};

/// A chunk of a law that is evaluated once by many teams. Item: chunk; a block each.
struct EvaluateChunk {
  static constexpr const char* kName = "evaluate";

  LinkedLaw linked;
  double shift, scale;

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int) const {
    linked.evaluate(team, shift, scale, item * linked.law.chunk, linked.law.chunk_end(item));
    team.sync();
    if (team.rank() == 0) linked.sum_chunk(item);
  }
};

/// Indices of given expected costs, after EvaluateChunk for all chunks. One item; a block.
struct SolveCosts {
  static constexpr const char* kName = "indices";

  LinkedLaw linked;
  const double* cost;  ///< count, each > 0
  int count;
  double* sigma;  ///< count

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int, int) const {
    if (team.rank() == 0) linked.close();
    team.sync();
    for (int k = team.rank(); k < count; k += team.size()) sigma[k] = linked.index(cost[k]);
  }
};

/// Equally spaced nodes.
struct GridAxis {
  int nodes;
  double first, step;
  PANDORA_HD double node(int i) const { return first + i * step; }
};

/// The index grid (IndexGrid of oracle/index_grid.hpp) over l, s~ and sqrt(cbar).
struct GridArrays {
  GridAxis shift, scale, root_cost;
  double* values;  ///< shift.nodes x scale.nodes x root_cost.nodes

  PANDORA_HD double interpolate(double l, double s, double cost) const {
    const double coordinates[3] = {l, s, ::sqrt(cost)};
    const GridAxis axes[3] = {shift, scale, root_cost};
    std::size_t cell[3];
    double fraction[3];
    for (int k = 0; k < 3; ++k) {
      const double position = (coordinates[k] - axes[k].first) / axes[k].step;
      const int below = static_cast<int>(::floor(position)), last = axes[k].nodes - 2;
      const int i = below < 0 ? 0 : (below > last ? last : below);
      cell[k] = static_cast<std::size_t>(i);
      fraction[k] = position - i;
    }
    double value = 0.0;
    for (int corner = 0; corner < 8; ++corner) {
      const std::size_t i = cell[0] + (corner & 1), j = cell[1] + ((corner >> 1) & 1), k = cell[2] + (corner >> 2);
      const double weight = ((corner & 1) ? fraction[0] : 1 - fraction[0]) *
                            ((corner & 2) ? fraction[1] : 1 - fraction[1]) *
                            ((corner & 4) ? fraction[2] : 1 - fraction[2]);
      value += weight * values[(i * scale.nodes + j) * root_cost.nodes + k];
    }
    return value;
  }
};

/// sigma at the nodes. Item: (l, s~) node; a block each, whose members then search for the cost nodes.
struct SolveNodes {
  static constexpr const char* kName = "grid";

  LawArrays law;
  GridArrays grid;
  double* scratch;  ///< scratch_size(law) per slot

  static PANDORA_HD std::size_t scratch_size(const LawArrays& law) {
    return 2 * static_cast<std::size_t>(law.size) + static_cast<std::size_t>(law.chunks());
  }

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int slot) const {
    double* const g = scratch + scratch_size(law) * static_cast<std::size_t>(slot);
    const LinkedLaw linked{law, g, g + law.size, g + 2 * static_cast<std::size_t>(law.size)};
    linked.evaluate(team, grid.shift.node(item / grid.scale.nodes), grid.scale.node(item % grid.scale.nodes), 0,
                    law.size);
    team.sync();
    for (int c = team.rank(); c < law.chunks(); c += team.size()) linked.sum_chunk(c);
    team.sync();
    if (team.rank() == 0) linked.close();
    team.sync();
    for (int k = team.rank(); k < grid.root_cost.nodes; k += team.size()) {
      const double root = grid.root_cost.node(k);
      grid.values[static_cast<std::size_t>(item) * grid.root_cost.nodes + k] = linked.index(root * root);
    }
  }
};

/// Least and greatest of every kStrips-th value, to be merged by whoever reads them. Item: kPerItem strips; a block
/// each.
struct StripRanges {
  static constexpr const char* kName = "ranges";

  static constexpr int kStrips = 8 * kPerItem;
  const double* values;
  std::size_t count;  ///< at least 1
  double* extremes;   ///< kStrips x 2

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int) const {
    const ItemRange range(item, kStrips);
    for (std::size_t strip = range.begin + team.rank(); strip < range.end; strip += team.size()) {
      double least = values[0], greatest = values[0];
      for (std::size_t i = strip; i < count; i += kStrips) {
        least = values[i] < least ? values[i] : least;
        greatest = values[i] > greatest ? values[i] : greatest;
      }
      extremes[2 * strip] = least;
      extremes[2 * strip + 1] = greatest;
    }
  }
};

/// E[G(s beta_{1,a}' |xi|)] as a polynomial in s per box (OutputCostTable of oracle/shock_sample.hpp).
struct OutputCosts {
  static constexpr int kNodes = 17;
  double middle, half;                  ///< of the range of s
  double node[kNodes], weight[kNodes];  ///< on [-1, 1], and the barycentric weights
  double values[kMaxBoxes * kNodes];    ///< boxes x kNodes

  PANDORA_HD float scale_at(int k) const { return static_cast<float>(middle + half * node[k]); }
  PANDORA_HD double operator()(int box, double scale) const {
    const double* v = values + box * kNodes;
    const double t = (scale - middle) / half;
    double above = 0.0, below = 0.0;
    for (int k = 0; k < kNodes; ++k) {
      const double distance = t - node[k];
      if (distance == 0.0) return v[k];
      const double w = weight[k] / distance;
      above += w * v[k];
      below += w;
    }
    return above / below;
  }
};

/// The sums behind OutputCosts::values: pieces of the sample at every node of every box.
/// Item: (box * kNodes + node) * pieces + piece; a block each.
struct OutputCostSums {
  static constexpr const char* kName = "output costs";

  static constexpr int kPiece = 16384;
  const float* cost_terms;  ///< boxes x M
  int samples;              ///< M
  OutputCosts nodes;        ///< values unused
  double* strips;           ///< kPerItem per slot
  double* sums;             ///< one per item

  static PANDORA_HD constexpr int pieces(int samples) { return (samples + kPiece - 1) / kPiece; }

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int slot) const {
    const int which = item / pieces(samples), first = item % pieces(samples) * kPiece;
    const int last = samples - first < kPiece ? samples : first + kPiece;
    const float* terms = cost_terms + static_cast<std::size_t>(which / OutputCosts::kNodes) * samples;
    const float scale = nodes.scale_at(which % OutputCosts::kNodes);
    double* const strip = strips + static_cast<std::size_t>(slot) * kPerItem;
    for (int k = team.rank(); k < kPerItem; k += team.size()) {
      double sum = 0.0;
      for (int i = first + k; i < last; i += kPerItem) sum += static_cast<double>(logistic(scale * terms[i]));
      strip[k] = sum;
    }
    team.sync();
    if (team.rank() != 0) return;
    double total = 0.0;
    for (int k = 0; k < kPerItem; ++k) total += strip[k];
    sums[item] = total;
  }
};

/// cbar_a(x) = c_{0,a} G(beta_{0,a}' x) + c_{1,a} E[G(s_a(x) beta_{1,a}' |xi|)]. Item: kPerItem cells; a block each.
struct ExpectedCosts {
  static constexpr const char* kName = "expected costs";

  OutputCosts output_cost;
  const double *scale, *context_cost;  ///< count, cells of whole rows
  const double* c1;                    ///< boxes
  int boxes;
  std::size_t count;
  double* cost;  ///< count

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int) const {
    const ItemRange cells(item, count);
    for (std::size_t at = cells.begin + team.rank(); at < cells.end; at += team.size()) {
      const int box = static_cast<int>(at % static_cast<std::size_t>(boxes));
      cost[at] = context_cost[at] + c1[box] * output_cost(box, scale[at]);
    }
  }
};

/// sigma_a^*(x) (eq:oracle-weitzman-index) from the grid. Item: kPerItem cells; a block each.
struct InterpolateIndices {
  static constexpr const char* kName = "interpolate";

  GridArrays grid;
  double projection_norm;      ///< ||D' theta_*||, so that s~_a(x) = s_a(x) ||D' theta_*||
  const double* reward_shift;  ///< count / boxes
  const double *scale, *cost;  ///< count
  int boxes;
  std::size_t count;
  double* sigma;  ///< count

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int) const {
    const ItemRange cells(item, count);
    for (std::size_t at = cells.begin + team.rank(); at < cells.end; at += team.size())
      sigma[at] =
          grid.interpolate(reward_shift[at / static_cast<std::size_t>(boxes)], scale[at] * projection_norm, cost[at]);
  }
};

}  // namespace pandora::prepare
