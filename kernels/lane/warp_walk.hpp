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
  static PANDORA_HD constexpr int gram_doubles(int A, int B) {
    const int packed = even((A * (B * (B + 1) / 2) + 1) / 2), terms = even(kSums * kRow);
    return packed > terms ? packed : terms;
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
    if (end > first) count(outcome, first, end);
  }

 private:
  template <class T>
  using Mine = Own<Team, T>;
  struct alignas(16) Pair {
    double first, second;
  };

  // Whether no period depends on another.
  static PANDORA_HD bool separate(const LaneSpec& spec) { return !spec.online() && !spec.paces(); }

  PANDORA_HD const Team& team() const { return all_.team; }
  PANDORA_HD static unsigned below(int i) { return (1u << i) - 1u; }

  // A period's outcome: the order of the boxes and the deployed one, two bits each, how many were opened, and which.
  static PANDORA_HD int packed(const int (&order)[kMost], int queried, int deployed, unsigned opened) {
    int out = queried << 8 | deployed << 12 | static_cast<int>(opened) << 16;
    PANDORA_UNROLL
    for (int k = 0; k < kMost; ++k) out |= order[k] << 2 * k;
    return out;
  }
  static PANDORA_HD int ordered(int outcome, int k) { return outcome >> 2 * k & 3; }
  static PANDORA_HD int queried(int outcome) { return outcome >> 8 & 7; }
  static PANDORA_HD int deployed(int outcome) { return outcome >> 12 & 3; }
  static PANDORA_HD unsigned opened(int outcome) { return static_cast<unsigned>(outcome) >> 16; }

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
  // The least n with n >= bound.
  static PANDORA_HD int least_from(double bound) {
    return bound < static_cast<double>(INT_MAX) ? static_cast<int>(::ceil(bound)) : INT_MAX;
  }

  // Where row j of a packed Gram matrix would begin if it had the columns before its diagonal.
  PANDORA_HD int row_at(int j) const { return j * tape_.B - j * (j - 1) / 2 - j; }
  PANDORA_HD Real* gram(int a) const { return gram_ + a * (tape_.B * (tape_.B + 1) / 2); }

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
      outcome[i] = packed({}, o.queried, o.deployed, open);
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

  // A box's Gram matrix: its rows from `first` on, and before them the columns of periods in which it was opened.
  PANDORA_HD PANDORA_INLINE void take_gram(const GramView<Real>& g, int a, int first, unsigned done) const {
    constexpr int kAtOnce = 16;  // rows on their way from global memory
    const int width = problem_.shape.width, B = range_.B;
    PANDORA_ROLLED
    for (int start = 0; start < B; start += kAtOnce) {
      Mine<Real> row[kAtOnce];
      PANDORA_UNROLL
      for (int u = 0; u < kAtOnce; ++u) {
        const int r = start + u;
        const bool is_column = r < first && (done >> r & 1) != 0;
        const Real* const from = is_column ? g.column + count_bits(done & below(r)) * width : g.gram + r * width;
        all_.each([&](int i) { row[u][i] = i >= r && i < B && (r >= first || is_column) ? from[i] : Real(0); });
      }
      PANDORA_UNROLL
      for (int u = 0; u < kAtOnce; ++u)
        all_.each([&](int i) {
          if (i >= start + u && i < B) gram(a)[row_at(start + u) + i] = row[u][i];
        });
    }
  }

  // From period to period until something is due; kBoxes = 0: the shape's. Returns the end of the periods that passed.
  template <bool kLearned, int kBoxes, int kF>
  PANDORA_HD PANDORA_INLINE int learning_walk(int first, Mine<int>& outcome) const {
    constexpr int kN = kBoxes > 0 ? kBoxes : kMost;
    const LaneSpec& spec = lane_.spec;
    Progress& progress = *lane_.progress;
    const int A = kBoxes > 0 ? kBoxes : tape_.A, B = range_.B;
    const bool online = spec.online(), bonus = spec.has_bonus(), payoff = spec.learns_payoff(),
               design = lane_.needs.design && online, steps = problem_.refit_reward.steps, paces = spec.paces();
    const double c_theta = spec.c_theta;
    const Real c_rho = static_cast<Real>(spec.width_bonus());
    const int forced = spec.forced;
    const auto& all = all_;

    // What the members have of every box: the period's prediction, square of the width, f, whether it is opened in the
    // periods of the block; samples, and how many make a solve due.
    Mine<Real> prediction[kN], square_width[kN], scale[kN], step;
    unsigned open_in[kN];
    int n[kN], due_from[kN];
    PANDORA_UNROLL
    for (int a = 0; a < kN; ++a) {
      open_in[a] = 0;
      n[a] = due_from[a] = 0;
      all.each([&](int i) { prediction[a][i] = square_width[a][i] = scale[a][i] = Real(0); });
      if (a >= A) continue;
      const BoxView<Real>& box = lane_.box[a];
      n[a] = box.progress->samples;
      due_from[a] = payoff || problem_.refit.kind == RefitSchedule::Kind::every
                        ? INT_MAX
                        : least_from(problem_.refit.growth * box.progress->samples_at_solve - 1e-9);
      all.each([&](int i) {
        if (i >= B) return;
        prediction[a][i] = box.prediction[i];
        if (lane_.needs.widths) square_width[a][i] = box.design.diagonal[i];
      });
      if (!design) continue;
      open_in[a] = periods_of(box.design);
      take_gram(box.design, a, first, open_in[a]);
    }
    const RewardState state = RewardState::over(lane_.reward_memory, tape_.d);
    Mine<double> M[kF], theta;
    if constexpr (kLearned) {
      all.each([&](int i) {
        const int r = i % 16, d = tape_.d;
        const double* const from = i < 16 ? state.design_inverse : state.curvature_inverse;
        PANDORA_UNROLL
        for (int k = 0; k < kF; ++k) M[k][i] = r < d && k < d ? from[r * RewardState::stride(d) + k] : 0.0;
        theta[i] = r < d ? state.theta[r] : 0.0;
        if (i < kF) theta_[i] = theta[i];
      });
    }
    double multiplier = progress.multiplier;
    const int reward_samples = progress.reward_samples;
    const int theta_due_from = least_from(problem_.refit_reward.growth * progress.reward_samples_at_solve - 1e-9);
    team().sync();

    int j = first, due = 0;
    for (; j < B && due == 0; ++j) {  // loop: period
      // Images of all boxes' features under Phi^-1 and C, and phi' y.
      Mine<double> image[kN], linear, square;
      if constexpr (kLearned) {
        PANDORA_UNROLL
        for (int a = 0; a < kN; ++a) {
          if (a >= A) continue;
          double x[kF];
          load(tape_.phi(j, a), x);
          all.each([&](int i) {
            double sum = 0.0;
            PANDORA_UNROLL
            for (int k = 0; k < kF; ++k) sum = fused(x[k], M[k][i], sum);
            image[a][i] = sum;
            if (i % 16 < kF) y_[((i / 16) * A + a) * kF + i % 16] = sum;
          });
        }
        team().sync();
        all.each([&](int i) {
          const int a = box_of(i, A);
          double x[kF], t[kF], y[kF], sum = 0.0, other = 0.0;
          load(tape_.phi(j, a), x);
          load(theta_, t);
          load(y_ + ((role_of(i) == kSlope ? A : 0) + a) * kF, y);
          PANDORA_UNROLL
          for (int k = 0; k < kF; ++k) {
            sum = fused(t[k], x[k], sum);
            other = fused(y[k], x[k], other);
          }
          linear[i] = sum;
          square[i] = other;
        });
      }
      // Scores, and what the outputs are worth.
      Mine<Real> z[kN], w[kN];
      Mine<double> own;
      double score[kN], response[kN];
      PANDORA_UNROLL
      for (int a = 0; a < kN; ++a) {
        const Real at_j = all.of(prediction[a], j), width_at_j = all.of(square_width[a], j);
        all.each([&](int i) {
          z[a][i] = at_j;
          w[a][i] = width_at_j;
        });
      }
      const unsigned bad = all.which([&](int i) {
        const int a = box_of(i, A), role = role_of(i);
        Real x = z[0][i], square_of = w[0][i];
        int samples = n[0];
        PANDORA_UNROLL
        for (int b = 1; b < kN; ++b) {
          x = a == b ? z[b][i] : x;
          square_of = a == b ? w[b][i] : square_of;
          samples = a == b ? n[b] : samples;
        }
        if (bonus) {
          const Real width = ::sqrt(square_of < Real(0) ? Real(0) : square_of);
          x += c_rho * width;
        }
        double value = static_cast<double>(x), t = 2.0 * value;
        if constexpr (kLearned) {
          const double width = ::sqrt(square[i] < 0.0 ? 0.0 : square[i]);
          const double optimistic = linear[i] + (c_theta <= 0.0 ? 0.0 : c_theta * width);
          value = role == kScore ? value : role == kWorth ? optimistic : linear[i];
          t = role == kScore ? t : -value;
        }
        // Lambda(x) = 1 - 2 / (e^2x + 1), G(x) = 1 / (1 + e^-x): index_link and logistic.
        const double quotient = (kLearned && role != kScore ? 1.0 : 2.0) / (exponential(t) + 1.0);
        double mine = kLearned && role != kScore ? quotient : 1.0 - quotient;
        if (payoff) mine = value;
        if (role == kScore && paces) mine -= multiplier;
        if (role == kScore && samples < forced) mine = kForcedScore;
        if (!kLearned && role == kWorth) mine = value = tape_.mu()[j * A + a];
        own[i] = mine;
        return !is_finite(value);
      });
      PANDORA_UNROLL
      for (int a = 0; a < kN; ++a) {
        score[a] = a < A ? all.of(own, kScore * kMost + a) : -std::numeric_limits<double>::infinity();
        response[a] = kLearned ? all.of(own, kWorth * kMost + a) : a < A ? tape_.mu()[j * A + a] : 0.0;
      }
      // The order: neighbours change places where the second has a higher score, so that ties stay in the order of boxes.
      int order[kMost] = {0, 1, 2, 3};
      PANDORA_UNROLL
      for (int last = kN - 1; last > 0; --last) {
        PANDORA_UNROLL
        for (int k = 0; k < last; ++k) {
          const bool swaps = score[k] < score[k + 1];
          const auto swap_if = [swaps](auto& x, auto& y) {
            const auto first_of = swaps ? y : x, second_of = swaps ? x : y;
            x = first_of;
            y = second_of;
          };
          swap_if(score[k], score[k + 1]);
          swap_if(response[k], response[k + 1]);
          swap_if(order[k], order[k + 1]);
        }
      }
      // Boxes are opened until the best output reaches the scores left.
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
      all.each([&](int i) {
        if (i == j) outcome[i] = whole;
        const int a = i % kMost;
        if (i >= 2 * kMost || a >= A) return;
        if (i < kMost)
          score_[j * A + a] = own[i];
        else
          response_[j * A + a] = (opened >> a & 1) != 0 ? own[i] : tape_.mu()[j * A + a];
      });
      if (paces) multiplier = spec.pacing.next(multiplier, queried, spent);
      if (!online) continue;

      // What the boxes learn.
      PANDORA_UNROLL
      for (int a = 0; a < kN; ++a) {
        if (a >= A) continue;
        const bool opens = (opened >> a & 1) != 0;
        open_in[a] |= opens ? 1u << j : 0u;
        n[a] += opens ? 1 : 0;
        due |= opens && n[a] >= due_from[a] ? 1 << a : 0;
        if (!design) continue;
        Real* const g = gram(a);
        Real* const to = g + row_at(j);
        if (!opens) {
          all.each([&](int i) {
            if (i >= j && i < B) to[i] = Real(0);
          });
          continue;
        }
        Mine<Real> row;
        all.each([&](int i) {
          const int at = i < j ? j : i < B ? i : B - 1;  // the columns that are there
          Real sum = to[at];
          const Real* from = g;
          for (int q = 0; q < j; ++q) {  // loop: gram row
            sum = fused(-from[j], from[at], sum);
            from += tape_.B - 1 - q;
          }
          row[i] = sum;
        });
        const Real s = Real(1) + all.of(row, j), f = ::sqrt(Real(1) / s);
        team().sync();
        Real moved = Real(0);
        if (payoff) {
          const double error =
              static_cast<double>(all.of(prediction[a], j)) - (tape_.told()[j * A + a] - tape_.cost()[j * A + a]);
          moved = static_cast<Real>(error / static_cast<double>(s));
        }
        all.each([&](int i) {
          if (i == j) {
            scale[a][i] = f;
            step[i] = moved;
          }
          if (payoff && i > j) prediction[a][i] = fused(row[i], -moved, prediction[a][i]);
          if (i < j || i >= B) return;
          const Real c = f * row[i];
          to[i] = c;
          square_width[a][i] = fused(-c, c, square_width[a][i]);
        });
      }
      // And theta, of the deployed output: Phi^-1 by the first 16 members, C and theta_hat by the others.
      if constexpr (kLearned) {
        const double wide = all.of(square, kWorth * kMost + deployed), deep = all.of(square, kSlope * kMost + deployed),
                     G = all.of(own, kSlope * kMost + deployed);
        all.each([&](int i) {
          const bool of_phi = i < 16;
          double y[kF];
          load(y_ + ((of_phi ? 0 : A) + deployed) * kF, y);
          double mine = image[0][i];
          PANDORA_UNROLL
          for (int b = 1; b < kN; ++b) mine = deployed == b ? image[b][i] : mine;
          const double h = of_phi ? 1.0 : G * (1.0 - G), s = 1.0 + h * (of_phi ? wide : deep), f = ::sqrt(h / s),
                       scaled = -(f * mine);
          if (!of_phi && !steps) return;
          PANDORA_UNROLL
          for (int k = 0; k < kF; ++k) M[k][i] = fused(scaled, f * y[k], M[k][i]);
          const double error = G - static_cast<double>(tape_.told()[j * A + deployed]);
          if (of_phi || i - 16 >= kF) return;
          theta[i] = fused(-(error / s), mine, theta[i]);
          theta_[i - 16] = theta[i];
        });
        if (reward_samples + (j - first) + 1 >= theta_due_from) due |= kThetaDue;
      }
      if (problem_.refit.due_in_period(range_.first_period + j + 1) && !payoff) {
        PANDORA_UNROLL
        for (int a = 0; a < kN; ++a)
          due |= a < A && (kLearned || n[a] > lane_.box[a].progress->samples_at_solve) ? 1 << a : 0;
      }
      team().sync();
    }
    team().sync();

    // Back to where solves and the next walk look for it.
    const int end = j, row = lane_.tape.online_row(range_.first_period);
    if (online) {
      PANDORA_UNROLL
      for (int a = 0; a < kN; ++a) {
        if (a >= A) continue;
        const BoxView<Real>& box = lane_.box[a];
        const GramView<Real>& g = box.design;
        const unsigned open = open_in[a], fresh = open & ~below(first);
        const int before = n[a] - count_bits(fresh), pending = payoff ? box.progress->pending : 0;
        PANDORA_ASSERT(n[a] <= problem_.shape.capacity);
        all.each([&](int i) {
          if (i >= B) return;
          if (payoff) box.prediction[i] = prediction[a][i];
          if (design) g.diagonal[i] = square_width[a][i];
          if ((fresh >> i & 1) == 0) return;
          box.rows[before + count_bits(fresh & below(i))] = row + i;
          const int update = count_bits(open & below(i));
          if (design) g.log[update] = {i, scale[a][i], update};
          if (payoff) box.pending_scale[pending + count_bits(fresh & below(i))] = step[i];
        });
        for (unsigned left = design ? fresh : 0; left != 0; left &= left - 1) {
          const int r = lowest_bit(left), q = count_bits(open & below(r));
          all.each([&](int i) {
            if (i >= r && i < B) g.column[q * problem_.shape.width + i] = gram(a)[row_at(r) + i];
          });
        }
        team().sync();
        if (team().rank() != 0) continue;
        box.progress->samples = n[a];
        if (payoff) box.progress->pending = pending + count_bits(fresh);
        if (design) g.count->updates = g.count->columns = count_bits(open);
      }
    }
    if constexpr (kLearned) {
      PANDORA_ASSERT(reward_samples + (end - first) <= problem_.shape.capacity);
      all.each([&](int i) {
        const int r = i % 16, d = tape_.d;
        if (online && i >= first && i < end)
          lane_.deployed[reward_samples + (i - first)] = (row + i) * A + WarpWalk::deployed(outcome[i]);
        if (!online || r >= d) return;
        double* const to = (i < 16 ? state.design_inverse : state.curvature_inverse) + r * RewardState::stride(d);
        PANDORA_UNROLL
        for (int k = 0; k < kF; ++k)
          if (k < d) to[k] = M[k][i];
        if (i >= 16) state.theta[r] = theta[i];
      });
    }
    if (team().rank() == 0) {
      progress.next = end;
      if (end > first) progress.due = due;
      progress.multiplier = multiplier;
      if (kLearned && online) progress.reward_samples = reward_samples + (end - first);
    }
    team().sync();  // the Gram matrices' place is the terms' from here on
    all.each([&](int i) {
      if (i < first || i >= end) return;
      PeriodOutcome o;
      o.queried = WarpWalk::queried(outcome[i]);
      o.deployed = WarpWalk::deployed(outcome[i]);
      o.ranked = A;
      for (int k = 0; k < A; ++k) o.order[k] = ordered(outcome[i], k);
      split(i, o, spec.stop, score_ + i * A, response_ + i * A, kAllBoxes);
    });
    return end;
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
      const int queries = periods_with([a](int o) { return (opened(o) >> a & 1) != 0; }),
                deployments = periods_with([a](int o) { return deployed(o) == a; }),
                depth = periods_with([a](int o) { return queried(o) == a + 1; });
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
