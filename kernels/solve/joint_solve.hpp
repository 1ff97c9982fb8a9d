// A refit of all boxes of a lane together: Newton steps on the objective of kernels/rules/shrinkage.hpp. The first step
// computes a Hessian; the others use its inverse as long as it serves (RefitPlan).
#pragma once

#include "kernels/solve/box_solve.hpp"
#include "kernels/solve/joint_factor.hpp"
#include "kernels/solve/joint_samples.hpp"
#include "kernels/solve/minimise.hpp"

namespace pandora::engine {

/// kTied: whether the lane's slopes are tied (Shrinkage::tied).
template <class Real, class Team, bool kTied = false>
class JointSolve {
 public:
  PANDORA_HD JointSolve(const Team& team, const Problem<Real>& problem, const LaneView<Real>& lane,
                        const SolveScratch<Real>& scratch)
      : team_(team),
        problem_(problem),
        shape_(problem.shape),
        lane_(lane),
        state_(*lane.joint),
        scratch_(scratch),
        A_(problem.shape.A),
        m_(problem.shape.m),
        n_(m_ - 1),
        groups_(lane.spec, A_),
        memory_(scratch.joint, A_, m_),
        samples_(team, lane, memory_, groups_, problem.ridge_index.first, scratch.factor),
        factor_(team, shape_, memory_, groups_, scratch.factor),
        count_(samples_of(lane, A_)),
        plan_(lane.spec, count_, state_.samples_at_solve, A_ * m_) {}

  /// Takes the steps. Afterwards rho_hat, the ridges, the dispersions kappa_a (shrinkage.hpp) and, where the lane keeps
  /// it, C_aa (joint_factor.hpp) belong to the current samples. False if a matrix is not positive definite or a number
  /// is not finite.
  PANDORA_APART PANDORA_HD bool solve() {
    for (int a = 0; a < A_; ++a)
      for (int k = team_.rank(); k < m_; k += team_.size())
        memory_.rho(a)[k] = static_cast<double>(lane_.box[a].rho[k]);
    sum_slopes();
    measure_features();
    if (by_samples()) samples_.gather(shape_.stride);
    double slope = 0.0;
    RoundingFloor floor;
    for (int step = 1;; ++step) {
      bool kept = step > 1 && !plan_.every_step && inverse_serves(slope);
      if (!kept && !invert(slope)) return false;
      // While ridges are learned, a decrement may shrink slowly; once they stand still, a slow decrease is rounding.
      const auto is_solved = [&] {
        return -slope <= plan_.tolerance || (step > RefitPlan::kLearningSteps && floor.reached(-slope));
      };
      bool solved = is_solved();
      // An old inverse Hessian found the end. A refit that is solved to the end must meet the tolerance under a new
      // inverse Hessian.
      if (solved && kept && plan_.whole) {
        kept = false;
        if (!invert(slope)) return false;
        solved = is_solved();
      }
      if (!is_finite(slope)) return false;
      const bool last = solved || step == plan_.most_steps;
      if (!kept) find_covariances(lane_.needs.curvature && (last || !plan_.every_step));
      find_dispersions();
      move(1.0);
      if (!last || !step_is_trusted(-slope)) shorten(slope);
      if (plan_.learns(step, last)) learn();
      if (!last) continue;
      if (!solved && team_.rank() == 0) ++state_.unsolved;
      break;
    }
    for (int a = 0; a < A_; ++a) take(a);
    if (team_.rank() == 0) {
      state_.samples_at_solve = state_.samples;
      lane_.progress->joint_due = 0;
      add_to(&lane_.progress->index_solves, 1);
      add_to(&lane_.progress->index_gradients, gradients_);
    }
    team_.sync();
    return true;
  }

  /// The number of doubles of its memory.
  static PANDORA_HD std::size_t size(int A, int m, int groups) { return JointMemory::size(A, m, groups); }

 private:
  static constexpr int kMostTries = 30;

  PANDORA_HD static int samples_of(const LaneView<Real>& lane, int A) {
    int sum = 0;
    for (int a = 0; a < A; ++a) sum += lane.box[a].progress->samples;
    return sum;
  }

  // f(0) + ... + f(n - 1), the same in every member.
  template <class Term>
  PANDORA_HD double sum_of(int n, Term&& term) const {
    double* const terms = memory_.terms();
    for (int i = team_.rank(); i < n; i += team_.size()) terms[i] = term(i);
    team_.sync();
    double sum = 0.0;
    for (int i = 0; i < n; ++i) sum += terms[i];
    team_.sync();
    return sum;
  }

  PANDORA_HD void sum_slopes() const {
    team_.sync();
    for (int k = team_.rank(); k < m_; k += team_.size()) {
      double sum = 0.0;
      for (int a = 0; a < A_; ++a) sum += memory_.rho(a)[k];
      memory_.slope_sum()[k] = sum;
    }
    team_.sync();
  }

