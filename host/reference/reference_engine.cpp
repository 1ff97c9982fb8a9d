#include "host/reference/reference_engine.hpp"

#include <cmath>

#include "host/reference/box_estimate.hpp"
#include "host/reference/checks.hpp"
#include "host/reference/index_fit.hpp"
#include "host/reference/reward_fit.hpp"
#include "host/reference/shrunk_fit.hpp"
#include "kernels/rules/index_loss.hpp"
#include "kernels/rules/needs.hpp"

namespace pandora {
namespace {

using Eigen::Lower;
using Eigen::MatrixXd;
using Eigen::VectorXd;

class ReferenceLane {
 public:
  ReferenceLane(const Replication& replication, const LaneSpec& lane, const EstimationOptions& options)
      : replication_(replication),
        tape_(replication.tape),
        lane_(lane),
        options_(options),
        A_(tape_.boxes()),
        m_(tape_.contexts.index_size),
        d_(tape_.contexts.reward_features),
        needs_(needs_of(lane, options.refit)),
        boxes_(static_cast<std::size_t>(A_)),
        reward_memory_(static_cast<std::size_t>(RewardState::size(d_))),
        reward_(RewardState::over(reward_memory_.data(), d_)) {
    const double ridge = lane.learns_payoff() ? 1.0 : options.ridge_index;  // LinUCB's design starts at I
    for (BoxEstimate& box : boxes_) {
      box.rho = VectorXd::Zero(m_);
      box.samples.loss = lane.loss;
      if (needs_.design) box.design_inverse = MatrixXd::Identity(m_, m_) / ridge;
      if (needs_.steps) box.curvature_inverse = MatrixXd::Identity(m_, m_) / options.ridge_index;
      if (needs_.response) box.cross = MatrixXd::Zero(m_, d_);
    }
    if (lane.fits_jointly()) {
      joint_.start(lane, A_, m_, options.ridge_index);
      take_covariances();
    }
    reward_.reset(options.ridge_reward);
  }

  LaneTally run(LaneRecord* record) {
    tally_.start(tape_.online_rows);
    try {
      run_periods(record);
    } catch (const LaneFailure& failure) {
      tally_.fail(failure.failure(), period_);
    }
    if (record != nullptr) record_estimates(*record);
    return tally_;
  }

 private:
  void record_estimates(LaneRecord& record) const {
    record.rho.clear();
    record.theta.clear();
    for (std::size_t a = 0; a < boxes_.size() && lane_.learns_scores(); ++a)
      record.rho.insert(record.rho.end(), boxes_[a].rho.begin(), boxes_[a].rho.end());
    if (lane_.learns_reward()) record.theta.assign(reward_.theta, reward_.theta + d_);
  }

