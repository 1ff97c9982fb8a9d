// A lane's way through a block by a warp: what Walk (walk.hpp) does, with the same bytes, for the lanes and shapes that
// fits() takes. Walk keeps a lane in global memory, and its members compute the same period side by side. Here a lane
// lies in the warp's registers and in shared memory, and its members share the work.
//
// A lane that learns walks from period to period (learning_walk). With boxes a, the block's periods i and the period j
// that passes,
//
//   score_a = Lambda(p_a[j] + c_rho w_a[j]^(1/2))          p_a[i] = psi_i' rho_a,  w_a[i] = psi_i' V_a^-1 psi_i
//   mu_a = G(theta' phi_a + c_theta (phi_a' Phi^-1 phi_a)^(1/2))
//   row = gram_j - sum_{q < j} C_q[j] C_q,  f = (1 / (1 + row[j]))^(1/2),  C_j = f row,  w_a[i] -= C_j[i]^2
//   M <- M - (f y)(f y)',  y = M phi,  f^2 = h / (1 + h phi' y)     M = Phi^-1: h = 1;  M = C: h = G'
//   theta -= C phi (G - r) / s
//
// where C_q is 0 if box a was not opened in period q. Of this
//
// - member i has p_a[i], w_a[i] and f of period i in registers;
// - C_j takes the place of row j of the Gram matrix, which is not read again: in shared memory, where a member reads what
//   others wrote (C_q[j], the same in all, and C_q[i], its own), packed, since rows begin at their diagonal;
// - member r has row r of Phi^-1 in registers, member 16 + r that of C, so that an image y takes no load of M. Images of
//   all boxes are made before it is known which are opened: the deployed one's is then there;
// - Lambda and G are quotients over 1 + e^t alike: members 0 to 3 compute a score each, 4 to 7 a mu_a, 8 to 11 the
//   G(theta' phi_a) of the step that follows, in the same instructions;
// - regret and tally wait for the walk's end. Then every member splits a period of its own, and member k adds the k-th
//   sum in the order of the periods.
//
// A lane that learns nothing has periods that do not depend on each other: every member decides one of them
// (separate_periods), by the rules of Walk.
#pragma once

#include <climits>
#include <cstring>
#include <limits>

#include "kernels/base/members.hpp"
#include "kernels/lane/walk.hpp"

namespace pandora::engine {

/// Where the walks of a replication's lanes work: a block of its tape, and what each lane has for itself. Sizes in
/// doubles are even, so that rows of features are read two numbers at a time.
struct WalkMemory {
  int A, d, B;  ///< of the shape
  double* start;

  static constexpr int kSums = 12;           ///< of a tally
  static constexpr int kRow = kWarp + 1;     ///< of their terms: a number for every period, in different banks
  static constexpr int kFeatures = 16;       ///< of reward features, with zeros behind the last
  static constexpr int kBoxes = 3, kD = 10;  ///< a shape with code of its own, and no zeros: the paper's

  static PANDORA_HD constexpr int features(int A, int d) { return A == kBoxes && d == kD ? kD : kFeatures; }
  static PANDORA_HD constexpr int even(int n) { return (n + 1) / 2 * 2; }
  static PANDORA_HD constexpr int tape_doubles(int A, int d, int B) {
    return 3 * even(B * A) + 2 * even((B * A + 1) / 2) + B * A * features(A, d);
  }
  /// Where column i of a Gram matrix begins, which ends at its diagonal: columns are whole groups of four.
  static PANDORA_HD constexpr int column_at(int i) { return (i / 4 + 1) * (i / 4 * 8 + i % 4 * 4); }
  static PANDORA_HD constexpr int gram_doubles(int A, int B) {
    const int columns = A * column_at(B) / 2, terms = even(kSums * kRow);
    return columns > terms ? columns : terms;
  }
  static PANDORA_HD constexpr int lane_doubles(int A, int d, int B) {
    return gram_doubles(A, B) + (2 * A + 1) * features(A, d) + 2 * even(B * A);
  }
  static PANDORA_HD constexpr std::size_t bytes(int A, int d, int B, int lanes) {
    return sizeof(double) * static_cast<std::size_t>(tape_doubles(A, d, B) + lanes * lane_doubles(A, d, B));
  }

  // A number of every period and box.
  PANDORA_HD double* mu() const { return start; }
  PANDORA_HD double* cost() const { return start + even(B * A); }
  PANDORA_HD double* sigma() const { return start + 2 * even(B * A); }
  PANDORA_HD float* reward() const { return reinterpret_cast<float*>(start + 3 * even(B * A)); }
  PANDORA_HD float* told() const { return reward() + 2 * even((B * A + 1) / 2); }
  PANDORA_HD double* phi(int j, int a) const {
    return start + 3 * even(B * A) + 2 * even((B * A + 1) / 2) + (j * A + a) * features(A, d);
  }
  /// The l-th lane's own.
  PANDORA_HD double* lane(int l) const { return start + tape_doubles(A, d, B) + l * lane_doubles(A, d, B); }
};
static_assert(WalkMemory::bytes(3, 10, 32, 4) <= std::size_t{48} << 10);

template <class Real, class Team>
class WarpWalk {
 public:
  static constexpr int kMost = 4;  ///< boxes

