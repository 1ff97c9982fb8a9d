// A change of an estimator taken back: after an exception it is what it was, in every bit.
#include <utility>

#include "host/lanes/estimator/estimator_state.hpp"

namespace pandora {

void WeitzmanEstimator::State::mark() {
  auto now = std::make_unique<Undo>();
  now->period = period, now->faded_at = faded_at, now->rows = kept.contexts.rows;
  now->reward_samples_at_solve = reward_samples_at_solve;
  now->has_row = has_row, now->calibrated = calibrated, now->unsettled = unsettled;
  now->psi = psi;
  now->joint = joint.state;
  now->contexts = kept.contexts.psi.size(), now->phi = kept.phi.size();
  now->rewards = reward_samples.reward.size(), now->reward_weights = reward_samples.weight.size();
  now->boxes.reserve(boxes.size());
  for (const BoxEstimate& box : boxes)
    now->boxes.push_back({box.rho,
                          box.samples.rows.size(),
                          box.samples.weight.size(),
                          box.phi.size(),
                          box.count,
                          box.samples_at_solve,
                          box.samples_at_curvature,
                          box.due,
                          box.mass,
                          box.reward_widths,
                          {},
                          {}});
  undo = std::move(now);
}

void WeitzmanEstimator::State::about_to_change(const BoxEstimate& box, bool mu) {
  if (!undo || undo->all) return;
  Undo::Box& before = undo->boxes[static_cast<std::size_t>(&box - boxes.data())];
  if (!before.matrices) before.matrices.emplace({box.design_inverse, box.curvature_inverse, box.cross});
  if (mu && rules.learns_reward() && !before.mu) before.mu = box.samples.mu;
}

void WeitzmanEstimator::State::about_to_change_reward() {
  if (undo && !undo->all && !undo->reward_memory) undo->reward_memory = reward_memory;
}

void WeitzmanEstimator::State::about_to_change_all() {
  if (undo && !undo->all)
    undo->all.reset(new Undo::All{A, d, boxes, kept, reward_memory, reward_samples, joint, options});
}

void WeitzmanEstimator::State::roll_back() noexcept {
  const std::unique_ptr<Undo> before = std::exchange(undo, nullptr);
  if (!before) return;
  if (Undo::All* const all = before->all.get()) {
    A = all->A, d = all->d;
    boxes = std::move(all->boxes);
    kept = std::move(all->kept);
    reward_memory = std::move(all->reward_memory);
    reward_samples = std::move(all->reward_samples);
    joint = std::move(all->joint);
    options = all->options;
  }
  period = before->period, faded_at = before->faded_at, kept.contexts.rows = before->rows;
  reward_samples_at_solve = before->reward_samples_at_solve;
  has_row = before->has_row, calibrated = before->calibrated, unsettled = before->unsettled;
  psi = std::move(before->psi);
  joint.state = before->joint;
  kept.contexts.psi.resize(before->contexts);
  kept.phi.resize(before->phi);
  reward_samples.at.resize(before->rewards);
  reward_samples.reward.resize(before->rewards);
  reward_samples.weight.resize(before->reward_weights);
  for (std::size_t a = 0; a < before->boxes.size(); ++a) {
    Undo::Box& was = before->boxes[a];
    BoxEstimate& box = boxes[a];
    box.rho = std::move(was.rho);
    box.has_image = false;
    if (was.mu) box.samples.mu = std::move(*was.mu);
    box.samples.rows.resize(was.samples);
    box.samples.cost.resize(was.samples);
    box.samples.mu.resize(was.samples);
    box.samples.weight.resize(was.weights);
    box.phi.resize(was.phi);
    box.count = was.count, box.samples_at_solve = was.samples_at_solve;
    box.samples_at_curvature = was.samples_at_curvature;
    box.due = was.due, box.mass = was.mass, box.reward_widths = was.reward_widths;
    if (!was.matrices) continue;
    box.design_inverse = std::move((*was.matrices)[0]);
    box.curvature_inverse = std::move((*was.matrices)[1]);
    box.cross = std::move((*was.matrices)[2]);
  }
  if (before->reward_memory) reward_memory = std::move(*before->reward_memory);
  reward = RewardState::over(reward_memory.data(), d);
}

}  // namespace pandora
