// A lane's way through a block by a warp: what Walk (walk.hpp) does, with the same bytes, for the lanes and shapes that
// fits() takes. Walk keeps a lane in global memory, and its members do the same work side by side. Here the lane lies in
// registers and in memory that the warp shares, and the members divide the work.
//
// A lane that learns goes from period to period (walk). For boxes a, the periods i of the block and the period j that
// passes,
//
//   score_a = Lambda(p_a[i] + c_rho w_a[i]^(1/2)) at i = j     p_a[i] = psi_i' rho_a,  w_a[i] = psi_i' V_a^-1 psi_i
//   worth_a = G(theta' phi_a + c_theta (phi_a' y)^(1/2))       y = M phi_a,  M = Phi^-1
//   row = gram_j - sum_{q < j} C_q[j] C_q                      f = (1 / (1 + row[j]))^(1/2),  C_j = f row
//   w_a[i] -= C_j[i]^2
//   M -= (f y)(f y)' for M = Phi^-1 and M = C                  f = (h / s)^(1/2),  s = 1 + h phi' y,  h = 1 and G'
//   theta -= y (G - r) / s, y and s of C
//
// where C_q is 0 if box a was not opened in period q.
//
// - Member i has p_a[i], w_a[i] and f of period i.
// - The Gram matrices lie in shared memory by columns, which end at the diagonal: C_j[i] takes the place of gram_j[i],
//   which nobody reads again, and what member i sums over, C_q[i] and C_q[j], are neighbours.
// - Member r has row r of Phi^-1, member 16 + r row r of C, so that no row is ever loaded. y of all boxes is there before
//   it is known which are opened, and serves the update of M too.
// - Lambda and G are quotients over 1 + e^x: members 0 to 3 make a score each, 4 to 7 a worth, 8 to 11 the G of the step
//   of theta, by the same instructions.
// - Regret and tally wait for the walk's end: then every member splits a period of its own, and member k adds the k-th
//   sum in the order of the periods.
//
// Where nothing is learned no period depends on another, and every member decides one by itself (separate).
#pragma once

#include <climits>
#include <cstddef>
#include <limits>

#include "kernels/base/members.hpp"
#include "kernels/lane/walk.hpp"

namespace pandora::engine {

/// Where the lanes of a replication walk: a block of its tape, and a place of its own for each of them. Everything has
/// room for 32 periods, so that all of it lies at fixed distances, of multiples of 16 bytes.
struct WalkMemory {
  int A, d, B;  ///< of the shape
  double* start;

  static constexpr int kSums = 12, kRow = kWarp + 1;  ///< of a tally; their terms, in different banks
  static constexpr int kBoxes = 3, kFeatures = 10;    ///< the paper's shape, for which there is code of its own
  static constexpr int kMostFeatures = 16;            ///< others have as many, zeros behind their own

  static PANDORA_HD constexpr int features(int A, int d) {
    return A == kBoxes && d == kFeatures ? kFeatures : kMostFeatures;
  }
  /// Where column i of a Gram matrix begins: of whole fours.
  static PANDORA_HD constexpr int column_at(int i) { return (i / 4 + 1) * (i / 4 * 8 + i % 4 * 4); }
  static PANDORA_HD constexpr int gram_doubles(int A) {  // the terms take the same place
    return A * column_at(kWarp) / 2 > kSums * kRow ? A * column_at(kWarp) / 2 : kSums * kRow;
  }
  static PANDORA_HD constexpr int tape_doubles(int A, int d) { return kWarp * A * (features(A, d) + 4); }
  static PANDORA_HD constexpr int lane_doubles(int A, int d) {
    return gram_doubles(A) + (2 * A + 1) * features(A, d) + 2 * kWarp * A + kWarp * A / 2;
  }
  static PANDORA_HD constexpr std::size_t bytes(int A, int d, int, int lanes) {
    return sizeof(double) * static_cast<std::size_t>(tape_doubles(A, d) + lanes * lane_doubles(A, d));
  }