  /// Shapes for whose lanes it has room.
  static PANDORA_HD bool fits(const Shape& shape) {
    return shape.A <= kMost && shape.d <= WalkMemory::kFeatures && shape.B <= kWarp;
  }
  /// Of such a shape, lanes that it takes.
  static PANDORA_HD bool fits(const Problem<Real>& problem, const LaneView<Real>& lane) {
    const LaneSpec& spec = lane.spec;
    if (!fits(problem.shape) || lane.decisions != nullptr || lane.outcomes != nullptr || lane.scores != nullptr)
      return false;
    if (separate(spec)) return true;
    const bool by_index = spec.learns_index() && spec.stop == Stop::best_reaches_scores_left &&
                          spec.loss == Loss::reservation && !spec.fits_jointly() && !lane.needs.steps;
    const bool by_payoff = spec.learns_payoff() && spec.stop == Stop::after_first && !spec.learns_reward();
    return (by_index || by_payoff) && spec.order == Order::by_score && !(spec.epsilon > 0.0) && !spec.thompson &&
           spec.bonus.kind == Bonus::constant && lane.tape.there == nullptr && lane.chosen == nullptr &&
           lane.box[0].weight == nullptr && lane.box[0].learned == nullptr;
  }

  /// A block's tape, which all walks of the block read, by the whole team.
  template <class Any>
  static PANDORA_HD void stage(const Any& team, const Problem<Real>& problem, const TapeView<Real>& tape,
                               BlockRange range, const WalkMemory& to) {
    const int A = problem.shape.A, d = problem.shape.d, width = WalkMemory::features(A, d);
    const std::size_t first = static_cast<std::size_t>(tape.online_row(range.first_period)) * A;
    for (int k = team.rank(); k < range.B * A; k += team.size()) {
      to.mu()[k] = tape.mu[first + k];
      to.cost()[k] = tape.cost[first + k];
      to.sigma()[k] = tape.sigma[first + k];
      to.reward()[k] = tape.reward[first + k];
      to.told()[k] = tape.told[first + k];
    }
    for (int k = team.rank(); k < range.B * A * width; k += team.size())
      to.phi(0, 0)[k] = k % width < d ? static_cast<double>(tape.phi[(first + k / width) * d + k % width]) : 0.0;
    team.sync();
  }

  /// `tape`: staged; `own`: tape.lane() of a place that no other walk has.
  PANDORA_HD WarpWalk(const Team& team, const Problem<Real>& problem, const LaneView<Real>& lane, BlockRange range,
                      const WalkMemory& tape, double* own)
      : all_{team},
        problem_(problem),
        lane_(lane),
        range_(range),
        tape_(tape),
        gram_(reinterpret_cast<Real*>(own)),
        y_(own + WalkMemory::gram_doubles(tape.A, tape.B)),
        theta_(y_ + 2 * tape.A * WalkMemory::features(tape.A, tape.d)),
        score_(theta_ + WalkMemory::features(tape.A, tape.d)),
        response_(score_ + WalkMemory::even(tape.B * tape.A)) {}

  /// Goes on from where the lane stands until the block ends or something waits for a solve (progress->due).
  PANDORA_HD PANDORA_INLINE void run() {
    PANDORA_ASSERT(fits(problem_, lane_) && range_.B <= tape_.B);
    const int first = lane_.progress->next;
    if (first >= range_.B) return;
    Mine<int> outcome;
    all_.each([&](int i) { outcome[i] = 0; });
    int end = first;
    const bool paper = tape_.A == WalkMemory::kBoxes && tape_.d == WalkMemory::kD, learned = lane_.spec.learns_reward();
    if (separate(lane_.spec))
      end = separate_periods(first, outcome);
    else if (paper && learned)
      end = learning_walk<true, WalkMemory::kBoxes, WalkMemory::kD>(first, outcome);
    else if (paper)
      end = learning_walk<false, WalkMemory::kBoxes, WalkMemory::kD>(first, outcome);
    else if (learned)
      end = learning_walk<true, 0, WalkMemory::kFeatures>(first, outcome);
    else
      end = learning_walk<false, 0, WalkMemory::kFeatures>(first, outcome);
    team().sync();  // the terms of the sums take the place of the Gram matrices
    if (!separate(lane_.spec)) split_all(outcome, first, end);
    if (end > first) count(outcome, first, end);
  }