  void run_periods(LaneRecord* record) {
    if (record != nullptr) {
      record->outcomes.clear();
      record->scores.clear();
      record->widths.clear();
      record->rewards.clear();
    }
    if (lane_.learning != Learning::none) calibrate();
    const bool keeps = record != nullptr && record->periods;
    std::vector<double> score(static_cast<std::size_t>(A_), 0.0), width(score), seen(score);
    int permutation[kMaxBoxes];
    const Stream random_order = replication_.instance.stream(Purpose::random_order),
                 exploration = replication_.instance.stream(Purpose::exploration);
    draw_.assign(static_cast<std::size_t>(A_), 1.0);
    for (int period = 0; period < tape_.online_rows; ++period) {
      const int row = tape_.online_row(period);
      period_ = period + 1;
      psi_ = Eigen::Map<const Eigen::VectorXf>(tape_.contexts.psi_row(row), m_).cast<double>();
      for (int a = 0; a < A_; ++a) {
        if (lane_.thompson) draw_[a] = box_normal(exploration, static_cast<std::uint32_t>(period), a);
        score[a] = finite_or_fail(score_of(a, row, width[a]));
        if (lane_.learns_index() && lane_.loss == Loss::reservation) score[a] = index_link(score[a]);
        if (boxes_[a].count < lane_.forced) score[a] = kForcedScore;
      }
      const PeriodRules rules(lane_, exploration, static_cast<std::uint32_t>(period));
      if (rules.order == Order::random)
        random_permutation(random_order, static_cast<std::uint32_t>(period), A_, permutation);
      std::fill(seen.begin(), seen.end(), 0.0);
      const auto reward_of = [&](int a) {
        return seen[a] = lane_.learns_reward()
                             ? logistic(finite_or_fail(reward_.optimistic(
                                   tape_.phi_of(row, a), lane_.c_theta * lane_.bonus.reward_factor(time()))))
                             : finite_or_fail(tape_.mu[tape_.at(row, a)]);
      };
      const PeriodOutcome outcome = record != nullptr && record->decisions != nullptr
                                        ? (*record->decisions)[static_cast<std::size_t>(period)]
                                        : walk_period(lane_, rules, A_, score.data(), permutation, reward_of);
      const std::size_t at = tape_.at(row, 0);
      finite_or_fail(tape_.mu[at + outcome.deployed] - spent_on(outcome, &tape_.cost[at]));
      tally_.split_regret(outcome, A_, &tape_.mu[at], &tape_.cost[at], &replication_.sigma[at]);
      tally_.add(outcome, &tape_.mu[at], &tape_.cost[at], &tape_.reward[at]);
      if (keeps) {
        record->outcomes.push_back(outcome);
        record->scores.insert(record->scores.end(), score.begin(), score.end());
        record->widths.insert(record->widths.end(), width.begin(), width.end());
        record->rewards.insert(record->rewards.end(), seen.begin(), seen.end());
      }
      if (lane_.online()) learn(outcome, row, period + 1);
    }
  }

  // The number before the index link, which hides what is infinite.
  double score_of(int a, int row, double& width) {
    if (lane_.score == Score::none) return 0.0;
    if (lane_.score == Score::oracle_index) return replication_.sigma[tape_.at(row, a)];
    BoxEstimate& box = boxes_[a];
    const double z = box.rho.dot(psi_);
    if (!lane_.has_bonus()) return z;
    if (lane_.has_width_bonus()) {
      update_image(box);
      width = std::sqrt(box.quadratic);
    }
    return z + lane_.width_bonus() * lane_.bonus.factor(time(), box.count, box.reward_widths) * draw_[a] *
                   (lane_.has_width_bonus() ? width : 1.0);
  }

  // t of the bonuses: the periods so far, this one and those of the calibration counted.
  int time() const { return lane_.T0 + period_; }

  void update_image(BoxEstimate& box) {
    box.image.noalias() =
        (lane_.fits_jointly() ? box.curvature_inverse : box.design_inverse).selfadjointView<Lower>() * psi_;
    box.quadratic = psi_.dot(box.image);
  }

  // T_0 round-robin periods with cost, output and realised reward of one box; or, for T_0 = 0, every box once at
  // x_0 with output and cost but no reward. Estimates are solved at the end.
  void calibrate() {
    if (lane_.T0 == 0 && !lane_.learns_payoff()) {
      for (int a = 0; a < A_; ++a) add_index_sample(a, 0);
    }
    for (int k = 0; k < lane_.T0; ++k) {
      const int row = tape_.calibration_row(k), a = k % A_;
      psi_ = Eigen::Map<const Eigen::VectorXf>(tape_.contexts.psi_row(row), m_).cast<double>();
      if (lane_.learns_payoff()) {
        add_payoff(a, row);
        continue;
      }
      add_index_sample(a, row);
      if (lane_.learns_reward()) add_reward_sample(a, row);
    }
    if (lane_.learns_payoff()) return;
    if (lane_.learns_reward() && reward_samples_.size() > 0) solve_reward();
    if (lane_.fits_jointly()) return solve_jointly();
    for (int a = 0; a < A_; ++a) solve_index(a);
  }

