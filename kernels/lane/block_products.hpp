// How a body gets the products of a block. If the team's own memory has room for P, which depends on m and B alone, P
// goes there. Otherwise kernels/products/products.hpp does the products.
#pragma once

#include "kernels/lane/gram.hpp"
#include "kernels/products/tiled_products.hpp"
#include "kernels/solve/samples.hpp"

namespace pandora::engine {

/// The products of one box and one block. Every function ends with all members done.
template <class Real, class Team>
class ProductsOfBlock {
 public:
  /// `scratch` is used by teams without memory of their own; for `turn` see TiledProducts. `block.B` = 0: no block
  /// begins.
  PANDORA_HD ProductsOfBlock(const Team& team, const Shape& shape, const SolveScratch<Real>& scratch,
                             const BlockContexts<Real>& block, unsigned turn = 0)
      : team_(team), shape_(shape), scratch_(scratch), block_(block), turn_(turn) {}

  /// The contexts in the place where they are fastest to read, after something was formed or predicted.
  PANDORA_HD BlockContexts<Real> contexts() const {
    BlockContexts<Real> out = block_;
    if (!tiled()) return out;
    void* memory = scratch_.tiled;
    if constexpr (Team::kShares) memory = Team{}.shared();
    const ProductMemory<Real> at(memory, shape_);
    out.psi = at.contexts();
    out.stride = at.row();
    return out;
  }

  /// The end of a block and the start of the next. If `ends`, applies the updates of the last block to P. If `start` is
  /// not null, forms the images, Gram matrix and diagonal of the new block's contexts, without updates, and the
  /// predictions. `formed`: images and Gram matrix are already there. `widths`: only the diagonal of the Gram matrix is
  /// read. Returns whether the diagonal is sound, if the start asks for that check.
  PANDORA_HD bool advance(const GramView<Real>& g, bool ends, const BlockStart<Real>* start, bool formed,
                          bool widths) const {
    if constexpr (Team::kTiles)
      if (tiled()) return advance_tiles<Real, Team>(shape_, scratch_.tiled, turn_, g, ends, start);
    if (ends) apply_gram(team_, shape_, g);
    if (start == nullptr) return true;
    if (!formed) widths ? form_widths(team_, shape_, g, block_) : form_products(team_, shape_, g, block_);
    start_gram(team_, shape_, g, block_.B);
    if (start->bounded && !sound_gram(team_, shape_, g, block_, start->most)) return false;
    predict_block(start->rho, start->prediction);
    return true;
  }
  PANDORA_HD void form(const GramView<Real>& g) const {
    const BlockStart<Real> start{block_};
    advance(g, false, &start, false, false);
  }

  PANDORA_HD void predict_block(const Real* rho, Real* prediction) const {
    if (rho == nullptr) return;
    if (!tiled()) return predict(team_, shape_, block_, rho, prediction);
    if constexpr (Team::kTiles) predict_tiles<Real, Team>(shape_, scratch_.tiled, {block_, rho, prediction});
  }

 private:
  // Whether P has the layout for tiles and the team has memory for them.
  PANDORA_HD bool tiled() const {
    return Team::kTiles && (Team::kShares || StoredInverse<Real>(shape_, Team::kVectors).tiled());
  }

  const Team& team_;
  const Shape& shape_;
  const SolveScratch<Real>& scratch_;
  const BlockContexts<Real> block_;
  const unsigned turn_;
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