 private:
  template <class T>
  using Mine = Own<Team, T>;
  struct alignas(16) Pair {
    double first, second;
  };
  struct alignas(16) Four {
    Real of[4];
  };

  // Whether no period depends on another.
  static PANDORA_HD bool separate(const LaneSpec& spec) { return !spec.online() && !spec.paces(); }

  PANDORA_HD const Team& team() const { return all_.team; }
  PANDORA_HD static unsigned below(int i) { return (1u << i) - 1u; }

  // A period's outcome: the order of the boxes and the deployed one, two bits each, how many were opened, and which.
  template <int n>
  static PANDORA_HD PANDORA_INLINE int packed(const int (&order)[n], int queried, int deployed, unsigned opened) {
    int out = queried << 8 | deployed << 12 | static_cast<int>(opened) << 16;
    PANDORA_UNROLL
    for (int k = 0; k < n; ++k) out |= order[k] << 2 * k;
    return out;
  }
  static PANDORA_HD int queried_in(int outcome) { return outcome >> 8 & 7; }
  static PANDORA_HD int deployed_in(int outcome) { return outcome >> 12 & 3; }
  static PANDORA_HD unsigned opened_in(int outcome) { return static_cast<unsigned>(outcome) >> 16; }

  // x[a] of an array in registers.
  template <class T, int n>
  static PANDORA_HD PANDORA_INLINE T pick(const T (&x)[n], int a) {
    T out = x[0];
    PANDORA_UNROLL
    for (int b = 1; b < n; ++b) out = a == b ? x[b] : out;
    return out;
  }
  template <int F>
  static PANDORA_HD PANDORA_INLINE void load(const double* from, double (&to)[F]) {
    PANDORA_UNROLL
    for (int k = 0; k < F; k += 2) {
      const Pair pair = reinterpret_cast<const Pair*>(from)[k / 2];
      to[k] = pair.first;
      to[k + 1] = pair.second;
    }
  }
  static PANDORA_HD PANDORA_INLINE Four four(const Real* from) { return *reinterpret_cast<const Four*>(from); }
  template <class T>
  static PANDORA_HD PANDORA_INLINE void swap_if(bool swaps, T& x, T& y) {
    const T first = swaps ? y : x, second = swaps ? x : y;
    x = first;
    y = second;
  }
  PANDORA_HD double* y(int of_C, int a) const {
    return y_ + (of_C * tape_.A + a) * WalkMemory::features(tape_.A, tape_.d);
  }
  PANDORA_HD Real* gram(int a) const { return gram_ + a * WalkMemory::column_at(tape_.B); }

  PANDORA_HD void fail(int j) const {
    if (team().rank() == 0) lane_.tally->fail(Failure::not_finite, range_.first_period + j + 1);
  }

  // Every period that is left by a member. Returns the end of those that passed.
  PANDORA_HD PANDORA_INLINE int separate_periods(int first, Mine<int>& outcome) const {
    const SerialTeam alone;
    const Walk<Real, SerialTeam, kMost> walk(alone, problem_, lane_, range_);
    const unsigned failed = all_.which([&](int i) {
      outcome[i] = 0;
      if (i < first || i >= range_.B) return false;
      typename Walk<Real, SerialTeam, kMost>::Decision by;
      double image[RewardState::stride(WalkMemory::kFeatures)];
      walk.decide(i, image, by);
      if (!by.finite) return true;
      const PeriodOutcome& o = by.outcome;
      unsigned open = 0;
      for (int k = 0; k < o.queried; ++k) open |= 1u << o.order[k];
      outcome[i] = packed<1>({0}, o.queried, o.deployed, open);
      const unsigned there = lane_.tape.there_in(lane_.tape.online_row(range_.first_period + i));
      split(i, o, by.stop, by.score, by.response, there);
      return false;
    });
    const int end = failed != 0 ? lowest_bit(failed) : range_.B;
    if (failed != 0) fail(end);
    if (team().rank() == 0) {
      lane_.progress->next = end;
      if (end > first) lane_.progress->due = 0;
    }
    return end;
  }

  // The block's updates of a box's Gram matrix that came before this walk, as a set of periods.
  PANDORA_HD PANDORA_INLINE unsigned periods_of(const GramView<Real>& g) const {
    const int updates = g.count->updates;
    if (updates == 0) return 0;
    PANDORA_ASSERT(updates == g.count->columns);
    Mine<unsigned> bits;
    all_.each([&](int i) { bits[i] = i < updates ? 1u << g.log[i].period : 0u; });
    PANDORA_UNROLL
    for (int mask = 1; mask < kWarp; mask *= 2) {
      const Mine<unsigned> other = all_.exchanged(bits, mask);
      all_.each([&](int i) { bits[i] |= other[i]; });
    }
    return all_.of(bits, 0);
  }

