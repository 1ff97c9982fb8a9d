// The end of a block and the start of the next for one matrix, for teams without vectors. P passes once through memory
// that a block of threads shares, with u_q, C_q and f_q as in kernels/lane/gram.hpp:
//
//   u_q = f_q (image_j - sum_{i<q} C_i[j] u_i), j the period of update q      P <- P - sum_q u_q u_q'
//   image_j = P psi_j      gram(j, i) = psi_i' image_j, i >= j      prediction_j = psi_j' rho      sound_gram
//
// Sums go over features and updates in their order whatever the team's size.
//
// What counts is the number of instructions and of reads of shared memory, so every stage keeps in registers what it
// uses often: four updates of a feature; a tile of P; the images of 4 periods in a panel of 8 features; 2 x 4 elements
// of the Gram matrix. All that the end of a block reads is on its way at once, in pieces of 16 bytes: P, the images of
// all periods, whether updated or not, and the columns. A member meets the others eight times.
#pragma once

#include "kernels/base/team.hpp"
#include "kernels/products/product_memory.hpp"

namespace pandora::engine {

/// What a block that begins wants of a matrix.
template <class Real>
struct BlockStart {
  BlockContexts<Real> block;
  const Real* rho = nullptr;   ///< the vector that predicts, of Shape::stride elements; null: nothing is predicted
  Real* prediction = nullptr;  ///< where to
  bool bounded = false;        ///< whether the diagonal of the Gram matrix has to be sound
  MostInverse<Real> most{};    ///< under this
};

/// By a team of a multiple of 32 members, or one; every function ends with all members done.
template <class Real, class Team>
class TiledProducts {
 public:
  /// Warps do not have the same to do. `turn` says which begins, so that not every team keeps the same part of a
  /// multiprocessor waiting.
  PANDORA_HD PANDORA_INLINE TiledProducts(const Team& team, const Shape& shape, void* memory, unsigned turn)
      : team_(team),
        part_(part_of(team)),
        memory_(memory, shape),
        m_(shape.m),
        stride_(shape.stride),
        gram_row_(shape.width),
        panels_(ProductMemory<Real>::panels(m_)),
        size_(team.size()),
        warp_(turned(part_.index, turn, part_.count, 1)),
        rank_(turned(team.rank(), turn, part_.count, part_.team.size())) {}

  /// Ends a block where `ends`, and begins the one of `start` where that is not null. Returns whether what begins is
  /// sound.
  PANDORA_HD PANDORA_INLINE bool advance(const GramView<Real>& g, bool ends, const BlockStart<Real>* start) const {
    const GramCounts count = *g.count;
    const int columns = ends ? count.columns : 0;
    const bool flushed = count.materialised > 0;  // then all of them, to g.u
    if (columns > 0 || start != nullptr) {
      fetch(g, columns, flushed ? 0 : count.updates, flushed);
      team_.sync();
    }
    if (columns > 0 && !flushed) {
      form_updates(columns);
      team_.sync();
    }
    subtract(columns, start != nullptr);
    Four<Real> psi[kRows];
    if (start != nullptr) read_rows(0, start->block.psi, start->block.B, psi);
    team_.sync();
    if (columns > 0) put_back(g.P);
    if (start == nullptr) return team_.sync(), true;
    stage(*start, psi);
    team_.sync();
    form_images(g, start->block.B);
    form_gram(g, start->block.B);
    predict(*start);
    if (team_.rank() == 0) *g.count = {};
    team_.sync();
    const bool sound = !start->bounded || is_sound(start->block.B);
    team_.sync();
    return sound;
  }

  /// The predictions of `start` alone.
  PANDORA_HD PANDORA_INLINE void predict_alone(const BlockStart<Real>& start) const {
    Four<Real> psi[kRows];
    read_rows(0, start.block.psi, start.block.B, psi);
    stage(start, psi);
    team_.sync();
    predict(start);
    team_.sync();
  }

