// Weitzman's rule with scores of one's own: boxes in the order of their scores, until the best mu so far reaches every
// score left; the best is deployed. What a score is and what is learned, a policy says by overriding.
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

  /// A period begins, before any score is asked for.
  virtual void prepare(const Request& request) { (void)request; }
  /// The number that a box is given when a period begins.
  virtual double score(int box) = 0;
  /// All boxes in the order in which they are opened.
  virtual std::vector<int> order(std::span<const double> scores);
  /// Whether to stop with outputs open (at least one), the best of which has `best`; the largest score of the other
  /// boxes is `left`.
  virtual bool stops(std::span<const Output> open, double best, double left) {
    (void)open;
    return best >= left;
  }
  /// mu of an output that was opened.
  virtual double reward_of(const Output& output) { return output.mu; }
  /// Ends the period: the outputs that were opened, in order, of which the one of box `deployed` brought `reward`.
  virtual void learn_from(std::span<const Output> open, int deployed, double reward) = 0;

 private:
  const int boxes_;
  Request request_;
  std::vector<double> scores_;
  std::vector<int> order_;
  std::vector<Output> open_;
  std::vector<double> values_;  // reward_of() each of open_
  int best_ = 0;
  double best_mu_ = 0.0;
};

}  // namespace pandora
