// The end of a block and the start of the next for one matrix, for teams without vectors. P passes once through memory
// that a block of threads shares, with u_q, C_q and f_q as in kernels/lane/gram.hpp:
//
//   u_q = f_q (image_j - sum_{i<q} C_i[j] u_i), j the period of update q      P <- P - sum_q u_q u_q'
//   image_j = P psi_j      gram(j, i) = psi_i' image_j, i >= j      prediction_j = psi_j' rho      sound_gram
//
// Sums run over features and updates in their order, whatever the team's size.
//
// The time goes into instructions and reads of shared memory, so every stage keeps in registers the numbers that it
// uses often: four updates of a feature; a tile of P; the images of 4 periods in a panel of 8 features; 2 x 4 elements
// of the Gram matrix. All that the end of a block reads is fetched at once, in pieces of 16 bytes: P, the images of all
// periods (updated or not), and the columns. A member meets the others eight times.
#pragma once

#include "kernels/base/team.hpp"
#include "kernels/products/product_memory.hpp"

namespace pandora::engine {

/// The inputs and outputs of a matrix for the block that begins.
template <class Real>
struct BlockStart {
  BlockContexts<Real> block;
  const Real* rho = nullptr;   ///< the vector that predicts, of Shape::stride elements; null: nothing is predicted
  Real* prediction = nullptr;  ///< where the predictions go
  bool bounded = false;        ///< whether the diagonal of the Gram matrix is checked
  MostInverse<Real> most{};    ///< the bound for that check
};

/// For a team of one member or of a multiple of 32. Every function ends with all members done.
template <class Real, class Team>
class TiledProducts {
 public:
  /// Warps have different amounts of work. `turn`, 32 random bits, says which warp begins, so that not every team keeps
  /// the same part of a multiprocessor waiting.
  PANDORA_HD PANDORA_INLINE TiledProducts(const Team& team, const Shape& shape, void* memory, unsigned turn)
      : team_(team), shape_(shape), start_(memory), warp_(turned(part().index, turn, part().count)) {}

  /// Ends a block if `ends`, and begins the block of `start` if that is not null. Returns whether the new block is
  /// sound.
  PANDORA_HD PANDORA_INLINE bool advance(const GramView<Real>& g, bool ends, const BlockStart<Real>* start) const {
    const GramCounts count = *g.count;
    const int columns = ends ? count.columns : 0;
    const bool flushed = count.materialised > 0;  // then all updates were, to g.u
    if (columns > 0 || start != nullptr) {
      fetch(g, columns, flushed ? 0 : count.updates, flushed);
      team_.sync();
    }
    if (columns > 0 && !flushed) {
      form_updates(columns);
      team_.sync();
    }
    subtract(columns, start != nullptr);
    team_.sync();
    if (start != nullptr) stage(*start);
    if (columns > 0) put_back(g.P);
    team_.arrived();
    team_.sync();
    if (start == nullptr) return true;
    form_images(g, start->block.B);
    form_gram(g, start->block.B);
    predict(*start);
    if (team_.rank() == 0) *g.count = {};
    team_.sync();
    const bool sound = !start->bounded || is_sound(start->block.B);
    team_.sync();
    return sound;
  }

  /// Computes only the predictions of `start`.
  PANDORA_HD PANDORA_INLINE void predict_alone(const BlockStart<Real>& start) const {
    stage(start);
    team_.arrived();
    team_.sync();
    predict(start);
    team_.sync();
  }

 private:
  static constexpr int kSide = ProductMemory<Real>::kSide, kTile = ProductMemory<Real>::kTile,
                       kGroup = ProductMemory<Real>::kGroup;
  static constexpr int kPeriods = 4;  // in a member's piece of images and Gram matrix

  static PANDORA_HD int turned(int index, unsigned turn, int count) {
    const int at = index + static_cast<int>((static_cast<std::uint64_t>(turn) * static_cast<unsigned>(count)) >> 32);
    return at < count ? at : at - count;
  }
  // Computed anew where it is used, because it would not fit beside a stage's own registers.
  PANDORA_HD ProductMemory<Real> memory() const {
    if constexpr (Team::kShares)
      return {Team{}.shared(), shape_};
    else
      return {start_, shape_};
  }
  PANDORA_HD TeamPart<Team> part() const { return part_of(team_); }
  PANDORA_HD int panels() const { return ProductMemory<Real>::panels(shape_.m); }
  PANDORA_HD int warps() const { return part().count; }
  PANDORA_HD int lanes() const { return part().team.size(); }
  PANDORA_HD int lane() const { return part().team.rank(); }
  PANDORA_HD int rank() const { return warp_ * lanes() + lane(); }
  PANDORA_HD int width() const { return panels() * kSide; }
  PANDORA_HD int pieces_of_row() const { return width() / 4; }