 private:
  static constexpr int kSide = ProductMemory<Real>::kSide, kTile = ProductMemory<Real>::kTile,
                       kGroup = ProductMemory<Real>::kGroup;
  static constexpr int kPieces = 12, kRows = 8;  // of P, and of what lies in rows, on their way at once
  static constexpr int kPeriods = 4;             // of a member's piece of images and Gram matrix

  static PANDORA_HD int turned(int index, unsigned turn, int count, int step) {
    const int at = index + static_cast<int>(turn % static_cast<unsigned>(count)) * step;
    return at < count * step ? at : at - count * step;
  }
  static PANDORA_HD int parts(int n, int size) { return (n + size - 1) / size; }
  PANDORA_HD int width() const { return panels_ * kSide; }

  // f(k, row, piece of four) for up to kRows rows of features, as far apart as there are warps.
  template <class F>
  PANDORA_HD PANDORA_INLINE void for_rows(int round, int rows, F&& f) const {
    const int lanes = part_.team.size(), chunks = parts(width() / 4, lanes),
              piece = round % chunks * lanes + part_.team.rank(), first = round / chunks * kRows * part_.count + warp_;
    PANDORA_UNROLL
    for (int k = 0; k < kRows; ++k)
      if (const int row = first + k * part_.count; row < rows && piece < width() / 4) f(k, row, piece);
  }
  PANDORA_HD int rounds_of_rows(int rows) const {
    return parts(width() / 4, part_.team.size()) * parts(rows, kRows * part_.count);
  }
  PANDORA_HD PANDORA_INLINE void read_rows(int round, const Real* from, int rows, Four<Real> (&x)[kRows]) const {
    for_rows(round, rows, [&](int k, int row, int piece) { x[k] = fours(from + row * stride_)[piece]; });
  }
  PANDORA_HD PANDORA_INLINE void write_rows(int round, Real* to, int rows, const Four<Real> (&x)[kRows]) const {
    for_rows(round, rows, [&](int k, int row, int piece) { fours(to + row * memory_.row())[piece] = x[k]; });
  }

  // f(k, piece of four) for up to kPieces pieces of the tiles as they are stored.
  template <class F>
  PANDORA_HD PANDORA_INLINE void for_pieces(int round, F&& f) const {
    const int pieces = ProductMemory<Real>::tiles(m_) * (kSide * kSide / 4);
    PANDORA_UNROLL
    for (int k = 0; k < kPieces; ++k)
      if (const int at = (round * kPieces + k) * size_ + rank_; at < pieces) f(k, at);
  }
  PANDORA_HD int rounds_of_pieces() const {
    return parts(ProductMemory<Real>::tiles(m_) * (kSide * kSide / 4), kPieces * size_);
  }
  PANDORA_HD Four<Real>& in_tiles(int piece) const {
    return fours(memory_.tile(0))[piece + piece / (kSide * kSide / 4) * ((kTile - kSide * kSide) / 4)];
  }

