#include "host/block_lane.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "host/checks.hpp"
#include "kernels/block_products.hpp"
#include "kernels/index_loss.hpp"

namespace pandora {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

template <class Real>
using PaddedMatrix =
    Eigen::Map<Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, 0, Eigen::OuterStride<>>;

// out = C^-1 in working precision, exactly symmetric.
template <class Real>
void invert(const Eigen::LLT<MatrixXd>& factor, int m, int stride, SimdVector<Real>& out) {
  const MatrixXd inverse = factor.solve(MatrixXd::Identity(m, m));
  out.assign(static_cast<std::size_t>(m) * stride, Real(0));
  for (int i = 0; i < m; ++i)
    for (int k = 0; k <= i; ++k)
      out[static_cast<std::size_t>(i) * stride + k] = out[static_cast<std::size_t>(k) * stride + i] =
          static_cast<Real>(inverse(i, k));
}

// out += weight v
template <class Real>
void add(Real* out, const Real* v, Real weight, int n) {
  PANDORA_SIMD
  for (int i = 0; i < n; ++i) out[i] += v[i] * weight;
}

}  // namespace

template <class Real>
Workspace<Real>::Workspace(int boxes, int m, int stride, int d, int B) {
  const std::size_t width = static_cast<std::size_t>(padded_to_vector<Real>(B));
  for (int a = 0; a < boxes; ++a) {
    design.emplace_back(m, stride, B);
    curvature.emplace_back(m, stride, B);
  }
  prediction.resize(static_cast<std::size_t>(boxes) * width);
  coupling.resize(static_cast<std::size_t>(boxes) * static_cast<std::size_t>(d) * width);
}

template <class Real>
BlockLane<Real>::BlockLane(const Replication& replication, WorkingContexts<Real> contexts, const LaneSpec& spec,
                           const EstimationOptions& options, EngineCounters& counters, const LaneReplay* replay)
    : replication_(replication),
      tape_(replication.tape),
      contexts_(contexts),
      spec_(spec),
      options_(options),
      counters_(counters),
      replay_(replay),
      A_(tape_.boxes()),
      d_(tape_.contexts.reward_features),
      keeps_design_(spec.has_width_bonus() || spec.learns_payoff()),
      tracks_(spec.learns_index() && spec.online() && options.refit.kind == RefitSchedule::Kind::tracking),
      tracks_theta_(tracks_ && spec.learns_reward()),
      boxes_(static_cast<std::size_t>(A_)),
      reward_(d_, spec.learns_reward() ? spec.T0 + (spec.online() ? tape_.online_rows : 0) + 1 : 1,
              options.ridge_reward) {
  for (Box& box : boxes_) {
    box.rho.assign(static_cast<std::size_t>(contexts.stride), Real(0));
    box.theta_moved.assign(static_cast<std::size_t>(d_), 0.0);
    // A box without a calibration sample (T_0 < A) starts from no curvature.
    if (tracks_) reset_inverse(box.curvature_inverse, contexts.m, contexts.stride, options.ridge_index);
    if (tracks_theta_) box.theta_response.assign(static_cast<std::size_t>(d_) * contexts.stride, Real(0));
  }
  tally_.start(tape_.online_rows);
}

template <class Real>
template <class Body>
void BlockLane<Real>::guarded(Body&& body) {
  if (tally_.failure != Failure::none) return;
  try {
    body();
  } catch (const LaneFailure& failure) {
    tally_.fail(failure.failure(), period_);
  }
}

template <class Real>
void BlockLane<Real>::calibrate() {
  guarded([this] { learn_calibration(); });
}

template <class Real>
void BlockLane<Real>::advance(const Block<Real>& block, Workspace<Real>& work) {
  guarded([&] { advance_block(block, work); });
}

