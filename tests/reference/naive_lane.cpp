#include "naive_lane.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "naive_fits.hpp"
#include "naive_lane_draws.hpp"
#include "naive_shrunk.hpp"
#include "naive_wider.hpp"

namespace pandora::naive {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

VectorXd features(const float* values, int n) {
  VectorXd out(n);
  for (int i = 0; i < n; ++i) out[i] = values[i];
  return out;
}

class Lane {
 public:
  Lane(const Replication& replication, const LaneSpec& spec, const EstimationOptions& options)
      : replication_(replication),
        tape_(replication.tape),
        spec_(spec),
        options_(options),
        draws_{replication.instance},
        A_(tape_.contexts.boxes),
        m_(tape_.contexts.index_size),
        d_(tape_.contexts.reward_features),
        boxes_(static_cast<std::size_t>(A_)) {
    theta_star_ = Eigen::Map<const VectorXd>(replication.instance.theta.data(), d_);
    theta_ = VectorXd::Zero(d_);
    curvature_ = options.ridge_reward * MatrixXd::Identity(d_, d_);
    for (Box& box : boxes_) {
      box.rho = VectorXd::Zero(m_);
      box.H = loss_ridges().asDiagonal();
      box.M = MatrixXd::Zero(m_, d_);
    }
    if (shrunk()) joint_ = Shrunk(spec, A_, m_, options.ridge_index), take_covariances();
  }

  Result run() {
    if (spec_.learning != Learning::none) calibrate();
    Result result;
    for (int t = 0; t < tape_.online_rows; ++t) {
      const int row = online_row(t);
      Period period = replication_.actions.wide() ? decide_wider(t, row) : decide(t, row);
      period.openings.resize(period.queried.size());
      double spent = 0.0;
      for (std::size_t k = 0; k < period.queried.size(); ++k)
        spent += tape_.cost[tape_.at(row_of(row, period.openings[k]), period.queried[k])];
      const int deployed_row = row_of(row, period.deployed_opening);
      const bool outside = period.deployed < 0;
      result.utility += (outside ? replication_.actions.outside : true_mu(deployed_row, period.deployed)) - spent;
      result.realised_utility += (outside ? static_cast<double>(static_cast<float>(replication_.actions.outside))
                                          : tape_.reward[tape_.at(deployed_row, period.deployed)]) -
                                 spent;
      result.periods.push_back(period);
      const double used = spec_.pacing.of == Pacing::Of::queries ? static_cast<double>(period.queried.size()) : spent;
      multiplier_ = std::max(0.0, multiplier_ + spec_.pacing.step * (used - spec_.pacing.budget));
      if (spec_.learning == Learning::online) learn(t, row, period);
    }
    return result;
  }

 private:
  int online_row(int t) const { return 1 + tape_.calibration_rows + t; }
  int row_of(int row, int opening) const { return row + opening * tape_.online_rows; }
  bool linucb() const { return spec_.score == Score::learned_payoff; }
  bool unknown() const { return spec_.learns_reward(); }
  bool shrunk() const { return spec_.learns_index() && spec_.fit == Fit::shrunk; }
  VectorXd ridges() const {
    const double slopes = options_.ridge_slopes > 0.0 ? options_.ridge_slopes : options_.ridge_index;
    return ridges_of(m_, options_.ridge_index, slopes);
  }
  VectorXd loss_ridges() const {
    return options_.ridge_loss > 0.0 ? ridges_of(m_, options_.ridge_loss, options_.ridge_loss) : ridges();
  }
  bool tracking() const { return options_.refit.kind == RefitSchedule::Kind::tracking; }
  VectorXd psi(int row) const {
    return spec_.context ? features(tape_.contexts.psi_row(row), m_) : VectorXd(VectorXd::Unit(m_, 0));
  }
  VectorXd phi(int row, int a) const { return features(tape_.phi_of(row, a), d_); }
  double true_mu(int row, int a) const { return reward_link(theta_star_.dot(phi(row, a))); }

