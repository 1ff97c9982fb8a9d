// Newton's method for teams without vectors, in memory that a block of threads shares. One sweep over a box's samples
// gives the gradient, another the Hessian; its Cholesky factorisation solves for the right-hand side along the way.
//
// With g = sum_s m(z_s) psi_s + ridges rho and H = sum_s h(z_s) psi_s psi_s' + ridges, z_s = psi_s' rho, a step is
// -H^-1 g. Up to kOneHessian samples H follows the weights h(z_s) (tiled_hessian.hpp), and if none has changed since
// the last sweep, the last factor stands. With more samples a solve has one factor, and L-BFGS goes on around it.
//
// On a device the time goes into waiting. In the sweep for the gradient, warps go through strips of eight samples. Eight
// members share a row, each with four groups of four features in registers. The next strip's rows, and the indices of
// the strip after it, are loaded meanwhile, and members meet once, at the end.
#pragma once

#include <type_traits>
#include <utility>

#include "kernels/solve/samples.hpp"
#include "kernels/solve/tiled_factor.hpp"
#include "kernels/solve/tiled_hessian.hpp"

namespace pandora::engine {

/// sum_s l_s(psi_s' rho) + rho' diag(ridges) rho / 2 (eq:known-theta-rho-estimator) with its gradient and Hessian, and
/// Newton's direction. It is both the function that minimise() minimises and its method. Every member gets the same
/// numbers, whatever the team's size: one member or whole warps.
template <class Real, class Team>
class TiledNewton {
 public:
  static constexpr bool kLastStep = true, kTrustsRate = true;
  /// `samples` must come from gather_samples(); `ridges` stay in memory.
  PANDORA_HD TiledNewton(const Team& team, const SampleView<Real>& samples, const Ridges& ridges,
                         const SolveScratch<Real>& scratch, RunningHessian<Real> running)
      : team_(team),
        samples_(samples),
        ridges_(ridges),
        scratch_(scratch),
        running_(running),
        m_(samples.m),
        width_(memory().width()) {}

  PANDORA_HD const SampleView<Real>& samples() const { return samples_; }
  PANDORA_HD const Ridges& ridges() const { return ridges_; }
  PANDORA_HD int gradients() const { return gradients_; }
  PANDORA_HD void charge() { ++gradients_; }
  PANDORA_HD const double* rho() const { return memory().rho(); }

  PANDORA_HD void start(const Real* rho) {
    has_factor_ = false;
    pairs_ = 0;
    team_.sync();  // the earlier contents of the memory may still be in use
    for (int k = team_.rank(); k < width_; k += team_.size()) {
      memory().rho()[k] = k < m_ ? static_cast<double>(rho[k]) : 0.0;
      memory().direction()[k] = 0.0;
    }
    team_.sync();
  }

  /// Computes gradient and Hessian at rho, or only the gradient if the solve goes on around its first Hessian.
  PANDORA_HD void evaluate() {
    ++gradients_;
    for (int k = team_.rank(); k < memory().point_width(); k += team_.size())
      memory().point()[k] = k < width_ ? static_cast<Real>(memory().rho()[k]) : Real(0);
    team_.sync();
    if (width_ > Memory::kSweptWidth)
      sum_one_by_one();  // body: not taken
    else if (width_ > Memory::kSweptWidth * 3 / 4 && samples_.weight == nullptr && samples_.loss == Loss::reservation)
      sum_streams<true>();
    else
      sum_streams<false>();  // body: not taken
    if (!has_factor_ || !keeps_factor()) has_factor_ = !hessian().update(!keeps_factor(), has_factor_);
    team_.sync();
  }

  /// direction = -Hessian^-1 gradient; the factor overwrites the Hessian. False if it is not positive definite.
  PANDORA_HD bool direct() {
    for (int k = team_.rank(); k < width_; k += team_.size()) {
      const Real gradient = k < m_ ? static_cast<Real>(memory().gradient()[k]) : Real(0);
      memory().before()[k] = gradient;
      memory().right(0)[k] = -gradient;
    }
    team_.sync();
    if (has_factor_) {
      direct_around_factor();
      return true;
    }
    if (!factor().factorise()) {
      if (team_.rank() == 0) *running_.samples = 0;  // the next solve sums anew
      return false;
    }
    factor().substitute_back();
    has_factor_ = true;
    return true;
  }
  PANDORA_HD bool recover() { return false; }
  PANDORA_HD void stepped(double, double, double part) {
    if (!keeps_factor()) return;
    const int pair = pairs_++ % Memory::kPairs;
    for (int k = team_.rank(); k < width_; k += team_.size()) {
      memory().step(pair)[k] = static_cast<Real>(part * memory().direction()[k]);
      memory().change(pair)[k] = static_cast<Real>(memory().gradient()[k]) - memory().before()[k];
    }
    team_.sync();
  }