  PANDORA_HD double* phi(int j, int a) const { return start + (j * A + a) * features(A, d); }
  PANDORA_HD double* mu() const { return phi(kWarp, 0); }
  PANDORA_HD double* cost() const { return mu() + kWarp * A; }
  PANDORA_HD double* sigma() const { return cost() + kWarp * A; }
  PANDORA_HD float* reward() const { return reinterpret_cast<float*>(sigma() + kWarp * A); }
  PANDORA_HD float* told() const { return reward() + kWarp * A; }
  PANDORA_HD double* lane(int l) const { return start + tape_doubles(A, d) + l * lane_doubles(A, d); }
};
static_assert(WalkMemory::bytes(3, 10, 32, 4) <= std::size_t{48} << 10);

/// How far a walk came, what waits for a solve, and whether the period that follows fails.
struct Passed {
  int end, due;
  bool failed;
};

/// kBoxes, kFeatures: the shape where it is known to the compiler.
template <class Real, class Team, int kBoxes = 0, int kFeatures = WalkMemory::kMostFeatures>
class WarpWalk {
 public:
  /// Shapes for which there is room.
  static PANDORA_HD bool fits(const Shape& shape) {
    return shape.A <= 4 && shape.d <= WalkMemory::kMostFeatures && shape.B <= kWarp;
  }
  /// Lanes of such shapes: those that learn nothing online, LinUCB, and those with learned indices, constant bonuses and
  /// Weitzman's rule, solved for as a box's samples grow, where every reward is told at once. Not recorded ones.
  static PANDORA_HD bool fits(const Problem<Real>& problem, const LaneView<Real>& lane) {
    const LaneSpec& spec = lane.spec;
    if (!fits(problem.shape) || lane.decisions != nullptr || lane.outcomes != nullptr) return false;
    if (is_separate(spec)) return true;
    const bool by_index = spec.learns_index() && spec.stop == Stop::best_reaches_scores_left &&
                          spec.loss == Loss::reservation && !spec.fits_jointly() && !lane.needs.steps;
    const bool by_payoff = spec.learns_payoff() && spec.stop == Stop::after_first && !spec.learns_reward();
    return (by_index || by_payoff) && spec.order == Order::by_score && !(spec.epsilon > 0.0) && !spec.thompson &&
           spec.bonus.kind == Bonus::constant && problem.refit.kind != RefitSchedule::Kind::every &&
           lane.tape.there == nullptr && lane.chosen == nullptr && lane.box[0].weight == nullptr &&
           lane.box[0].learned == nullptr;
  }

