#include <algorithm>
#include <limits>
#include <numeric>

#include "pandora/weitzman.hpp"

namespace pandora {

void WeitzmanPolicy::begin(const Request& request) {
  request_ = request;
  estimator_.begin(request);
  scores_.clear();
  for (int a = 0; a < boxes_; ++a) scores_.push_back(score(a));
  order_ = order(scores_);
  open_.clear();
}

std::vector<int> WeitzmanPolicy::order(std::span<const double> scores) {
  std::vector<int> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return scores[a] > scores[b]; });
  return order;
}

int WeitzmanPolicy::next() {
  const std::size_t opened = open_.size();
  if (opened == order_.size()) return kStop;
  double left = -std::numeric_limits<double>::infinity();
  for (std::size_t k = opened; k < order_.size(); ++k) left = std::max(left, scores_[order_[k]]);
  return opened > 0 && stops(open_, best_mu_, left) ? kStop : order_[opened];
}

void WeitzmanPolicy::opened(const Output& output) {
  const double mu = reward_of(output);
  if (open_.empty() || mu > best_mu_ || (mu == best_mu_ && output.box < best_)) {
    best_ = output.box;
    best_mu_ = mu;
  }
  open_.push_back(output);
}

int WeitzmanPolicy::deploy() {
  return best_;
}

void WeitzmanPolicy::learn(double reward) {
  if (learns_from(open_)) estimator_.learn(open_, best_, reward);
}

}  // namespace pandora