  // P, and what `columns` u_q come from: the images of all periods, C transposed so that a period's elements lie side
  // by side, and f; or the u_q where they are there.
  PANDORA_HD PANDORA_INLINE void fetch(const GramView<Real>& g, int columns, int updates, bool flushed) const {
    const int B = memory_.periods_of_block(), lanes = part_.team.size(), chunks = parts(B, lanes),
              rows = flushed || columns == 0 ? columns : B, needed = flushed ? 0 : columns,
              listed = columns == 0 || flushed ? 0 : ProductMemory<Real>::padded(columns);
    int rounds = rounds_of_pieces();
    for (const int wanted : {rounds_of_rows(rows), chunks * parts(needed, kRows * part_.count),
                             parts(listed > updates ? listed : updates, size_)})
      rounds = wanted > rounds ? wanted : rounds;
    PANDORA_ROLLED
    for (int round = 0; round < rounds; ++round) {  // one at the paper's shape
      Four<Real> pieces[kPieces], image[kRows];
      Real column[kRows];
      typename GramView<Real>::Update update{};
      const int k = round * size_ + rank_, j = round % chunks * lanes + part_.team.rank(),
                first = round / chunks * kRows * part_.count + warp_;
      if (k < updates && listed > 0) update = g.log[k];
      for_pieces(round, [&](int i, int at) { pieces[i] = fours(g.P)[at]; });
      read_rows(round, flushed ? g.u : g.image, rows, image);
      PANDORA_UNROLL
      for (int i = 0; i < kRows; ++i)
        if (const int q = first + i * part_.count; q < needed && j < B) column[i] = g.column[q * gram_row_ + j];
      if (k < listed && k >= columns) {
        memory_.periods()[k] = 0;
        memory_.roots()[k] = Real(0);
      }
      if (update.f > Real(0)) {
        memory_.periods()[update.columns_before] = update.period;
        memory_.roots()[update.columns_before] = update.f;
      }
      for_pieces(round, [&](int i, int at) { in_tiles(at) = pieces[i]; });
      write_rows(round, memory_.updates(), rows, image);
      PANDORA_UNROLL
      for (int i = 0; i < kRows; ++i)
        if (const int q = first + i * part_.count; q < needed && j < B)
          memory_.columns()[j * memory_.column_row() + q] = column[i];
    }
  }

  // u_q in row q, a feature each, four at once. Update q is of period q or later: a row that is overwritten holds the
  // image of an earlier update's period or of none. Those beyond the last have root 0.
  PANDORA_HD PANDORA_INLINE void form_updates(int columns) const {
    const int row = memory_.row(), step = memory_.column_row();
    for (int feature = rank_; feature < width(); feature += size_) {
      Real* const work = memory_.updates() + feature;
      PANDORA_ROLLED
      for (int k0 = 0; k0 < columns; k0 += 4) {
        const Real* C[4];
        Real u[4];
        PANDORA_UNROLL
        for (int k = 0; k < 4; ++k) {
          const int j = memory_.periods()[k0 + k];
          C[k] = memory_.columns() + j * step;
          u[k] = work[j * row];
        }
        PANDORA_ROLLED
        for (int q = 0; q < k0; q += 4) {  // loop: updates
          Four<Real> c[4];
          PANDORA_UNROLL
          for (int k = 0; k < 4; ++k) c[k] = *fours(C[k] + q);
          PANDORA_UNROLL
          for (int e = 0; e < 4; ++e) {
            const Real before = work[(q + e) * row];
            PANDORA_UNROLL
            for (int k = 0; k < 4; ++k) u[k] = fused(-c[k].of[e], before, u[k]);
          }
        }
        const Four<Real> root = *fours(memory_.roots() + k0);
        PANDORA_UNROLL
        for (int k = 0; k < 4; ++k) {
          work[(k0 + k) * row] = u[k] *= root.of[k];
          PANDORA_UNROLL
          for (int l = k + 1; l < 4; ++l) u[l] = fused(-C[l][k0 + k], u[k], u[l]);
        }
      }
    }
  }