  // sum_b rho_b[k] over the boxes of box a's group.
  PANDORA_HD double slope_sum(int a, int k) const {
    if constexpr (kTied) {
      double sum = 0.0;
      for (int b = 0; b < A_; ++b) sum += groups_.same(a, b) ? memory_.rho(b)[k] : 0.0;
      return sum;
    } else {
      return memory_.slope_sum()[k];
    }
  }

  // Measures the features' scale, from the samples that are new since the last solve.
  PANDORA_HD void measure_features() const {
    using V = typename Team::template Vectors<Real>;
    double squares = 0.0;
    for (int a = 0; a < A_; ++a) {
      const BoxView<Real>& box = lane_.box[a];
      for_tiles<Real>(team_, shape_.stride, [&](auto tile, int i) {
        constexpr int N = decltype(tile)::value;
        typename V::Vector sum[N];
        PANDORA_UNROLL
        for (int v = 0; v < N; ++v) sum[v] = V::broadcast(Real(0));
        for (int s = box.progress->samples_at_solve; s < box.progress->samples; ++s) {
          const Real* const psi = lane_.tape.psi_of(box.rows[s], shape_.stride) + i;
          PANDORA_UNROLL
          for (int v = 0; v < N; ++v) {
            const typename V::Vector part = V::load(psi + v * V::width);
            sum[v] = V::fused(part, part, sum[v]);
          }
        }
        Real element[N * V::width];
        PANDORA_UNROLL
        for (int v = 0; v < N; ++v) V::store(element + v * V::width, sum[v]);
        for (int k = 0; k < N * V::width; ++k) memory_.line()[i + k] = static_cast<double>(element[k]);
      });
      team_.sync();
      squares += sum_of(n_, [&](int k) { return memory_.line()[k + 1]; });
    }
    if (team_.rank() == 0) {
      state_.squares += squares;
      state_.learn_scale(lane_.spec.shrinkage, n_, count_);
    }
    team_.sync();
  }

  // Whether the inverse Hessian is computed in the space of the samples (JointSamples). The number of samples does not
  // change during a refit, so neither does the answer; the inverse is then computed anew in every step.
  PANDORA_HD bool by_samples() const { return JointSamples<Real, Team, kTied>::takes(count_, m_); }

  // Computes directions by the existing inverse, and replaces `slope` by the derivative along them. False if a new
  // inverse is wanted.
  PANDORA_HD bool inverse_serves(double& slope) {
    const double before = -slope;
    for (int a = 0; a < A_; ++a) weigh(a);
    factor_.point_downhill();
    slope = slope_now();
    return plan_.inverse_serves(-slope, before);
  }

  // Computes the inverse Hessian at rho, directions by it, and the derivative along them. False if it is not positive
  // definite.
  PANDORA_HD bool invert(double& slope) {
    for (int a = 0; a < A_; ++a)
      if (!open_box(a)) return false;
    if (by_samples()) {
      if (!samples_.invert(state_.ridge_mean, state_.ridge_own)) return false;
      samples_.point_downhill();
    } else {
      if (!factor_.couple(state_)) return false;
      factor_.point_downhill();
    }
    slope = slope_now();
    return true;
  }

  // Computes the traces of the slopes' covariance and, with `forms`, C_aa.
  PANDORA_HD void find_covariances(bool forms) {
    if (by_samples()) {
      traces_ = samples_.traces(state_);
      if (forms) samples_.store_covariances(shape_);
    } else {
      traces_ = factor_.find_covariances(problem_.ridge_index.first, forms ? lane_.box : nullptr);
    }
  }

  // Computes the loss's part of box a's gradient at rho, the sums of its samples' moments and curvatures, and their
  // weights.
  PANDORA_HD void evaluate(int a, IndexSums<Real, Team>& sums) {
    ++gradients_;
    sums.start(memory_.rho(a));
    sums.evaluate();
    const double squares = sums.moment_squares(), slopes = sums.curvature();
    if (team_.rank() == 0) {
      memory_.moment_squares()[a] = squares;
      memory_.curvature()[a] = slopes;
    }
    for (int k = team_.rank(); k < m_; k += team_.size()) memory_.moments(a)[k] = scratch_.gradient[k];
    team_.sync();
    weigh(a);
  }

  // Computes gradient(a) from the moments: weighted by 1 / kappa_a, plus the part of the ridges.
  PANDORA_HD void weigh(int a) const {
    const double weight = 1.0 / state_.dispersion[a], delta = (state_.ridge_own - state_.ridge_mean) / groups_.size(a);
    const double *const rho = memory_.rho(a), *const moments = memory_.moments(a);
    for (int k = team_.rank(); k < m_; k += team_.size()) {
      const double penalty =
          k == 0 ? problem_.ridge_index.first * rho[k] : state_.ridge_own * rho[k] - delta * slope_sum(a, k);
      memory_.gradient(a)[k] = weight * moments[k] + penalty;
    }
    team_.sync();
  }

