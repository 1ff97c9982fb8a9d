// A lane's way through a block by a warp. It does the same as Walk (walk.hpp), with the same bytes, for the lanes and
// shapes that fits() accepts. Walk keeps a lane in global memory, and its members do the same work side by side. Here
// the lane lies in registers and in memory that the warp shares, and the members divide the work.
//
// A lane that learns goes from period to period (walk). For boxes a, periods i of the block and the current period j,
// with C_q a box's column of period q (0 if it was not opened) and the matrix C, the inverse curvature of theta's fit,
//
//   score_a = Lambda(p_a[j] + c_rho w_a[j]^(1/2))              p_a[i] = psi_i' rho_a,  w_a[i] = psi_i' V_a^-1 psi_i
//   worth_a = G(theta' phi_a + c_theta (phi_a' y)^(1/2))       y = Phi^-1 phi_a
//   row = gram_j - sum_{q < j} C_q[j] C_q                      f = (1 / (1 + row[j]))^(1/2),  C_j = f row
//   w_a[i] -= C_j[i]^2
//   M -= (e y)(e y)', y = M phi, for M = Phi^-1 and M = C      e = (g / s)^(1/2),  s = 1 + g phi' y,  g = 1 and G'
//   theta -= y (G - r) / s, y and s of C
//
// If theta moves only by solves (RewardSchedule::steps is false), C and theta do not change during a walk. LinUCB opens
// only the box with the greatest p_a[j] + c_b w_a[j]^(1/2); then p_a[i] -= row[i] (p_a[j] - (r - c)) / (1 + row[j]),
// with reward r and cost c.
//
// Under `tracking` an opened box has a second Gram matrix, that of the curvature's inverse. Its rows and C follow the
// same recursion with h = Lambda'(z) 1{mu > Lambda(z)} in place of 1, s = 1 + h row[j] and f = (h / s)^(1/2). With its
// rows, for i > j and the reward's features k,
//
//   p_a[i] -= row[i] m(z) / s                         0 for m(z) / s where a solve follows
//   N_a[i][k] += row[i] r_k                           r_k = (G' phi_k - h N_a[j][k]) / s, where h > 0
//   p_a[i] += sum_k N_a[i][k] (theta now - before)_k  of every box and i, when theta has moved
//
// - Member i holds p_a[i], w_a[i] and f of period i.
// - The Gram matrices lie in shared memory by columns, which end at the diagonal. For i > j, C_j[i] takes the place of
//   gram_j[i], which nobody reads again; for i >= j it also goes to the lane's memory. For q = 0, 1, ..., the C_q[i] (and C_q[j]) over which member i sums lie side by side.
// - Member r holds row r of Phi^-1 and member 16 + r row r of C, so that no row is ever loaded. y is computed for all
//   boxes before it is known which are opened; the update of M uses it too.
// - Lambda and G are quotients over 1 + e^x. By the same instructions, members 0 to 3 each compute a score, 4 to 7 the
//   value (worth) of an output, and 8 to 11 the G of theta's step.
// - Under `tracking` one loop goes through both Gram matrices of a box, so that their sums overlap. All quotients of a
//   step (r_k, m(z) / s, h / s, the design's 1 / s) are one division, by a member each. N_a[i] is in shared memory.
// - Every period adds a sample, so the latest period at which a solve can fall due is known. No later rows are loaded.
// - Regret and tally come at the walk's end: every member splits one period, and member k adds up the k-th sum in order.
//
// If a lane learns nothing, no period depends on another, and every member decides periods by itself (separate).
#pragma once

#include <climits>
#include <cstddef>
#include <limits>

#include "kernels/base/members.hpp"
#include "kernels/lane/walk.hpp"
#include "kernels/lane/walk_memory.hpp"
#include "kernels/products/square_tiles.hpp"

namespace pandora::engine {

/// How far a walk came, which solves are due, and whether the next period fails.
struct Passed {
  int end, due;
  bool failed;
};

/// kBoxes, kFeatures: the shape, if the compiler knows it.
template <class Real, class Team, int kBoxes = 0, int kFeatures = WalkMemory::kMostFeatures>
class WarpWalk {
 public:
  /// Whether there is room for the shape.
  static PANDORA_HD bool fits(const Shape& shape) {
    return shape.A <= 4 && shape.d <= WalkMemory::kMostFeatures && shape.B <= kWarp;
  }
  /// Whether it takes a lane. The lane must have such a shape and not be recorded. It must learn nothing, be LinUCB, or
  /// learn indices under DOW's rules with a constant bonus and rewards that are told at each period's end.
  static PANDORA_HD bool fits(const Problem<Real>& problem, const LaneView<Real>& lane) {
    const LaneSpec& spec = lane.spec;
    if (!fits(problem.shape) || lane.decisions != nullptr || lane.outcomes != nullptr) return false;
    if (is_separate(spec)) return true;
    const bool by_index = spec.learns_index() && spec.stop == Stop::best_reaches_scores_left &&
                          spec.loss == Loss::reservation && !spec.fits_jointly();
    const bool by_payoff = spec.learns_payoff() && spec.stop == Stop::after_first && !spec.learns_reward();
    return (by_index || by_payoff) && spec.order == Order::by_score && !(spec.epsilon > 0.0) && !spec.thompson &&
           spec.bonus.kind == Bonus::constant && lane.tape.there == nullptr && lane.chosen == nullptr &&
           lane.box[0].weight == nullptr && lane.box[0].learned == nullptr;
  }