  // Copies rows of features to the team's memory, a row per warp, in pieces of four.
  PANDORA_HD PANDORA_INLINE void copy_rows(const Real* from, int rows, Real* to) const {
    const int step = warps() * memory().row() / 4, far = warps() * shape_.stride / 4;
    for (int piece = lane(); piece < pieces_of_row(); piece += lanes()) {
      Four<Real>* here = fours(to + warp_ * memory().row()) + piece;
      const Four<Real>* there = fours(from + warp_ * shape_.stride) + piece;
      for (int row = warp_; row < rows; row += warps(), here += step, there += far) team_.copy(here, there);
    }
  }

  // Calls f(tile in the team's memory, the same in the backend's, distance in pieces to the member's next tile in each,
  // tiles left) for a member's first tile. The member moves the same piece in each of its tiles.
  template <class F>
  PANDORA_HD PANDORA_INLINE void for_pieces(F&& f) const {
    constexpr int kPieces = kSide * kSide / 4;
    const int together = lanes() < kPieces ? lanes() : kPieces, first = rank() / together,
              step = team_.size() / together;
    for (int piece = rank() % together; piece < kPieces; piece += together)
      f(fours(memory().tile(first)) + piece, first * kPieces + piece, step, memory().tiles() - first);
  }

  // Fetches P and the sources of `columns` u_q: the images of all periods, f, and C transposed so that a period's
  // elements lie side by side. If the u_q are there already, fetches them instead.
  PANDORA_HD PANDORA_INLINE void fetch(const GramView<Real>& g, int columns, int updates, bool flushed) const {
    const int B = memory().periods_of_block(), needed = flushed ? 0 : columns,
              padded = ProductMemory<Real>::padded(needed);
    for_pieces([&](Four<Real>* here, int at, int step, int left) {
      const Four<Real>* there = fours(g.P) + at;
      for (; left > 0; left -= step, here += step * (kTile / 4), there += step * (kSide * kSide / 4))
        team_.copy(here, there);
    });
    copy_rows(flushed ? g.u : g.image, flushed || columns == 0 ? columns : B, memory().updates());
    for (int j = lane(); j < B; j += lanes())
      for (int q = warp_; q < padded; q += warps()) {
        Real* const to = memory().columns() + j * memory().column_row() + q;
        if (q < needed)
          team_.copy(to, g.column + q * shape_.width + j);
        else
          *to = Real(0);  // beyond the last one
      }
    PANDORA_ROLLED
    for (int k = rank(); k < padded || k < updates; k += team_.size()) {
      if (k >= needed && k < padded) {  // beyond the last one
        memory().periods()[k] = 0;
        memory().roots()[k] = Real(0);
      }
      if (k >= updates || needed == 0) continue;
      const typename GramView<Real>::Update update = g.log[k];
      if (!(update.f > Real(0))) continue;
      memory().periods()[update.columns_before] = update.period;
      memory().roots()[update.columns_before] = update.f;
    }
    team_.arrived();
  }

  // Puts u_q in row q. A member takes a feature and four updates at once. Update q belongs to period q or later, so an
  // overwritten row holds the image of an earlier update's period or of none. Updates beyond the last have root 0.
  PANDORA_HD PANDORA_INLINE void form_updates(int columns) const {
    const int row = memory().row(), step = memory().column_row();
    for (int feature = rank(); feature < width(); feature += team_.size()) {
      Real* const work = memory().updates() + feature;
      PANDORA_ROLLED
      for (int k0 = 0; k0 < columns; k0 += 4) {
        const Real* C[4];
        Real u[4];
        PANDORA_UNROLL
        for (int k = 0; k < 4; ++k) {
          const int j = memory().periods()[k0 + k];
          C[k] = memory().columns() + j * step;
          u[k] = work[j * row];
        }
        Real* before = work;
        PANDORA_ROLLED
        for (int q = 0; q < k0; q += 4) {  // loop: updates
          Four<Real> c[4];
          PANDORA_UNROLL
          for (int k = 0; k < 4; ++k, C[k - 1] += 4) c[k] = *fours(C[k]);
          PANDORA_UNROLL
          for (int e = 0; e < 4; ++e, before += row) {
            PANDORA_UNROLL
            for (int k = 0; k < 4; ++k) u[k] = fused(-c[k].of[e], *before, u[k]);
          }
        }
        const Four<Real> root = *fours(memory().roots() + k0);
        PANDORA_UNROLL
        for (int k = 0; k < 4; ++k) {
          before[k * row] = u[k] *= root.of[k];  // the row of the update itself
          PANDORA_UNROLL
          for (int l = k + 1; l < 4; ++l) u[l] = fused(-C[l][k], u[k], u[l]);
        }
      }
    }
  }