  // The boxes' Gram matrices: rows from `first` on, and before them the C of periods in which a box was opened.
  PANDORA_HD PANDORA_INLINE void take_grams(int first) const {
    constexpr int kAtOnce = 16;  // rows on their way from global memory
    const int width = problem_.shape.width, B = range_.B;
    PANDORA_ROLLED
    for (int a = 0; a < tape_.A; ++a) {
      const GramView<Real>& g = lane_.box[a].design;
      const unsigned done = periods_of(g);
      PANDORA_ROLLED
      for (int start = 0; start < B; start += kAtOnce) {
        Mine<Real> row[kAtOnce];
        PANDORA_UNROLL
        for (int u = 0; u < kAtOnce; ++u) {
          const int r = start + u;
          const bool is_update = r < first && (done >> r & 1) != 0;
          const Real* const from = is_update ? g.column + count_bits(done & below(r)) * width : g.gram + r * width;
          all_.each([&](int i) { row[u][i] = i >= r && i < B && (r >= first || is_update) ? from[i] : Real(0); });
        }
        PANDORA_UNROLL
        for (int u = 0; u < kAtOnce; ++u)
          all_.each([&](int i) {
            if (i >= start + u && i < B) gram(a)[WalkMemory::column_at(i) + start + u] = row[u][i];
          });
      }
    }
  }

  // What a walk keeps in registers.
  template <int kN, int kF>
  struct Held {
    Mine<Real> prediction[kN], square_width[kN], scale[kN];  // p_a[i], w_a[i] and f
    Mine<Real> step;                                         // by which eta_hat's prediction moved (LinUCB)
    unsigned open_in[kN];                                    // the periods of the block in which a box was opened
    int left[kN], reward_left;                               // samples until a solve is due
    Mine<double> M[kF], theta;                               // a row, and its part of theta_hat
    Mine<double> image[kN], linear, square;                  // of the period: rows of y; theta' phi, phi' y
  };

  // The least n with n >= bound.
  static PANDORA_HD int least_from(double bound) {
    return bound < static_cast<double>(INT_MAX) ? static_cast<int>(::ceil(bound)) : INT_MAX;
  }

  template <bool kLearned, int kN, int kF>
  PANDORA_HD PANDORA_INLINE void take(Held<kN, kF>& held, int A, int first) const {
    const int d = tape_.d;
    const bool learns = lane_.spec.online() && lane_.needs.design;
    if (learns) take_grams(first);
    PANDORA_UNROLL
    for (int a = 0; a < kN; ++a) {
      const BoxView<Real>& box = lane_.box[a < A ? a : 0];
      held.open_in[a] = learns && a < A ? periods_of(box.design) : 0;
      held.left[a] = INT_MAX;
      if (lane_.spec.learns_index() && problem_.refit.kind != RefitSchedule::Kind::every)
        held.left[a] =
            least_from(problem_.refit.growth * box.progress->samples_at_solve - 1e-9) - box.progress->samples;
      all_.each([&](int i) {
        held.prediction[a][i] = i < range_.B ? box.prediction[i] : Real(0);
        held.square_width[a][i] = i < range_.B && lane_.needs.widths ? box.design.diagonal[i] : Real(0);
        held.scale[a][i] = Real(0);
      });
    }
    if constexpr (kLearned) {
      const Progress& progress = *lane_.progress;
      held.reward_left =
          least_from(problem_.refit_reward.growth * progress.reward_samples_at_solve - 1e-9) - progress.reward_samples;
      const RewardState state = RewardState::over(lane_.reward_memory, d);
      all_.each([&](int i) {
        const int r = i % 16;
        const double* const from = (i < 16 ? state.design_inverse : state.curvature_inverse) + r * state.stride(d);
        PANDORA_UNROLL
        for (int k = 0; k < kF; ++k) held.M[k][i] = r < d && k < d ? from[k] : 0.0;
        held.theta[i] = r < d ? state.theta[r] : 0.0;
        if (i < kF) theta_[i] = held.theta[i];
      });
    }
    team().sync();
  }

  // Rows of y = M phi for all boxes and both M; theta' phi and phi' y, of Phi^-1 by kWorth, of C by kSlope.
  template <int kN, int kF>
  PANDORA_HD PANDORA_INLINE void make_images(Held<kN, kF>& held, int A, int j) const {
    PANDORA_UNROLL
    for (int a = 0; a < kN; ++a) {
      if (a >= A) break;
      double x[kF];
      load(tape_.phi(j, a), x);
      all_.each([&](int i) {
        double sum = 0.0;
        PANDORA_UNROLL
        for (int k = 0; k < kF; ++k) sum = fused(x[k], held.M[k][i], sum);
        held.image[a][i] = sum;
        if (i % 16 < kF) y(i / 16, a)[i % 16] = sum;
      });
    }
    team().sync();
    all_.each([&](int i) {
      const int a = box_of(i, A);
      double x[kF], t[kF], image[kF], linear = 0.0, square = 0.0;
      load(tape_.phi(j, a), x);
      load(theta_, t);
      load(y(role_of(i) == kSlope ? 1 : 0, a), image);
      PANDORA_UNROLL
      for (int k = 0; k < kF; ++k) {
        linear = fused(t[k], x[k], linear);
        square = fused(image[k], x[k], square);
      }
      held.linear[i] = linear;
      held.square[i] = square;
    });
  }