  // mu_s of a past sample: the true value, or the plug-in at the present theta_hat.
  double plug_in(const IndexSample& sample) const {
    return reward_link(sample.phi.dot(unknown() ? theta_ : theta_star_));
  }

  void add(int a, int row) {
    boxes_[a].samples.push_back({psi(row), phi(row, a), tape_.cost[tape_.at(row, a)]});
    boxes_[a].payoffs.push_back(tape_.told(tape_.at(row, a)) - (spec_.unopened ? 0.0 : tape_.cost[tape_.at(row, a)]));
    boxes_[a].reward_widths += std::pow(norm_in_inverse(phi(row, a), reward_design()), 2);
    ++samples_;
  }
  void add_reward(int a, int row) {
    rewards_.push_back({phi(row, a), static_cast<double>(tape_.told(tape_.at(row, a)))});
  }

  void calibrate() {
    if (spec_.T0 == 0 && !linucb())
      for (const int a : boxes_there(tape_, 0)) add(a, 0);
    const std::vector<int> from_the_start = boxes_there(tape_, 0);
    for (int k = 0; k < spec_.T0; ++k) {
      const int a = from_the_start[static_cast<std::size_t>(k) % from_the_start.size()];
      add(a, 1 + k);
      if (unknown()) add_reward(a, 1 + k);
    }
    if (linucb()) return;
    if (!rewards_.empty()) solve_theta();
    if (shrunk()) return solve_jointly();
    for (Box& box : boxes_) solve(box);
  }

  void solve_theta() {
    theta_ = fit_reward_in_disc(rewards_, options_.ridge_reward, d_, options_.radius_theta);
    curvature_ = reward_jacobian(rewards_, options_.ridge_reward, theta_);
    rewards_at_solve_ = static_cast<double>(rewards_.size());
  }

  void solve_jointly() {
    std::vector<std::vector<IndexSample>> samples;
    std::vector<std::vector<double>> mu(static_cast<std::size_t>(A_));
    VectorXd rho(A_ * m_);
    for (int a = 0; a < A_; ++a) {
      samples.push_back(boxes_[a].samples);
      for (const IndexSample& sample : boxes_[a].samples) mu[a].push_back(plug_in(sample));
      rho.segment(a * m_, m_) = boxes_[a].rho;
    }
    joint_.refit(samples, mu, spec_.loss, rho);
    for (int a = 0; a < A_; ++a) boxes_[a].rho = rho.segment(a * m_, m_);
    samples_at_solve_ = samples_;
    take_covariances();
  }
  void take_covariances() {
    for (int a = 0; a < A_; ++a) boxes_[a].H = joint_.C.block(a * m_, a * m_, m_, m_).inverse();
  }
  void solve(Box& box) {
    if (box.samples.empty()) return;
    std::vector<double> mu;
    for (const IndexSample& sample : box.samples) mu.push_back(plug_in(sample));
    box.rho = fit_index_in_ball(box.samples, mu, loss_ridges(), options_.radius_rho, spec_.loss);
    box.n_last = static_cast<int>(box.samples.size());
    if (box.n_last < RefitSchedule::kCurvatureGrowth * box.n_rebuilt - 1e-9) return;
    if (!unknown() && box.n_last < RefitSchedule::kTrackingExact) return;  // every sample is solved exactly until then
    box.n_rebuilt = box.n_last;
    box.H = index_jacobian(box.samples, mu, loss_ridges(), box.rho, spec_.loss);
    box.M.setZero();
    for (std::size_t s = 0; s < box.samples.size(); ++s)
      if (is_active(mu[s], box.samples[s].psi.dot(box.rho), spec_.loss)) couple(box, box.samples[s], mu[s]);
  }