  void learn(const PeriodOutcome& outcome, int row, int period) {
    if (lane_.learns_payoff()) {
      add_payoff(outcome.deployed, row);
      return;
    }
    bool due[kMaxBoxes] = {};
    for (int k = 0; k < outcome.queried; ++k) {
      const int a = outcome.order[k];
      add_index_sample(a, row);
      due[a] = !lane_.fits_jointly() && options_.refit.due(boxes_[a].samples.size(), boxes_[a].samples_at_solve);
      if (needs_.steps) step_index(a, due[a]);
    }
    if (lane_.learns_reward()) {
      const VectorXd before = Eigen::Map<VectorXd>(reward_.theta, d_);
      add_reward_sample(outcome.deployed, row);
      if (reward_refit_due(reward_samples_.size(), reward_samples_at_solve_)) solve_reward();
      if (needs_.response) {
        const VectorXd move = Eigen::Map<VectorXd>(reward_.theta, d_) - before;
        for (BoxEstimate& box : boxes_) box.rho += box.curvature_inverse.selfadjointView<Lower>() * (box.cross * move);
      }
    }
    const bool all = options_.refit.due_in_period(period);
    if (lane_.fits_jointly()) {
      if (all || options_.refit.jointly_due(joint_.state.samples, joint_.state.samples_at_solve)) solve_jointly();
      return;
    }
    for (int a = 0; a < A_; ++a)
      if (all ? boxes_[a].samples.size() > boxes_[a].samples_at_solve || lane_.learns_reward() : due[a]) solve_index(a);
  }

  void add_index_sample(int a, int row) {
    BoxEstimate& box = boxes_[a];
    const std::size_t at = tape_.at(row, a);
    const double mu = lane_.learns_reward() ? logistic(reward_.linear(tape_.phi_of(row, a))) : tape_.mu[at];
    box.samples.add(row, tape_.cost[at], mu);
    ++box.count;
    ++joint_.state.samples;
    if (lane_.sums_reward_widths()) box.reward_widths += std::pow(reward_.width(tape_.phi_of(row, a)), 2);
    if (!needs_.design) return;
    if (row < tape_.online_row(0)) {  // online periods with a bonus have just computed the image
      psi_ = Eigen::Map<const Eigen::VectorXf>(tape_.contexts.psi_row(row), m_).cast<double>();
      update_image(box);
    }
    rank_one_update(box.design_inverse, box.image, box.quadratic, 1.0);
  }

  // The new sample's Newton step; gradient, weight and coupling at the values before it. Skipped where an exact
  // solve follows, except for Hinv and M, which the sample joins in any case.
  void step_index(int a, bool exact_follows) {
    BoxEstimate& box = boxes_[a];
    const float* phi = tape_.phi_of(box.samples.rows.back(), a);
    const double mu = box.samples.mu.back();
    IndexMoment<double> value = index_moment(lane_.loss, box.rho.dot(psi_), box.samples.cost.back(), mu);
    if (lane_.fits_jointly()) {
      value.moment /= joint_.state.dispersion[a];
      value.curvature /= joint_.state.dispersion[a];
    }
    const VectorXd image = box.curvature_inverse.selfadjointView<Lower>() * psi_;
    const double quadratic = psi_.dot(image);
    if (!exact_follows) box.rho -= image * (value.moment / (1.0 + value.curvature * quadratic));
    if (value.curvature > 0.0) {
      rank_one_update(box.curvature_inverse, image, quadratic, value.curvature);
      add_cross(box, psi_, mu, phi);
    }
  }

  void add_cross(BoxEstimate& box, const VectorXd& psi, double mu, const float* phi) {
    if (!needs_.response) return;
    const Eigen::Map<const Eigen::VectorXf> feature(phi, d_);
    box.cross.noalias() += psi * (mu * (1.0 - mu) * feature.cast<double>()).transpose();
  }