  /// A block's tape, by the whole team.
  template <class Whole>
  static PANDORA_HD void stage(const Whole& team, const Problem<Real>& problem, const TapeView<Real>& tape,
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

  /// `tape`: staged; `own`: its place for this lane.
  PANDORA_HD WarpWalk(const Team& team, const Problem<Real>& problem, const LaneView<Real>& lane, BlockRange range,
                      const WalkMemory& tape, double* own)
      : all_{team},
        problem_(problem),
        lane_(lane),
        range_(range),
        tape_{kBoxes > 0 ? kBoxes : tape.A, kBoxes > 0 ? kFeatures : tape.d, tape.B, tape.start},
        gram_(reinterpret_cast<Real*>(own)),
        y_(own + WalkMemory::gram_doubles(tape_.A)),
        score_(y_ + (2 * tape_.A + 1) * WalkMemory::features(tape_.A, tape_.d)) {}

  /// Goes on from where the lane stands until the block ends or something waits for a solve (progress->due).
  PANDORA_HD PANDORA_INLINE void run() const {
    static_assert(kBoxes == 0);
    PANDORA_ASSERT(fits(problem_, lane_) && range_.B <= tape_.B && tape_.B == problem_.shape.B);
    using OfPaper = WarpWalk<Real, Team, WalkMemory::kBoxes, WalkMemory::kFeatures>;
    const int first = lane_.progress->next;
    if (first >= range_.B) return;
    Mine<int> outcome;
    all_.each([&](int i) { outcome[i] = 0; });
    Passed passed;
    if (is_separate(lane_.spec)) {
      passed = separate(first, outcome);
    } else if (tape_.A == WalkMemory::kBoxes && tape_.d == WalkMemory::kFeatures) {
      const OfPaper here(team(), problem_, lane_, range_, tape_, reinterpret_cast<double*>(gram_));
      passed = lane_.spec.learns_reward() ? here.template walk<true>(first, outcome)
                                          : here.template walk<false>(first, outcome);
    } else {
      passed = lane_.spec.learns_reward() ? walk<true>(first, outcome) : walk<false>(first, outcome);
    }
    if (passed.end > first) count(outcome, first, passed.end);
    if (team().rank() == 0) {
      if (passed.failed) lane_.tally->fail(Failure::not_finite, range_.first_period + passed.end + 1);
      if (passed.end > first) lane_.progress->due = passed.due;
      lane_.progress->next = passed.end;
    }
    team().sync();
  }

 private:
  template <class, class, int, int>
  friend class WarpWalk;
  static constexpr int kMost = 4, kN = kBoxes > 0 ? kBoxes : kMost;
  // Of members 0 to 11, four by four; the others repeat what these do.
  enum Role { kScore, kWorth, kSlope };
  template <class T>
  using Mine = Own<Team, T>;
  template <class T, int n>
  struct alignas(16) Some {
    T of[n];
  };
  // What a walk keeps in registers.
  struct Held {
    Mine<Real> prediction[kN], square_width[kN];  // p_a[i], w_a[i]
    Mine<Real> step;                              // LinUCB's: by how much eta_hat moved
    unsigned open_in[kN];                         // the periods of the block in which a box was opened
    int left[kN], reward_left;                    // samples until a solve is due
    Mine<double> M[kFeatures];
    Mine<double> y[kN], linear, square;  // of the period; of a box: theta' phi and phi' y
  };

  static PANDORA_HD bool is_separate(const LaneSpec& spec) { return !spec.online() && !spec.paces(); }
  static PANDORA_HD int role_of(int i) { return i / kMost % 4 < 2 ? i / kMost % 4 : kSlope; }
  PANDORA_HD int box_of(int i) const { return i % kMost < tape_.A ? i % kMost : tape_.A - 1; }
  PANDORA_HD const Team& team() const { return all_.team; }

  // A period's outcome; to be added: order[k] << 2 k, 1 << (16 + a) of opened boxes.
  static PANDORA_HD int packed(int queried, int ranked, int deployed, Stop stop) {
    return queried << 8 | ranked << 11 | deployed << 14 | static_cast<int>(stop) << 20;
  }
  static PANDORA_HD int order_in(int outcome, int k) { return outcome >> 2 * k & 3; }
  static PANDORA_HD int queried_in(int outcome) { return outcome >> 8 & 7; }
  static PANDORA_HD int ranked_in(int outcome) { return outcome >> 11 & 7; }
  static PANDORA_HD int deployed_in(int outcome) { return outcome >> 14 & 3; }
  static PANDORA_HD bool opens_in(int outcome, int a) { return (outcome >> (16 + a) & 1) != 0; }
  static PANDORA_HD Stop stop_in(int outcome) { return static_cast<Stop>(outcome >> 20); }
  static PANDORA_HD unsigned below(int i) { return (1u << i) - 1u; }

  // x[a] of an array in registers, numbers from memory to registers, and two that change places, without a branch.
  template <class T>
  static PANDORA_HD PANDORA_INLINE T pick(const T (&x)[kN], int a) {
    T out = x[0];
    PANDORA_UNROLL
    for (int b = 1; b < kN; ++b) out = a == b ? x[b] : out;
    return out;
  }
  static PANDORA_HD PANDORA_INLINE void load(const double* from, double (&to)[kFeatures]) {
    PANDORA_UNROLL
    for (int k = 0; k < kFeatures; k += 2) {
      const auto two = *reinterpret_cast<const Some<double, 2>*>(from + k);
      to[k] = two.of[0];
      to[k + 1] = two.of[1];
    }
  }
  static PANDORA_HD PANDORA_INLINE Some<Real, 4> four(const Real* from) {
    return *reinterpret_cast<const Some<Real, 4>*>(from);
  }
  template <class T>
  static PANDORA_HD PANDORA_INLINE void swap_if(bool swaps, T& x, T& y) {
    const T first = swaps ? y : x, second = swaps ? x : y;
    x = first;
    y = second;
  }
  // The least n with n >= bound.
  static PANDORA_HD int least_from(double bound) {
    return bound < static_cast<double>(INT_MAX) ? static_cast<int>(::ceil(bound)) : INT_MAX;
  }

  PANDORA_HD Real* gram(int a) const { return gram_ + a * WalkMemory::column_at(kWarp); }
  PANDORA_HD double* y(bool of_C, int a) const { return y_ + ((of_C ? tape_.A : 0) + a) * kFeatures; }
  PANDORA_HD double* theta() const { return y_ + 2 * tape_.A * kFeatures; }
  PANDORA_HD Real* scale() const { return reinterpret_cast<Real*>(score_ + 2 * kWarp * tape_.A); }

  // The periods that are left, one by every member.
  PANDORA_HD PANDORA_INLINE Passed separate(int first, Mine<int>& outcome) const {
    const SerialTeam alone;
    const Walk<Real, SerialTeam, kMost> walk(alone, problem_, lane_, range_);
    const unsigned failed = all_.which([&](int i) {
      if (i < first || i >= range_.B) return false;
      typename Walk<Real, SerialTeam, kMost>::Grounds by;
      double image[RewardState::stride(WalkMemory::kMostFeatures)];
      const PeriodOutcome o = walk.decide(i, image, by);
      if (!by.finite || !walk.gains(o, lane_.tape.online_row(range_.first_period + i))) return true;
      outcome[i] = packed(o.queried, o.ranked, o.deployed, by.stop);
      for (int k = 0; k < o.ranked; ++k)
        outcome[i] |= o.order[k] << 2 * k | (k < o.queried ? 1 << (16 + o.order[k]) : 0);
      for (int a = 0; a < tape_.A; ++a) {
        score_[2 * i * tape_.A + a] = by.score[a];
        score_[(2 * i + 1) * tape_.A + a] = by.response[a];
      }
      return false;
    });
    return {failed != 0 ? lowest_bit(failed) : range_.B, 0, failed != 0};
  }

  // The periods of the block in which a box's Gram matrix has been updated.
  PANDORA_HD PANDORA_INLINE unsigned updates_of(const GramView<Real>& g) const {
    const int updates = g.count->updates;
    Mine<unsigned> periods;
    all_.each([&](int i) { periods[i] = i < updates ? 1u << g.log[i].period : 0u; });
    for (int mask = 1; mask < kWarp; mask *= 2) {
      const Mine<unsigned> other = all_.exchanged(periods, mask);
      all_.each([&](int i) { periods[i] |= other[i]; });
    }
    return all_.of(periods, 0);
  }

  // The Gram matrices: rows from `first` on, and before them C or zeros.
  PANDORA_HD PANDORA_INLINE void take_grams(int first) const {
    constexpr int kAtOnce = 16;  // rows on their way from global memory
    PANDORA_ROLLED
    for (int a = 0; a < tape_.A; ++a) {
      const GramView<Real>& g = lane_.box[a].design;
      const unsigned updated = updates_of(g);
      PANDORA_ROLLED
      for (int start = 0; start < range_.B; start += kAtOnce) {
        Mine<Real> row[kAtOnce];
        PANDORA_UNROLL
        for (int u = 0; u < kAtOnce; ++u) {
          const int r = start + u;
          const bool is_C = r < first, there = !is_C || (updated >> r & 1) != 0;
          const Real* const from = is_C ? g.column + count_bits(updated & below(r)) * problem_.shape.width
                                        : g.gram + r * problem_.shape.width;
          all_.each([&](int i) { row[u][i] = there && i >= r && i < range_.B ? from[i] : Real(0); });
        }
        PANDORA_UNROLL
        for (int u = 0; u < kAtOnce; ++u)
          all_.each([&](int i) {
            if (i >= start + u && i < range_.B) gram(a)[WalkMemory::column_at(i) + start + u] = row[u][i];
          });
      }
    }
  }

  template <bool kLearned>
  PANDORA_HD PANDORA_INLINE void take(Held& held, int first) const {
    const int d = tape_.d;
    const bool learns = lane_.spec.online() && lane_.needs.design, solves = lane_.spec.learns_index();
    if (learns) take_grams(first);
    PANDORA_UNROLL
    for (int a = 0; a < kN; ++a) {
      const BoxView<Real>& box = lane_.box[a < tape_.A ? a : 0];
      const BoxProgress& done = *box.progress;
      held.open_in[a] = learns ? updates_of(box.design) : 0;
      held.left[a] = solves ? least_from(problem_.refit.growth * done.samples_at_solve - 1e-9) - done.samples : INT_MAX;
      all_.each([&](int i) {
        held.prediction[a][i] = i < range_.B ? box.prediction[i] : Real(0);
        held.square_width[a][i] = i < range_.B && lane_.needs.widths ? box.design.diagonal[i] : Real(0);
      });
    }
    if constexpr (kLearned) {
      const Progress& done = *lane_.progress;
      held.reward_left =
          least_from(problem_.refit_reward.growth * done.reward_samples_at_solve - 1e-9) - done.reward_samples;
      const RewardState state = RewardState::over(lane_.reward_memory, d);
      all_.each([&](int i) {
        const int r = i % 16;
        const double* const from = (i < 16 ? state.design_inverse : state.curvature_inverse) + r * state.stride(d);
        PANDORA_UNROLL
        for (int k = 0; k < kFeatures; ++k) held.M[k][i] = r < d && k < d ? from[k] : 0.0;
        if (i < kFeatures) theta()[i] = i < d ? state.theta[i] : 0.0;
      });
    }
    team().sync();
  }

  // y of all boxes and both M; theta' phi, and phi' y of Phi^-1 (kWorth) and C (kSlope).
  PANDORA_HD PANDORA_INLINE void make_images(Held& held, int j) const {
    PANDORA_UNROLL
    for (int a = 0; a < kN; ++a) {
      if (a >= tape_.A) break;
      double x[kFeatures];
      load(tape_.phi(j, a), x);
      all_.each([&](int i) {
        double sum = 0.0;
        PANDORA_UNROLL
        for (int k = 0; k < kFeatures; ++k) sum = fused(x[k], held.M[k][i], sum);
        held.y[a][i] = sum;
        if (i % 16 < kFeatures) y(i >= 16, a)[i % 16] = sum;
      });
    }
    team().sync();
    all_.each([&](int i) {
      double x[kFeatures], t[kFeatures], image[kFeatures], linear = 0.0, square = 0.0;
      load(tape_.phi(j, box_of(i)), x);
      load(theta(), t);
      load(y(role_of(i) == kSlope, box_of(i)), image);
      PANDORA_UNROLL
      for (int k = 0; k < kFeatures; ++k) {
        linear = fused(t[k], x[k], linear);
        square = fused(image[k], x[k], square);
      }
      held.linear[i] = linear;
      held.square[i] = square;
    });
  }

  // Scores, worths and slopes; returns the members whose argument is not finite. The links hide it.
  template <bool kLearned>
  PANDORA_HD PANDORA_INLINE unsigned evaluate(const Held& held, int j, int first, bool paces,
                                              Mine<double>& value) const {
    const LaneSpec& spec = lane_.spec;
    const bool bonus = spec.has_bonus(), payoff = !kLearned && spec.learns_payoff();
    const Real c_rho = static_cast<Real>(spec.width_bonus());
    Real z[kN], w[kN];
    PANDORA_UNROLL
    for (int a = 0; a < kN; ++a) {
      z[a] = all_.of(held.prediction[a], j);
      w[a] = all_.of(held.square_width[a], j);
    }
    return all_.which([&](int i) {
      const int a = box_of(i), role = role_of(i);
      Real x = pick(z, a);
      const Real square = pick(w, a);
      if (bonus) x += c_rho * static_cast<Real>(::sqrt(square < Real(0) ? Real(0) : square));
      double of = static_cast<double>(x);
      if constexpr (kLearned) {
        const double width = ::sqrt(held.square[i] < 0.0 ? 0.0 : held.square[i]),
                     worth = held.linear[i] + (spec.c_theta <= 0.0 ? 0.0 : spec.c_theta * width);
        of = role == kScore ? of : role == kWorth ? worth : held.linear[i];
      }
      const bool index = !kLearned || role == kScore;  // index_link, else logistic
      const double quotient = (index ? 2.0 : 1.0) / (exponential(index ? 2.0 * of : -of) + 1.0);
      double out = payoff ? of : index ? 1.0 - quotient : quotient;
      if (paces) out -= role == kScore ? lane_.progress->multiplier : 0.0;
      if (spec.forced > 0) {
        const int samples = lane_.box[a].progress->samples + count_bits(pick(held.open_in, a) & ~below(first));
        out = role == kScore && samples < spec.forced ? kForcedScore : out;
      }
      if (!kLearned && role != kScore) out = of = tape_.mu()[j * tape_.A + a];
      value[i] = out;
      return !is_finite(of);
    });
  }

  // Box a was opened in period j.
  PANDORA_HD PANDORA_INLINE void update_widths(Held& held, int a, int j, bool payoff) const {
    Real *const g = gram(a), *const pivot = g + WalkMemory::column_at(j);
    Mine<Real> row;
    all_.each([&](int i) {
      const Real *column = i < j ? pivot : g + WalkMemory::column_at(i < range_.B ? i : range_.B - 1), *at_j = pivot;
      Real sum = column[j];
      int left = j;
      PANDORA_ROLLED
      for (; left >= 4; left -= 4, column += 4, at_j += 4) {  // loop: gram row
        const auto c = four(column), weight = four(at_j);
        PANDORA_UNROLL
        for (int u = 0; u < 4; ++u) sum = fused(-weight.of[u], c.of[u], sum);
      }
      const auto c = four(column), weight = four(at_j);
      PANDORA_UNROLL
      for (int u = 0; u < 3; ++u) sum = u < left ? fused(-weight.of[u], c.of[u], sum) : sum;
      row[i] = sum;
    });
    const Real s = Real(1) + all_.of(row, j), f = ::sqrt(Real(1) / s);
    Real step = Real(0);
    if (payoff) {
      const int at = j * tape_.A + a;
      const double error = static_cast<double>(all_.of(held.prediction[a], j)) - (tape_.told()[at] - tape_.cost()[at]);
      step = static_cast<Real>(error / static_cast<double>(s));
    }
    team().sync();  // all have read column j
    all_.each([&](int i) {
      const Real c = f * row[i];
      if (i == j) scale()[a * kWarp + j] = f;
      held.square_width[a][i] = i >= j ? fused(-c, c, held.square_width[a][i]) : held.square_width[a][i];
      if (i >= j && i < range_.B) g[WalkMemory::column_at(i) + j] = c;
      if (!payoff) return;
      held.step[i] = i == j ? step : held.step[i];
      held.prediction[a][i] = i > j ? fused(row[i], -step, held.prediction[a][i]) : held.prediction[a][i];
    });
  }

  // The reward of the output that was deployed in period j.
  PANDORA_HD PANDORA_INLINE void learn_reward(Held& held, const Mine<double>& value, int j, int deployed) const {
    const double of_phi = all_.of(held.square, kWorth * kMost + deployed),
                 of_C = all_.of(held.square, kSlope * kMost + deployed), G = all_.of(value, kSlope * kMost + deployed),
                 error = G - static_cast<double>(tape_.told()[j * tape_.A + deployed]);
    team().sync();  // all have read theta
    all_.each([&](int i) {
      const bool is_C = i >= 16;
      double image[kFeatures], own = held.y[0][i];
      load(y(is_C, deployed), image);
      PANDORA_UNROLL
      for (int a = 1; a < kN; ++a) own = deployed == a ? held.y[a][i] : own;
      const double h = is_C ? G * (1.0 - G) : 1.0, s = 1.0 + h * (is_C ? of_C : of_phi), f = ::sqrt(h / s),
                   scaled = -(f * own), step = error / s;
      if (is_C && !problem_.refit_reward.steps) return;
      PANDORA_UNROLL
      for (int k = 0; k < kFeatures; ++k) held.M[k][i] = fused(scaled, f * image[k], held.M[k][i]);
      if (is_C && i < 16 + kFeatures) theta()[i - 16] = fused(-step, own, theta()[i - 16]);
    });
  }

  // From period to period until something is due.
  template <bool kLearned>
  PANDORA_HD PANDORA_INLINE Passed walk(int first, Mine<int>& outcome) const {
    const LaneSpec& spec = lane_.spec;
    const int A = tape_.A;
    Held held;
    take<kLearned>(held, first);
    const bool online = spec.online(), payoff = !kLearned && spec.learns_payoff(), design = lane_.needs.design,
               paces = spec.paces();
    int j = first, due = 0;
    bool failed = false;
    for (; j < range_.B && due == 0; ++j) {  // loop: period
      if constexpr (kLearned) make_images(held, j);
      Mine<double> value;
      const unsigned bad = evaluate<kLearned>(held, j, first, paces, value);
      double score[kN], worth[kN];
      int order[kN];
      PANDORA_UNROLL
      for (int a = 0; a < kN; ++a) {
        score[a] = a < A ? all_.of(value, kScore * kMost + a) : -std::numeric_limits<double>::infinity();
        worth[a] = all_.of(value, kWorth * kMost + a);
        order[a] = a;
      }
      // Neighbours change places where the second has the higher score: ties stay in the order of boxes.
      PANDORA_UNROLL
      for (int k = 0; k < kN * (kN - 1) / 2; ++k) {
        const int at = kN == 4 ? (k < 3 ? k : k < 5 ? k - 3 : 0) : k % 2;
        const bool swaps = score[at] < score[at + 1];
        swap_if(swaps, score[at], score[at + 1]);
        swap_if(swaps, worth[at], worth[at + 1]);
        swap_if(swaps, order[at], order[at + 1]);
      }
      // Boxes are opened until the best output reaches the scores left; LinUCB opens the first alone.
      const double *const cost = tape_.cost() + j * A, *const mu = tape_.mu() + j * A;
      double best = worth[0], spent = cost[order[0]];
      int queried = 1, deployed = order[0], ordered = order[0];
      unsigned opened = 1u << order[0];
      PANDORA_UNROLL
      for (int k = 1; k < kN; ++k) {
        const bool opens = (k < A) & (queried == k) & (best < score[k]) & !payoff;  // no branches
        const bool better = opens & ((worth[k] > best) | ((worth[k] == best) & (order[k] < deployed)));
        const double after = spent + cost[k < A ? order[k] : 0];
        spent = opens ? after : spent;
        best = better ? worth[k] : best;
        deployed = better ? order[k] : deployed;
        opened |= opens ? 1u << order[k] : 0u;
        queried = opens ? k + 1 : queried;
        ordered |= order[k] << 2 * k;
      }
      const bool finite = is_finite(mu[deployed] - spent);
      failed = (bad & (below(A) | opened << kWorth * kMost)) != 0 || !finite;
      if (failed) break;
      const int whole = packed(queried, A, deployed, Stop{}) | ordered | static_cast<int>(opened) << 16;
      all_.each([&](int i) {
        outcome[i] = i == j ? whole : outcome[i];
        const int a = i % kMost;
        const bool known = i < kMost || (opened >> a & 1) != 0;  // outputs that nobody saw answer with mu*
        if (i < 2 * kMost && a < A) score_[(2 * j + i / kMost) * A + a] = known ? value[i] : mu[a];
      });
      if (paces) {
        const double next = spec.pacing.next(lane_.progress->multiplier, queried, spent);
        team().sync();
        if (team().rank() == 0) lane_.progress->multiplier = next;
        team().sync();
      }
      if (!online) continue;
      PANDORA_UNROLL
      for (int a = 0; a < kN; ++a) {
        if (a >= A) break;
        const unsigned opens = opened >> a & 1;
        held.open_in[a] |= opens << j;
        held.left[a] -= static_cast<int>(opens);
        due |= opens != 0 && held.left[a] <= 0 ? 1 << a : 0;
        if (design && opens != 0)
          update_widths(held, a, j, payoff);
        else if (design)
          all_.each([&](int i) {
            if (i >= j && i < range_.B) gram(a)[WalkMemory::column_at(i) + j] = Real(0);
          });
      }
      if constexpr (kLearned) {
        learn_reward(held, value, j, deployed);
        due |= --held.reward_left <= 0 ? kThetaDue : 0;
      }
      team().sync();
    }
    if (online) leave<kLearned>(held, outcome, first, j);
    all_.each([&](int i) { outcome[i] |= packed(0, 0, 0, spec.stop); });
    return {j, due, failed};
  }

  // Back to where solves and the next walk look for it.
  template <bool kLearned>
  PANDORA_HD PANDORA_INLINE void leave(const Held& held, const Mine<int>& outcome, int first, int end) const {
    const int row = lane_.tape.online_row(range_.first_period), d = tape_.d;
    const bool design = lane_.needs.design, payoff = !kLearned && lane_.spec.learns_payoff();
    PANDORA_UNROLL
    for (int a = 0; a < kN; ++a) {
      if (a >= tape_.A) break;
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
        if (design) g.log[update] = {i, scale()[a * kWarp + i], update};
        if (payoff) box.pending_scale[pending + nth] = held.step[i];
      });
      PANDORA_ROLLED
      for (unsigned left = design ? fresh : 0; left != 0; left &= left - 1) {
        const int j = lowest_bit(left);
        Real* const to = g.column + count_bits(open & below(j)) * problem_.shape.width;
        all_.each([&](int i) {
          if (i >= j && i < range_.B) to[i] = gram(a)[WalkMemory::column_at(i) + j];
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
        if (i >= first && i < end)
          lane_.deployed[samples + (i - first)] = (row + i) * tape_.A + deployed_in(outcome[i]);
        const int r = i % 16;
        double* const to = (i < 16 ? state.design_inverse : state.curvature_inverse) + r * state.stride(d);
        PANDORA_UNROLL
        for (int k = 0; k < kFeatures; ++k)
          if (r < d && k < d) to[k] = held.M[k][i];
        if (i < d) state.theta[i] = theta()[i];
      });
      team().sync();
      if (team().rank() == 0) lane_.progress->reward_samples = samples + (end - first);
    }
  }

