// LinUCB's samples that are told after their own period. When a block starts it is known which samples come in it,
// except those of the block's own contexts. The images P psi of the known ones, and their products with the block's
// contexts, are formed together with the block's. With P_j = P - sum_q u_q u_q' over the samples that came before,
//
//   v = P psi - sum_q w_q u_q,  w_q = u_q' psi      s = 1 + psi' v,  u = v / sqrt(s),  eta_hat -= v e / s
//   C = Psi' u = (Psi' P psi - sum_q w_q C_q) / sqrt(s)      widths^2 -= C^2,  predictions -= C e / sqrt(s)
//
// P follows at the block's end.
#pragma once

#include <cmath>

#include "kernels/base/assert.hpp"
#include "kernels/lane/tracking.hpp"

namespace pandora::engine {

/// A late sample: its context, its period counted from the block's first one, and its payoff.
template <class Real>
struct LateSample {
  const Real* psi;
  int period;
  double payoff;
};

/// After start_gram of the design: takes the samples of the box that come in the block and are older than it, in the
/// order in which they come. P psi goes to the last rows of g.u, Psi' P psi to those of g.gram.
template <class Real, class Team>
PANDORA_HD void start_late_samples(const Team& team, const Shape& shape, const LaneView<Real>& lane, int a,
                                   BlockRange range, const BlockContexts<Real>& block) {
  const TapeView<Real>& tape = lane.tape;
  const GramView<Real>& g = lane.box[a].design;
  if (team.rank() == 0) {
    int found = 0;
    const int end = tape.told_first[range.first_period + range.B];
    for (int k = tape.told_first[range.first_period]; k < end && found < shape.B; ++k)
      if (const int of = tape.told_period[k]; of < range.first_period && lane.spec.actions.box_of(lane.chosen[of]) == a)
        g.log[found++].period = of;
    g.count->late = shape.B - found;
  }
  team.sync();
  const int late = g.count->late, count = shape.B - late;
  const auto psi = [&](int r) { return tape.psi_of(tape.online_row(g.log[r].period), shape.stride); };
  form_images_of(team, shape, g.P, count, psi, g.u + late * shape.stride);
  predict_rows(team, shape, block, g.u + late * shape.stride, count, g.gram + late * shape.width);
}

/// out = (row - sum_{q < n} weight_q row_q) over rows of `size` elements.
template <class Real, class Team>
PANDORA_HD void combine_rows(const Team& team, int size, const Real* row, const Real* rows, int n, const Real* weight,
                             Real* out) {
  using V = typename Team::template Vectors<Real>;
  for_tiles<Real>(team, size, [&](auto tile, int i) {
    constexpr int N = decltype(tile)::value;
    typename V::Vector v[N];
    PANDORA_UNROLL
    for (int t = 0; t < N; ++t) v[t] = V::load(row + i + t * V::width);
    for (int q = 0; q < n; ++q) {
      const typename V::Vector w = V::broadcast(weight[q]);
      PANDORA_UNROLL
      for (int t = 0; t < N; ++t) v[t] = V::fused_negative(w, V::load(rows + q * size + i + t * V::width), v[t]);
    }
    PANDORA_UNROLL
    for (int t = 0; t < N; ++t) V::store(out + i + t * V::width, v[t]);
  });
  team.sync();
}

/// The row of g.u and g.gram with a sample's image, or -1; makes room for its u. There is no row if a sample of the
/// block's own contexts came early enough for P to take in the samples before it: the formed images then belong to an
/// earlier P.
template <class Real, class Team>
PANDORA_HD int row_of_late(const Team& team, const Shape& shape, const GramView<Real>& g, bool of_block) {
  GramCounts count = *g.count;
  const bool formed = !of_block && count.late < shape.B;
  const bool settles = count.columns == count.late && !formed;
  team.sync();
  if (settles) {
    subtract_outer(team, shape, g.P, g.u, count.columns);
    count = {0, 0, 0, shape.B, true};
  }
  const int row = formed ? count.late++ : -1;
  count.updates = count.materialised = ++count.columns;
  if (team.rank() == 0) *g.count = count;
  team.sync();
  return row;
}

/// Adds a sample to the design and eta_hat, and updates what the block has yet to predict.
template <class Real, class Team>
PANDORA_HD void learn_late_sample(const Team& team, const Shape& shape, const BoxView<Real>& box,
                                  const BlockContexts<Real>& block, const LateSample<Real>& sample) {
  using V = typename Team::template Vectors<Real>;
  const GramView<Real>& g = box.design;
  const int stride = shape.stride, width = shape.width, row = row_of_late(team, shape, g, sample.period >= 0),
            q = g.count->columns - 1;
  Real *const u = g.u + q * stride, *const C = g.column + q * width;
  const Real* image = row >= 0 ? g.u + row * stride : u;
  if (row < 0 && sample.period >= 0 && !g.count->settled)
    image = g.image + sample.period * stride;
  else if (row < 0)
    form_images_of(
        team, shape, g.P, 1, [&](int) { return sample.psi; }, u);
  for (int i = team.rank(); i < q; i += team.size()) g.row[i] = padded_product<V>(g.u + i * stride, sample.psi, stride);
  team.sync();
  combine_rows(team, stride, image, g.u, q, g.row, u);
  const Real error =
                 static_cast<Real>(static_cast<double>(padded_product<V>(sample.psi, box.rho, stride)) - sample.payoff),
             f = std::sqrt(Real(1) / (Real(1) + padded_product<V>(sample.psi, u, stride))), weight = f * error;
  if (row >= 0)
    combine_rows(team, width, g.gram + row * width, g.column, q, g.row, C);
  else
    predict(team, shape, block, u, C);
  const auto scale = [&](Real* v, Real* moved, int i) {  // from here on v is the sample's u or C
    const typename V::Vector scaled = V::broadcast(f) * V::load(v + i);
    V::store(v + i, scaled);
    V::store(moved + i, V::fused_negative(V::broadcast(weight), scaled, V::load(moved + i)));
    return scaled;
  };
  for (int i = team.rank() * V::width; i < stride; i += team.size() * V::width) scale(u, box.rho, i);
  for (int i = team.rank() * V::width; i < width; i += team.size() * V::width) {
    const typename V::Vector c = scale(C, box.prediction, i);
    V::store(g.diagonal + i, V::fused_negative(c, c, V::load(g.diagonal + i)));
  }
  team.sync();
}

}  // namespace pandora::engine