  /// gradient' direction
  PANDORA_HD double slope() const { return dot<double>(memory().gradient(), memory().direction()); }

  /// rho += step * direction
  PANDORA_HD void move(double step) {
    for (int k = team_.rank(); k < width_; k += team_.size()) memory().rho()[k] += step * memory().direction()[k];
    team_.sync();
  }

 private:
  using Memory = TileMemory<Real>;
  using Warp = std::remove_cvref_t<decltype(part_of(std::declval<const Team&>()).team)>;
  static constexpr int kSide = Memory::kSide, kStreams = Memory::kStreams;
  static constexpr int kRows = 8, kPieces = Memory::kSweptWidth / kWarp;  // of a strip for gradients; fours of a member

  // Whether a solve has one factor, and goes on around it.
  PANDORA_HD bool keeps_factor() const { return samples_.n > kOneHessian; }

  // Every function that is not inlined asks for it anew (see ScalarTeam::kShares).
  PANDORA_HD Memory memory() const {
    if constexpr (Team::kShares)
      return Memory(Team{}.shared(), samples_.m);
    else
      return Memory(scratch_.tiled, samples_.m);
  }

  // A member's part of a row; and its part of a strip: of two rows, with their places and the inputs of one row's loss.
  struct Row {
    Four<Real> of[kPieces];
  };
  struct Strip {
    Row row[2];
    int place[2];
    SampleLabel<Real> label;
  };

  // memory().gradient() over all samples. kPlain is a version with fewer instructions and registers. It is for the
  // paper's loss, samples that do not fade, and a width of which every member has at least three groups of four.
  template <bool kPlain>
  PANDORA_HD void sum_streams() {
    const TeamPart<Team> part = part_of(team_);
    const int streams = samples_.n < kStreams * kRows ? (samples_.n + kRows - 1) / kRows : kStreams;
    for (int stream = part.index; stream < streams; stream += part.count) sum_stream<kPlain>(part.team, stream);
    team_.sync();
    for (int k = team_.rank(); k < width_; k += team_.size()) {
      double sum = ridges_.of(k) * memory().rho()[k];
      for (int stream = 0; stream < streams; ++stream) sum += static_cast<double>(memory().sums(stream)[k]);
      memory().gradient()[k] = sum;
    }
  }

