// Changes to an estimator's past: forgetting, other costs, an additional box. Also the undoing of a change after an
// exception, which restores the estimator in every bit.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
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

// Keeps those samples that `stays` accepts; they have d features each, or none.
template <class Samples, class Stays>
void keep_samples(Samples& samples, int d, const Stays& stays) {
  std::vector<char> staying(static_cast<std::size_t>(samples.size()));  // `stays` may read data that is moved below
  for (std::size_t s = 0; s < staying.size(); ++s) staying[s] = stays(s);
  const auto keeps = [&](std::size_t s) { return staying[s] != 0; };
  std::apply([&](auto&... list) { (keep(list, 1, keeps), ...); }, samples.lists());
  keep(samples.phi, static_cast<std::size_t>(d), keeps);
}

// Keeps the first n samples; there are no fewer.
template <class Samples>
void cut_samples(Samples& samples, int d, std::size_t n) {
  std::apply([&](auto&... list) { (list.resize(std::min(list.size(), n)), ...); }, samples.lists());
  samples.phi.resize(std::min(samples.phi.size(), n * static_cast<std::size_t>(d)));
}

void count_again(BoxEstimate& box) {
  const std::vector<double>& weight = box.samples.weight;
  box.mass = weight.empty() ? box.samples.size() : std::accumulate(weight.begin(), weight.end(), 0.0);
  box.count = static_cast<int>(std::lround(box.mass));
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

void WeitzmanEstimator::State::fade(double factor) {
  about_to_change_all();
  const auto fade_samples = [&](auto& samples, bool drops) {
    samples.weight.resize(static_cast<std::size_t>(samples.size()), 1.0);
    for (double& weight : samples.weight) weight *= factor;
    if (drops) keep_samples(samples, d, [&](std::size_t s) { return samples.weight[s] >= Forgetting::kLeastWeight; });
  };
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
    fade_samples(box.samples, !rules.learns_payoff());
    box.count = static_cast<int>(std::lround(box.mass));
  }
  fade_samples(reward_samples, true);
}

bool WeitzmanEstimator::State::drop_old(int most) {
  const auto old = [](int size) { return static_cast<std::size_t>(size - size / 2); };
  bool dropped = false;
  for (BoxEstimate& box : boxes) {
    if (box.samples.size() <= most) continue;
    about_to_change_all();
    keep_samples(box.samples, d, [first = old(box.samples.size())](std::size_t s) { return s >= first; });
    count_again(box);
    dropped = true;
  }
  if (reward_samples.size() / A > most) {
    about_to_change_all();
    keep_samples(reward_samples, d, [first = old(reward_samples.size())](std::size_t k) { return k >= first; });
    dropped = true;
  }
  return dropped;
}

void WeitzmanEstimator::State::keep_learned_between(int first, int last) {
  about_to_change_all();
  const auto keep_within = [&](auto& samples) {
    keep_samples(samples, d,
                 [&, &learned = samples.learned](std::size_t s) { return learned[s] >= first && learned[s] <= last; });
  };
  for (BoxEstimate& box : boxes) {
    keep_within(box.samples);
    count_again(box);
  }
  keep_within(reward_samples);
}

// Drops the contexts of samples that are all forgotten.
void WeitzmanEstimator::State::drop_unused_contexts() {
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
    const Eigen::Map<const Eigen::MatrixXf> phi(reward_samples.phi.data(), d, reward_samples.size());
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
    psi_of.col(s) = Eigen::Map<const Eigen::VectorXf>(contexts.psi_row(box.samples.rows[s]), m).cast<double>();
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
  widen(reward_samples.phi);
  for (BoxEstimate& box : boxes) {
    widen(box.samples.phi);
    if (needs.response) box.cross.change().conservativeResizeLike(Eigen::MatrixXd::Zero(m, d));
  }
  contexts.reward_features = d;
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
  std::ranges::copy(joint.state.boxes, state.boxes);
  joint.state = state;
  take_covariances();
  if (calibrated) solve_jointly();
}

void WeitzmanEstimator::State::mark() {
  std::unique_ptr<Undo> now(new Undo{static_cast<const EstimatorCounts&>(*this), psi, joint.state, contexts.rows,
                                     reward_samples.reward.size()});
  now->boxes.reserve(boxes.size());
  for (const BoxEstimate& box : boxes)
    now->boxes.push_back({static_cast<const BoxCounts&>(box), box.rho, box.samples.rows.size(), {}, {}});
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
  contexts.rows = before->rows;
  contexts.psi.resize(static_cast<std::size_t>(contexts.rows) * contexts.index_stride);
  psi = std::move(before->psi);
  joint.state = before->joint;
  cut_samples(reward_samples, d, before->rewards);
  for (std::size_t a = 0; a < before->boxes.size(); ++a) {
    Undo::Box& was = before->boxes[a];
    BoxEstimate& box = boxes[a];
    static_cast<BoxCounts&>(box) = was.counts;
    box.rho = std::move(was.rho);
    box.has_image = false;
    if (was.mu) box.samples.mu = std::move(*was.mu);
    cut_samples(box.samples, d, was.samples);
    if (!was.matrices) continue;
    box.design_inverse = std::move((*was.matrices)[0]);
    box.curvature_inverse = std::move((*was.matrices)[1]);
    box.cross = std::move((*was.matrices)[2]);
  }
  if (before->reward_memory) reward_memory = std::move(*before->reward_memory);
  reward = RewardState::over(reward_memory.data(), d);
}

}  // namespace pandora