  // The periods that passed join the tally.
  PANDORA_HD PANDORA_INLINE void count(const Mine<int>& outcome, int first, int end) const {
    LaneTally& tally = *lane_.tally;
    const int A = tape_.A, periods = tally.periods, recorded = tally.recorded, next = tally.next;
    double* const terms = reinterpret_cast<double*>(gram_);
    team().sync();
    all_.each([&](int i) {
      if (i < first || i >= end) return;
      PeriodOutcome o;
      o.queried = queried_in(outcome[i]);
      o.ranked = ranked_in(outcome[i]);
      o.deployed = deployed_in(outcome[i]);
      for (int k = 0; k < o.ranked; ++k) o.order[k] = order_in(outcome[i], k);
      const double *const mu = tape_.mu() + i * A, *const cost = tape_.cost() + i * A;
      const unsigned there = lane_.tape.there_in(lane_.tape.online_row(range_.first_period + i));
      const auto opens = [&](const int* order) {
        return opened_by_lane(lane_.spec, stop_in(outcome[i]), o.ranked, score_ + 2 * i * A, score_ + (2 * i + 1) * A,
                              order, there);
      };
      const RegretParts parts = regret_parts<kMost>(o, A, mu, cost, tape_.sigma() + i * A, opens, there);
      const double spent = spent_on(o, cost), quality = mu[o.deployed], gained = quality - spent;
      const float reward = tape_.reward()[i * A + o.deployed];
      const double sums[] = {gained, gained * gained, reward - spent, quality, reward, spent};
      PANDORA_UNROLL
      for (int k = 0; k < WalkMemory::kSums; ++k)
        terms[k * WalkMemory::kRow + i] = k < kParts ? (&parts.wrong_order)[k] : sums[k < kParts ? 0 : k - kParts];
    });
    team().sync();
    all_.each([&](int k) {
      if (k >= WalkMemory::kSums) return;
      double* const total = k < kParts ? &tally.regret.wrong_order + k : &tally.utility + (k - kParts);
      double sum = *total;
      int at = next, entry = recorded;
      for (int i = first; i < end; ++i) {
        sum += terms[k * WalkMemory::kRow + i];
        if (periods + (i - first) + 1 != at) continue;
        if (k < kParts) (&tally.regret_curve[entry].wrong_order)[k] = sum;
        if (k == kParts) tally.curve[entry] = sum;
        ++entry;
        at = next_checkpoint(at, tally.horizon);
      }
      *total = sum;
      if (k > 0) return;
      tally.periods = periods + (end - first);
      tally.next = at;
      tally.recorded = entry;
    });
    const auto count_of = [&](auto&& holds) {
      return count_bits(all_.which([&](int i) { return i >= first && i < end && holds(outcome[i]); }));
    };
    PANDORA_ROLLED
    for (int a = 0; a < A; ++a) {
      const int queries = count_of([a](int o) { return opens_in(o, a); }),
                deployments = count_of([a](int o) { return deployed_in(o) == a; }),
                depth = count_of([a](int o) { return queried_in(o) == a + 1; });
      if (team().rank() != 0) continue;
      tally.queries_of_box[a] += queries;
      tally.deployments_of_box[a] += deployments;
      tally.depth[a + 1] += depth;
    }
  }
  static constexpr int kParts = kCountOfParts + kCountOfGaps;  // the first sums; the others from `utility` to `cost`
  static_assert(kParts + 6 == WalkMemory::kSums && offsetof(LaneTally, cost) - offsetof(LaneTally, utility) == 40);

  const Members<Team> all_;
  const Problem<Real>& problem_;
  const LaneView<Real>& lane_;
  const BlockRange range_;
  const WalkMemory tape_;
  Real* const gram_;
  double *const y_, *const score_;
};

}  // namespace pandora::engine
