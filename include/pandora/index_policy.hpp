// Weitzman's rule with a policy's own scores: it opens boxes in the order of their scores until the best mu so far
// reaches every remaining score, and deploys the best output. A policy overrides score() and learn_from(), and others
// as needed.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "pandora/custom_policy.hpp"

namespace pandora {

class IndexPolicy : public CustomPolicy {
 public:
  explicit IndexPolicy(int boxes) : boxes_(boxes) {}

  void begin(const Request& request) override;
  int next() override;
  void opened(const Output& output) override;
  int deploy() override { return best_; }
  std::vector<int> ranking() const override { return order_; }
  std::optional<int> opens_of(std::span<const Output> outputs, std::span<const double> worth) override;
  std::vector<double> scores() const override { return scores_; }
  void learn(double reward) override { learn_from(open_, best_, reward); }

 protected:
  const Request& request() const { return request_; }
  int boxes() const { return boxes_; }

  /// Called when a period begins, before any score is asked for.
  virtual void prepare(const Request& request) { (void)request; }
  /// Returns the score of a box for the period.
  virtual double score(int box) = 0;
  /// Returns all boxes in the order in which they are opened.
  virtual std::vector<int> order(std::span<const double> scores);
  /// Returns whether to stop. `open` has at least one output, and the best of them has the value `best`; `left` is the
  /// largest score of the other boxes.
  virtual bool stops(std::span<const Output> open, double best, double left) {
    (void)open;
    return best >= left;
  }
  /// Returns the value (mu, or an estimate of it) of an output that was opened.
  virtual double reward_of(const Output& output) { return output.mu; }
  /// Called at the period's end with the opened outputs in order, and with the reward of the deployed box.
  virtual void learn_from(std::span<const Output> open, int deployed, double reward) = 0;

 private:
  const int boxes_;
  Request request_;
  std::vector<double> scores_;
  std::vector<int> order_;
  std::vector<Output> open_;
  std::vector<double> values_;  // reward_of() for each of open_
  int best_ = 0;
  double best_mu_ = 0.0;
};

}  // namespace pandora