template <class Real>
void BlockLane<Real>::learn_calibration() {
  if (spec_.learning == Learning::none) return;
  if (spec_.T0 == 0 && !spec_.learns_payoff())
    for (int a = 0; a < A_; ++a) add_index_sample(a, 0);
  for (int k = 0; k < spec_.T0; ++k) {
    const int row = tape_.calibration_row(k), a = k % A_;
    if (spec_.learns_payoff()) {
      boxes_[a].rows.push_back(row);
      continue;
    }
    add_index_sample(a, row);
    if (spec_.learns_reward()) observe_reward(a, row);
  }
  if (reward_.samples() > 0) solve_reward();
  for (int a = 0; a < A_; ++a) {
    if (keeps_design_) rebuild_design(a);
    if (spec_.learns_index()) solve_box(a, nullptr);
  }
}

template <class Real>
void BlockLane<Real>::advance_block(const Block<Real>& block, Workspace<Real>& work) {
  period_ = block.first_period + 1;
  for (int a = 0; a < A_ && spec_.learning != Learning::none; ++a) start_box(block, work, a);
  walk(block, work);
  if (!spec_.online()) return;
  for (int a = 0; a < A_; ++a) {
    if (tracks_) {
      flush(work, a);
      work.curvature[a].apply(boxes_[a].curvature_inverse.data());
    }
    if (!keeps_design_) continue;
    if (spec_.learns_payoff()) flush(work, a);
    work.design[a].apply(boxes_[a].design_inverse.data());
  }
}

template <class Real>
void BlockLane<Real>::start_box(const Block<Real>& block, Workspace<Real>& work, int a) {
  Box& box = boxes_[a];
  if (keeps_design_ && (spec_.online() || spec_.has_width_bonus())) {
    GramBlock<Real>& design = work.design[a];
    design.form(box.design_inverse.data(), block.psi.data(), block.transposed.data(), block.B);
    const double ridge = spec_.learns_payoff() ? 1.0 : options_.ridge_index;
    if (!design.sound(block.squared_norm.data(), static_cast<Real>(1.001 / ridge))) {
      ++counters_.refactorisations;
      rebuild_design(a);
      design.form(box.design_inverse.data(), block.psi.data(), block.transposed.data(), block.B);
    }
  }
  project_block(block.transposed.data(), contexts_.m, block.width, box.rho.data(),
                work.prediction.data() + static_cast<std::size_t>(a) * block.width);
  if (tracks_) start_curvature(block, work, a);
}

template <class Real>
void BlockLane<Real>::start_curvature(const Block<Real>& block, Workspace<Real>& work, int a) {
  Box& box = boxes_[a];
  GramBlock<Real>& curvature = work.curvature[a];
  curvature.form(box.curvature_inverse.data(), block.psi.data(), block.transposed.data(), block.B);
  if (!curvature.sound(block.squared_norm.data(), static_cast<Real>(1.001 / options_.ridge_index))) {
    ++counters_.refactorisations;
    refresh_rewards(a);
    rebuild_curvature(a);
    curvature.form(box.curvature_inverse.data(), block.psi.data(), block.transposed.data(), block.B);
  }
  clear_pending(box);
  for (int i = 0; i < d_ && tracks_theta_; ++i)
    project_block(block.transposed.data(), contexts_.m, block.width,
                  box.theta_response.data() + static_cast<std::size_t>(i) * contexts_.stride,
                  work.coupling.data() + (static_cast<std::size_t>(a) * d_ + i) * block.width);
}

