#include "host/lanes/estimator/estimator_state.hpp"

#include <algorithm>
#include <cmath>

#include "host/lanes/estimator/checks.hpp"
#include "host/lanes/estimator/reward_fit.hpp"
#include "kernels/rules/index_loss.hpp"

namespace pandora {

using Eigen::Lower;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// inverse <- (inverse^-1 + h psi psi')^-1 given image = inverse psi and quadratic = psi' image (Sherman-Morrison).
void rank_one_update(MatrixXd& inverse, const VectorXd& image, double quadratic, double h) {
  inverse.selfadjointView<Lower>().rankUpdate(image, -h / (1.0 + h * quadratic));
}

}  // namespace

WeitzmanEstimator::State::State(const EstimatorShape& shape, const LaneSpec& spec, const EstimationOptions& how)
    : Learned{shape.boxes, shape.reward_features, how,
              std::vector<double>(static_cast<std::size_t>(RewardState::size(shape.reward_features)))},
      rules(spec),
      m(shape.index_features),
      exploration(shape.exploration),
      needs(needs_of(spec, how.refit)),
      reward(RewardState::over(reward_memory.data(), d)) {
  for (int a = 0; a < A; ++a) boxes.push_back(empty_box());
  if (rules.fits_jointly()) {
    joint.start(rules, A, m, options.ridge_index);
    take_covariances();
  }
  reward.reset(options.ridge_reward);
  contexts.boxes = 1;
  contexts.index_size = m;
  contexts.index_stride = padded_to_vector<float>(m);
  contexts.reward_features = d;
}

WeitzmanEstimator::State::State(State& other, WithoutSamples)
    : EstimatorCounts(other),
      Learned{other.A, other.d, other.options, other.reward_memory},
      rules(other.rules),
      m(other.m),
      exploration(other.exploration),
      needs(other.needs),
      only_asked(true),
      psi(other.psi),
      reward(RewardState::over(reward_memory.data(), d)) {
  for (BoxEstimate& box : other.boxes) {
    BoxEstimate& own = boxes.emplace_back();
    static_cast<BoxCounts&>(own) = static_cast<const BoxCounts&>(box);
    own.rho = box.rho;
    own.packed = other.covariance(box).packed();
  }
  joint.state.unsolved = other.joint.state.unsolved;
}

BoxEstimate WeitzmanEstimator::State::empty_box() const {
  const auto inverse_of = [this](Ridges ridges) -> MatrixXd {
    return diagonal_of(ridges, m).cwiseInverse().asDiagonal();
  };
  BoxEstimate box;
  box.rho = VectorXd::Zero(m);
  box.samples.loss = rules.loss;
  if (needs.design) box.design_inverse = inverse_of(options.design_ridges(rules));
  if (needs.steps) box.curvature_inverse = inverse_of(options.loss_ridges());
  if (needs.response) box.cross = MatrixXd(MatrixXd::Zero(m, d));
  return box;
}

void WeitzmanEstimator::State::begin(const Request& now) {
  period = now.period;
  latest = std::max(latest, period);
  psi = Eigen::Map<const Eigen::VectorXf>(now.psi.data(), m).cast<double>();
  if (!rules.context) psi = VectorXd::Unit(m, 0);
  has_row = false;
  for (BoxEstimate& box : boxes) box.has_image = false;
}

void WeitzmanEstimator::State::calibrate(const Output& output, std::optional<double> r) {
  if (rules.learning == Learning::none) return;
  if (rules.learns_payoff()) {
    if (r) add_payoff(output, *r);
    return;
  }
  about_to_change(boxes[output.box], false);
  add_index_sample(output);
  if (r && rules.learns_reward()) add_reward_sample(output, *r);
}

void WeitzmanEstimator::State::finish_calibration() {
  calibrated = true;
  if (rules.learning == Learning::none || rules.learns_payoff()) return;
  if (rules.learns_reward() && reward_samples.size() > 0) solve_reward();
  if (rules.fits_jointly()) return solve_jointly();
  for (int a = 0; a < A; ++a) solve_index(a);
}

// LinUCB learns only from the deployed output.
void WeitzmanEstimator::State::learn_outputs(std::span<const Output> opened) {
  if (!rules.online() || rules.learns_payoff()) return;
  unsettled = true;
  for (std::size_t k = 0; k < opened.size(); ++k) {
    const Output& output = opened[k];
    BoxEstimate& box = boxes[output.box];
    about_to_change(box, false);
    if (std::ranges::count(opened.first(k), output.box, &Output::box) > 0) box.has_image = false;  // opened again
    add_index_sample(output);
    box.due = box.due || (!rules.fits_jointly() && options.refit.due(box.samples.size(), box.samples_at_solve));
    must_stay_in_ball(box);
    if (needs.steps) step_index(output, box.due);
    must_stay_in_ball(box);
  }
}

