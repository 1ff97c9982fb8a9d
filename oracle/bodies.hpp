// The oracle of a replication as launch bodies for teams (kernels/base/team.hpp). Sums are cut into pieces of a fixed
// length, so their bits do not depend on the team's size. They differ from the CPU's oracle only by the order of
// summation.
#pragma once

#include <cstddef>

#include "kernels/base/elementary.hpp"
#include "kernels/tape/bodies.hpp"
#include "kernels/tape/formulas.hpp"
#include "kernels/tape/instance.hpp"
#include "oracle/formulas.hpp"

namespace pandora::prepare {

/// A law of the projected shock w (ProjectedLaw of oracle/reservation_index.hpp), cut into chunks.
struct LawArrays {
  double *points, *cumulative;  ///< size: descending; P(W >= w_i)
  int size;
  RewardLink link;
  int chunk;  ///< about sqrt(size), so that a chunk takes as long as adding up the chunks

  PANDORA_HD int chunks() const { return (size + chunk - 1) / chunk; }
  PANDORA_HD int chunk_end(int c) const { return (c + 1) * chunk < size ? (c + 1) * chunk : size; }
};

/// Computes the means of quantile bins of a sorted sample. Item: kBinsPerItem bins; a warp each.
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
    for (int bin = first + team.rank(); bin < first + kBinsPerItem && bin < law.size; bin += team.size())
      quantile_bin(descending, n, k, static_cast<std::size_t>(bin), law.points[bin], law.cumulative[bin]);
  }
};

/// G over a law for one (l, s), with its prefix sums S_i = before[chunk of i] + within[i] in two levels.
struct LinkedLaw {
  LawArrays law;
  double* g;       ///< size: G(l + s w_i)
  double* within;  ///< size: sums of p_j g_j from the first of the chunk to i
  double* before;  ///< chunks: the sum of a chunk; after close(), the sum of all chunks before it

  /// Computes g for the elements [begin, end), which the members share.
  template <class Team>
  PANDORA_HD void evaluate(const Team& team, double shift, double scale, int begin, int end) const {
    for (int i = begin + team.rank(); i < end; i += team.size())
      g[i] = reward_link(law.link, shift + scale * law.points[i]);
  }
  /// Sums a chunk whose g are there. One member calls it.
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
  /// Computes the second level, once all chunks are summed. One member calls it.
  PANDORA_HD void close() const {
    double sum = 0.0;
    for (int c = 0; c < law.chunks(); ++c) {
      const double total = before[c];
      before[c] = sum;
      sum += total;
    }
  }
  PANDORA_HD double partial(int i) const { return before[i / law.chunk] + within[i]; }

  PANDORA_HD double index(double cbar) const {
    return reservation_index(
        g, law.cumulative, law.size, [this](int i) { return partial(i); }, cbar);
  }
};

/// A chunk of a law that many teams evaluate together once. Item: chunk; a block each.
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

/// Indices for given expected costs, after EvaluateChunk for all chunks. One item; a block.
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

/// The index grid (IndexGrid of oracle/oracle.hpp).
struct GridArrays {
  GridAxis axes[3];  ///< l, s~, sqrt(cbar)
  double* values;    ///< in the order of the axes; the last index runs fastest
};

/// Solves sigma at the nodes. Item: an (l, s~) node; a block each, whose members then search for the cost nodes.
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
    linked.evaluate(team, grid.axes[0].node(item / grid.axes[1].nodes), grid.axes[1].node(item % grid.axes[1].nodes), 0,
                    law.size);
    team.sync();
    for (int c = team.rank(); c < law.chunks(); c += team.size()) linked.sum_chunk(c);
    team.sync();
    if (team.rank() == 0) linked.close();
    team.sync();
    for (int k = team.rank(); k < grid.axes[2].nodes; k += team.size()) {
      const double root = grid.axes[2].node(k);
      grid.values[static_cast<std::size_t>(item) * grid.axes[2].nodes + k] = linked.index(root * root);
    }
  }
};

/// The least and greatest of every kStrips-th value, which the reader merges. Item: kPerItem strips; a block each.
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

/// E[G(s beta_{1,a}' |xi|)] as a polynomial in s per box (OutputCostTable of oracle/oracle.hpp).
struct OutputCosts {
  ChebyshevNodes nodes;
  double values[kMaxBoxes * ChebyshevNodes::kNodes];  ///< boxes x kNodes

  PANDORA_HD double operator()(int box, double scale) const {
    return nodes.interpolate(values + box * ChebyshevNodes::kNodes, scale);
  }
};

/// The sums behind OutputCosts::values: pieces of the sample at every node of every box. Item: (box * kNodes + node) *
/// pieces + piece; a block each.
struct OutputCostSums {
  static constexpr const char* kName = "output costs";

  static constexpr int kPiece = 16384;
  const float* cost_terms;  ///< boxes x M
  int samples;              ///< M
  ChebyshevNodes nodes;
  double* strips;  ///< kPerItem per slot
  double* sums;    ///< one per item

  static PANDORA_HD constexpr int pieces(int samples) { return (samples + kPiece - 1) / kPiece; }

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int slot) const {
    const int which = item / pieces(samples), first = item % pieces(samples) * kPiece;
    const int last = samples - first < kPiece ? samples : first + kPiece;
    const float* terms = cost_terms + static_cast<std::size_t>(which / ChebyshevNodes::kNodes) * samples;
    const float scale = static_cast<float>(nodes.at(which % ChebyshevNodes::kNodes));
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
  const double* reward_shift;  ///< count / boxes, or count if each box has its own location
  const double *scale, *cost;  ///< count
  int boxes, locations;        ///< A; 1 or A
  std::size_t count;
  double* sigma;  ///< count

  template <class Team>
  PANDORA_HD void operator()(const Team& team, int item, int) const {
    const ItemRange cells(item, count);
    for (std::size_t at = cells.begin + team.rank(); at < cells.end; at += team.size())
      sigma[at] = interpolate_index(grid.axes, grid.values,
                                    reward_shift[locations == 1 ? at / static_cast<std::size_t>(boxes) : at],
                                    scale[at] * projection_norm, cost[at]);
  }
};

}  // namespace pandora::prepare