template <class Real>
void BlockLane<Real>::walk(const Block<Real>& block, Workspace<Real>& work) {
  double score[kMaxBoxes] = {}, width[kMaxBoxes] = {};
  int permutation[kMaxBoxes];
  const Stream random_order = replication_.instance.stream(Purpose::random_order);
  for (int j = 0; j < block.B; ++j) {
    const int period = block.first_period + j, row = tape_.online_row(period);
    period_ = period + 1;
    for (int a = 0; a < A_; ++a) {
      if (spec_.score == Score::oracle_index) score[a] = replication_.sigma[tape_.at(row, a)];
      if (!spec_.learns_index() && !spec_.learns_payoff()) continue;
      Real z = work.prediction[static_cast<std::size_t>(a) * block.width + j];
      if (spec_.has_width_bonus()) {
        const Real w = std::sqrt(std::max(work.design[a].quadratic(j), Real(0)));
        width[a] = static_cast<double>(w);
        z += static_cast<Real>(spec_.width_bonus()) * w;
      }
      score[a] = static_cast<double>(z);
    }
    for (int a = 0; a < A_; ++a) finite_or_fail(score[a]);  // Lambda would hide what is infinite
    // In single precision Lambda would be exactly 1 from z = 9 on, and wide bonuses would tie. Four at a time.
    for (int first = 0; first < A_ && spec_.learns_index(); first += 4) PANDORA_SIMD
    for (int a = first; a < first + 4; ++a) score[a] = index_link(score[a]);
    if (spec_.order == Order::random)
      random_permutation(random_order, static_cast<std::uint32_t>(period), A_, permutation);
    const bool follows = replay_ != nullptr && replay_->decisions != nullptr;
    const PeriodOutcome outcome =
        follows ? (*replay_->decisions)[static_cast<std::size_t>(period)]
                : walk_period(spec_, A_, score, permutation, [&](int a) { return reward_of(a, row); });
    const std::size_t at = tape_.at(row, 0);
    finite_or_fail(tape_.mu[at + outcome.deployed] - spent_on(outcome, &tape_.cost[at]));
    tally_.add(outcome, &tape_.mu[at], &tape_.cost[at], &tape_.reward[at]);
    if (replay_ != nullptr && replay_->observer) replay_->observer({period, score, width, &outcome});
    if (spec_.online()) learn(block, work, j, outcome);
  }
}

template <class Real>
double BlockLane<Real>::reward_of(int a, int row) const {
  if (!spec_.learns_reward()) return finite_or_fail(tape_.mu[tape_.at(row, a)]);
  return logistic(finite_or_fail(reward_.state().optimistic(tape_.phi_of(row, a), spec_.c_theta)));
}

template <class Real>
void BlockLane<Real>::learn(const Block<Real>& block, Workspace<Real>& work, int j, const PeriodOutcome& outcome) {
  if (spec_.learns_payoff()) {
    learn_payoff(block, work, j, outcome.deployed);
    return;
  }
  const int period = block.first_period + j, row = tape_.online_row(period);
  bool due[kMaxBoxes] = {};
  for (int k = 0; k < outcome.queried; ++k) {
    const int a = outcome.order[k];
    add_index_sample(a, row);
    due[a] = options_.refit.due(static_cast<int>(boxes_[a].rows.size()), boxes_[a].solved_at);
    if (keeps_design_) work.design[a].update(j, Real(1));
    if (tracks_) track_sample(block, work, j, a, due[a]);
  }
  if (spec_.learns_reward()) {
    double move[kMaxRewardFeatures];
    const double* theta = reward_.state().theta;
    std::copy(theta, theta + d_, move);
    observe_reward(outcome.deployed, row);
    if (reward_.due()) solve_reward();
    for (int i = 0; i < d_; ++i) move[i] = theta[i] - move[i];
    if (tracks_) track_theta(block, work, move);
  }
  const bool all = options_.refit.due_in_period(period + 1);
  for (int a = 0; a < A_; ++a) {
    Box& box = boxes_[a];
    const bool changed = static_cast<int>(box.rows.size()) > box.solved_at || spec_.learns_reward();
    if (!(all ? changed : due[a])) continue;
    // The solve takes effect in the next period: what is left of the block is predicted anew.
    const int curvature_before = box.curvature_at;
    if (tracks_) flush(work, a);
    solve_box(a, &work);
    project_block(block.transposed.data(), contexts_.m, block.width, box.rho.data(),
                  work.prediction.data() + static_cast<std::size_t>(a) * block.width);
    if (box.curvature_at != curvature_before) start_curvature(block, work, a);
  }
}

template <class Real>
void BlockLane<Real>::learn_payoff(const Block<Real>& block, Workspace<Real>& work, int j, int a) {
  Box& box = boxes_[a];
  const int row = tape_.online_row(block.first_period + j);
  Real* const p = work.prediction.data() + static_cast<std::size_t>(a) * block.width;
  const double error = static_cast<double>(p[j]) - payoff(a, row);
  const Real step = static_cast<Real>(error / static_cast<double>(work.design[a].update(j, Real(1))));
  const Real* gram_row = work.design[a].row();
  for (int i = j + 1; i < block.B; ++i) p[i] -= gram_row[i] * step;
  box.rows.push_back(row);
  box.pending_scale.push_back(static_cast<double>(step));
}