  // Scores, what outputs are worth, and the slopes' G: a quotient by every member. Returns whose argument is not finite.
  template <bool kLearned, int kN, int kF>
  PANDORA_HD PANDORA_INLINE unsigned value(const Held<kN, kF>& held, int A, int j, int first, double multiplier,
                                           Mine<double>& own) const {
    const LaneSpec& spec = lane_.spec;
    const bool bonus = spec.has_bonus(), payoff = !kLearned && spec.learns_payoff();
    const Real c_rho = static_cast<Real>(spec.width_bonus());
    const double c_theta = spec.c_theta;
    Real z[kN], w[kN];
    PANDORA_UNROLL
    for (int a = 0; a < kN; ++a) {
      z[a] = all_.of(held.prediction[a], j);
      w[a] = all_.of(held.square_width[a], j);
    }
    return all_.which([&](int i) {
      const int a = box_of(i, A), role = role_of(i);
      Real x = pick(z, a);
      const Real square = pick(w, a);
      if (bonus) x += c_rho * static_cast<Real>(::sqrt(square < Real(0) ? Real(0) : square));
      const double index = static_cast<double>(x);
      double value = index;
      if constexpr (kLearned) {
        const double width = ::sqrt(held.square[i] < 0.0 ? 0.0 : held.square[i]),
                     worth = held.linear[i] + (c_theta <= 0.0 ? 0.0 : c_theta * width);
        value = role == kScore ? index : role == kWorth ? worth : held.linear[i];
      }
      // Lambda(x) = 1 - 2 / (e^2x + 1), G(x) = 1 / (1 + e^-x): index_link and logistic.
      const bool link = !kLearned || role == kScore;
      const double quotient = (link ? 2.0 : 1.0) / (exponential(link ? 2.0 * value : -value) + 1.0);
      double mine = link ? 1.0 - quotient : quotient;
      if (payoff) mine = value;
      if (spec.paces()) mine -= role == kScore ? multiplier : 0.0;
      if (spec.forced > 0) {
        const int samples = lane_.box[a].progress->samples + count_bits(pick(held.open_in, a) & ~below(first));
        mine = role == kScore && samples < spec.forced ? kForcedScore : mine;
      }
      if (!kLearned && role != kScore) mine = value = tape_.mu()[j * A + a];
      own[i] = mine;
      return !is_finite(value);
    });
  }

  // Box a was opened in period j: its row of the Gram matrix, C_j in the row's place, and what it makes of the widths;
  // LinUCB's step.
  template <int kN, int kF>
  PANDORA_HD PANDORA_INLINE void open_box(Held<kN, kF>& held, int A, int a, int j, bool payoff) const {
    const int B = range_.B;
    Real *const g = gram(a), *const pivot = g + WalkMemory::column_at(j);
    Mine<Real> row;
    all_.each([&](int i) {
      const Real* const column = i < j ? pivot : g + WalkMemory::column_at(i < B ? i : B - 1);  // one that is there
      Real sum = column[j];
      int q = 0;
      PANDORA_ROLLED
      for (; q + 4 <= j; q += 4) {  // loop: gram row
        const Four c = four(column + q), weight = four(pivot + q);
        PANDORA_UNROLL
        for (int u = 0; u < 4; ++u) sum = fused(-weight.of[u], c.of[u], sum);
      }
      const Four c = four(column + q), weight = four(pivot + q);
      PANDORA_UNROLL
      for (int u = 0; u < 3; ++u) sum = q + u < j ? fused(-weight.of[u], c.of[u], sum) : sum;
      row[i] = sum;
    });
    const Real s = Real(1) + all_.of(row, j), f = ::sqrt(Real(1) / s);
    Real moved = Real(0);
    if (payoff) {
      const double error =
          static_cast<double>(all_.of(held.prediction[a], j)) - (tape_.told()[j * A + a] - tape_.cost()[j * A + a]);
      moved = static_cast<Real>(error / static_cast<double>(s));
    }
    team().sync();
    all_.each([&](int i) {
      held.scale[a][i] = i == j ? f : held.scale[a][i];
      if (payoff) {
        held.step[i] = i == j ? moved : held.step[i];
        held.prediction[a][i] = i > j ? fused(row[i], -moved, held.prediction[a][i]) : held.prediction[a][i];
      }
      const Real c = f * row[i];
      held.square_width[a][i] = i >= j ? fused(-c, c, held.square_width[a][i]) : held.square_width[a][i];
      if (i >= j && i < B) g[WalkMemory::column_at(i) + j] = c;
    });
  }

