#include "pandora/index_policy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "pandora/weitzman.hpp"

namespace pandora {

void IndexPolicy::begin(const Request& request) {
  request_ = request;
  prepare(request);
  scores_.clear();
  for (int a = 0; a < boxes_; ++a) scores_.push_back(score(a));
  order_ = order(scores_);
  std::erase_if(order_, [&](int box) { return !holds(request.there, box); });
  open_.clear();
  values_.clear();
}

std::vector<int> IndexPolicy::order(std::span<const double> scores) {
  std::vector<int> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return scores[a] > scores[b]; });
  return order;
}

int IndexPolicy::next() {
  const std::size_t opened = open_.size();
  if (opened == order_.size()) return kStop;
  double left = -std::numeric_limits<double>::infinity();
  for (std::size_t k = opened; k < order_.size(); ++k) left = std::max(left, scores_[order_[k]]);
  return opened > 0 && stops(open_, best_mu_, left) ? kStop : order_[opened];
}

void IndexPolicy::opened(const Output& output) {
  const double mu = reward_of(output);
  if (open_.empty() || mu > best_mu_ || (mu == best_mu_ && output.box < best_)) {
    best_ = output.box;
    best_mu_ = mu;
  }
  open_.push_back(output);
  values_.push_back(mu);
}

std::optional<int> IndexPolicy::opens_of(std::span<const Output> outputs, std::span<const double> worth) {
  double best = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k + 1 < std::min(outputs.size(), order_.size()); ++k) {
    const int box = outputs[k].box;
    const auto opened = std::find_if(open_.begin(), open_.end(), [box](const Output& o) { return o.box == box; });
    best = std::max(best, opened == open_.end() ? worth[static_cast<std::size_t>(box)]
                                                : values_[static_cast<std::size_t>(opened - open_.begin())]);
    double left = -std::numeric_limits<double>::infinity();
    for (const Output& other : outputs.subspan(k + 1, order_.size() - k - 1))
      left = std::max(left, scores_[static_cast<std::size_t>(other.box)]);
    if (stops(outputs.first(k + 1), best, left)) return static_cast<int>(k) + 1;
  }
  return static_cast<int>(order_.size());
}

void WeitzmanPolicy::learn_late(int period, double reward) {
  const auto deployed = waiting_.find(period);
  if (deployed == waiting_.end()) return;
  told_.push_back(deployed->second);
  rewards_.push_back(reward);
  waiting_.erase(deployed);
}

void WeitzmanPolicy::learn_from(std::span<const Output> open, int deployed, double reward) {
  const Output& output =
      *std::find_if(open.begin(), open.end(), [&](const Output& one) { return one.box == deployed; });
  const bool learns = learns_from(open);
  if (learns) estimator_.learn_outputs(open);
  if (learns && std::isnan(reward)) waiting_[request().period] = output;
  if (learns && !std::isnan(reward)) {
    told_.push_back(output);
    rewards_.push_back(reward);
  }
  estimator_.learn_rewards(told_, rewards_);
  if (learns || !told_.empty()) estimator_.end_period();
  told_.clear();
  rewards_.clear();
}

}  // namespace pandora