  // A tile each. Where a block begins the tiles on both sides of the diagonal inside a group of panels lie by rows of
  // the panel that they multiply for (see form_images).
  PANDORA_HD PANDORA_INLINE void subtract(int columns, bool begins) const {
    if (columns == 0 && !begins) return;
    for (int k = rank(); k < memory().tiles(); k += team_.size()) {
      const TilePlace at = place_of_tile(k);
      Four<Real>* const tile = fours(memory().tile(k));
      Four<Real> sum[kSide][2];
      PANDORA_UNROLL
      for (int r = 0; r < kSide; ++r) {
        sum[r][0] = tile[2 * r];
        sum[r][1] = tile[2 * r + 1];
      }
      const int step = memory().row() / 4;
      const Four<Real>* left = fours(memory().updates()) + at.i * (kSide / 4);
      const Four<Real>* right = fours(memory().updates()) + at.j * (kSide / 4);
      const Four<Real>* const end = left + columns * step;
      PANDORA_ROLLED
      for (; left != end; left += step, right += step) {  // loop: outer product
        const Four<Real> a[2] = {left[0], left[1]}, b[2] = {right[0], right[1]};
        PANDORA_UNROLL
        for (int r = 0; r < kSide; ++r) PANDORA_UNROLL
        for (int c = 0; c < kSide; ++c)
          sum[r][c / 4].of[c % 4] = fused(-a[r / 4].of[r % 4], b[c / 4].of[c % 4], sum[r][c / 4].of[c % 4]);
      }
      if (columns > 0) PANDORA_UNROLL
      for (int r = 0; r < kSide; ++r) {
        tile[2 * r] = sum[r][0];
        tile[2 * r + 1] = sum[r][1];
      }
      if (!begins || at.i == at.j || at.i / kGroup != at.j / kGroup) continue;
      Four<Real>* const mirrored = fours(memory().mirrored(at.j, at.i));
      PANDORA_UNROLL
      for (int c = 0; c < kSide; ++c) PANDORA_UNROLL
      for (int half = 0; half < 2; ++half) {
        Four<Real> out;
        PANDORA_UNROLL
        for (int e = 0; e < 4; ++e) out.of[e] = sum[4 * half + e][c / 4].of[c % 4];
        mirrored[2 * c + half] = out;
      }
    }
  }

  PANDORA_HD PANDORA_INLINE void put_back(Real* P) const {
    for_pieces([&](const Four<Real>* here, int at, int step, int left) {
      Four<Real>* there = fours(P) + at;
      PANDORA_ROLLED
      for (; left > 0; left -= 4 * step) {
        Four<Real> piece[4];
        PANDORA_UNROLL
        for (int k = 0; k < 4; ++k, here += step * (kTile / 4))
          if (k * step < left) piece[k] = *here;
        PANDORA_UNROLL
        for (int k = 0; k < 4; ++k, there += step * (kSide * kSide / 4))
          if (k * step < left) *there = piece[k];
      }
    });
  }

  // The contexts and rho.
  PANDORA_HD PANDORA_INLINE void stage(const BlockStart<Real>& start) const {
    copy_rows(start.block.psi, start.block.B, memory().contexts());
    for (int k = rank(); k < pieces_of_row(); k += team_.size())
      if (start.rho != nullptr)
        team_.copy(fours(memory().rho()) + k, fours(start.rho) + k);
      else
        fours(memory().rho())[k] = {};
  }