  // The deployed output: a row of M by every member, theta_hat by those of C.
  template <int kN, int kF>
  PANDORA_HD PANDORA_INLINE void learn_reward(Held<kN, kF>& held, const Mine<double>& own, int A, int j,
                                              int deployed) const {
    const double wide = all_.of(held.square, kWorth * kMost + deployed),
                 deep = all_.of(held.square, kSlope * kMost + deployed), G = all_.of(own, kSlope * kMost + deployed);
    const double error = G - static_cast<double>(tape_.told()[j * A + deployed]);
    const bool steps = problem_.refit_reward.steps;
    all_.each([&](int i) {
      const bool of_phi = i < 16;
      double image[kF], mine = held.image[0][i];
      load(y(of_phi ? 0 : 1, deployed), image);
      PANDORA_UNROLL
      for (int a = 1; a < kN; ++a) mine = deployed == a ? held.image[a][i] : mine;
      const double h = of_phi ? 1.0 : G * (1.0 - G), s = 1.0 + h * (of_phi ? wide : deep), f = ::sqrt(h / s),
                   scaled = -(f * mine), step = error / s;
      if (!of_phi && !steps) return;
      PANDORA_UNROLL
      for (int k = 0; k < kF; ++k) held.M[k][i] = fused(scaled, f * image[k], held.M[k][i]);
      if (of_phi) return;
      held.theta[i] = fused(-step, mine, held.theta[i]);
      if (i < 16 + kF) theta_[i - 16] = held.theta[i];
    });
  }

  // Back to where solves and the next walk look for it, after the periods from `first` to `end`.
  template <bool kLearned, int kN, int kF>
  PANDORA_HD PANDORA_INLINE void leave(const Held<kN, kF>& held, const Mine<int>& outcome, int A, int first,
                                       int end) const {
    const int row = lane_.tape.online_row(range_.first_period), width = problem_.shape.width, d = tape_.d;
    const bool design = lane_.needs.design, payoff = !kLearned && lane_.spec.learns_payoff();
    PANDORA_UNROLL
    for (int a = 0; a < kN; ++a) {
      if (a >= A) break;
      const BoxView<Real>& box = lane_.box[a];
      const GramView<Real>& g = box.design;
      const unsigned open = held.open_in[a], fresh = open & ~below(first);
      const int samples = box.progress->samples, pending = box.progress->pending;
      PANDORA_ASSERT(samples + count_bits(fresh) <= problem_.shape.capacity);
      all_.each([&](int i) {
        if (payoff && i < range_.B) box.prediction[i] = held.prediction[a][i];
        if (design && i < range_.B) g.diagonal[i] = held.square_width[a][i];
        if ((fresh >> i & 1) == 0) return;
        const int nth = count_bits(fresh & below(i)), update = count_bits(open & below(i));
        box.rows[samples + nth] = row + i;
        if (design) g.log[update] = {i, held.scale[a][i], update};
        if (payoff) box.pending_scale[pending + nth] = held.step[i];
      });
      PANDORA_ROLLED
      for (unsigned left = design ? fresh : 0; left != 0; left &= left - 1) {
        const int j = lowest_bit(left), q = count_bits(open & below(j));
        all_.each([&](int i) {
          if (i >= j && i < range_.B) g.column[q * width + i] = gram(a)[WalkMemory::column_at(i) + j];
        });
      }
      team().sync();  // all have read what member 0 changes
      if (team().rank() != 0) continue;
      box.progress->samples = samples + count_bits(fresh);
      if (payoff) box.progress->pending = pending + count_bits(fresh);
      if (design) g.count->updates = g.count->columns = count_bits(open);
    }
    if constexpr (kLearned) {
      const RewardState state = RewardState::over(lane_.reward_memory, d);
      const int samples = lane_.progress->reward_samples;
      PANDORA_ASSERT(samples + (end - first) <= problem_.shape.capacity);
      all_.each([&](int i) {
        if (i >= first && i < end) lane_.deployed[samples + (i - first)] = (row + i) * A + deployed_in(outcome[i]);
        const int r = i % 16;
        double* const to = (i < 16 ? state.design_inverse : state.curvature_inverse) + r * state.stride(d);
        PANDORA_UNROLL
        for (int k = 0; k < kF; ++k)
          if (r < d && k < d) to[k] = held.M[k][i];
        if (i >= 16 && r < d) state.theta[r] = held.theta[i];
      });
      team().sync();
      if (team().rank() == 0) lane_.progress->reward_samples = samples + (end - first);
    }
  }