// The Newton step of a new sample, and its part in Hinv and Q; gradient, weight and coupling at the values before it.
template <class Real>
void BlockLane<Real>::track_sample(const Block<Real>& block, Workspace<Real>& work, int j, int a, bool exact_follows) {
  Box& box = boxes_[a];
  GramBlock<Real>& curvature = work.curvature[a];
  Real* const p = work.prediction.data() + static_cast<std::size_t>(a) * block.width;
  const IndexMoment<Real> value = index_moment(p[j], box.cost.back(), box.mu.back());
  const Real s = curvature.update(j, value.curvature);
  const Real* gram_row = curvature.row();
  const Real scale = exact_follows ? Real(0) : value.moment / s;
  for (int i = j + 1; i < block.B; ++i) p[i] -= gram_row[i] * scale;
  box.pending_scale.push_back(static_cast<double>(scale));
  if (!tracks_theta_) return;
  box.pending_moved.insert(box.pending_moved.end(), box.theta_moved.begin(), box.theta_moved.end());
  const bool active = value.curvature > Real(0);
  const Real slope = box.mu.back() * (Real(1) - box.mu.back());  // G'
  const float* phi = tape_.phi_of(tape_.online_row(block.first_period + j), a);
  for (int k = 0; k < d_; ++k) {
    Real* const N = work.coupling.data() + (static_cast<std::size_t>(a) * d_ + k) * block.width;
    const Real rank = active ? (slope * static_cast<Real>(phi[k]) - value.curvature * N[j]) / s : Real(0);
    box.pending_rank.push_back(static_cast<double>(rank));
    for (int i = j + 1; active && i < block.B; ++i) N[i] += gram_row[i] * rank;
  }
}

template <class Real>
void BlockLane<Real>::track_theta(const Block<Real>& block, Workspace<Real>& work, const double* move) {
  for (int a = 0; a < A_; ++a) {
    Real* const p = work.prediction.data() + static_cast<std::size_t>(a) * block.width;
    for (int k = 0; k < d_; ++k) {
      const Real* N = work.coupling.data() + (static_cast<std::size_t>(a) * d_ + k) * block.width;
      const Real step = static_cast<Real>(move[k]);
      PANDORA_SIMD
      for (int i = 0; i < block.width; ++i) p[i] += N[i] * step;
      boxes_[a].theta_moved[k] += move[k];
    }
  }
}

// Brings rho (and Q) up to date with the steps taken since the block's start or the last flush.
template <class Real>
void BlockLane<Real>::flush(Workspace<Real>& work, int a) {
  Box& box = boxes_[a];
  const int stride = contexts_.stride;
  if (tracks_theta_)
    for (int k = 0; k < d_; ++k)
      add(box.rho.data(), box.theta_response.data() + static_cast<std::size_t>(k) * stride,
          static_cast<Real>(box.theta_moved[k]), stride);
  const double* rank = box.pending_rank.data();
  const double* moved = box.pending_moved.data();
  std::size_t next = 0;
  GramBlock<Real>& gram = tracks_ ? work.curvature[a] : work.design[a];
  gram.materialise([&](int, const Real* v) {
    double weight = -box.pending_scale[next++];
    if (tracks_theta_) {
      for (int k = 0; k < d_; ++k) {
        weight += rank[k] * (box.theta_moved[k] - moved[k]);
        add(box.theta_response.data() + static_cast<std::size_t>(k) * stride, v, static_cast<Real>(rank[k]), stride);
      }
      rank += d_;
      moved += d_;
    }
    add(box.rho.data(), v, static_cast<Real>(weight), stride);
  });
  clear_pending(box);
}

template <class Real>
void BlockLane<Real>::clear_pending(Box& box) {
  box.pending_scale.clear();
  box.pending_rank.clear();
  box.pending_moved.clear();
  std::fill(box.theta_moved.begin(), box.theta_moved.end(), 0.0);
}

