// How a body comes by the products of a block: with P in the team's own memory where that has room for it, which m and
// B alone decide; else as kernels/products/products.hpp does them.
#pragma once

#include "kernels/lane/gram.hpp"
#include "kernels/products/tiled_products.hpp"
#include "kernels/solve/samples.hpp"

namespace pandora::engine {

/// Of one box and block. Every function ends with all members done.
template <class Real, class Team>
class ProductsOfBlock {
 public:
  /// `scratch` serves teams that have no memory of their own. `block.B` = 0: only to finish().
  PANDORA_HD ProductsOfBlock(const Team& team, const Shape& shape, const SolveScratch<Real>& scratch,
                             const BlockContexts<Real>& block)
      : team_(team),
        shape_(shape),
        tiled_(Team::kTiles && (Team::kShares || ProductMemory<Real>::shared_bytes(shape) > 0)),
        memory_(tiled_ ? ProductMemory<Real>(team_memory(team, scratch), shape) : ProductMemory<Real>()),
        block_(tiled_ && block.B > 0 ? tiles().stage(block) : block) {}

  /// The contexts, where it is best to read them.
  PANDORA_HD const BlockContexts<Real>& contexts() const { return block_; }

  /// Applies a block's updates to P; to be called before form().
  PANDORA_HD void finish(const GramView<Real>& g) {
    if (!tiled_) return apply_gram(team_, shape_, g);
    const int columns = g.count->columns;
    GramView<Real> here = g;
    here.u = tiles().updates();
    if (g.count->materialised == 0)
      materialise_gram(team_, shape_, here, [](int, const auto&, int) {});
    else  // by a flush, all of them
      for (int at = team_.rank(); at < columns * shape_.stride; at += team_.size()) here.u[at] = g.u[at];
    tiles().take(g.P, columns);
    taken_ = true;
  }

  /// Images, Gram matrix and diagonal of the block's contexts under P; no updates yet. `formed`: images and Gram matrix
  /// are there. `widths`: of the Gram matrix only the diagonal is read.
  PANDORA_HD void form(const GramView<Real>& g, bool formed, bool widths = false) {
    if (tiled_) {
      if (!taken_) tiles().take(g.P, 0);
      tiles().form(g, block_);
    } else if (!formed) {
      widths ? form_widths(team_, shape_, g, block_) : form_products(team_, shape_, g, block_);
    }
    taken_ = false;
    start_gram(team_, shape_, g, block_.B);
  }

 private:
  static PANDORA_HD void* team_memory(const Team& team, const SolveScratch<Real>& scratch) {
    if constexpr (Team::kShares)
      return team.shared();
    else
      return scratch.tiled;
  }
  PANDORA_HD TiledProducts<Real, Team> tiles() const { return {team_, shape_, memory_}; }

  const Team& team_;
  const Shape& shape_;
  const bool tiled_;
  const ProductMemory<Real> memory_;
  const BlockContexts<Real> block_;
  bool taken_ = false;  // whether the P to form is in the team's memory
};

/// A block's contexts feature by feature, and their norms, for teams with vectors. Item: tape.
template <class Real>
struct GatherBlock {
  static constexpr const char* kName = "gather";
  Shape shape;
  BlockRange range;
  const TapeView<Real>* tapes;

  template <class Team>
  PANDORA_HD void operator()(const Team&, int item, int) const {
    const BlockContexts<Real> block(tapes[item], shape, range);
    const int width = shape.width;
    for (int k = 0; k < shape.m * width; ++k) tapes[item].transposed[k] = Real(0);
    for (int j = 0; j < block.B; ++j) {
      const Real* psi = block.psi + j * shape.stride;
      Real squares = 0;
      for (int k = 0; k < shape.m; ++k) {
        tapes[item].transposed[k * width + j] = psi[k];
        squares += psi[k] * psi[k];
      }
      tapes[item].squared_norm[j] = squares;
    }
  }
};

}  // namespace pandora::engine