  // A tile each. Where a block begins the tiles on both sides of the diagonal inside a group of panels lie by rows of
  // the panel that they multiply for (see form_images).
  PANDORA_HD PANDORA_INLINE void subtract(int columns, bool begins) const {
    if (columns == 0 && !begins) return;
    for (int k = rank_; k < ProductMemory<Real>::tiles(m_); k += size_) {
      const TilePlace at = place_of_tile(k);
      Four<Real>* const tile = fours(memory_.tile(k));
      Four<Real> sum[kSide][2];
      PANDORA_UNROLL
      for (int r = 0; r < kSide; ++r) {
        sum[r][0] = tile[2 * r];
        sum[r][1] = tile[2 * r + 1];
      }
      PANDORA_ROLLED
      for (int q = 0; q < columns; ++q) {  // loop: outer product
        const Real* const u = memory_.updates() + q * memory_.row();
        const Four<Real>* const left = fours(u + at.i * kSide);
        const Four<Real>* const right = fours(u + at.j * kSide);
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
      Four<Real>* const mirrored = fours(memory_.mirrored(at.j, at.i));
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
    PANDORA_ROLLED
    for (int round = 0; round < rounds_of_pieces(); ++round)
      for_pieces(round, [&](int, int at) { fours(P)[at] = in_tiles(at); });
  }

  // The contexts, of which the first are there, and rho.
  PANDORA_HD PANDORA_INLINE void stage(const BlockStart<Real>& start, Four<Real> (&psi)[kRows]) const {
    const int B = start.block.B;
    write_rows(0, memory_.contexts(), B, psi);
    PANDORA_ROLLED
    for (int round = 1; round < rounds_of_rows(B); ++round) {
      read_rows(round, start.block.psi, B, psi);
      write_rows(round, memory_.contexts(), B, psi);
    }
    if (start.rho != nullptr)
      for (int k = rank_; k < width() / 4; k += size_) fours(memory_.rho())[k] = fours(start.rho)[k];
  }

  // Eight features and four periods each, which are a quarter of the block apart: neighbours read neighbouring rows. A
  // panel that is left over from the groups is done by single periods, not by a warp of which most members idle.
  PANDORA_HD PANDORA_INLINE void form_images(const GramView<Real>& g, int B) const {
    const int quarter = parts(B, kPeriods), whole = panels_ % kGroup == 1 ? panels_ - 1 : panels_,
              singles = whole * quarter, items = singles + (panels_ - whole) * B;
    Real sum[kPeriods][kSide];
    int panel = 0, first = 0, count = 0;
    const auto write = [&](Real* to, int row) {
      PANDORA_UNROLL
      for (int c = 0; c < kPeriods; ++c) {
        const int j = first + c * quarter;
        if (c >= count || j >= B) continue;
        PANDORA_UNROLL
        for (int half = 0; half < 2; ++half) {
          Four<Real> out;
          PANDORA_UNROLL
          for (int e = 0; e < 4; ++e) out.of[e] = sum[c][4 * half + e];
          fours(to + j * row + panel * kSide)[half] = out;
        }
      }
    };
    PANDORA_ROLLED
    for (int item = rank_; item < items; item += size_) {
      const bool single = item >= singles;
      panel = single ? whole : item / quarter;
      first = single ? item - singles : item % quarter;
      count = single ? 1 : kPeriods;
      if (single)
        multiply_panel<1>(panel, first, quarter, B, sum);
      else
        multiply_panel<kPeriods>(panel, first, quarter, B, sum);
      write(g.image, stride_);
    }
    team_.sync();  // P is done with
    if (items <= size_) {
      write(memory_.images(), memory_.row());
    } else {
      for (int round = 0; round < rounds_of_rows(B); ++round) {
        Four<Real> image[kRows];
        read_rows(round, g.image, B, image);
        write_rows(round, memory_.images(), B, image);
      }
    }
    team_.sync();
  }

  // Tile (panel, l) of P times eight of psi, for all l. Where l belongs to a later group that is the transpose of what
  // is stored. So all members of a warp that has a group to itself do the same, tile by tile.
  template <int kCount>
  PANDORA_HD PANDORA_INLINE void multiply_panel(int panel, int first, int quarter, int B,
                                                Real (&sum)[kPeriods][kSide]) const {
    const int group = (panel / kGroup + 1) * kGroup, end = group < panels_ ? group : panels_;
    const Real* psi[kCount];
    PANDORA_UNROLL
    for (int c = 0; c < kCount; ++c) {
      const int j = first + c * quarter;
      psi[c] = memory_.contexts() + (j < B ? j : first) * memory_.row();
      PANDORA_UNROLL
      for (int e = 0; e < kSide; ++e) sum[c][e] = Real(0);
    }
    const Real* tile = memory_.tile(panel, 0);
    const int to_mirrored = static_cast<int>(memory_.mirrored(panel, panel + 1) - memory_.tile(panel, panel));
    PANDORA_ROLLED
    for (int l = 0; l < end; ++l) {  // loop: image step
      Four<Real> x[kCount][2];
      read_psi(psi, l, x);
      PANDORA_UNROLL
      for (int r = 0; r < kSide; ++r) {
        const Four<Real> p[2] = {fours(tile)[2 * r], fours(tile)[2 * r + 1]};
        PANDORA_UNROLL
        for (int e = 0; e < kSide; ++e) PANDORA_UNROLL
        for (int c = 0; c < kCount; ++c) sum[c][r] = fused(p[e / 4].of[e % 4], x[c][e / 4].of[e % 4], sum[c][r]);
      }
      tile += l == panel ? to_mirrored : kTile;
    }
    tile = memory_.tile(end, panel);
    PANDORA_ROLLED
    for (int l = end; l < panels_; ++l) {  // loop: image step
      Four<Real> x[kCount][2];
      read_psi(psi, l, x);
      PANDORA_UNROLL
      for (int r = 0; r < kSide; ++r) {
        const Four<Real> p[2] = {fours(tile)[2 * r], fours(tile)[2 * r + 1]};
        PANDORA_UNROLL
        for (int c = 0; c < kCount; ++c) PANDORA_UNROLL
        for (int e = 0; e < kSide; ++e) sum[c][e] = fused(p[e / 4].of[e % 4], x[c][r / 4].of[r % 4], sum[c][e]);
      }
      tile += (l + 1) * kTile;
    }
  }
  template <int kCount>
  static PANDORA_HD PANDORA_INLINE void read_psi(const Real* const (&psi)[kCount], int l, Four<Real> (&x)[kCount][2]) {
    PANDORA_UNROLL
    for (int c = 0; c < kCount; ++c) {
      x[c][0] = fours(psi[c] + l * kSide)[0];
      x[c][1] = fours(psi[c] + l * kSide)[1];
    }
  }

  // gram(j, i), i >= j: two rows and four columns each, these a quarter of the block apart, of which the first are not
  // needed from the second quarter of the rows on.
  PANDORA_HD PANDORA_INLINE void form_gram(const GramView<Real>& g, int B) const {
    const int quarter = parts(B, kPeriods), items = parts(B, 2) * quarter;
    for (int item = rank_; item < items; item += size_) {
      const int j0 = item / quarter * 2, first = item % quarter, from = j0 / quarter;
      const Real* const image[2] = {memory_.images() + j0 * memory_.row(),
                                    memory_.images() + (j0 + 1 < B ? j0 + 1 : j0) * memory_.row()};
      const Real* psi[kPeriods];
      PANDORA_UNROLL
      for (int c = 0; c < kPeriods; ++c) {
        const int i = first + c * quarter;
        psi[c] = memory_.contexts() + (i < B ? i : first) * memory_.row();
      }
      Real sum[2][kPeriods] = {};
      if (from == 0)
        multiply_rows<0>(image, psi, sum);
      else if (from == 1)
        multiply_rows<1>(image, psi, sum);
      else if (from == 2)
        multiply_rows<2>(image, psi, sum);
      else
        multiply_rows<3>(image, psi, sum);
      PANDORA_UNROLL
      for (int c = 0; c < kPeriods; ++c) {
        const int i = first + c * quarter;
        PANDORA_UNROLL
        for (int r = 0; r < 2; ++r) {
          if (j0 + r > i || i >= B) continue;
          g.gram[(j0 + r) * gram_row_ + i] = sum[r][c];
          if (j0 + r == i) g.diagonal[i] = memory_.diagonal()[i] = sum[r][c];
        }
      }
    }
  }
  template <int kFrom>
  PANDORA_HD PANDORA_INLINE void multiply_rows(const Real* const (&image)[2], const Real* const (&psi)[kPeriods],
                                               Real (&sum)[2][kPeriods]) const {
    PANDORA_ROLLED
    for (int l = 0; l < panels_; ++l) {  // loop: gram
      PANDORA_UNROLL
      for (int half = 0; half < 2; ++half) {
        const Four<Real> x[2] = {fours(image[0] + l * kSide)[half], fours(image[1] + l * kSide)[half]};
        Four<Real> y[kPeriods];
        PANDORA_UNROLL
        for (int c = kFrom; c < kPeriods; ++c) y[c] = fours(psi[c] + l * kSide)[half];
        PANDORA_UNROLL
        for (int e = 0; e < 4; ++e) PANDORA_UNROLL
        for (int c = kFrom; c < kPeriods; ++c) PANDORA_UNROLL
        for (int r = 0; r < 2; ++r) sum[r][c] = fused(x[r].of[e], y[c].of[e], sum[r][c]);
      }
    }
  }

  // Predictions and what the diagonal may be, a period each, by the warp that has the least of the Gram matrix.
  PANDORA_HD PANDORA_INLINE void predict(const BlockStart<Real>& start) const {
    if (warp_ != part_.count - 1) return;
    for (int j = part_.team.rank(); j < start.block.B; j += part_.team.size()) {
      const Real* const psi = memory_.contexts() + j * memory_.row();
      Real z = 0, norm = 0;
      PANDORA_ROLLED
      for (int l = 0; l < panels_; ++l) {  // loop: prediction
        PANDORA_UNROLL
        for (int half = 0; half < 2; ++half) {
          const Four<Real> x = fours(psi + l * kSide)[half], rho = fours(memory_.rho() + l * kSide)[half];
          PANDORA_UNROLL
          for (int e = 0; e < 4; ++e) {
            z = fused(x.of[e], rho.of[e], z);
            norm = fused(x.of[e], x.of[e], norm);
          }
        }
      }
      if (start.rho != nullptr) start.prediction[j] = z;
      memory_.bounds()[j] = start.most.bound(norm, psi[0]);
    }
  }

  // sound_gram of what is there, by every warp.
  PANDORA_HD PANDORA_INLINE bool is_sound(int B) const {
    bool sound = true;
    for (int first = 0; first < B; first += part_.team.size()) {
      const int j = first + part_.team.rank();
      const Real diagonal = j < B ? memory_.diagonal()[j] : Real(0);
      bool fails = j < B && !(diagonal > Real(0) && diagonal <= memory_.bounds()[j]);
      if constexpr (requires { part_.team.ballot(fails); }) fails = part_.team.ballot(fails) != 0;
      sound = sound && !fails;
    }
    return sound;
  }

  const Team& team_;
  const TeamPart<Team> part_;
  const ProductMemory<Real> memory_;
  const int m_, stride_, gram_row_, panels_, size_, warp_, rank_;
};

/// See TiledProducts. `memory` serves teams that have none of their own; `start`: null where no block begins.
template <class Real, class Team>
PANDORA_APART PANDORA_HD bool advance_tiles(const Shape& shape, void* memory, unsigned turn, const GramView<Real>& g,
                                            bool ends, const BlockStart<Real>* start) {
  const Team team{};
  if constexpr (Team::kShares) memory = team.shared();
  return TiledProducts<Real, Team>(team, shape, memory, turn).advance(g, ends, start);
}
template <class Real, class Team>
PANDORA_APART PANDORA_HD void predict_tiles(const Shape& shape, void* memory, const BlockStart<Real>& start) {
  const Team team{};
  if constexpr (Team::kShares) memory = team.shared();
  TiledProducts<Real, Team>(team, shape, memory, 0).predict_alone(start);
}

}  // namespace pandora::engine