template <class Real>
void BlockLane<Real>::add_index_sample(int a, int row) {
  Box& box = boxes_[a];
  const std::size_t at = tape_.at(row, a);
  box.rows.push_back(row);
  box.cost.push_back(static_cast<Real>(tape_.cost[at]));
  box.mu.push_back(
      static_cast<Real>(spec_.learns_reward() ? logistic(reward_.state().linear(tape_.phi_of(row, a))) : tape_.mu[at]));
}

template <class Real>
void BlockLane<Real>::observe_reward(int a, int row) {
  reward_.observe(tape_.phi_of(row, a), tape_.reward[tape_.at(row, a)]);
}

template <class Real>
void BlockLane<Real>::solve_reward() {
  ++counters_.reward_solves;
  reward_.solve();
}

template <class Real>
SampleView<Real> BlockLane<Real>::samples(const Box& box) const {
  return {contexts_.psi,
          contexts_.m,
          contexts_.stride,
          box.rows.data(),
          box.cost.data(),
          box.mu.data(),
          static_cast<int>(box.rows.size())};
}

// With the reward unknown, mu of every past sample under the current theta_hat (eq:plugin:loss).
template <class Real>
void BlockLane<Real>::refresh_rewards(int a) {
  if (!spec_.learns_reward()) return;
  Box& box = boxes_[a];
  const std::size_t n = box.rows.size();
  Real theta[kMaxRewardFeatures];
  for (int i = 0; i < d_; ++i) theta[i] = static_cast<Real>(reward_.state().theta[i]);
  for (std::size_t s = 0; s < n; ++s) {
    const float* phi = tape_.phi_of(box.rows[s], a);
    Real z = 0;
    for (int i = 0; i < d_; ++i) z += theta[i] * static_cast<Real>(phi[i]);
    box.mu[s] = z;
  }
  PANDORA_SIMD
  for (std::size_t s = 0; s < n; ++s) box.mu[s] = logistic(box.mu[s]);
}

// The schedules without Hinv: a running sum of curvature-weighted outer products, in which a sample keeps the weight
// that it has when it is first solved for.
template <class Real>
Preconditioner BlockLane<Real>::own_preconditioner(Box& box) {
  const int m = contexts_.m, n = static_cast<int>(box.rows.size());
  if (box.curvature.empty()) box.curvature.assign(static_cast<std::size_t>(m) * contexts_.stride, Real(0));
  SampleView<Real> fresh = samples(box);
  fresh.rows += box.curvature_upto;
  fresh.cost += box.curvature_upto;
  fresh.mu += box.curvature_upto;
  fresh.n -= box.curvature_upto;
  add_curvature(fresh, box.rho.data(), box.curvature.data());
  box.curvature_upto = n;
  return factorised(box.curvature.data(), m, contexts_.stride, options_.ridge_index);
}

template <class Real>
void BlockLane<Real>::solve_box(int a, Workspace<Real>* work) {
  Box& box = boxes_[a];
  const int n = static_cast<int>(box.rows.size()), m = contexts_.m;
  if (n == 0) return;
  refresh_rewards(a);
  VectorXd rho = Eigen::Map<const Eigen::Matrix<Real, Eigen::Dynamic, 1>>(box.rho.data(), m).template cast<double>();
  const double ridge = options_.ridge_index;
  const bool has_inverse = tracks_ && work != nullptr;
  int gradients = 0;
  if (n <= kNewtonSamples) {
    WeightedInverse<Real>& inverse = box.newton;
    if (inverse.matrix.empty()) inverse.reset(m, contexts_.stride, ridge, n);
    inverse.weight.resize(static_cast<std::size_t>(n), Real(0));
    gradients = solve_index_by_newton(samples(box), ridge, inverse, rho);
  } else if (has_inverse) {
    SimdVector<Real> x(static_cast<std::size_t>(m)), y(static_cast<std::size_t>(m));
    const auto precondition = [&](const VectorXd& gradient, VectorXd& direction) {
      for (int i = 0; i < m; ++i) x[i] = static_cast<Real>(gradient[i]);
      work->curvature[a].multiply(box.curvature_inverse.data(), x.data(), y.data());
      for (int i = 0; i < m; ++i) direction[i] = static_cast<double>(y[i]);
    };
    gradients = solve_index(samples(box), ridge, precondition, rho);
  } else {
    gradients = solve_index(samples(box), ridge, own_preconditioner(box), rho);
  }
  ++counters_.index_solves;
  counters_.index_gradients += static_cast<std::uint64_t>(gradients);
  for (int i = 0; i < m; ++i) box.rho[i] = static_cast<Real>(rho[i]);
  box.solved_at = n;
  if (tracks_ && options_.refit.curvature_due(n, box.curvature_at, tracks_theta_)) rebuild_curvature(a);
}