  // Computes box a's gradient and B_a, the inverse of its block of the Hessian (joint_factor.hpp); in the space of the
  // samples their weights instead. False if the block is not positive definite.
  PANDORA_HD bool open_box(int a) {
    const SampleView<Real> samples = gather_samples(team_, shape_, lane_, a, scratch_);
    IndexSums<Real, Team> sums(team_, samples, nullptr, scratch_);
    evaluate(a, sums);
    const double kappa = state_.dispersion[a];
    if (by_samples()) {
      samples_.weigh(a, scratch_.weight, kappa);
      return true;
    }
    typename Solver<Real, Team>::Factor hessian(team_, samples, scratch_);
    hessian.template sum<Real>(Ridges(kappa * problem_.ridge_index.first, kappa * state_.ridge_own), true,
                               memory_.matrix(a));
    return factor_.invert(a, kappa);
  }

  // gradient' direction over all boxes.
  PANDORA_HD double slope_now() const {
    return sum_of(m_, [&](int k) {
      double sum = 0.0;
      for (int a = 0; a < A_; ++a) sum = fused(memory_.gradient(a)[k], memory_.direction(a)[k], sum);
      return sum;
    });
  }

  PANDORA_HD double slope_ahead() {
    for (int a = 0; a < A_; ++a) {
      const SampleView<Real> samples = gather_samples(team_, shape_, lane_, a, scratch_);
      IndexSums<Real, Team> sums(team_, samples, nullptr, scratch_);
      evaluate(a, sums);
    }
    return slope_now();
  }

  // Takes back part of a step that was too long.
  PANDORA_HD void shorten(double slope) {
    double part = 1.0;
    for (int tries = 0; tries < kMostTries; ++tries) {
      const double ahead = slope_ahead();
      if (!too_long(slope, ahead)) break;
      const double next = part * secant_part(slope, ahead);
      move(next - part);
      part = next;
    }
  }

  PANDORA_HD void move(double part) const {
    team_.sync();
    for (int a = 0; a < A_; ++a)
      for (int k = team_.rank(); k < m_; k += team_.size()) memory_.rho(a)[k] += part * memory_.direction(a)[k];
    sum_slopes();
  }

  // Computes the dispersions after the step from the moments before it.
  PANDORA_HD void find_dispersions() const {
    team_.sync();
    for (int a = team_.rank(); a < A_; a += team_.size())
      memory_.dispersion()[a] = JointState::dispersion_of(lane_.box[a].progress->counted(), memory_.moment_squares()[a],
                                                          memory_.curvature()[a], memory_.determined()[a]);
    team_.sync();
  }

  PANDORA_HD void learn() const {
    const int groups = groups_.count();
    SlopeSums sums = traces_.carried(state_, A_, n_, groups);
    for (int group = 0; group < groups; ++group) {
      const int one = groups_.first(group);
      sums.mean_square += sum_of(n_,
                                 [&](int k) {
                                   const double sum = slope_sum(one, k + 1);
                                   return sum * sum;
                                 }) /
                          groups_.size(one);
    }
    sums.square = sum_of(n_, [&](int k) {
      double sum = 0.0;
      for (int a = 0; a < A_; ++a) sum = fused(memory_.rho(a)[k + 1], memory_.rho(a)[k + 1], sum);
      return sum;
    });
    if (team_.rank() == 0) {
      for (int a = 0; a < A_; ++a) state_.dispersion[a] = memory_.dispersion()[a];
      learn_ridges(state_, lane_.spec.shrinkage, A_, n_, sums, groups);
    }
    team_.sync();
  }

  // Stores rho in the box.
  PANDORA_HD void take(int a) const {
    const BoxView<Real>& box = lane_.box[a];
    for (int k = team_.rank(); k < m_; k += team_.size()) box.rho[k] = static_cast<Real>(memory_.rho(a)[k]);
    if (team_.rank() == 0) box.progress->samples_at_solve = box.progress->samples;
    team_.sync();
  }

  const Team& team_;
  const Problem<Real>& problem_;
  const Shape& shape_;
  const LaneView<Real>& lane_;
  JointState& state_;
  const SolveScratch<Real>& scratch_;
  const int A_, m_, n_;
  const SlopeGroups<kTied> groups_;
  const JointMemory memory_;
  JointSamples<Real, Team, kTied> samples_;
  JointFactor<Real, Team, kTied> factor_;
  SlopeTraces traces_{};
  const int count_;  // samples of all boxes
  const RefitPlan plan_;
  int gradients_ = 0;
};

}  // namespace pandora::engine