  void couple(Box& box, const IndexSample& sample, double mu) {
    if (unknown()) box.M += mu * (1.0 - mu) * sample.psi * sample.phi.transpose();
  }

  Period decide(int t, int row) {
    Period period;
    for (int a = 0; a < A_; ++a) {
      double width = 0.0;
      period.score.push_back(score(t, a, row, width));
      if (spec_.paces()) period.score.back() -= multiplier_;
      if (static_cast<int>(boxes_[a].samples.size()) < spec_.forced) period.score.back() = kForcedScore;
      period.width.push_back(width);
    }
    const bool random = explores(t, 0), opens_all = explores(t, 1);
    const std::vector<int> order = those_there(tape_, row, order_of(t, period.score, random));
    const std::vector<double> threshold = thresholds_there(tape_, row, spec_);
    const MatrixXd design = reward_design();
    std::vector<double> mu(static_cast<std::size_t>(A_), -1.0);
    for (std::size_t k = 0; k < order.size(); ++k) {
      const int a = order[k];
      const VectorXd f = phi(row, a);
      const double beta = spec_.c_theta * reward_factor(t);
      mu[a] = unknown() ? reward_link(theta_.dot(f) + beta * norm_in_inverse(f, design)) : true_mu(row, a);
      period.queried.push_back(a);
      const double best = *std::max_element(mu.begin(), mu.end());
      bool stop = spec_.stop == Stop::after_first;
      if (spec_.stop == Stop::last_reaches_threshold && k + 1 < order.size()) stop = mu[a] >= threshold[k];
      if (spec_.stop == Stop::best_reaches_scores_left) {
        stop = true;
        for (std::size_t left = k + 1; left < order.size(); ++left) stop = stop && best >= period.score[order[left]];
      }
      if (stop && !opens_all) break;
    }
    // max_element returns the first maximum, which is the lowest box. Boxes that stayed closed have -1.
    period.deployed = static_cast<int>(std::max_element(mu.begin(), mu.end()) - mu.begin());
    return period;
  }

  Period decide_wider(int t, int row) {
    WiderPeriod wider{replication_, spec_, draws_, t, row};
    for (int a = 0; a < A_; ++a) {
      double width = 0.0;
      wider.period.score.push_back(score(t, a, row, width));
      if (static_cast<int>(boxes_[a].samples.size()) < spec_.forced) wider.period.score.back() = kForcedScore;
      wider.period.width.push_back(width);
    }
    const MatrixXd design = reward_design();
    return wider.decide([&](int a, int opening) {
      const VectorXd f = phi(row_of(row, opening), a);
      return unknown() ? reward_link(theta_.dot(f) + spec_.c_theta * reward_factor(t) * norm_in_inverse(f, design))
                       : true_mu(row_of(row, opening), a);
    });
  }

  // The bonus's factor in period t + 1 of the horizon.
  double factor(int t, int a) const {
    const double time = spec_.T0 + t + 1, n = std::max<double>(1.0, static_cast<double>(boxes_[a].samples.size()));
    switch (spec_.bonus.kind) {
      case Bonus::constant:
        return 1.0;
      case Bonus::inverse_sqrt:
        return std::pow(time, -0.5);
      case Bonus::log:
        return std::sqrt(std::log(time));
      case Bonus::log_ratio:
        return std::sqrt(std::log1p(time / n));
      case Bonus::count:
        return std::pow(n, -0.5);
      case Bonus::theory:
        break;
    }
    const double T = tape_.online_rows, delta = options_.theory.delta, dB = options_.theory.d_B;
    const double known = m_ * std::log(T) + std::log(T * A_ / delta);
    const double ridge = shrunk() ? options_.ridge_index : ridges().maxCoeff();
    if (!unknown()) return std::sqrt(options_.theory.C_1 * known + ridge * dB * dB);
    return options_.theory.C_2 *
           std::sqrt(known + (d_ * std::log(time) + std::log(1.0 / delta)) * boxes_[a].reward_widths);
  }
  double reward_factor(int t) const {
    if (spec_.bonus.kind != Bonus::theory) return 1.0;
    const TheoryConstants& say = options_.theory;
    const double time = spec_.T0 + t + 1, eta = options_.ridge_reward;
    return 2.0 / std::min(1.0, say.mu_min) *
           (say.gamma_0 *
                std::sqrt(d_ * std::log(1.0 + time * say.C_phi * say.C_phi / eta) + 2.0 * std::log(3.0 / say.delta)) +
            std::sqrt(eta) * say.alpha_bar);
  }
  bool explores(int t, int which) const { return spec_.epsilon > 0.0 && draws_.uniform(t, which) < spec_.epsilon; }