// Hinv and Q = Hinv M afresh from all samples at the current rho and theta_hat.
template <class Real>
void BlockLane<Real>::rebuild_curvature(int a) {
  Box& box = boxes_[a];
  const int m = contexts_.m, stride = contexts_.stride;
  SimdVector<Real> C(static_cast<std::size_t>(m) * stride, Real(0));
  std::vector<Real> weight(box.rows.size());
  add_curvature(samples(box), box.rho.data(), C.data(), weight.data());
  MatrixXd hessian = PaddedMatrix<Real>(C.data(), m, m, Eigen::OuterStride<>(stride)).template cast<double>();
  hessian.diagonal().array() += options_.ridge_index;
  const Eigen::LLT<MatrixXd> factor = factorised_or_fail(hessian);
  invert(factor, m, stride, box.curvature_inverse);
  box.curvature_at = static_cast<int>(box.rows.size());
  if (!tracks_theta_) return;
  SimdVector<Real> M(box.theta_response.size(), Real(0));  // sum psi 1{active} G' phi', d rows
  for (std::size_t s = 0; s < box.rows.size(); ++s) {
    if (!(weight[s] > Real(0))) continue;
    const Real slope = box.mu[s] * (Real(1) - box.mu[s]);
    const float* phi = tape_.phi_of(box.rows[s], a);
    const Real* psi = contexts_.psi + static_cast<std::size_t>(box.rows[s]) * stride;
    for (int k = 0; k < d_; ++k)
      add(M.data() + static_cast<std::size_t>(k) * stride, psi, slope * static_cast<Real>(phi[k]), stride);
  }
  const PaddedMatrix<Real> rows(M.data(), d_, m, Eigen::OuterStride<>(stride));
  const MatrixXd Q = factor.solve(rows.transpose().template cast<double>());
  for (int k = 0; k < d_; ++k)
    for (int i = 0; i < m; ++i)
      box.theta_response[static_cast<std::size_t>(k) * stride + i] = static_cast<Real>(Q(i, k));
}

// V^-1 afresh from all samples; for LinUCB also its ridge regression.
template <class Real>
void BlockLane<Real>::rebuild_design(int a) {
  Box& box = boxes_[a];
  const int m = contexts_.m, stride = contexts_.stride;
  MatrixXd V = (spec_.learns_payoff() ? 1.0 : options_.ridge_index) * MatrixXd::Identity(m, m);
  VectorXd target = VectorXd::Zero(m);
  for (int row : box.rows) {
    const VectorXd psi = Eigen::Map<const Eigen::Matrix<Real, Eigen::Dynamic, 1>>(
                             contexts_.psi + static_cast<std::size_t>(row) * stride, m)
                             .template cast<double>();
    V.template selfadjointView<Eigen::Lower>().rankUpdate(psi);
    if (spec_.learns_payoff()) target += payoff(a, row) * psi;
  }
  const Eigen::LLT<MatrixXd> factor = factorised_or_fail(MatrixXd(V.template selfadjointView<Eigen::Lower>()));
  invert(factor, m, stride, box.design_inverse);
  if (!spec_.learns_payoff()) return;
  const VectorXd eta = factor.solve(target);
  for (int i = 0; i < m; ++i) box.rho[i] = static_cast<Real>(eta[i]);
}

template struct Workspace<float>;
template struct Workspace<double>;
template class BlockLane<float>;
template class BlockLane<double>;

}  // namespace pandora
