// One box with its samples, in the form in which the bodies of kernels/solve/ take it.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "host/lanes/estimator/index_fit.hpp"
#include "kernels/base/aligned.hpp"
#include "kernels/solve/box_solve.hpp"
#include "kernels/solve/vector_solver.hpp"
#include "tests/reference/solve_memory.hpp"

namespace pandora::test {

/// Behind the tape there are values that no sum may read.
template <class Real>
class OneBox {
 public:
  static constexpr double kRidge = 1.0;

  OneBox(const Contexts& contexts, const IndexSamples& samples, double ridge = kRidge)
      : ridge_(ridge),
        psi_(contexts.psi.begin(), contexts.psi.end()),
        mu_(static_cast<std::size_t>(contexts.rows)),
        cost_(mu_),
        rows_(samples.rows.begin(), samples.rows.end()) {
    shape_ = {.A = 1,
              .m = contexts.index_size,
              .stride = contexts.index_stride,
              .d = 1,
              .B = 16,
              .width = 16,
              .capacity = samples.size()};
    for (int s = 0; s < samples.size(); ++s) {
      mu_[samples.rows[s]] = samples.mu[s];
      cost_[samples.rows[s]] = samples.cost[s];
    }
    const std::size_t matrix = static_cast<std::size_t>(shape_.m) * shape_.stride;
    psi_.resize(psi_.size() + static_cast<std::size_t>(shape_.stride), std::numeric_limits<Real>::quiet_NaN());
    rho_.assign(static_cast<std::size_t>(shape_.stride), Real(0));
    inverse_.assign(matrix, Real(0));
    hessian_.assign(std::max(matrix, static_cast<std::size_t>(engine::TileMemory<Real>::running_reals(shape_.m))),
                    Real(0));
    weight_.assign(engine::kNewtonSamples, Real(0));
    lane_.needs = {};
    lane_.tape.psi = psi_.data();
    lane_.tape.mu = mu_.data();
    lane_.tape.cost = cost_.data();
    lane_.progress = &progress_;
    engine::BoxView<Real>& box = lane_.box[0];
    box.progress = &box_;
    box.rho = rho_.data();
    box.rows = rows_.data();
    box.inverse = inverse_.data();
    box.inverse_weight = weight_.data();
    box.hessian = hessian_.data();
    box_.samples = samples.size();
    scratch_ = memory_.allocate(shape_, 1, 1);
  }
  OneBox(const OneBox&) = delete;

  /// Solves from the present rho. Returns false if it did not converge.
  template <class Team>
  bool solve(const Team& team) {
    const engine::Problem<Real> problem{shape_, ridge_, 1.0, 1.0, {}, {}, &lane_};
    return engine::BoxSolve<Real, Team>(team, problem, lane_, 0, scratch_).solve(false);
  }
  /// From here on only the first n samples count.
  void use(int n) { box_.samples = n; }
  void weigh(const std::vector<double>& weights) {
    sample_weight_.assign(weights.begin(), weights.end());
    lane_.box[0].weight = sample_weight_.data();
  }
  void set_loss(Loss loss) { lane_.spec.loss = loss; }
  const engine::BoxProgress& progress() const { return box_; }
  const engine::BoxView<Real>& view() const { return lane_.box[0]; }
  SimdVector<Real>& rho() { return rho_; }
  int gradients() const { return progress_.index_gradients; }
  template <class Team = VectorTeam>
  engine::SampleView<Real> samples() {
    return engine::gather_samples(Team{}, shape_, lane_, 0, scratch_);
  }
  const engine::SolveScratch<Real>& scratch() const { return scratch_; }

 private:
  double ridge_;
  SimdVector<Real> psi_;
  std::vector<double> mu_, cost_;
  std::vector<int> rows_;
  SimdVector<Real> rho_, inverse_, hessian_, weight_, sample_weight_;
  engine::Shape shape_;
  engine::LaneView<Real> lane_;
  engine::Progress progress_;
  engine::BoxProgress box_;
  SolveMemory<Real> memory_;
  engine::SolveScratch<Real> scratch_;
};

}  // namespace pandora::test