// A Newton step does not know the ball. A box that is on the sphere before or after a step is solved in this period.
void WeitzmanEstimator::State::must_stay_in_ball(BoxEstimate& box) const {
  if (needs.steps && !rules.fits_jointly() && reaches_sphere(box.rho, options.radius_rho)) box.due = true;
}

void WeitzmanEstimator::State::learn_rewards(std::span<const Output> deployed, std::span<const double> rewards) {
  if (!rules.online() || deployed.empty()) return;
  unsettled = true;
  if (rules.learns_payoff()) return add_payoff(deployed[0], rewards[0]);
  if (!rules.learns_reward()) return;
  const Eigen::Map<const VectorXd> theta(reward.theta, d);
  const VectorXd before = theta;
  bool stepped_to_sphere = options.refit_reward.steps && reaches_sphere(before, options.radius_theta);
  for (std::size_t k = 0; k < deployed.size(); ++k) {
    add_reward_sample(deployed[k], rewards[k]);
    stepped_to_sphere =
        stepped_to_sphere || (options.refit_reward.steps && reaches_sphere(theta, options.radius_theta));
  }
  if (stepped_to_sphere || options.refit_reward.due(reward_samples.size(), reward_samples_at_solve)) solve_reward();
  if (needs.response) {
    const VectorXd move = theta - before;
    for (BoxEstimate& box : boxes) {
      must_stay_in_ball(box);
      box.rho += box.curvature_inverse->selfadjointView<Lower>() * (*box.cross * move);
      must_stay_in_ball(box);
    }
  }
}

void WeitzmanEstimator::State::end_period() {
  unsettled = false;
  if (rules.learning == Learning::none || !rules.online()) return;
  if (!rules.learns_payoff()) {
    const bool all = options.refit.due_in_period(period);
    if (rules.fits_jointly()) {
      if (all || options.refit.jointly_due(joint.state.samples, joint.state.samples_at_solve)) solve_jointly();
    } else {
      for (int a = 0; a < A; ++a) {
        BoxEstimate& box = boxes[a];
        if (all ? box.samples.size() > box.samples_at_solve || rules.learns_reward() : box.due) solve_index(a);
        box.due = false;
      }
    }
  }
  forget();
}

void WeitzmanEstimator::State::update_image(BoxEstimate& box) {
  if (box.has_image) return;
  if (only_asked) {
    box.quadratic = box.packed.quadratic_form(psi);
  } else {
    box.image.noalias() = covariance(box)->selfadjointView<Lower>() * psi;
    box.quadratic = psi.dot(box.image);
  }
  box.has_image = true;
}

// Appends psi to `contexts` as the last row.
void WeitzmanEstimator::State::keep_context() {
  if (has_row) return;
  const Eigen::VectorXf row = psi.cast<float>();
  contexts.psi.insert(contexts.psi.end(), row.begin(), row.end());
  contexts.psi.resize(static_cast<std::size_t>(++contexts.rows) * contexts.index_stride, 0.0f);
  has_row = true;
}

void WeitzmanEstimator::State::add_index_sample(const Output& output) {
  BoxEstimate& box = boxes[output.box];
  const double mu = rules.learns_reward() ? logistic(reward.linear(output.phi.data())) : output.mu;
  keep_context();
  box.samples.add(contexts.rows - 1, output.cost, mu);
  if (options.forgetting.dated()) box.samples.learned.push_back(learned_in());
  if (rules.learns_reward()) box.samples.phi.insert(box.samples.phi.end(), output.phi.begin(), output.phi.end());
  box.count = static_cast<int>(std::lround(box.mass += 1.0));
  ++joint.state.samples;
  if (rules.sums_reward_widths()) box.reward_widths += std::pow(reward.width(output.phi.data()), 2);
  if (!needs.design) return;
  update_image(box);
  rank_one_update(box.design_inverse.change(), box.image, box.quadratic, 1.0);
}

// The Newton step of a new sample, with gradient, weight and coupling at the values before it. If an exact solve
// follows, rho takes no step, but the sample still joins Hinv and M.
void WeitzmanEstimator::State::step_index(const Output& output, bool exact_follows) {
  BoxEstimate& box = boxes[output.box];
  const double mu = box.samples.mu.back();
  IndexMoment<double> value = index_moment(rules.loss, box.rho.dot(psi), box.samples.cost.back(), mu);
  if (rules.fits_jointly()) {
    value.moment /= joint.state.dispersion[output.box];
    value.curvature /= joint.state.dispersion[output.box];
  }
  const VectorXd image = box.curvature_inverse->selfadjointView<Lower>() * psi;
  const double quadratic = psi.dot(image);
  if (!exact_follows) box.rho -= image * (value.moment / (1.0 + value.curvature * quadratic));
  if (value.curvature > 0.0) {
    rank_one_update(box.curvature_inverse.change(), image, quadratic, value.curvature);
    add_cross(box, psi, mu, output.phi.data());
  }
}