  // From period to period until something is due; kBoxes = 0: the shape's. Returns the end of those that passed.
  template <bool kLearned, int kBoxes, int kF>
  PANDORA_HD PANDORA_INLINE int learning_walk(int first, Mine<int>& outcome) const {
    constexpr int kN = kBoxes > 0 ? kBoxes : kMost;
    const LaneSpec& spec = lane_.spec;
    const int A = kBoxes > 0 ? kBoxes : tape_.A, B = range_.B;
    const bool online = spec.online(), payoff = !kLearned && spec.learns_payoff(), design = lane_.needs.design;
    double multiplier = lane_.progress->multiplier;
    Held<kN, kF> held;
    take<kLearned>(held, A, first);
    int j = first, due = 0;
    for (; j < B && due == 0; ++j) {  // loop: period
      if constexpr (kLearned) make_images(held, A, j);
      Mine<double> own;
      const unsigned bad = value<kLearned>(held, A, j, first, multiplier, own);
      double score[kN], response[kN];
      int order[kN];
      PANDORA_UNROLL
      for (int a = 0; a < kN; ++a) {
        score[a] = a < A ? all_.of(own, kScore * kMost + a) : -std::numeric_limits<double>::infinity();
        response[a] = all_.of(own, kWorth * kMost + (a < A ? a : 0));
        order[a] = a;
      }
      // Neighbours change places where the second has a higher score: ties stay in the order of boxes.
      PANDORA_UNROLL
      for (int last = kN - 1; last > 0; --last) PANDORA_UNROLL
      for (int k = 0; k < last; ++k) {
        const bool swaps = score[k] < score[k + 1];
        swap_if(swaps, score[k], score[k + 1]);
        swap_if(swaps, response[k], response[k + 1]);
        swap_if(swaps, order[k], order[k + 1]);
      }
      // Boxes are opened until the best output reaches the scores left; LinUCB's first alone.
      const double* const cost = tape_.cost() + j * A;
      double best = response[0], spent = cost[order[0]];
      int queried = 1, deployed = order[0];
      unsigned opened = 1u << order[0];
      PANDORA_UNROLL
      for (int k = 1; k < kN; ++k) {
        const bool opens = k < A && queried == k && best < score[k] && !payoff;
        const bool better = opens && (response[k] > best || (response[k] == best && order[k] < deployed));
        const double after = spent + cost[k < A ? order[k] : 0];
        spent = opens ? after : spent;
        best = better ? response[k] : best;
        deployed = better ? order[k] : deployed;
        opened |= opens ? 1u << order[k] : 0u;
        queried = opens ? k + 1 : queried;
      }
      if ((bad & below(A)) != 0 || (bad >> kWorth * kMost & opened) != 0 ||
          !is_finite(tape_.mu()[j * A + deployed] - spent)) {
        fail(j);
        break;
      }
      const int whole = packed(order, queried, deployed, opened);
      all_.each([&](int i) {
        outcome[i] = i == j ? whole : outcome[i];
        const int a = i % kMost;
        const bool seen = i < kMost || (opened >> a & 1) != 0;
        if (i < 2 * kMost && a < A) (i < kMost ? score_ : response_)[j * A + a] = seen ? own[i] : tape_.mu()[j * A + a];
      });
      if (spec.paces()) multiplier = spec.pacing.next(multiplier, queried, spent);
      if (!online) continue;
      PANDORA_UNROLL
      for (int a = 0; a < kN; ++a) {
        const unsigned opens = opened >> a & 1;
        held.open_in[a] |= opens << j;
        held.left[a] -= static_cast<int>(opens);
        due |= opens != 0 && held.left[a] <= 0 ? 1 << a : 0;
        if (design && opens != 0)
          open_box(held, A, a, j, payoff);
        else if (design && a < A)
          all_.each([&](int i) {
            if (i >= j && i < B) gram(a)[WalkMemory::column_at(i) + j] = Real(0);
          });
      }
      if constexpr (kLearned) {
        learn_reward(held, own, A, j, deployed);
        due |= --held.reward_left <= 0 ? kThetaDue : 0;
      }
      if (!payoff && problem_.refit.due_in_period(range_.first_period + j + 1)) {
        PANDORA_UNROLL
        for (int a = 0; a < kN; ++a) {
          const BoxProgress& box = *lane_.box[a < A ? a : 0].progress;
          const int samples = box.samples + count_bits(held.open_in[a] & ~below(first));
          due |= a < A && (kLearned || samples > box.samples_at_solve) ? 1 << a : 0;
        }
      }
      team().sync();
    }
    if (online) leave<kLearned>(held, outcome, A, first, j);
    team().sync();
    if (team().rank() == 0) {
      lane_.progress->next = j;
      if (j > first) lane_.progress->due = due;
      lane_.progress->multiplier = multiplier;
    }
    return j;
  }