  // Takes every 16th strip, by a warp. Member 8 r + p takes the fours p, p + 8, .. of rows r and r + 4, and adds up the
  // terms of z of both rows. In the tree that follows, even members go on with the first row and odd ones with the
  // second, so each loss is computed once. Past the end, the last sample and a row's last four are read again.
  template <bool kPlain>
  PANDORA_HD void sum_stream(const Warp& warp, int stream) const {
    constexpr int kStep = kStreams * kRows;
    const Members<Warp> all{warp};
    const Real* const weights = samples_.weight;
    const SampleLabel<Real>* const labels = samples_.labels();
    const int* const rows = samples_.rows;
    const int n = samples_.n, last = n - 1, fours_of_row = width_ / 4, row_stride = samples_.stride / 4;
    const Loss loss = kPlain ? Loss::reservation : samples_.loss;
    Real* const curvatures = has_factor_ && keeps_factor() ? nullptr : scratch_.weight;

    Own<Warp, Row> sum;
    Own<Warp, Strip> strips[2];             // this one and the next, in turn
    Own<Warp, int> sample;                  // of the member's first row in this strip
    Own<Warp, const Four<Real>*> features;  // of the tape's first row, from the member's first four on
    const auto there = [last](int s) { return s < last ? s : last; };
    const auto at = [fours_of_row](int i, int k) {  // the k-th four, from the first
      return kPlain && k + 1 < kPieces ? 8 * k : (8 * k + i % 8 < fours_of_row ? 8 * k : fours_of_row - 1 - i % 8);
    };
    // Loads the strip whose first row is `first`, and the places of the rows of the strip after it.
    const auto fetch = [&](int i, int first, Strip& strip, Strip& after) {
      PANDORA_UNROLL
      for (int h = 0; h < 2; ++h) {
        const Four<Real>* const from = features[i] + strip.place[h] * row_stride;  // an int: tapes have less than 32 GB
        PANDORA_UNROLL
        for (int k = 0; k < kPieces; ++k) strip.row[h].of[k] = from[at(i, k)];
      }
      PANDORA_UNROLL
      for (int h = 0; h < 2; ++h) after.place[h] = rows[there(first + 4 * h + kStep)];
      strip.label = labels[there(first + 4 * (i % 2))];
    };
    all.each([&](int i) {
      sum[i] = {};
      features[i] = fours(samples_.psi) + i % 8;
      sample[i] = stream * kRows + i / 8;
      for (int h = 0; h < 2; ++h) strips[0][i].place[h] = rows[there(sample[i] + 4 * h)];
      fetch(i, sample[i], strips[0][i], strips[1][i]);
    });
    const auto add = [&](Own<Warp, Strip>& strip, Own<Warp, Strip>& next) {
      Own<Warp, Real> z, other;
      all.each([&](int i) {
        Real terms[2][2] = {};
        Row point;  // read each time, because registers are scarcer than loads
        PANDORA_UNROLL
        for (int k = 0; k < kPieces; ++k) point.of[k] = fours(memory().point())[8 * k + i % 8];
        PANDORA_UNROLL
        for (int k = 0; k < kPieces; k += 2) PANDORA_UNROLL
        for (int e = 0; e < 4; ++e) PANDORA_UNROLL
        for (int h = 0; h < 2; ++h) PANDORA_UNROLL
        for (int l = 0; l < 2; ++l)
          terms[h][l] = fused(strip[i].row[h].of[k + l].of[e], point.of[k + l].of[e], terms[h][l]);
        const Real of_row[2] = {terms[0][0] + terms[0][1], terms[1][0] + terms[1][1]};
        z[i] = i % 2 == 0 ? of_row[0] : of_row[1];
        other[i] = i % 2 == 0 ? of_row[1] : of_row[0];
      });
      other = all.exchanged(other, 1);
      all.each([&](int i) {
        z[i] += other[i];
        fetch(i, sample[i] + kStep, next[i], strip[i]);  // not earlier, or a wait for this strip would wait for both
      });
      all.template add_up<2, 4>(z);
      Own<Warp, Real> moment;
      all.each([&](int i) {
        const int s = sample[i] + 4 * (i % 2);
        const IndexMoment<Real> value = index_moment(loss, z[i], strip[i].label.cost, strip[i].label.mu);
        const Real weight = kPlain || weights == nullptr ? Real(1) : weights[there(s)];
        moment[i] = s < n ? weight * value.moment : Real(0);
        if (curvatures != nullptr && i % 8 < 2 && s < n) curvatures[s] = weight * value.curvature;
      });
      other = all.exchanged(moment, 1);
      all.each([&](int i) {
        const Real of_row[2] = {i % 2 == 0 ? moment[i] : other[i], i % 2 == 0 ? other[i] : moment[i]};
        PANDORA_UNROLL
        for (int h = 0; h < 2; ++h) PANDORA_UNROLL
        for (int k = 0; k < kPieces; ++k) PANDORA_UNROLL
        for (int e = 0; e < 4; ++e)
          sum[i].of[k].of[e] = fused(of_row[h], strip[i].row[h].of[k].of[e], sum[i].of[k].of[e]);
        sample[i] += kStep;
      });
    };
    PANDORA_ROLLED
    for (int first = stream * kRows; first < n; first += 2 * kStep) {  // loop: gradient strip (two of them)
      add(strips[0], strips[1]);
      if (first + kStep >= n) break;
      add(strips[1], strips[0]);
    }
    PANDORA_UNROLL
    for (int k = 0; k < kPieces; ++k) PANDORA_UNROLL
    for (int e = 0; e < 4; ++e) PANDORA_UNROLL
    for (int mask = kRows; mask < kWarp; mask *= 2) {  // over the rows
      Own<Warp, Real> other;
      all.each([&](int i) { other[i] = sum[i].of[k].of[e]; });
      other = all.exchanged(other, mask);
      all.each([&](int i) { sum[i].of[k].of[e] += other[i]; });
    }
    all.each([&](int i) {
      PANDORA_UNROLL
      for (int k = 0; k < kPieces; ++k)
        if (i < 8 && 8 * k + i < fours_of_row) fours(memory().sums(stream))[8 * k + i] = sum[i].of[k];
    });
  }