  double score(int t, int a, int row, double& width) const {
    if (spec_.score == Score::none) return 0.0;
    if (spec_.score == Score::oracle_index) return replication_.sigma[tape_.at(row, a)];
    if (spec_.score == Score::hindsight) return naive_hindsight(tape_, row, a);
    const Box& box = boxes_[a];
    MatrixXd V =
        linucb() ? MatrixXd(options_.ridge_payoff * MatrixXd::Identity(m_, m_)) : MatrixXd(ridges().asDiagonal());
    for (const IndexSample& sample : box.samples) V += sample.psi * sample.psi.transpose();
    if (shrunk()) V = box.H;
    const double c = linucb() ? spec_.c_b : spec_.c_rho;
    if (c > 0.0 && spec_.bonus.kind != Bonus::count) width = norm_in_inverse(psi(row), V);
    const double bonus = c > 0.0 ? c * factor(t, a) * (spec_.thompson ? draws_.normal(t, a) : 1.0) *
                                       (spec_.bonus.kind == Bonus::count ? 1.0 : width)
                                 : 0.0;
    if (!linucb()) return link_of(spec_.loss, box.rho.dot(psi(row)) + bonus);
    VectorXd sum = VectorXd::Zero(m_);
    for (std::size_t s = 0; s < box.samples.size(); ++s) sum += box.payoffs[s] * box.samples[s].psi;
    return (V.inverse() * sum).dot(psi(row)) + bonus;
  }