  void solve_index(int a) {
    BoxEstimate& box = boxes_[a];
    const int n = box.samples.size();
    if (n == 0) return;
    plug_in(a);
    fit_index(tape_.contexts, box.samples, options_.ridge_index, box.rho);
    box.samples_at_solve = n;
    if (needs_.steps && options_.refit.curvature_due(n, box.samples_at_curvature, lane_.learns_reward()))
      rebuild_curvature(a);
  }

  // mu of the box's samples under the current theta_hat.
  void plug_in(int a) {
    IndexSamples& samples = boxes_[a].samples;
    for (int s = 0; s < samples.size() && lane_.learns_reward(); ++s)
      samples.mu[s] = logistic(reward_.linear(tape_.phi_of(samples.rows[s], a)));
  }

  void solve_jointly() {
    std::vector<const IndexSamples*> samples;
    std::vector<VectorXd*> rho;
    for (int a = 0; a < A_; ++a) {
      plug_in(a);
      samples.push_back(&boxes_[a].samples);
      rho.push_back(&boxes_[a].rho);
    }
    joint_.refit(tape_.contexts, samples, rho);
    take_covariances();
  }

  void take_covariances() {
    for (int a = 0; a < A_; ++a) boxes_[a].curvature_inverse = joint_.own(a);
  }

  void rebuild_curvature(int a) {
    BoxEstimate& box = boxes_[a];
    VectorXd gradient;
    MatrixXd hessian;
    index_derivatives(tape_.contexts, box.samples, options_.ridge_index, box.rho, gradient, &hessian);
    box.curvature_inverse = factorised_or_fail(hessian).solve(MatrixXd::Identity(m_, m_));
    box.samples_at_curvature = box.samples.size();
    box.cross.setZero();
    for (int s = 0; s < box.samples.size() && needs_.response; ++s) {
      const VectorXd psi =
          Eigen::Map<const Eigen::VectorXf>(tape_.contexts.psi_row(box.samples.rows[s]), m_).cast<double>();
      const double mu = box.samples.mu[s];
      if (index_moment(lane_.loss, box.rho.dot(psi), 0.0, mu).curvature > 0.0) add_cross(box, psi, mu, tape_.phi_of(box.samples.rows[s], a));
    }
  }

  // LinUCB: regression of the realised net payoff r - c on psi.
  void add_payoff(int a, int row) {
    BoxEstimate& box = boxes_[a];
    ++box.count;
    update_image(box);
    const std::size_t at = tape_.at(row, a);
    const double error = tape_.reward[at] - tape_.cost[at] - box.rho.dot(psi_);
    box.rho += box.image * (error / (1.0 + box.quadratic));
    rank_one_update(box.design_inverse, box.image, box.quadratic, 1.0);
  }

  void add_reward_sample(int a, int row) {
    reward_.observe(tape_.phi_of(row, a), tape_.reward[tape_.at(row, a)]);
    reward_samples_.at.push_back(tape_.at(row, a));
    reward_samples_.reward.push_back(tape_.reward[tape_.at(row, a)]);
  }

  void solve_reward() {
    fit_reward(tape_, reward_samples_, options_.ridge_reward, reward_);
    reward_samples_at_solve_ = reward_samples_.size();
  }

  const Replication& replication_;
  const Tape& tape_;
  const LaneSpec& lane_;
  const EstimationOptions& options_;
  const int A_, m_, d_;
  const LaneNeeds needs_;
  std::vector<BoxEstimate> boxes_;
  std::vector<double> reward_memory_;
  RewardState reward_;
  RewardSamples reward_samples_;
  int reward_samples_at_solve_ = 0;
  ShrunkFit joint_;
  std::vector<double> draw_;  // what the bonus of each box is multiplied with: Thompson's normal, or 1
  VectorXd psi_;
  int period_ = 0;  // 1..T, 0 while calibrating
  LaneTally tally_;
};

}  // namespace

LaneTally run_reference_lane(const Replication& replication, const LaneSpec& lane, const EstimationOptions& options,
                             LaneRecord* record) {
  return ReferenceLane(replication, lane, options).run(record);
}

}  // namespace pandora