  // The terms of the periods that learning_walk has passed.
  PANDORA_HD PANDORA_INLINE void split_all(const Mine<int>& outcome, int first, int end) const {
    all_.each([&](int i) {
      if (i < first || i >= end) return;
      PeriodOutcome o;
      o.queried = queried_in(outcome[i]);
      o.deployed = deployed_in(outcome[i]);
      o.ranked = tape_.A;
      for (int k = 0; k < tape_.A; ++k) o.order[k] = outcome[i] >> 2 * k & 3;
      split(i, o, lane_.spec.stop, score_ + i * tape_.A, response_ + i * tape_.A, kAllBoxes);
    });
  }

  // Of members 0 to 11, four by four; the others repeat what these do.
  enum Role { kScore, kWorth, kSlope };
  static PANDORA_HD int role_of(int i) { return i / kMost % 4 < 2 ? i / kMost % 4 : kSlope; }
  static PANDORA_HD int box_of(int i, int A) { return i % kMost < A ? i % kMost : A - 1; }

  // A period's terms of the tally's sums, by the member that has the period.
  PANDORA_HD PANDORA_INLINE void split(int i, const PeriodOutcome& outcome, Stop stop, const double* score,
                                       const double* response, unsigned there) const {
    const int A = tape_.A;
    const double *const mu = tape_.mu() + i * A, *const cost = tape_.cost() + i * A;
    const auto opens = [&](const int* order) {
      return opened_by_lane(lane_.spec, stop, outcome.ranked, score, response, order, there);
    };
    const RegretParts parts = regret_parts<kMost>(outcome, A, mu, cost, tape_.sigma() + i * A, opens, there);
    const double spent = spent_on(outcome, cost), gained = mu[outcome.deployed] - spent;
    const float reward = tape_.reward()[i * A + outcome.deployed];
    const double term[WalkMemory::kSums] = {
        parts.wrong_order,     parts.too_early,      parts.too_many, parts.wrong_deployment,
        parts.wrong_order_gap, parts.too_early_gap,  gained,         gained * gained,
        reward - spent,        mu[outcome.deployed], reward,         spent};
    PANDORA_UNROLL
    for (int k = 0; k < WalkMemory::kSums; ++k) terms()[k * WalkMemory::kRow + i] = term[k];
  }
  PANDORA_HD double* terms() const { return reinterpret_cast<double*>(gram_); }

  // The periods join the tally: a sum by a member each, in the order of the periods.
  PANDORA_HD PANDORA_INLINE void count(const Mine<int>& outcome, int first, int end) const {
    LaneTally& tally = *lane_.tally;
    const int A = tape_.A, periods = tally.periods, recorded = tally.recorded, next = tally.next;
    constexpr int kParts = static_cast<int>(sizeof(RegretParts) / sizeof(double));
    static_assert(kParts + 6 == WalkMemory::kSums && offsetof(LaneTally, cost) == offsetof(LaneTally, utility) + 40);
    team().sync();
    all_.each([&](int k) {
      if (k >= WalkMemory::kSums) return;
      double* const total = k < kParts ? &tally.regret.wrong_order + k : &tally.utility + (k - kParts);
      double sum = *total;
      for (int i = first, at = next, entry = recorded; i < end; ++i) {
        sum += terms()[k * WalkMemory::kRow + i];
        if (periods + (i - first) + 1 != at) continue;
        if (k < kParts) (&tally.regret_curve[entry].wrong_order)[k] = sum;
        if (k == kParts) tally.curve[entry] = sum;
        ++entry;
        at = next_checkpoint(at, tally.horizon);
      }
      *total = sum;
    });
    const auto periods_with = [&](auto&& holds) {
      return count_bits(all_.which([&](int i) { return i >= first && i < end && holds(outcome[i]); }));
    };
    for (int a = 0; a < A; ++a) {
      const int queries = periods_with([a](int o) { return (opened_in(o) >> a & 1) != 0; }),
                deployments = periods_with([a](int o) { return deployed_in(o) == a; }),
                depth = periods_with([a](int o) { return queried_in(o) == a + 1; });
      if (team().rank() != 0) continue;
      tally.queries_of_box[a] += queries;
      tally.deployments_of_box[a] += deployments;
      tally.depth[a + 1] += depth;
    }
    if (team().rank() == 0) {
      int at = next, entry = recorded;
      for (; at != 0 && at <= periods + (end - first); at = next_checkpoint(at, tally.horizon)) ++entry;
      tally.periods = periods + (end - first);
      tally.next = at;
      tally.recorded = entry;
    }
    team().sync();
  }

  const Members<Team> all_;
  const Problem<Real>& problem_;
  const LaneView<Real>& lane_;
  const BlockRange range_;
  const WalkMemory tape_;
  Real* const gram_;
  double *const y_, *const theta_, *const score_, *const response_;
};

}  // namespace pandora::engine