  // The same for rows that are too wide for a warp: a sample per member, then a feature per member.
  PANDORA_HD void sum_one_by_one() {
    form_moments(team_, samples_, memory().point(), scratch_);
    for (int k = team_.rank(); k < width_; k += team_.size()) {
      double sum = ridges_.of(k) * memory().rho()[k];
      for (int s = 0; s < samples_.n; ++s)
        sum = fused(static_cast<double>(scratch_.moment[s]), static_cast<double>(samples_.psi_of(s)[k]), sum);
      memory().gradient()[k] = sum;
    }
    team_.sync();  // the Hessian's update lists weights where moments were
  }

  // Made where they are used: as members of the object they would be kept in memory.
  PANDORA_HD TiledFactor<Real, Team> factor() const { return {team_, memory(), m_}; }
  PANDORA_HD TiledHessian<Real, Team> hessian() const {
    return {team_, memory(), samples_, ridges_, scratch_, running_};
  }

  // L-BFGS around the first Hessian's factor: the two-loop recursion. Its vector is in `right`, then in `direction`.
  PANDORA_HD void direct_around_factor() {  // body: steps around a factor
    constexpr int kPairs = Memory::kPairs;
    Real scale[kPairs], alpha[kPairs];  // by age: in registers
    PANDORA_UNROLL
    for (int age = 0; age < kPairs; ++age) {
      if (age >= pairs_) continue;
      const int at = (pairs_ - 1 - age) % kPairs;
      const Real curvature = dot<Real>(memory().step(at), memory().change(at));
      scale[age] = curvature > Real(0) ? Real(1) / curvature : Real(0);  // otherwise only rounding is left of the step
      alpha[age] = scale[age] * dot<Real>(memory().step(at), memory().right(0));
      team_.sync();
      for (int k = team_.rank(); k < width_; k += team_.size())
        memory().right(0)[k] = fused(-alpha[age], memory().change(at)[k], memory().right(0)[k]);
      team_.sync();
    }
    factor().substitute_forward();
    factor().substitute_back();
    PANDORA_UNROLL
    for (int age = kPairs - 1; age >= 0; --age) {
      if (age >= pairs_) continue;
      const int at = (pairs_ - 1 - age) % kPairs;
      const double weight =
          static_cast<double>(alpha[age] - scale[age] * dot<Real>(memory().change(at), memory().direction()));
      team_.sync();
      for (int k = team_.rank(); k < m_; k += team_.size())
        memory().direction()[k] = fused(weight, static_cast<double>(memory().step(at)[k]), memory().direction()[k]);
      team_.sync();
    }
  }

  // A sum over m numbers, by every warp for itself: every 32nd number, then a tree.
  template <class Sum, class A, class B>
  PANDORA_HD Sum dot(const A* a, const B* b) const {
    const TeamPart<Team> part = part_of(team_);
    const Members<Warp> all{part.team};
    Own<Warp, Sum> sum;
    all.each([&](int i) {
      sum[i] = 0;
      for (int k = i; k < m_; k += kWarp) sum[i] = fused(static_cast<Sum>(a[k]), static_cast<Sum>(b[k]), sum[i]);
    });
    all.template add_up<kWarp / 2, 1>(sum);
    return all.of(sum, 0);
  }

  const Team& team_;
  const SampleView<Real> samples_;
  const Ridges& ridges_;
  const SolveScratch<Real>& scratch_;
  const RunningHessian<Real> running_;
  const int m_, width_;
  int gradients_ = 0, pairs_ = 0;
  bool has_factor_ = false;  // whether the tiles are the last Hessian's factor
};

}  // namespace pandora::engine
