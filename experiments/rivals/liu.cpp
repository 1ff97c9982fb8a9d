// After Liu and others (arXiv 2505.18828): learns the law of each box's value, and solves Weitzman's equation for it.
#include <fmt/format.h>

#include <Eigen/Core>
#include <cmath>
#include <memory>

#include "linear_box.hpp"
#include "pandora/index_policy.hpp"
#include "pandora/policy.hpp"
#include "residual_law.hpp"

namespace pandora::rivals {
namespace {

// After Liu, Chen, Wang, Luo and Ratliff (arXiv 2505.18828): learns the law of each box's value, makes it optimistic,
// and solves Weitzman's equation for it. DOW learns the index itself instead. docs/rivals.md says which parts are
// theirs.
class Liu : public IndexPolicy {
 public:
  Liu(const Replication& replication, double c, const EstimationOptions& options)
      : IndexPolicy(replication.tape.boxes()),
        m_(replication.tape.contexts.index_size),
        c_(c),
        refit_(options.refit),
        contexts_differ_(replication.instance.environment.trace == nullptr ||
                         replication.instance.environment.trace->has_contexts()),
        forced_(static_cast<std::size_t>(std::max(1, options.forced.value_or(1)))),
        boxes_(static_cast<std::size_t>(boxes()), LinearBox(m_, options.index_ridges())),
        laws_(boxes_.size()) {}

  bool waits_for_rewards() const override { return true; }  // mu is shown

  void calibrate(const Request& request, const Output& output, std::optional<double>) override {
    see(request);
    keep(output);
  }

 protected:
  void prepare(const Request& request) override {
    see(request);
    if (samples_at_fit_ == 0) fit();
  }

  double score(int a) override {
    const LinearBox& box = boxes_[static_cast<std::size_t>(a)];
    if (box.rows.size() < forced_) return kForcedScore;
    if (!contexts_differ_) return laws_[static_cast<std::size_t>(a)].index(0.0, std::max(kLeastCost, mean_cost(box)));
    const double level = c_ * std::sqrt(std::log1p(request().period)), mean = box.theta.dot(psi_);
    return laws_[static_cast<std::size_t>(a)].index(mean + (c_ > 0.0 ? level * box.width(psi_) : 0.0),
                                                    std::max(kLeastCost, box.cost.dot(psi_)));
  }

  void learn_from(std::span<const Output> open, int, double) override {
    bool first = false;  // whether a box had no law yet
    for (const Output& output : open) {
      keep(output);
      first = first || boxes_[static_cast<std::size_t>(output.box)].rows.size() == 1;
    }
    if (first || refit_.jointly_due(samples_, samples_at_fit_) || refit_.due_in_period(request().period)) fit();
  }

 private:
  static constexpr double kLeastCost = 1e-4;  // a linear function may leave the range of a cost

  void see(const Request& request) {
    psi_ = Eigen::Map<const Eigen::VectorXf>(request.psi.data(), m_).cast<double>();
    contexts_.insert(contexts_.end(), request.psi.begin(), request.psi.end());
  }

  static double mean_cost(const LinearBox& box) { return box.costs / static_cast<double>(box.rows.size()); }

  void keep(const Output& output) {
    LinearBox& box = boxes_[static_cast<std::size_t>(output.box)];
    box.add(psi_, contexts_.size() / static_cast<std::size_t>(m_) - 1, output);
    ++samples_;
  }

  // Computes the laws of the residuals at the current estimates. Without contexts they are the laws of the values.
  void fit() {
    for (std::size_t a = 0; a < boxes_.size(); ++a)
      laws_[a] = ResidualLaw(contexts_differ_ ? boxes_[a].residuals(contexts_) : boxes_[a].mu,
                             c_ * c_ * std::log1p(request().period));
    samples_at_fit_ = samples_;
  }

  const int m_;
  const double c_;
  const RefitSchedule refit_;
  const bool contexts_differ_;
  const std::size_t forced_;  // samples of a box before its law decides
  std::vector<LinearBox> boxes_;
  std::vector<ResidualLaw> laws_;
  std::vector<float> contexts_;  // rows of m
  int samples_ = 0, samples_at_fit_ = 0;
  Eigen::VectorXd psi_;  // of the period
};

}  // namespace

Policy liu() {
  return {
      .name = "liu",
      .title = "after Liu et al.",
      .group = PolicyGroup::past_the_paper,
      .summary = "Weitzman's rule for optimistic laws: what a box brings is linear in psi, with residuals of one law",
      .by_name_only = true,
      .hyperparameters = {{"c_liu", "factor on the confidence widths of liu"}},
      .variants = [](const Grids& grids) {
        std::vector<PolicyVariant> variants;
        for (const double c : grids.values("c_liu"))
          variants.push_back({"known",
                              fmt::format("c_liu={}", c),
                              {},
                              [=](const Replication& replication, int, const EstimationOptions& options) {
                                return std::make_unique<Liu>(replication, c, options);
                              },
                              demand_of_linear_boxes});
        return variants;
      }};
}

}  // namespace pandora::rivals