  std::vector<int> order_of(int t, const std::vector<double>& score, bool random) const {
    if (spec_.order == Order::listed && !random) return {spec_.list, spec_.list + spec_.length};
    std::vector<double> key = score;
    if (spec_.order == Order::random || random)
      for (int a = 0; a < A_; ++a) key[a] = draws_.place(t, a);
    std::vector<int> order(static_cast<std::size_t>(A_));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key[a] > key[b]; });
    return order;
  }

  MatrixXd reward_design() const {
    MatrixXd design = options_.ridge_reward * MatrixXd::Identity(d_, d_);
    for (const RewardSample& sample : rewards_) design += sample.phi * sample.phi.transpose();
    return design;
  }

  bool due(const Box& box) const {
    const int n = static_cast<int>(box.samples.size());
    if (options_.refit.kind == RefitSchedule::Kind::every) return false;
    if (tracking()) return n <= 200 || 10 * n >= 11 * box.n_last;
    return n >= options_.refit.growth * box.n_last - 1e-9;
  }

  void learn(int t, int row, const Period& period) {
    deployed_.push_back(period.deployed);
    deployed_opening_.push_back(period.deployed_opening);
    if (linucb()) {
      for (const int s : told_at(tape_, t))
        if (deployed_[static_cast<std::size_t>(s)] >= 0)
          add(deployed_[static_cast<std::size_t>(s)], row_of_deployed(s));
      return;
    }
    std::vector<bool> solve_now(static_cast<std::size_t>(A_), false);
    for (std::size_t k = 0; k < period.queried.size(); ++k) {
      const int a = period.queried[k];
      Box& box = boxes_[a];
      add(a, row_of(row, period.openings[k]));
      solve_now[a] = solve_now[a] || (!shrunk() && due(box));
      if (!tracking()) continue;
      solve_now[a] = solve_now[a] || (!shrunk() && binds(box.rho, options_.radius_rho));
      const IndexSample& sample = box.samples.back();
      const double mu = plug_in(sample), z = sample.psi.dot(box.rho);
      const double weight = shrunk() ? 1.0 / joint_.kappa[a] : 1.0;
      const double slope = weight * moment(sample.cost, mu, z, spec_.loss);
      if (is_active(mu, z, spec_.loss)) {
        box.H += weight * slope_of(spec_.loss, z) * sample.psi * sample.psi.transpose();
        couple(box, sample, mu);
      }
      if (!solve_now[a]) box.rho -= box.H.inverse() * sample.psi * slope;
      solve_now[a] = solve_now[a] || (!shrunk() && binds(box.rho, options_.radius_rho));
    }
    if (unknown() && !told_at(tape_, t).empty()) move_theta(t, solve_now);
    const bool all = options_.refit.kind == RefitSchedule::Kind::every && (t + 1) % options_.refit.every == 0;
    if (shrunk()) {
      const double growth = tracking() ? 1.1 : options_.refit.growth;
      const bool never = options_.refit.kind == RefitSchedule::Kind::every;
      if (all || (!never && samples_ >= growth * samples_at_solve_ - 1e-9)) solve_jointly();
      return;
    }
    for (int a = 0; a < A_; ++a)
      if (all || solve_now[a]) solve(boxes_[a]);
  }

  int row_of_deployed(int s) const { return row_of(online_row(s), deployed_opening_[static_cast<std::size_t>(s)]); }

  void move_theta(int t, std::vector<bool>& solve_now) {
    const VectorXd before = theta_;
    bool solve = false;
    for (const int s : told_at(tape_, t)) {
      if (deployed_[static_cast<std::size_t>(s)] < 0) continue;
      add_reward(deployed_[static_cast<std::size_t>(s)], row_of_deployed(s));
      const RewardSample& sample = rewards_.back();
      if (!options_.refit_reward.steps) continue;
      const double g = reward_link(sample.phi.dot(theta_));
      curvature_ += g * (1.0 - g) * sample.phi * sample.phi.transpose();
      theta_ += curvature_.inverse() * sample.phi * (sample.reward - g);
      solve = solve || binds(before, options_.radius_theta) || binds(theta_, options_.radius_theta);
    }
    solve = solve || rewards_.size() >= options_.refit_reward.growth * rewards_at_solve_ - 1e-9;
    if (solve) solve_theta();
    if (!tracking() || shrunk()) return;
    for (int a = 0; a < A_; ++a) {
      VectorXd& rho = boxes_[a].rho;
      solve_now[a] = solve_now[a] || binds(rho, options_.radius_rho);
      rho += boxes_[a].H.inverse() * boxes_[a].M * (theta_ - before);
      solve_now[a] = solve_now[a] || binds(rho, options_.radius_rho);
    }
  }
  const Replication& replication_;
  const Tape& tape_;
  const LaneSpec& spec_;
  const EstimationOptions& options_;
  const LaneDraws draws_;
  const int A_, m_, d_;
  std::vector<Box> boxes_;
  std::vector<RewardSample> rewards_;
  std::vector<int> deployed_, deployed_opening_;  // in every online period
  Shrunk joint_;
  int samples_ = 0, samples_at_solve_ = 0;
  double multiplier_ = spec_.pacing.start;
  VectorXd theta_star_, theta_;
  MatrixXd curvature_;  // eta_0 I + sum G' phi phi', with G' when each term was added
  double rewards_at_solve_ = 0.0;
};
}  // namespace

Result run_lane(const Replication& replication, const LaneSpec& lane, const EstimationOptions& options) {
  return Lane(replication, lane, options).run();
}

}  // namespace pandora::naive