  // Eight features and four periods each, which are a quarter of the block apart: neighbours read neighbouring rows. A
  // panel that is left over from the groups is done by single periods, not by a warp of which most members idle.
  PANDORA_HD PANDORA_INLINE void form_images(const GramView<Real>& g, int B) const {
    const int quarter = (B + kPeriods - 1) / kPeriods, whole = panels() % kGroup == 1 ? panels() - 1 : panels(),
              singles = whole * quarter, items = singles + (panels() - whole) * B;
    Real sum[kPeriods][kSide];
    int panel = 0, first = 0, count = 0;
    const auto write = [&](Real* to, int row) {
      PANDORA_UNROLL
      for (int c = 0; c < kPeriods; ++c) {
        const int j = first + c * quarter;
        if (c < count && j < B) store(to + j * row + panel * kSide, sum[c]);
      }
    };
    PANDORA_ROLLED
    for (int item = rank(); item < items; item += team_.size()) {
      const bool single = item >= singles;
      panel = single ? whole : item / quarter;
      first = single ? item - singles : item % quarter;
      count = single ? 1 : kPeriods;
      // All of them: those that a single period does not need would go from item to item, for which they are spilled.
      PANDORA_UNROLL
      for (Real(&of_period)[kSide] : sum) PANDORA_UNROLL
      for (Real& x : of_period) x = Real(0);
      if (single)
        multiply_panel<1>(panel, first, quarter, B, sum);
      else
        multiply_panel<kPeriods>(panel, first, quarter, B, sum);
      write(g.image, shape_.stride);
    }
    team_.sync();  // P is done with
    if (items <= team_.size()) {
      write(memory().images(), memory().row());
    } else {
      copy_rows(g.image, B, memory().images());
      team_.arrived();
    }
    team_.sync();
  }

  // Adds tile (panel, l) of P times eight of psi, for all l. Where l belongs to a later group that is the transpose of
  // what is stored. So all members of a warp that has a group to itself do the same, tile by tile.
  template <int kCount>
  PANDORA_HD PANDORA_INLINE void multiply_panel(int panel, int first, int quarter, int B,
                                                Real (&sum)[kPeriods][kSide]) const {
    const int group = (panel / kGroup + 1) * kGroup, end = group < panels() ? group : panels();
    const Real* psi[kCount];
    PANDORA_UNROLL
    for (int c = 0; c < kCount; ++c) {
      const int j = first + c * quarter;
      psi[c] = memory().contexts() + (j < B ? j : first) * memory().row();
    }
    const auto add = [&](const Real* tile, auto transposed) {
      Real x[kCount][kSide];
      PANDORA_UNROLL
      for (int c = 0; c < kCount; ++c, psi[c - 1] += kSide) load(psi[c], x[c]);
      PANDORA_UNROLL
      for (int r = 0; r < kSide; ++r) {
        Real p[kSide];
        load(tile + r * kSide, p);
        PANDORA_UNROLL
        for (int e = 0; e < kSide; ++e) PANDORA_UNROLL
        for (int c = 0; c < kCount; ++c) {
          Real& out = sum[c][transposed ? e : r];
          out = fused(p[e], x[c][transposed ? r : e], out);
        }
      }
    };
    const Real* tile = memory().tile(panel, 0);
    const int to_mirrored = static_cast<int>(memory().mirrored(panel, panel + 1) - memory().tile(panel, panel));
    PANDORA_ROLLED
    for (int l = 0; l < end; ++l) {  // loop: image step
      add(tile, std::false_type{});
      tile += l == panel ? to_mirrored : kTile;
    }
    tile = memory().tile(end, panel);
    PANDORA_ROLLED
    for (int l = end; l < panels(); ++l) {  // loop: image step
      add(tile, std::true_type{});
      tile += (l + 1) * kTile;
    }
  }