  /// WalkMemory::stage() must have filled `tape`; `own` is the place for this lane.
  PANDORA_HD WarpWalk(const Team& team, const Problem<Real>& problem, const LaneView<Real>& lane, BlockRange range,
                      const WalkMemory& tape, double* own)
      : all_{team},
        problem_(problem),
        lane_(lane),
        range_(range),
        tape_{kBoxes > 0 ? kBoxes : tape.A, kBoxes > 0 ? kFeatures : tape.d, tape.B, tape.tracks, tape.start},
        gram_(reinterpret_cast<Real*>(own)),
        y_(own + tape_.gram_doubles()) {}

  /// Goes on from where the lane stands until the block ends or a solve is due (progress->due). kTracks: whether
  /// rho_hat takes a step with every sample (LaneNeeds::steps).
  template <bool kTracks>
  PANDORA_HD PANDORA_INLINE void run() const {
    static_assert(kBoxes == 0);
    PANDORA_ASSERT(fits(problem_, lane_) && range_.B <= tape_.B && tape_.B == problem_.shape.B);
    PANDORA_ASSERT(kTracks == lane_.needs.steps);
    using OfPaper = WarpWalk<Real, Team, WalkMemory::kBoxes, WalkMemory::kFeatures>;
    const int first = lane_.progress->next;
    if (first >= range_.B) return;
    Mine<int> outcome;
    all_.each([&](int i) { outcome[i] = 0; });
    Passed passed;
    if (!kTracks && is_separate(lane_.spec)) {
      passed = separate(first, outcome);
    } else if (tape_.A == WalkMemory::kBoxes && tape_.d == WalkMemory::kFeatures) {
      const OfPaper here(team(), problem_, lane_, range_, tape_, reinterpret_cast<double*>(gram_));
      passed = lane_.spec.learns_reward() ? here.template walk<true, kTracks>(first, outcome)
                                          : here.template walk<false, kTracks>(first, outcome);
    } else {
      passed = lane_.spec.learns_reward() ? walk<true, kTracks>(first, outcome) : walk<false, kTracks>(first, outcome);
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
  // The roles of members 0 to 11, four by four; the other members repeat the same work.
  enum Role { kScore, kWorth, kSlope };
  enum { kOfStep = 16, kOfWeight, kOfDesign };  // the members that divide m(z), h and the design's 1
  template <class T>
  using Mine = Own<Team, T>;
  using Four = engine::Four<Real>;
  // The values that a walk keeps in registers.
  struct Held {
    Mine<Real> prediction[kN], square_width[kN], scale[kN];  // p_a[i], w_a[i], f
    Mine<Real> step;                                         // LinUCB: by how much eta_hat moved
    unsigned open_in[kN];                                    // the periods of the block in which a box was opened
    int left[kN], reward_left;                               // samples until a solve is due
    Mine<double> M[kFeatures];
    Mine<double> linear, square;  // for the period and a box: theta' phi and phi' y
    // Under `tracking`: the periods of the block in which the curvature gained a column; m(z), h and G' of the boxes of
    // the kSlope members; and member k's part of theta_hat's move since rho was last up to date (flush).
    unsigned curved_in[kN];
    Mine<Real> moment, weight, slope, moved[kN];
  };

  static PANDORA_HD bool is_separate(const LaneSpec& spec) { return !spec.online() && !spec.paces(); }
  static PANDORA_HD int role_of(int i) { return i / kMost % 4 < 2 ? i / kMost % 4 : kSlope; }
  PANDORA_HD int box_of(int i) const { return i % kMost < tape_.A ? i % kMost : tape_.A - 1; }
  PANDORA_HD const Team& team() const { return all_.team; }

  // A period's outcome in one integer. The caller adds order[k] << 2 k, and 1 << (16 + a) for opened boxes.
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
  static PANDORA_HD unsigned upto(int n) { return n < kWarp ? below(n) : ~0u; }

  // x[a] of an array in registers, and the swap of two elements, without a branch.
  template <class T>
  static PANDORA_HD PANDORA_INLINE T pick(const T (&x)[kN], int a) {
    T out = x[0];
    PANDORA_UNROLL
    for (int b = 1; b < kN; ++b) out = a == b ? x[b] : out;
    return out;
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

  PANDORA_HD Real* gram(int a) const { return gram_ + a * WalkMemory::column_at(tape_.B); }
  PANDORA_HD double* y(bool of_C, int a) const { return y_ + ((of_C ? tape_.A : 0) + a) * kFeatures; }
  PANDORA_HD double* theta() const { return y_ + 2 * tape_.A * kFeatures; }
  // Box a's score and value in period j. They lie at the start of Gram column j, which nobody reads or writes once the
  // period's samples are taken.
  PANDORA_HD double* decided_by(int a, int j) const {
    return reinterpret_cast<double*>(gram(a) + WalkMemory::column_at(j));
  }
  static constexpr int kRow = WalkMemory::coupling_row(kFeatures);
  PANDORA_HD Real* coupling(int a, int i) const {
    return reinterpret_cast<Real*>(y_ + (2 * tape_.A + 1) * kFeatures) + (a * kWarp + i) * kRow;
  }
  PANDORA_HD Real* ranks(int a) const { return coupling(tape_.A, a); }  // r of box a
  PANDORA_HD Real* moves() const { return coupling(tape_.A, tape_.A); }
  PANDORA_HD int samples_since(const Held& held, int a, int first, int j) const {
    return count_bits(held.open_in[a] & ~below(first) & below(j));
  }

  // Decides the remaining periods, one by every member.
  PANDORA_HD PANDORA_INLINE Passed separate(int first, Mine<int>& outcome) const {
    const SerialTeam alone;
    const Walk<Real, SerialTeam, kMost> walk(alone, problem_, lane_, range_);
    const unsigned failed = all_.which([&](int i) {
      if (i < first || i >= range_.B) return false;
      typename Walk<Real, SerialTeam, kMost>::Grounds by;
      double image[RewardState::stride(WalkMemory::kMostFeatures)];
      const PeriodOutcome o = walk.decide(i, image, by);
      if (!by.finite || !walk.gains(o, by, lane_.tape.online_row(range_.first_period + i))) return true;
      outcome[i] = packed(o.queried, o.ranked, o.deployed, by.stop);
      for (int k = 0; k < o.ranked; ++k)
        outcome[i] |= o.order[k] << 2 * k | (k < o.queried ? 1 << (16 + o.order[k]) : 0);
      for (int a = 0; a < tape_.A; ++a) {
        decided_by(a, i)[0] = by.score[a];
        decided_by(a, i)[1] = by.response[a];
      }
      return false;
    });
    return {failed != 0 ? lowest_bit(failed) : range_.B, 0, failed != 0};
  }

  // The periods of the block in which a box's Gram matrix gained a column.
  PANDORA_HD PANDORA_INLINE unsigned columns_of(const GramView<Real>& g) const {
    const int updates = g.count->updates, columns = g.count->columns;
    Mine<unsigned> periods;
    all_.each([&](int i) {
      const int after = i + 1 < updates ? g.log[i + 1].columns_before : columns;
      periods[i] = i < updates && after > g.log[i].columns_before ? 1u << g.log[i].period : 0u;
    });
    all_.template add_up<1, kWarp / 2>(periods);  // the bits are different, so adding them joins the sets
    return all_.of(periods, 0);
  }

  // Loads the Gram matrices: rows `first` to `last`, and before them C or zeros. A design that is not kept is zero.
  template <bool kTracks>
  PANDORA_HD PANDORA_INLINE void take_grams(const Held& held, int first, int last) const {
    constexpr int kAtOnce = 16;  // rows that are on their way from global memory at once
    const int width = problem_.shape.width;
    PANDORA_ROLLED
    for (int n = 0; n < (kTracks ? 2 : 1) * tape_.A; ++n) {
      const int a = n < tape_.A ? n : n - tape_.A;
      const GramView<Real>& g = n < tape_.A ? lane_.box[a].design : lane_.box[a].curvature;
      unsigned updated = pick(held.open_in, a);
      if constexpr (kTracks) updated = n < tape_.A ? updated : pick(held.curved_in, a);
      Real* const own = gram(n);
      const Real *C = g.column, *const rows = g.gram;
      all_.each([&](int i) {
        for (int r = 0; r < last && r <= i && i < range_.B; r += 4)  // also fills the rest of the last four of a column
          *fours(own + WalkMemory::column_at(i) + r) = Four{};
      });
      const bool loads = lane_.needs.design || n >= tape_.A;
      PANDORA_ROLLED
      for (unsigned left = loads ? (updated & below(first)) | (upto(last) & ~below(first)) : 0u; left != 0;) {
        Mine<Real> row[kAtOnce];
        int at[kAtOnce];
        PANDORA_UNROLL
        for (int u = 0; u < kAtOnce; ++u) {
          const int r = at[u] = left != 0 ? lowest_bit(left) : kWarp;
          const Real* const from = r < first ? C : rows + r * width;
          all_.each([&](int i) { row[u][i] = (i < range_.B ? i : -1) >= r ? from[i] : Real(0); });
          C += r < first ? width : 0;
          left &= left - 1;
        }
        PANDORA_UNROLL
        for (int u = 0; u < kAtOnce; ++u)
          all_.each([&](int i) {
            if ((i < range_.B ? i : -1) >= at[u]) own[WalkMemory::column_at(i) + at[u]] = row[u][i];
          });
      }
    }
  }

  // Samples until a box is solved; a solve comes at the next sample at the earliest.
  PANDORA_HD int samples_left(const BoxProgress& done) const {
    const bool tracking = problem_.refit.kind == RefitSchedule::Kind::tracking;
    if (tracking && done.samples < RefitSchedule::kTrackingExact) return 1;
    const double growth = tracking ? RefitSchedule::kTrackingGrowth : problem_.refit.growth;
    return least_from(growth * done.samples_at_solve - 1e-9) - done.samples;
  }

  template <bool kLearned, bool kTracks>
  PANDORA_HD PANDORA_INLINE void take(Held& held, int first) const {
    const int d = tape_.d;
    const bool learns = lane_.spec.online() && lane_.needs.design,
               solves = lane_.spec.learns_index() && problem_.refit.kind != RefitSchedule::Kind::every;
    int last = first + 1;  // one past the latest period at which a solve can fall due: each adds a sample
    PANDORA_UNROLL
    for (int a = 0; a < kN; ++a) {
      const BoxView<Real>& box = lane_.box[a < tape_.A ? a : 0];
      const BoxProgress& done = *box.progress;
      held.open_in[a] = learns ? columns_of(box.design) : 0;
      held.left[a] = solves ? samples_left(done) : INT_MAX;
      if (a < tape_.A) last += held.left[a] < 1 ? 0 : held.left[a] < kWarp ? held.left[a] - 1 : kWarp;
      all_.each([&](int i) {
        held.prediction[a][i] = i < range_.B ? box.prediction[i] : Real(0);
        held.square_width[a][i] = i < range_.B && lane_.needs.widths ? box.design.diagonal[i] : Real(0);
        held.scale[a][i] = Real(0);
      });
      if constexpr (!kTracks) continue;
      held.curved_in[a] = columns_of(box.curvature);
      if constexpr (!kLearned) continue;
      if (a >= tape_.A) continue;
      all_.each([&](int i) {
        held.moved[a][i] = i < d ? box.theta_moved[i] : Real(0);
        Real N[kRow];  // a multiple of four
        PANDORA_UNROLL
        for (int k = 0; k < kRow; ++k)
          N[k] = k < d && i < range_.B ? box.coupling[k * problem_.shape.width + i] : Real(0);
        PANDORA_UNROLL
        for (int k = 0; k < kRow; ++k) coupling(a, i)[k] = N[k];
      });
    }
    if constexpr (kLearned) {
      const Progress& done = *lane_.progress;
      held.reward_left =
          least_from(problem_.refit_reward.growth * done.reward_samples_at_solve - 1e-9) - done.reward_samples;
      const int until = first + (held.reward_left > 1 ? held.reward_left < kWarp ? held.reward_left : kWarp : 1);
      last = last < until ? last : until;
      const RewardState state = RewardState::over(lane_.reward_memory, d);
      all_.each([&](int i) {
        const int r = i % 16;
        const double* const from = (i < 16 ? state.design_inverse : state.curvature_inverse) + r * state.stride(d);
        PANDORA_UNROLL
        for (int k = 0; k < kFeatures; ++k) held.M[k][i] = r < d && k < d ? from[k] : 0.0;
        if (i < kFeatures) theta()[i] = i < d ? state.theta[i] : 0.0;
        if (kTracks && i < kRow) moves()[i] = Real(0);
      });
    }
    if (learns || kTracks) take_grams<kTracks>(held, first, last < range_.B ? last : range_.B);
    team().sync();
  }

  // Computes y of all boxes and both M, theta' phi, and phi' y for Phi^-1 (kWorth) and C (kSlope).
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

  // Computes scores, worths and slopes. Returns the members whose argument is not finite, which the links would hide.
  template <bool kLearned, bool kTracks>
  PANDORA_HD PANDORA_INLINE unsigned evaluate(Held& held, int j, int first, bool paces, double multiplier,
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
      const Real square = pick(w, a), prediction = x;
      if (bonus) x += c_rho * static_cast<Real>(::sqrt(square < Real(0) ? Real(0) : square));
      double of = static_cast<double>(x);
      if constexpr (kLearned) {
        const double width = ::sqrt(held.square[i] < 0.0 ? 0.0 : held.square[i]),
                     worth = held.linear[i] + (spec.c_theta <= 0.0 ? 0.0 : spec.c_theta * width);
        of = role == kScore ? of : role == kWorth ? worth : held.linear[i];
      }
      const bool index = !kLearned || role == kScore;  // index_link, otherwise logistic
      const double quotient = (index ? 2.0 : 1.0) / (exponential(index ? 2.0 * of : -of) + 1.0);
      double out = payoff ? of : index ? 1.0 - quotient : quotient;
      if (paces) out -= role == kScore ? multiplier : 0.0;
      if (spec.forced > 0) {
        const int samples = lane_.box[a].progress->samples + count_bits(pick(held.open_in, a) & ~below(first));
        out = role == kScore && samples < spec.forced ? kForcedScore : out;
      }
      if (!kLearned && role != kScore) out = of = tape_.mu()[j * tape_.A + a];
      value[i] = out;
      if constexpr (kTracks) {  // for kSlope
        const Real mu = static_cast<Real>(out);
        const auto moment =
            index_moment(Loss::reservation, prediction, static_cast<Real>(tape_.cost()[j * tape_.A + a]), mu);
        held.moment[i] = moment.moment;
        held.weight[i] = moment.curvature;
        held.slope[i] = mu * (Real(1) - mu);
      }
      return !is_finite(of);
    });
  }

  // The row of period j, for Gram matrix n and for those that lie A, 2 A, ... behind it.
  template <int kCount>
  PANDORA_HD PANDORA_INLINE void rows_of(int n, int j, Mine<Real> (&row)[kCount]) const {
    const int apart = tape_.A * WalkMemory::column_at(tape_.B);
    all_.each([&](int i) {
      const Real* at_j = gram(n) + WalkMemory::column_at(j);
      const Real* column = i < j ? at_j : gram(n) + WalkMemory::column_at(i < range_.B ? i : range_.B - 1);
      Real sum[kCount];
      PANDORA_UNROLL
      for (int m = 0; m < kCount; ++m) sum[m] = column[m * apart + j];
      int left = j;
      PANDORA_ROLLED
      for (; left >= 4; left -= 4, column += 4, at_j += 4) {  // loop: gram row
        PANDORA_UNROLL
        for (int m = 0; m < kCount; ++m) {
          const Four c = *fours(column + m * apart), weight = *fours(at_j + m * apart);
          PANDORA_UNROLL
          for (int u = 0; u < 4; ++u) sum[m] = fused(-weight.of[u], c.of[u], sum[m]);
        }
      }
      PANDORA_UNROLL
      for (int m = 0; m < kCount; ++m) {
        const Four c = *fours(column + m * apart), weight = *fours(at_j + m * apart);
        PANDORA_UNROLL
        for (int u = 0; u < 3; ++u) sum[m] = u < left ? fused(-weight.of[u], c.of[u], sum[m]) : sum[m];
        row[m][i] = sum[m];
      }
    });
  }

  // Where solves and the next walk look for C_j of box a. `periods` have a column, which gives each its place.
  PANDORA_HD Real* column_of(const GramView<Real>& g, unsigned periods, int j) const {
    return g.column + count_bits(periods & below(j)) * problem_.shape.width;
  }

  // Updates widths and Gram column j after box a was opened in period j, and LinUCB's predictions.
  PANDORA_HD PANDORA_INLINE void update_widths(Held& held, int a, int j, bool payoff) const {
    Real* const g = gram(a);
    Mine<Real> rows[1];
    rows_of(a, j, rows);
    const Mine<Real>& row = rows[0];
    const Real s = Real(1) + all_.of(row, j), f = ::sqrt(Real(1) / s);
    Real step = Real(0);
    if (payoff) {
      const int at = j * tape_.A + a;
      const double error = static_cast<double>(all_.of(held.prediction[a], j)) - (tape_.told()[at] - tape_.cost()[at]);
      step = static_cast<Real>(error / static_cast<double>(s));
    }
    Real* const column = column_of(lane_.box[a].design, held.open_in[a], j);
    team().sync();  // all have read column j
    all_.each([&](int i) {
      const Real c = f * row[i];
      held.scale[a][i] = i == j ? f : held.scale[a][i];
      held.square_width[a][i] = i >= j ? fused(-c, c, held.square_width[a][i]) : held.square_width[a][i];
      if (i >= j && i < range_.B) column[i] = c;
      if (i > j && i < range_.B) g[WalkMemory::column_at(i) + j] = c;
      if (!payoff) return;
      held.step[i] = i == j ? step : held.step[i];
      held.prediction[a][i] = i > j ? fused(row[i], -step, held.prediction[a][i]) : held.prediction[a][i];
    });
  }

  // The same under `tracking`, with the step of rho_hat, which is left out where a solve follows.
  template <bool kLearned>
  PANDORA_HD PANDORA_INLINE void track(Held& held, int a, int j, int first, bool exact_follows) const {
    const BoxView<Real>& box = lane_.box[a];
    const int of_a = kSlope * kMost + a, since = samples_since(held, a, first, j), d = tape_.d,
              pending = box.progress->pending + since, update = box.curvature.count->updates + since;
    Mine<Real> row[2], quotient, root;
    rows_of(a, j, row);
    const Real h = all_.of(held.weight, of_a), moment = all_.of(held.moment, of_a),
               slope = kLearned ? all_.of(held.slope, of_a) : Real(0), s_of_design = Real(1) + all_.of(row[0], j),
               s = Real(1) + h * all_.of(row[1], j);
    const bool active = h > Real(0);
    all_.each([&](int i) {
      Real part = i == kOfStep ? moment : i == kOfWeight ? h : Real(1);
      if (kLearned && i < kFeatures) part = slope * static_cast<Real>(tape_.phi(j, a)[i]) - h * coupling(a, j)[i];
      quotient[i] = part / (i == kOfDesign ? s_of_design : s);
      root[i] = ::sqrt(quotient[i]);
    });
    const Real f = all_.of(root, kOfWeight), f_of_design = all_.of(root, kOfDesign),
               scale = exact_follows ? Real(0) : all_.of(quotient, kOfStep);
    const int columns = count_bits(held.curved_in[a] & below(j));
    held.curved_in[a] |= (active ? 1u : 0u) << j;
    Real* const widths = lane_.needs.design ? column_of(box.design, held.open_in[a], j) : nullptr;
    Real* const curved = column_of(box.curvature, held.curved_in[a], j);
    PANDORA_ASSERT(pending < range_.B && update < range_.B);
    all_.each([&](int i) {
      if (kLearned && i < kRow) {  // a multiple of four
        ranks(a)[i] = quotient[i];
        if (i < d) {
          box.pending_rank[pending * d + i] = active ? quotient[i] : Real(0);
          box.pending_moved[pending * d + i] = held.moved[a][i];
        }
      }
      if (i != kWarp - 1) return;
      box.pending_scale[pending] = scale;
      box.curvature.log[update] = {j, f, columns};
    });
    team().sync();  // all have read columns j
    all_.each([&](int i) {
      const Real width = f_of_design * row[0][i], c = f * row[1][i];
      held.scale[a][i] = i == j ? f_of_design : held.scale[a][i];
      held.square_width[a][i] = i >= j ? fused(-width, width, held.square_width[a][i]) : held.square_width[a][i];
      held.prediction[a][i] = i > j ? fused(row[1][i], -scale, held.prediction[a][i]) : held.prediction[a][i];
      if (i < j || i >= range_.B) return;
      if (widths != nullptr) widths[i] = width;
      if (active) curved[i] = c;
      if (i == j) return;
      gram(a)[WalkMemory::column_at(i) + j] = width;
      gram(tape_.A + a)[WalkMemory::column_at(i) + j] = active ? c : Real(0);
      const bool couples = kLearned && active;
      PANDORA_UNROLL
      for (int k = 0; k < kFeatures && couples; k += 4) {
        Four N = *fours(coupling(a, i) + k);
        const Four rank = *fours(ranks(a) + k);
        PANDORA_UNROLL
        for (int u = 0; u < 4; ++u) N.of[u] = fused(row[1][i], rank.of[u], N.of[u]);
        *fours(coupling(a, i) + k) = N;
      }
    });
  }

  // Moves the predictions after theta_hat.
  PANDORA_HD PANDORA_INLINE void follow(Held& held) const {
    team().sync();  // moves() are there
    all_.each([&](int i) {
      PANDORA_UNROLL
      for (int k = 0; k < kFeatures; k += 4) {
        const Four move = *fours(moves() + k);
        PANDORA_UNROLL
        for (int a = 0; a < kN; ++a) {
          if (a >= tape_.A) break;
          const Four N = *fours(coupling(a, i) + k);
          PANDORA_UNROLL
          for (int u = 0; u < 4; ++u)
            if (k + u < kFeatures && (kBoxes > 0 || k + u < tape_.d))
              held.prediction[a][i] = fused(N.of[u], move.of[u], held.prediction[a][i]);
        }
      }
      if (i >= kFeatures) return;
      PANDORA_UNROLL
      for (int a = 0; a < kN; ++a) held.moved[a][i] += moves()[i];
    });
  }

  // Learns the reward of the output that was deployed in period j.
  template <bool kTracks>
  PANDORA_HD PANDORA_INLINE void learn_reward(Held& held, const Mine<double>& value, int j, int deployed) const {
    const double of_phi = all_.of(held.square, kWorth * kMost + deployed),
                 of_C = all_.of(held.square, kSlope * kMost + deployed), G = all_.of(value, kSlope * kMost + deployed),
                 error = G - static_cast<double>(tape_.told()[j * tape_.A + deployed]);
    team().sync();  // all have read theta
    all_.each([&](int i) {
      const bool is_C = i >= 16;
      double image[kFeatures];
      load(y(is_C, deployed), image);
      const double own = i % 16 < kFeatures ? y(is_C, deployed)[i % 16] : 0.0;
      const double h = is_C ? G * (1.0 - G) : 1.0, s = 1.0 + h * (is_C ? of_C : of_phi), f = ::sqrt(h / s),
                   scaled = -(f * own), step = error / s;
      // Keeps what the boxes need to follow theta_hat once it is solved.
      if (kTracks && held.reward_left <= 1 && is_C && i < 16 + tape_.d)
        step_scratch(lane_.reward_memory, tape_.d)[RewardState::stride(tape_.d) + i - 16] = theta()[i - 16];
      if (is_C && !problem_.refit_reward.steps) return;
      PANDORA_UNROLL
      for (int k = 0; k < kFeatures; ++k) held.M[k][i] = fused(scaled, f * image[k], held.M[k][i]);
      if (!is_C || i >= 16 + kFeatures) return;
      const double before = theta()[i - 16], now = fused(-step, own, before);
      theta()[i - 16] = now;
      if constexpr (kTracks) moves()[i - 16] = static_cast<Real>(now - before);
    });
  }

  // Takes the samples of period j. Returns what is due after it.
  template <bool kLearned, bool kTracks>
  PANDORA_HD PANDORA_INLINE int learn(Held& held, const Mine<double>& value, int j, int first, unsigned opened,
                                      int deployed) const {
    const bool payoff = !kLearned && lane_.spec.learns_payoff(), design = lane_.needs.design;
    int due = 0;
    PANDORA_UNROLL
    for (int a = 0; a < kN; ++a) {
      if (a >= tape_.A) break;
      const unsigned opens = opened >> a & 1;
      held.open_in[a] |= opens << j;
      held.left[a] -= static_cast<int>(opens);
      due |= opens != 0 && held.left[a] <= 0 ? 1 << a : 0;
      if (kTracks && opens != 0)
        track<kLearned>(held, a, j, first, (due >> a & 1) != 0);
      else if (design && opens != 0)
        update_widths(held, a, j, payoff);
      else if (design || kTracks)
        all_.each([&](int i) {
          if (i <= j || i >= range_.B) return;
          gram(a)[WalkMemory::column_at(i) + j] = Real(0);
          if constexpr (kTracks) gram(tape_.A + a)[WalkMemory::column_at(i) + j] = Real(0);
        });
    }
    if constexpr (kLearned) {
      learn_reward<kTracks>(held, value, j, deployed);
      due |= --held.reward_left <= 0 ? kThetaDue : 0;
      if (kTracks && held.reward_left > 0 && problem_.refit_reward.steps) follow(held);
    }
    if (!kTracks && !payoff && problem_.refit.due_in_period(range_.first_period + j + 1)) {
      PANDORA_UNROLL
      for (int a = 0; a < kN; ++a) {
        if (a >= tape_.A) break;
        const BoxProgress& done = *lane_.box[a].progress;
        const int samples = done.samples + count_bits(held.open_in[a] & ~below(first));
        due |= kLearned || samples > done.samples_at_solve ? 1 << a : 0;
      }
    }
    return due;
  }

  // Goes from period to period until a solve is due.
  template <bool kLearned, bool kTracks>
  PANDORA_HD PANDORA_INLINE Passed walk(int first, Mine<int>& outcome) const {
    const LaneSpec& spec = lane_.spec;
    const int A = tape_.A;
    double multiplier = lane_.progress->multiplier;
    Held held;
    take<kLearned, kTracks>(held, first);
    const bool online = spec.online(), payoff = !kLearned && spec.learns_payoff(), paces = spec.paces();
    int j = first, due = 0;
    bool failed = false;
    for (; j < range_.B && due == 0; ++j) {  // loop: period
      if constexpr (kLearned) make_images(held, j);
      Mine<double> value;
      const unsigned bad = evaluate<kLearned, kTracks>(held, j, first, paces, multiplier, value);
      double score[kN], worth[kN];
      int order[kN];
      PANDORA_UNROLL
      for (int a = 0; a < kN; ++a) {
        score[a] = a < A ? all_.of(value, kScore * kMost + a) : -std::numeric_limits<double>::infinity();
        worth[a] = all_.of(value, kWorth * kMost + a);
        order[a] = a;
      }
      // Neighbours change places if the second has the higher score, so that ties stay in the order of boxes.
      PANDORA_UNROLL
      for (int k = 0; k < kN * (kN - 1) / 2; ++k) {
        const int at = kN == 4 ? (k < 3 ? k : k < 5 ? k - 3 : 0) : k % 2;
        const bool swaps = score[at] < score[at + 1];
        swap_if(swaps, score[at], score[at + 1]);
        swap_if(swaps, worth[at], worth[at + 1]);
        swap_if(swaps, order[at], order[at + 1]);
      }
      // Opens boxes until the best output reaches the remaining scores. LinUCB opens only the first.
      const double *const cost = tape_.cost() + j * A, *const mu = tape_.mu() + j * A;
      double best = worth[0], spent = cost[order[0]];
      int queried = 1, deployed = order[0], ordered = order[0];
      unsigned opened = 1u << order[0];
      PANDORA_UNROLL
      for (int k = 1; k < kN; ++k) {
        const bool opens = (k < A) & (queried == k) & (best < score[k]) & !payoff;  // without branches
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
      all_.each([&](int i) { outcome[i] = i == j ? whole : outcome[i]; });
      if (paces) multiplier = spec.pacing.next(multiplier, queried, spent);
      if (online) due = learn<kLearned, kTracks>(held, value, j, first, opened, deployed);
      all_.each([&](int i) {
        const int a = i % kMost;
        const bool known = i < kMost || (opened >> a & 1) != 0;  // outputs that nobody saw have the value mu*
        if (i < 2 * kMost && a < A) decided_by(a, j)[i / kMost] = known ? value[i] : mu[a];
      });
      team().sync();
    }
    if (online) leave<kLearned, kTracks>(held, outcome, first, j);
    all_.each([&](int i) { outcome[i] |= packed(0, 0, 0, spec.stop); });
    if (paces && team().rank() == 0) lane_.progress->multiplier = multiplier;
    return {j, due, failed};
  }

  // Writes the lane back to where solves and the next walk look for it.
  template <bool kLearned, bool kTracks>
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
        if ((payoff || kTracks) && i < range_.B) box.prediction[i] = held.prediction[a][i];
        if (design && i < range_.B) g.diagonal[i] = held.square_width[a][i];
        if ((fresh >> i & 1) == 0) return;
        const int nth = count_bits(fresh & below(i)), update = count_bits(open & below(i));
        box.rows[samples + nth] = row + i;
        if (design) g.log[update] = {i, held.scale[a][i], update};
        if (payoff) box.pending_scale[pending + nth] = held.step[i];
      });
      unsigned curved = 0;
      if constexpr (kTracks) {
        curved = held.curved_in[a];
        const bool couples = kLearned && (curved & ~below(first)) != 0;
        all_.each([&](int i) {
          if (kLearned && i < d) box.theta_moved[i] = held.moved[a][i];
          PANDORA_UNROLL
          for (int k = 0; k < kFeatures; ++k)
            if (couples && k < d && i < range_.B) box.coupling[k * problem_.shape.width + i] = coupling(a, i)[k];
        });
      }
      team().sync();  // all have read the values that member 0 changes
      if (team().rank() != 0) continue;
      box.progress->samples = samples + count_bits(fresh);
      if (payoff || kTracks) box.progress->pending = pending + count_bits(fresh);
      if (design) g.count->updates = g.count->columns = count_bits(open);
      if constexpr (kTracks) {
        box.curvature.count->updates += count_bits(fresh);
        box.curvature.count->columns = count_bits(curved);
      }
    }
    if constexpr (kLearned) leave_reward(held, outcome, first, end);
  }
  PANDORA_HD PANDORA_INLINE void leave_reward(const Held& held, const Mine<int>& outcome, int first, int end) const {
    const int row = lane_.tape.online_row(range_.first_period), d = tape_.d;
    const RewardState state = RewardState::over(lane_.reward_memory, d);
    const int samples = lane_.progress->reward_samples;
    PANDORA_ASSERT(samples + (end - first) <= problem_.shape.capacity);
    all_.each([&](int i) {
      if (i >= first && i < end) lane_.deployed[samples + (i - first)] = (row + i) * tape_.A + deployed_in(outcome[i]);
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

  // Lays the boxes' scores and values of each period side by side.
  PANDORA_HD PANDORA_INLINE void gather_decided(int first, int end, double* score, double* response) const {
    Mine<double> decided[2 * kN];
    team().sync();
    all_.each([&](int i) {
      PANDORA_UNROLL
      for (int k = 0; k < 2 * kN; ++k)
        decided[k][i] = k / 2 < tape_.A && i >= first && i < end ? decided_by(k / 2, i)[k % 2] : 0.0;
    });
    team().sync();
    all_.each([&](int i) {
      PANDORA_UNROLL
      for (int k = 0; k < 2 * kN; ++k)
        if (k / 2 < tape_.A && i >= first && i < end)
          (k % 2 == 0 ? score : response)[i * tape_.A + k / 2] = decided[k][i];
    });
  }

  // Adds the finished periods to the tally.
  PANDORA_HD PANDORA_INLINE void count(const Mine<int>& outcome, int first, int end) const {
    LaneTally& tally = *lane_.tally;
    const int A = tape_.A, periods = tally.periods, recorded = tally.recorded, next = tally.next;
    double *const score = reinterpret_cast<double*>(gram_), *const response = score + WalkMemory::even(tape_.B * A),
                  *const terms = response + WalkMemory::even(tape_.B * A);
    gather_decided(first, end, score, response);
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
        return opened_by_lane(lane_.spec, stop_in(outcome[i]), o.ranked, score + i * A, response + i * A, order, there);
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
  static constexpr int kParts = kCountOfParts + kCountOfGaps;  // the first sums; the others go from `utility` to `cost`
  static_assert(kParts + 6 == WalkMemory::kSums && offsetof(LaneTally, cost) - offsetof(LaneTally, utility) == 40);

  const Members<Team> all_;
  const Problem<Real>& problem_;
  const LaneView<Real>& lane_;
  const BlockRange range_;
  const WalkMemory tape_;
  Real* const gram_;
  double* const y_;
};

}  // namespace pandora::engine