void WeitzmanEstimator::State::add_cross(BoxEstimate& box, const VectorXd& at, double mu, const float* phi) {
  if (!needs.response) return;
  const Eigen::Map<const Eigen::VectorXf> feature(phi, d);
  box.cross.change().noalias() += at * (mu * (1.0 - mu) * feature.cast<double>()).transpose();
}

// Computes mu of the box's samples under the current theta_hat.
void WeitzmanEstimator::State::plug_in(BoxEstimate& box) {
  for (int s = 0; s < box.samples.size() && rules.learns_reward(); ++s)
    box.samples.mu[s] = logistic(reward.linear(box.samples.phi.data() + static_cast<std::size_t>(s) * d));
}

void WeitzmanEstimator::State::solve_jointly() {
  std::vector<const IndexSamples*> samples;
  std::vector<VectorXd*> rho;
  for (BoxEstimate& box : boxes) {
    about_to_change(box, true);
    plug_in(box);
    samples.push_back(&box.samples);
    rho.push_back(&box.rho);
  }
  joint.refit(contexts, samples, rho);
  take_covariances();
}

void WeitzmanEstimator::State::take_covariances() {
  for (int a = 0; a < A; ++a) boxes[a].curvature_inverse = MatrixXd(joint.own(a));
}

void WeitzmanEstimator::State::solve_index(int a) {
  BoxEstimate& box = boxes[a];
  const int n = box.samples.size();
  if (n == 0) return;
  about_to_change(box, true);
  plug_in(box);
  fit_index(contexts, box.samples, options.loss_ridges(), box.rho, options.radius_rho);
  box.samples_at_solve = n;
  if (needs.steps && options.refit.curvature_due(n, box.samples_at_curvature, rules.learns_reward()))
    rebuild_curvature(box);
}

void WeitzmanEstimator::State::rebuild_curvature(BoxEstimate& box) {
  VectorXd gradient;
  MatrixXd hessian;
  index_derivatives(contexts, box.samples, options.loss_ridges(), box.rho, gradient, &hessian);
  box.curvature_inverse = MatrixXd(factorised_or_fail(hessian).solve(MatrixXd::Identity(m, m)));
  box.samples_at_curvature = box.samples.size();
  box.cross.change().setZero();
  for (int s = 0; s < box.samples.size() && needs.response; ++s) {
    const VectorXd at = Eigen::Map<const Eigen::VectorXf>(contexts.psi_row(box.samples.rows[s]), m).cast<double>();
    const double mu = box.samples.mu[s];
    if (index_moment(rules.loss, box.rho.dot(at), 0.0, mu).curvature > 0.0)
      add_cross(box, box.samples.weight_of(s) * at, mu, box.samples.phi.data() + static_cast<std::size_t>(s) * d);
  }
}

// LinUCB: regression of the realised net payoff r - c on psi.
void WeitzmanEstimator::State::add_payoff(const Output& output, double r) {
  BoxEstimate& box = boxes[output.box];
  about_to_change(box, false);
  box.count = static_cast<int>(std::lround(box.mass += 1.0));
  update_image(box);
  const double error = r - output.cost - box.rho.dot(psi);
  box.rho += box.image * (error / (1.0 + box.quadratic));
  rank_one_update(box.design_inverse.change(), box.image, box.quadratic, 1.0);
  if (!options.forgetting.dated()) return;
  keep_context();
  box.samples.add(contexts.rows - 1, output.cost, r);
  box.samples.learned.push_back(learned_in());
}

void WeitzmanEstimator::State::add_reward_sample(const Output& output, double r) {
  about_to_change_reward();
  double image[kMaxRewardFeatures];
  reward.widen(SerialTeam{}, output.phi.data(), image);
  // During the calibration theta_hat takes no steps; it is solved at the calibration's end.
  if (calibrated && options.refit_reward.steps) reward.step(SerialTeam{}, output.phi.data(), r, image);
  reward_samples.reward.push_back(r);
  if (!reward_samples.weight.empty()) reward_samples.weight.push_back(1.0);
  if (options.forgetting.dated()) reward_samples.learned.push_back(learned_in());
  reward_samples.phi.insert(reward_samples.phi.end(), output.phi.begin(), output.phi.end());
}

void WeitzmanEstimator::State::solve_reward() {
  about_to_change_reward();
  fit_reward(reward_samples, options.ridge_reward, reward, options.radius_theta);
  reward_samples_at_solve = reward_samples.size();
}

}  // namespace pandora
