// Changes to an estimator's past: forgetting, other costs, an additional box. Also the undoing of a change after an
// exception, which restores the estimator in every bit.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "host/lanes/estimator/checks.hpp"
#include "host/lanes/estimator/estimator_state.hpp"

namespace pandora {

namespace {

// Keeps those samples of a non-empty list whose position `stays` accepts; `width` numbers each.
template <class Values, class Stays>
void keep(Values& values, std::size_t width, const Stays& stays) {
  std::size_t kept = 0;
  for (std::size_t k = 0; k * width < values.size(); ++k)
    if (stays(k)) std::copy_n(values.begin() + k * width, width, values.begin() + kept++ * width);
  values.resize(kept * width);
}

// (diag(ridges) + sum_k w_k x_k x_k')^-1 of the columns x_k.
Eigen::MatrixXd weighted_inverse(const Eigen::MatrixXd& columns, const std::vector<double>& weight, Ridges ridges) {
  Eigen::MatrixXd design = diagonal_of(ridges, static_cast<int>(columns.rows())).asDiagonal();
  if (columns.cols() == 0) return design.diagonal().cwiseInverse().asDiagonal();  // Eigen divides by 0 without columns
  Eigen::MatrixXd scaled = columns;
  for (std::size_t k = 0; k < weight.size(); ++k) scaled.col(static_cast<Eigen::Index>(k)) *= std::sqrt(weight[k]);
  design.selfadjointView<Eigen::Lower>().rankUpdate(scaled);
  return factorised_or_fail(design).solve(Eigen::MatrixXd::Identity(columns.rows(), columns.rows()));
}

}  // namespace

void WeitzmanEstimator::State::forget() {
  bool less = false;
  const Forgetting& how = options.forgetting;
  if (how.half_life > 0.0) {
    const int step = Forgetting::quarter(how.half_life);
    for (; period - faded_at >= step; faded_at += step, less = true) fade(how.factor());
  }
  if (options.most_samples > 0 && drop_old(options.most_samples)) less = true;
  const bool dated = how.dated() && how.happens_after(period);
  if (dated) keep_learned_between(how.first_kept(period), how.last_kept(period));
  if (rules.learns_payoff() && dated) return refit_payoffs();
  if ((less || dated) && !rules.learns_payoff()) rebuild_all();
}

void WeitzmanEstimator::State::keep_at_most(int samples) {
  about_to_change_all();
  options.most_samples = samples;
  bool less = false;
  while (drop_old(samples)) less = true;
  if (less) rebuild_all();
}

void WeitzmanEstimator::State::fade(double factor) {
  about_to_change_all();
  for (BoxEstimate& box : boxes) {
    box.mass *= factor;
    if (rules.learns_payoff()) {  // no samples are kept: A = ridge I + sum w psi psi' and A rho fade themselves
      const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(m, m);
      const Eigen::MatrixXd whole = box.design_inverse->selfadjointView<Eigen::Lower>();
      const Eigen::MatrixXd design = factorised_or_fail(whole).solve(identity);
      const auto faded =
          factorised_or_fail(Eigen::MatrixXd(factor * design + (1.0 - factor) * options.ridge_payoff * identity));
      box.rho = faded.solve(factor * (design * box.rho)).eval();
      box.design_inverse = Eigen::MatrixXd(faded.solve(identity));
    }
    IndexSamples& samples = box.samples;
    samples.weight.resize(samples.rows.size(), 1.0);
    for (double& weight : samples.weight) weight *= factor;
    if (!rules.learns_payoff())
      drop_samples(box, [&](std::size_t s) { return samples.weight[s] >= Forgetting::kLeastWeight; });
    box.count = static_cast<int>(std::lround(box.mass));
  }
  reward_samples.weight.resize(reward_samples.reward.size(), 1.0);
  for (double& weight : reward_samples.weight) weight *= factor;
  drop_reward_samples([&](std::size_t k) { return reward_samples.weight[k] >= Forgetting::kLeastWeight; });
}

bool WeitzmanEstimator::State::drop_old(int most) {
  const auto old = [](int size) { return static_cast<std::size_t>(size - size / 2); };
  bool dropped = false;
  for (BoxEstimate& box : boxes) {
    if (box.samples.size() <= most) continue;
    about_to_change_all();
    drop_samples(box, [first = old(box.samples.size())](std::size_t s) { return s >= first; });
    count_again(box);
    dropped = true;
  }
  if (reward_samples.size() / A > most) {
    about_to_change_all();
    drop_reward_samples([first = old(reward_samples.size())](std::size_t k) { return k >= first; });
    dropped = true;
  }
  return dropped;
}

void WeitzmanEstimator::State::keep_learned_between(int first, int last) {
  about_to_change_all();
  const auto within = [&](int learned) { return learned >= first && learned <= last; };
  for (BoxEstimate& box : boxes) {
    drop_samples(box, [&](std::size_t s) { return within(box.samples.learned[s]); });
    count_again(box);
  }
  drop_reward_samples([&](std::size_t k) { return within(reward_samples.learned[k]); });
}

void WeitzmanEstimator::State::count_again(BoxEstimate& box) {
  const std::vector<double>& weight = box.samples.weight;
  box.mass = weight.empty() ? box.samples.size() : std::accumulate(weight.begin(), weight.end(), 0.0);
  box.count = static_cast<int>(std::lround(box.mass));
}

template <class Stays>
void WeitzmanEstimator::State::drop_samples(BoxEstimate& box, const Stays& stays) {
  std::vector<char> staying(box.samples.rows.size());  // `stays` may read data that is moved below
  for (std::size_t s = 0; s < staying.size(); ++s) staying[s] = stays(s);
  const auto keeps = [&](std::size_t s) { return staying[s] != 0; };
  for (std::vector<int>* list : {&box.samples.rows, &box.samples.learned}) keep(*list, 1, keeps);
  for (std::vector<double>* list : {&box.samples.cost, &box.samples.mu, &box.samples.weight}) keep(*list, 1, keeps);
  keep(box.phi, static_cast<std::size_t>(d), keeps);
}

template <class Stays>
void WeitzmanEstimator::State::drop_reward_samples(const Stays& stays) {
  std::vector<char> staying(reward_samples.reward.size());
  for (std::size_t k = 0; k < staying.size(); ++k) staying[k] = stays(k);
  const auto keeps = [&](std::size_t k) { return staying[k] != 0; };
  keep(kept.phi, static_cast<std::size_t>(d), keeps);
  for (std::vector<double>* list : {&reward_samples.reward, &reward_samples.weight}) keep(*list, 1, keeps);
  keep(reward_samples.learned, 1, keeps);
  reward_samples.at.resize(reward_samples.reward.size());
  std::iota(reward_samples.at.begin(), reward_samples.at.end(), std::size_t{0});
}

// Drops the contexts of samples that are all forgotten.
void WeitzmanEstimator::State::drop_unused_contexts() {
  Contexts& contexts = kept.contexts;
  std::vector<int> place(static_cast<std::size_t>(contexts.rows), -1);
  for (const BoxEstimate& box : boxes)
    for (const int row : box.samples.rows) place[static_cast<std::size_t>(row)] = 0;
  keep(contexts.psi, static_cast<std::size_t>(contexts.index_stride), [&](std::size_t row) { return place[row] == 0; });
  contexts.rows = 0;
  for (int& row : place)
    if (row == 0) row = contexts.rows++;
  for (BoxEstimate& box : boxes)
    for (int& row : box.samples.rows) row = place[static_cast<std::size_t>(row)];
  has_row = false;
}

// Computes designs and estimates from the remaining samples with their weights.
void WeitzmanEstimator::State::rebuild_all() {
  drop_unused_contexts();
  joint.state.samples = 0;
  for (BoxEstimate& box : boxes) {
    joint.state.samples += box.samples.effective();
    box.has_image = false;
    if (!needs.design) continue;
    box.design_inverse = weighted_inverse(contexts_of(box), box.samples.weight, options.index_ridges());
  }
  if (rules.learns_reward()) {
    const Eigen::Map<const Eigen::MatrixXf> phi(kept.phi.data(), d, reward_samples.size());
    const Eigen::MatrixXd inverse = weighted_inverse(phi.cast<double>(), reward_samples.weight, options.ridge_reward);
    for (int i = 0; i < d; ++i)
      for (int j = 0; j < d; ++j)
        reward.design_inverse[i * RewardState::stride(d) + j] = inverse(std::max(i, j), std::min(i, j));
    solve_reward();
  }
  solve_all();
}

Eigen::MatrixXd WeitzmanEstimator::State::contexts_of(const BoxEstimate& box) const {
  Eigen::MatrixXd psi_of(m, box.samples.size());
  for (int s = 0; s < box.samples.size(); ++s)
    psi_of.col(s) = Eigen::Map<const Eigen::VectorXf>(kept.contexts.psi_row(box.samples.rows[s]), m).cast<double>();
  return psi_of;
}

// Rules that learn payoffs keep samples if these have dates; rewards then stand in the place of mu.
void WeitzmanEstimator::State::refit_payoffs() {
  drop_unused_contexts();
  for (BoxEstimate& box : boxes) {
    const Eigen::MatrixXd psi_of = contexts_of(box);
    Eigen::VectorXd target = Eigen::VectorXd::Zero(m);
    for (int s = 0; s < box.samples.size(); ++s)
      target += box.samples.weight_of(s) * (box.samples.mu[s] - box.samples.cost[s]) * psi_of.col(s);
    box.design_inverse = weighted_inverse(psi_of, box.samples.weight, options.design_ridges(rules));
    box.rho = *box.design_inverse * target;
    box.has_image = false;
  }
}

void WeitzmanEstimator::State::solve_all() {
  if (rules.fits_jointly()) return solve_jointly();
  for (int a = 0; a < A; ++a) {
    BoxEstimate& box = boxes[a];
    if (box.samples.size() == 0) {
      box.rho.setZero();
      box.samples_at_solve = 0;
    }
    solve_index(a);
    if (needs.steps) rebuild_curvature(box);
  }
}

void WeitzmanEstimator::State::scale_costs(double factor) {
  about_to_change_all();
  for (BoxEstimate& box : boxes)
    for (double& cost : box.samples.cost) cost *= factor;
  // For a joint fit, samples with changed costs count as new: an earlier inverse Hessian does not serve it.
  joint.state.samples_at_solve = std::min(joint.state.samples_at_solve, 1);
  if (calibrated) solve_all();
}

void WeitzmanEstimator::State::add_box(int more) {
  about_to_change_all();
  const int before = d;
  const auto widen = [&](std::vector<float>& phi) {
    std::vector<float> wide;
    for (std::size_t k = 0; before > 0 && k < phi.size(); k += static_cast<std::size_t>(before)) {
      wide.insert(wide.end(), phi.begin() + k, phi.begin() + k + before);
      wide.resize(wide.size() + static_cast<std::size_t>(more), 0.0f);
    }
    phi = std::move(wide);
  };
  d += more;
  widen(kept.phi);
  for (BoxEstimate& box : boxes) {
    widen(box.phi);
    if (needs.response) box.cross.change().conservativeResizeLike(Eigen::MatrixXd::Zero(m, d));
  }
  kept.contexts.reward_features = d;
  std::vector<double> old_memory(static_cast<std::size_t>(RewardState::size(d)));
  old_memory.swap(reward_memory);
  const RewardState old = RewardState::over(old_memory.data(), before);
  reward = RewardState::over(reward_memory.data(), d);
  reward.reset(options.ridge_reward);
  std::copy_n(old.theta, before, reward.theta);
  for (int i = 0; i < before; ++i) {
    const int from = i * RewardState::stride(before), to = i * RewardState::stride(d);
    std::copy_n(old.design_inverse + from, before, reward.design_inverse + to);
    std::copy_n(old.curvature_inverse + from, before, reward.curvature_inverse + to);
  }
  boxes.push_back(empty_box());
  ++A;
  if (!rules.fits_jointly()) return;
  JointState state = joint.state;
  joint.start(rules, A, m, options.ridge_index);
  state.dispersion[A - 1] = joint.state.dispersion[A - 1];
  joint.state = state;
  take_covariances();
  if (calibrated) solve_jointly();
}

void WeitzmanEstimator::State::mark() {
  std::unique_ptr<Undo> now(new Undo{static_cast<const EstimatorCounts&>(*this), psi, joint.state, kept.contexts.rows,
                                     kept.contexts.psi.size(), kept.phi.size(), reward_samples.reward.size(),
                                     reward_samples.weight.size()});
  now->boxes.reserve(boxes.size());
  for (const BoxEstimate& box : boxes)
    now->boxes.push_back({static_cast<const BoxCounts&>(box),
                          box.rho,
                          box.samples.rows.size(),
                          box.samples.weight.size(),
                          box.phi.size(),
                          {},
                          {}});
  undo = std::move(now);
}

void WeitzmanEstimator::State::about_to_change(const BoxEstimate& box, bool mu) {
  if (!undo || undo->all) return;
  Undo::Box& before = undo->boxes[static_cast<std::size_t>(&box - boxes.data())];
  if (!before.matrices) before.matrices = {box.design_inverse, box.curvature_inverse, box.cross};
  if (mu && rules.learns_reward() && !before.mu) before.mu = box.samples.mu;
}

void WeitzmanEstimator::State::about_to_change_reward() {
  if (undo && !undo->all && !undo->reward_memory) undo->reward_memory = reward_memory;
}

void WeitzmanEstimator::State::about_to_change_all() {
  if (undo && !undo->all) undo->all = std::make_unique<Learned>(*this);
}

void WeitzmanEstimator::State::roll_back() noexcept {
  const std::unique_ptr<Undo> before = std::exchange(undo, nullptr);
  if (!before) return;
  if (before->all) static_cast<Learned&>(*this) = std::move(*before->all);
  static_cast<EstimatorCounts&>(*this) = before->counts;
  kept.contexts.rows = before->rows;
  psi = std::move(before->psi);
  joint.state = before->joint;
  kept.contexts.psi.resize(before->contexts);
  kept.phi.resize(before->phi);
  reward_samples.at.resize(before->rewards);
  reward_samples.reward.resize(before->rewards);
  reward_samples.weight.resize(before->reward_weights);
  reward_samples.learned.resize(std::min(reward_samples.learned.size(), before->rewards));
  for (std::size_t a = 0; a < before->boxes.size(); ++a) {
    Undo::Box& was = before->boxes[a];
    BoxEstimate& box = boxes[a];
    static_cast<BoxCounts&>(box) = was.counts;
    box.rho = std::move(was.rho);
    box.has_image = false;
    if (was.mu) box.samples.mu = std::move(*was.mu);
    box.samples.rows.resize(was.samples);
    box.samples.cost.resize(was.samples);
    box.samples.mu.resize(was.samples);
    box.samples.weight.resize(was.weights);
    box.samples.learned.resize(std::min(box.samples.learned.size(), was.samples));
    box.phi.resize(was.phi);
    if (!was.matrices) continue;
    box.design_inverse = std::move((*was.matrices)[0]);
    box.curvature_inverse = std::move((*was.matrices)[1]);
    box.cross = std::move((*was.matrices)[2]);
  }
  if (before->reward_memory) reward_memory = std::move(*before->reward_memory);
  reward = RewardState::over(reward_memory.data(), d);
}

}  // namespace pandora
