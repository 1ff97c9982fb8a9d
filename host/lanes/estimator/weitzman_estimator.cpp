// The public learner of indices and rewards (include/pandora/weitzman.hpp).
#include <algorithm>
#include <cmath>

#include "host/lanes/estimator/checks.hpp"
#include "host/lanes/estimator/estimator_state.hpp"
#include "pandora/weitzman.hpp"

namespace pandora {

EstimatorShape EstimatorShape::of(const Replication& replication) {
  const Contexts& contexts = replication.tape.contexts;
  return {replication.tape.boxes(), contexts.index_size, contexts.reward_features,
          replication.instance.stream(Purpose::exploration)};
}

WeitzmanEstimator::WeitzmanEstimator(const EstimatorShape& shape, const LaneSpec& rules,
                                     const EstimationOptions& options)
    : state_(new State(shape, rules, options)) {}
WeitzmanEstimator::WeitzmanEstimator(const Replication& replication, const LaneSpec& rules,
                                     const EstimationOptions& options)
    : WeitzmanEstimator(EstimatorShape::of(replication), rules, options) {}
WeitzmanEstimator::~WeitzmanEstimator() = default;
WeitzmanEstimator::WeitzmanEstimator(WeitzmanEstimator&&) noexcept = default;

void WeitzmanEstimator::calibrate(const Request& request, const Output& output, std::optional<double> reward) {
  if (request.period != state_->period || state_->psi.size() == 0) state_->begin(request);
  state_->calibrate(output, reward);
}

void WeitzmanEstimator::start_at(const WeitzmanEstimator& near) {
  State& own = *state_;
  const State& other = *near.state_;
  if (other.A != own.A || other.m != own.m || other.d != own.d) return;
  for (int a = 0; a < own.A; ++a) own.boxes[a].rho = other.boxes[a].rho;
  std::copy_n(other.reward.theta, own.d, own.reward.theta);
  own.joint.state.start_at(other.joint.state);
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
  const double draw =
      rules.thompson ? box_normal(state_->exploration, static_cast<std::uint32_t>(state_->period - 1), box) : 1.0;
  const BoxEstimate& estimate = state_->boxes[box];
  return rules.width_bonus() * rules.bonus.factor(state_->time(), estimate.count, estimate.reward_widths) * draw;
}

double WeitzmanEstimator::index(int box, double bonus) {
  const LaneSpec& rules = state_->rules;
  double z = linear(box);
  if (rules.has_bonus()) z += bonus * (rules.has_width_bonus() ? width(box) : 1.0);
  finite_or_fail(z);  // the link would hide an infinite value
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
  learn_outputs(opened);
  learn_reward(
      *std::find_if(opened.begin(), opened.end(), [&](const Output& output) { return output.box == deployed; }),
      reward);
  end_period();
}

void WeitzmanEstimator::learn_outputs(std::span<const Output> opened) {
  state_->learn_outputs(opened);
}

void WeitzmanEstimator::learn_rewards(std::span<const Output> deployed, std::span<const double> rewards) {
  state_->learn_rewards(deployed, rewards);
}

void WeitzmanEstimator::end_period() {
  state_->end_period();
}

bool WeitzmanEstimator::unsettled() const {
  return state_->unsettled;
}

int WeitzmanEstimator::unsolved_refits() const {
  return state_->joint.state.unsolved;
}

WeitzmanEstimator::WeitzmanEstimator(std::unique_ptr<State> state) : state_(std::move(state)) {}

WeitzmanEstimator WeitzmanEstimator::estimates() const {
  return WeitzmanEstimator(std::make_unique<State>(*state_, State::WithoutSamples{}));
}

void WeitzmanEstimator::scale_costs(double factor) {
  State& own = *state_;
  own.about_to_change_all();
  for (BoxEstimate& box : own.boxes)
    for (double& cost : box.samples.cost) cost *= factor;
  // For a joint fit, samples with changed costs count as new: an earlier inverse Hessian does not serve it.
  own.joint.state.samples_at_solve = std::min(own.joint.state.samples_at_solve, 1);
  if (own.calibrated) own.solve_all();
}

void WeitzmanEstimator::add_box(int more_reward_features) {
  state_->add_box(more_reward_features);
}

void WeitzmanEstimator::keep_at_most(int samples) {
  state_->about_to_change_all();
  state_->options.most_samples = samples;
  bool less = false;
  while (state_->drop_old(samples)) less = true;
  if (less) state_->rebuild_all();
}

void WeitzmanEstimator::mark() {
  state_->mark();
}

void WeitzmanEstimator::commit() noexcept {
  state_->undo.reset();
}

void WeitzmanEstimator::roll_back() noexcept {
  state_->roll_back();
}

void WeitzmanEstimator::restore(std::string_view bytes) {
  state_->restore(bytes);
}

}  // namespace pandora