  // gram(j, i), i >= j: two rows and four columns each, these a quarter of the block apart, of which the first are not
  // needed from the second quarter of the rows on.
  PANDORA_HD PANDORA_INLINE void form_gram(const GramView<Real>& g, int B) const {
    const int quarter = (B + kPeriods - 1) / kPeriods, items = (B + 1) / 2 * quarter;
    for (int item = rank(); item < items; item += team_.size()) {
      const int j0 = item / quarter * 2, first = item % quarter,
                from = (j0 >= quarter) + (j0 >= 2 * quarter) + (j0 >= 3 * quarter);
      const Real* image[2] = {memory().images() + j0 * memory().row(),
                              memory().images() + (j0 + 1 < B ? j0 + 1 : j0) * memory().row()};
      const Real* psi[kPeriods];
      PANDORA_UNROLL
      for (int c = 0; c < kPeriods; ++c) {
        const int i = first + c * quarter;
        psi[c] = memory().contexts() + (i < B ? i : first) * memory().row();
      }
      Real sum[2][kPeriods] = {};
      from == 0   ? multiply_rows<0>(image, psi, sum)
      : from == 1 ? multiply_rows<1>(image, psi, sum)
      : from == 2 ? multiply_rows<2>(image, psi, sum)
                  : multiply_rows<3>(image, psi, sum);
      PANDORA_UNROLL
      for (int c = 0; c < kPeriods; ++c) {
        const int i = first + c * quarter;
        PANDORA_UNROLL
        for (int r = 0; r < 2; ++r) {
          if (j0 + r > i || i >= B) continue;
          g.gram[(j0 + r) * shape_.width + i] = sum[r][c];
          if (j0 + r == i) g.diagonal[i] = memory().diagonal()[i] = sum[r][c];
        }
      }
    }
  }
  template <int kFrom>
  PANDORA_HD PANDORA_INLINE void multiply_rows(const Real* (&image)[2], const Real* (&psi)[kPeriods],
                                               Real (&sum)[2][kPeriods]) const {
    PANDORA_ROLLED
    for (int l = 0; l < panels(); ++l) {  // loop: gram
      PANDORA_UNROLL
      for (int half = 0; half < 2; ++half) {
        const Four<Real> x[2] = {fours(image[0])[half], fours(image[1])[half]};
        Four<Real> y[kPeriods];
        PANDORA_UNROLL
        for (int c = kFrom; c < kPeriods; ++c) y[c] = fours(psi[c])[half];
        PANDORA_UNROLL
        for (int e = 0; e < 4; ++e) PANDORA_UNROLL
        for (int c = kFrom; c < kPeriods; ++c) PANDORA_UNROLL
        for (int r = 0; r < 2; ++r) sum[r][c] = fused(x[r].of[e], y[c].of[e], sum[r][c]);
      }
      for (const Real*& row : image) row += kSide;
      PANDORA_UNROLL
      for (int c = kFrom; c < kPeriods; ++c) psi[c] += kSide;
    }
  }

  // Predictions and what the diagonal may be, a period each, by the warp that has the least of the Gram matrix.
  PANDORA_HD PANDORA_INLINE void predict(const BlockStart<Real>& start) const {
    if (warp_ != warps() - 1) return;
    for (int j = lane(); j < start.block.B; j += lanes()) {
      const Real* const psi = memory().contexts() + j * memory().row();
      Real z = 0, norm = 0;
      PANDORA_ROLLED
      for (int l = 0; l < panels(); ++l) {  // loop: prediction
        PANDORA_UNROLL
        for (int half = 0; half < 2; ++half) {
          const Four<Real> x = fours(psi + l * kSide)[half], rho = fours(memory().rho() + l * kSide)[half];
          PANDORA_UNROLL
          for (int e = 0; e < 4; ++e) {
            z = fused(x.of[e], rho.of[e], z);
            norm = fused(x.of[e], x.of[e], norm);
          }
        }
      }
      if (start.rho != nullptr) start.prediction[j] = z;
      memory().bounds()[j] = start.most.bound(norm, psi[0]);
    }
  }

  // sound_gram of what is there, by every warp.
  PANDORA_HD PANDORA_INLINE bool is_sound(int B) const {
    bool sound = true;
    PANDORA_ROLLED
    for (int first = 0; first < B; first += lanes()) {
      const int j = first + lane();
      const Real diagonal = j < B ? memory().diagonal()[j] : Real(0);
      bool fails = j < B && !(diagonal > Real(0) && diagonal <= memory().bounds()[j]);
      if constexpr (requires { part().team.ballot(fails); }) fails = part().team.ballot(fails) != 0;
      sound = sound && !fails;
    }
    return sound;
  }

  const Team& team_;
  const Shape& shape_;
  void* const start_;
  const int warp_;
};

/// See TiledProducts. `memory` serves teams that have none of their own; `start`: null where no block begins.
template <class Real, class Team>
PANDORA_APART PANDORA_HD bool advance_tiles(const Shape& shape, void* memory, unsigned turn, const GramView<Real>& g,
                                            bool ends, const BlockStart<Real>* start) {
  const Team team{};
  return TiledProducts<Real, Team>(team, shape, memory, turn).advance(g, ends, start);
}
template <class Real, class Team>
PANDORA_APART PANDORA_HD void predict_tiles(const Shape& shape, void* memory, const BlockStart<Real>& start) {
  const Team team{};
  TiledProducts<Real, Team>(team, shape, memory, 0).predict_alone(start);  // body: not taken
}

}  // namespace pandora::engine
