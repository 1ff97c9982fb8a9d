#include <algorithm>
#include <cmath>

#include "host/reference/box_estimate.hpp"
#include "host/reference/checks.hpp"
#include "host/reference/reward_fit.hpp"
#include "host/reference/shrunk_fit.hpp"
#include "kernels/rules/index_loss.hpp"
#include "kernels/rules/needs.hpp"
#include "pandora/weitzman.hpp"

namespace pandora {

using Eigen::Lower;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct WeitzmanEstimator::State {
  State(const Replication& replication, const LaneSpec& spec, const EstimationOptions& how)
      : rules(spec),
        options(how),
        A(replication.tape.boxes()),
        m(replication.tape.contexts.index_size),
        d(replication.tape.contexts.reward_features),
        exploration(replication.instance.stream(Purpose::exploration)),
        needs(needs_of(spec, how.refit)),
        boxes(static_cast<std::size_t>(A)),
        reward_memory(static_cast<std::size_t>(RewardState::size(d))),
        reward(RewardState::over(reward_memory.data(), d)) {
    const double ridge = rules.learns_payoff() ? 1.0 : options.ridge_index;  // LinUCB's design starts at I
    for (BoxEstimate& box : boxes) {
      box.rho = VectorXd::Zero(m);
      box.samples.loss = rules.loss;
      if (needs.design) box.design_inverse = MatrixXd::Identity(m, m) / ridge;
      if (needs.steps) box.curvature_inverse = MatrixXd::Identity(m, m) / options.ridge_index;
      if (needs.response) box.cross = MatrixXd::Zero(m, d);
    }
    if (rules.fits_jointly()) {
      joint.start(rules, A, m, options.ridge_index);
      take_covariances();
    }
    reward.reset(options.ridge_reward);
    kept.contexts.boxes = 1;
    kept.contexts.index_size = m;
    kept.contexts.index_stride = replication.tape.contexts.index_stride;
    kept.contexts.reward_features = d;
  }

  // t of the bonuses: the periods so far, this one and those of the calibration counted.
  int time() const { return rules.T0 + request.period; }

  void begin(const Request& now) {
    request = now;
    psi = Eigen::Map<const Eigen::VectorXf>(now.psi.data(), m).cast<double>();
    has_row = false;
    for (BoxEstimate& box : boxes) box.has_image = false;
  }

  void calibrate(const Output& output, std::optional<double> r) {
    if (rules.learning == Learning::none) return;
    if (rules.learns_payoff()) {
      if (r) add_payoff(output, *r);
      return;
    }
    add_index_sample(output);
    if (r && rules.learns_reward()) add_reward_sample(output, *r);
  }

  void finish_calibration() {
    calibrated = true;
    if (rules.learning == Learning::none || rules.learns_payoff()) return;
    if (rules.learns_reward() && reward_samples.size() > 0) solve_reward();
    if (rules.fits_jointly()) return solve_jointly();
    for (int a = 0; a < A; ++a) solve_index(a);
  }

  void learn(std::span<const Output> opened, int deployed, double r) {
    if (!rules.online()) return;
    const Output& chosen =
        *std::find_if(opened.begin(), opened.end(), [&](const Output& output) { return output.box == deployed; });
    if (rules.learns_payoff()) return add_payoff(chosen, r);
    bool due[kMaxBoxes] = {};
    for (const Output& output : opened) {
      const int a = output.box;
      add_index_sample(output);
      due[a] = !rules.fits_jointly() && options.refit.due(boxes[a].samples.size(), boxes[a].samples_at_solve);
      if (needs.steps) step_index(output, due[a]);
    }
    if (rules.learns_reward()) {
      const VectorXd before = Eigen::Map<VectorXd>(reward.theta, d);
      add_reward_sample(chosen, r);
      if (reward_refit_due(reward_samples.size(), reward_samples_at_solve)) solve_reward();
      if (needs.response) {
        const VectorXd move = Eigen::Map<VectorXd>(reward.theta, d) - before;
        for (BoxEstimate& box : boxes) box.rho += box.curvature_inverse.selfadjointView<Lower>() * (box.cross * move);
      }
    }
    const bool all = options.refit.due_in_period(request.period);
    if (rules.fits_jointly()) {
      if (all || options.refit.jointly_due(joint.state.samples, joint.state.samples_at_solve)) solve_jointly();
      return;
    }
    for (int a = 0; a < A; ++a)
      if (all ? boxes[a].samples.size() > boxes[a].samples_at_solve || rules.learns_reward() : due[a]) solve_index(a);
  }

  void update_image(BoxEstimate& box) {
    if (box.has_image) return;
    box.image.noalias() =
        (rules.fits_jointly() ? box.curvature_inverse : box.design_inverse).selfadjointView<Lower>() * psi;
    box.quadratic = psi.dot(box.image);
    box.has_image = true;
  }

  void add_index_sample(const Output& output) {
    BoxEstimate& box = boxes[output.box];
    if (!has_row) {
      kept.contexts.psi.insert(kept.contexts.psi.end(), request.psi.begin(), request.psi.end());
      kept.contexts.psi.resize(static_cast<std::size_t>(++kept.contexts.rows) * kept.contexts.index_stride, 0.0f);
      has_row = true;
    }
    const double mu = rules.learns_reward() ? logistic(reward.linear(output.phi.data())) : output.mu;
    box.samples.add(kept.contexts.rows - 1, output.cost, mu);
    if (rules.learns_reward()) box.phi.insert(box.phi.end(), output.phi.begin(), output.phi.end());
    ++box.count;
    ++joint.state.samples;
    if (rules.sums_reward_widths()) box.reward_widths += std::pow(reward.width(output.phi.data()), 2);
    if (!needs.design) return;
    update_image(box);
    rank_one_update(box.design_inverse, box.image, box.quadratic, 1.0);
  }

  // The new sample's Newton step; gradient, weight and coupling at the values before it. Skipped where an exact
  // solve follows, except for Hinv and M, which the sample joins in any case.
  void step_index(const Output& output, bool exact_follows) {
    BoxEstimate& box = boxes[output.box];
    const double mu = box.samples.mu.back();
    IndexMoment<double> value = index_moment(rules.loss, box.rho.dot(psi), box.samples.cost.back(), mu);
    if (rules.fits_jointly()) {
      value.moment /= joint.state.dispersion[output.box];
      value.curvature /= joint.state.dispersion[output.box];
    }
    const VectorXd image = box.curvature_inverse.selfadjointView<Lower>() * psi;
    const double quadratic = psi.dot(image);
    if (!exact_follows) box.rho -= image * (value.moment / (1.0 + value.curvature * quadratic));
    if (value.curvature > 0.0) {
      rank_one_update(box.curvature_inverse, image, quadratic, value.curvature);
      add_cross(box, psi, mu, output.phi.data());
    }
  }

  void add_cross(BoxEstimate& box, const VectorXd& at, double mu, const float* phi) {
    if (!needs.response) return;
    const Eigen::Map<const Eigen::VectorXf> feature(phi, d);
    box.cross.noalias() += at * (mu * (1.0 - mu) * feature.cast<double>()).transpose();
  }

  // mu of the box's samples under the current theta_hat.
  void plug_in(BoxEstimate& box) {
    for (int s = 0; s < box.samples.size() && rules.learns_reward(); ++s)
      box.samples.mu[s] = logistic(reward.linear(box.phi.data() + static_cast<std::size_t>(s) * d));
  }

  void solve_jointly() {
    std::vector<const IndexSamples*> samples;
    std::vector<VectorXd*> rho;
    for (BoxEstimate& box : boxes) {
      plug_in(box);
      samples.push_back(&box.samples);
      rho.push_back(&box.rho);
    }
    joint.refit(kept.contexts, samples, rho);
    take_covariances();
  }

  void take_covariances() {
    for (int a = 0; a < A; ++a) boxes[a].curvature_inverse = joint.own(a);
  }

  void solve_index(int a) {
    BoxEstimate& box = boxes[a];
    const int n = box.samples.size();
    if (n == 0) return;
    plug_in(box);
    fit_index(kept.contexts, box.samples, options.ridge_index, box.rho);
    box.samples_at_solve = n;
    if (needs.steps && options.refit.curvature_due(n, box.samples_at_curvature, rules.learns_reward()))
      rebuild_curvature(box);
  }

  void rebuild_curvature(BoxEstimate& box) {
    VectorXd gradient;
    MatrixXd hessian;
    index_derivatives(kept.contexts, box.samples, options.ridge_index, box.rho, gradient, &hessian);
    box.curvature_inverse = factorised_or_fail(hessian).solve(MatrixXd::Identity(m, m));
    box.samples_at_curvature = box.samples.size();
    box.cross.setZero();
    for (int s = 0; s < box.samples.size() && needs.response; ++s) {
      const VectorXd at =
          Eigen::Map<const Eigen::VectorXf>(kept.contexts.psi_row(box.samples.rows[s]), m).cast<double>();
      const double mu = box.samples.mu[s];
      if (index_moment(rules.loss, box.rho.dot(at), 0.0, mu).curvature > 0.0)
        add_cross(box, at, mu, box.phi.data() + static_cast<std::size_t>(s) * d);
    }
  }

  // LinUCB: regression of the realised net payoff r - c on psi.
  void add_payoff(const Output& output, double r) {
    BoxEstimate& box = boxes[output.box];
    ++box.count;
    update_image(box);
    const double error = r - output.cost - box.rho.dot(psi);
    box.rho += box.image * (error / (1.0 + box.quadratic));
    rank_one_update(box.design_inverse, box.image, box.quadratic, 1.0);
  }

  void add_reward_sample(const Output& output, double r) {
    reward.observe(output.phi.data(), r);
    reward_samples.at.push_back(reward_samples.at.size());
    reward_samples.reward.push_back(r);
    kept.phi.insert(kept.phi.end(), output.phi.begin(), output.phi.end());
  }

  void solve_reward() {
    fit_reward(kept, reward_samples, options.ridge_reward, reward);
    reward_samples_at_solve = reward_samples.size();
  }

  const LaneSpec rules;
  const EstimationOptions options;
  const int A, m, d;
  const Stream exploration;
  const LaneNeeds needs;
  Request request;
  VectorXd psi;
  bool has_row = false;  // whether psi is the last row of `kept`
  bool calibrated = false;
  Tape kept;  // contexts of the samples, and features of the deployed ones
  std::vector<BoxEstimate> boxes;
  std::vector<double> reward_memory;
  RewardState reward;
  RewardSamples reward_samples;
  int reward_samples_at_solve = 0;
  ShrunkFit joint;
};

WeitzmanEstimator::WeitzmanEstimator(const Replication& replication, const LaneSpec& rules,
                                     const EstimationOptions& options)
    : state_(new State(replication, rules, options)) {}
WeitzmanEstimator::~WeitzmanEstimator() = default;
WeitzmanEstimator::WeitzmanEstimator(WeitzmanEstimator&&) noexcept = default;

void WeitzmanEstimator::calibrate(const Request& request, const Output& output, std::optional<double> reward) {
  if (request.period != state_->request.period || state_->psi.size() == 0) state_->begin(request);
  state_->calibrate(output, reward);
}

void WeitzmanEstimator::begin(const Request& request) {
  if (!state_->calibrated) state_->finish_calibration();
  state_->begin(request);
}

double WeitzmanEstimator::linear(int box) const {
  return state_->boxes[box].rho.dot(state_->psi);
}

double WeitzmanEstimator::width(int box) {
  if (!state_->rules.has_width_bonus()) return 0.0;
  state_->update_image(state_->boxes[box]);
  return std::sqrt(state_->boxes[box].quadratic);
}

double WeitzmanEstimator::bonus(int box) const {
  const LaneSpec& rules = state_->rules;
  if (!rules.has_bonus()) return 0.0;
  const double draw = rules.thompson
                          ? box_normal(state_->exploration, static_cast<std::uint32_t>(state_->request.period - 1), box)
                          : 1.0;
  const BoxEstimate& estimate = state_->boxes[box];
  return rules.width_bonus() * rules.bonus.factor(state_->time(), estimate.count, estimate.reward_widths) * draw;
}

double WeitzmanEstimator::index(int box, double bonus) {
  const LaneSpec& rules = state_->rules;
  double z = linear(box);
  if (rules.has_bonus()) z += bonus * (rules.has_width_bonus() ? width(box) : 1.0);
  finite_or_fail(z);  // the link hides what is infinite
  if (samples(box) < rules.forced) return kForcedScore;
  return rules.learns_index() && rules.loss == Loss::reservation ? index_link(z) : z;
}

double WeitzmanEstimator::reward(const Output& output) const {
  const LaneSpec& rules = state_->rules;
  if (!rules.learns_reward()) return finite_or_fail(output.mu);
  return logistic(finite_or_fail(
      state_->reward.optimistic(output.phi.data(), rules.c_theta * rules.bonus.reward_factor(state_->time()))));
}

double WeitzmanEstimator::reward_width(std::span<const float> phi) const {
  return state_->reward.width(phi.data());
}

int WeitzmanEstimator::samples(int box) const {
  return state_->boxes[box].count;
}

std::span<const double> WeitzmanEstimator::rho(int box) const {
  return {state_->boxes[box].rho.data(), static_cast<std::size_t>(state_->m)};
}

std::span<const double> WeitzmanEstimator::theta() const {
  return {state_->reward.theta, static_cast<std::size_t>(state_->rules.learns_reward() ? state_->d : 0)};
}

void WeitzmanEstimator::learn(std::span<const Output> opened, int deployed, double reward) {
  state_->learn(opened, deployed, reward);
}

}  // namespace pandora
