// After Liu and others (arXiv 2505.18828): learns the law of each box's value, and solves Weitzman's equation for it.
#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cmath>
#include <memory>

#include "pandora/index_policy.hpp"
#include "pandora/policy.hpp"
#include "residual_law.hpp"

namespace pandora::rivals {
namespace {

// The value of a box in context x, mu* = theta' psi + e where the law of e does not depend on x; and its expected cost,
// a linear function too. Both are least squares with the ridges of V: estimation.eta_index and eta_slopes.
struct LinearBox {
  std::vector<std::size_t> rows;  // of the samples, in order
  std::vector<double> mu;         // mu of each sample
  Eigen::MatrixXd inverse;        // (D + sum psi psi')^-1 with the diagonal D of ridges
  Eigen::VectorXd theta, cost, image;
  ResidualLaw law;

  LinearBox(int m, Ridges ridges)
      : inverse(Eigen::MatrixXd::Identity(m, m)),
        theta(Eigen::VectorXd::Zero(m)),
        cost(Eigen::VectorXd::Zero(m)),
        image(m) {
    for (int k = 0; k < m; ++k) inverse(k, k) = 1.0 / ridges.of(k);
  }

  double width(const Eigen::VectorXd& psi) const {
    return std::sqrt(std::max(0.0, psi.dot(inverse.selfadjointView<Eigen::Lower>() * psi)));
  }
  void add(const Eigen::VectorXd& psi, double value, double paid) {
    image.noalias() = inverse.selfadjointView<Eigen::Lower>() * psi;
    const double share = 1.0 / (1.0 + psi.dot(image));
    theta += share * (value - theta.dot(psi)) * image;
    cost += share * (paid - cost.dot(psi)) * image;
    inverse.selfadjointView<Eigen::Lower>().rankUpdate(image, -share);
  }
};

// After Liu, Chen, Wang, Luo and Ratliff (arXiv 2505.18828): learns the law of each box's value, makes it optimistic,
// and solves Weitzman's equation for it. DOW learns the index itself instead. docs/beyond.md says which parts are
// theirs.
class Liu : public IndexPolicy {
 public:
  Liu(const Replication& replication, double c, const EstimationOptions& options)
      : IndexPolicy(replication.tape.boxes()),
        m_(replication.tape.contexts.index_size),
        c_(c),
        refit_(options.refit),
        forced_(static_cast<std::size_t>(std::max(1, options.forced.value_or(1)))),
        boxes_(static_cast<std::size_t>(boxes()), LinearBox(m_, options.index_ridges())) {}

  bool waits_for_rewards() const override { return true; }  // mu is shown

  void calibrate(const Request& request, const Output& output, std::optional<double>) override {
    see(request);
    keep(output);
  }

  /// A design matrix for each box and one more; all contexts, whose memory grows by doubling.
  static CodeDemand demand(const Dimensions& dimensions, int T0, int periods) {
    const auto u64 = [](int n) { return static_cast<std::uint64_t>(n); };
    const std::uint64_t m = u64(dimensions.index_size()), rows = u64(std::max(T0, dimensions.boxes)) + u64(periods);
    return {sizeof(double) * (m * m * u64(dimensions.boxes) + 8 * rows * u64(dimensions.boxes)) +
                3 * sizeof(float) * m * rows,
            2};
  }

 protected:
  void prepare(const Request& request) override {
    see(request);
    if (samples_at_fit_ == 0) fit();
  }

  double score(int a) override {
    const LinearBox& box = boxes_[static_cast<std::size_t>(a)];
    if (box.rows.size() < forced_) return kForcedScore;
    const double level = c_ * std::sqrt(std::log1p(request().period)), mean = box.theta.dot(psi_);
    return box.law.index(mean + (c_ > 0.0 ? level * box.width(psi_) : 0.0), std::max(kLeastCost, box.cost.dot(psi_)));
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

  void keep(const Output& output) {
    LinearBox& box = boxes_[static_cast<std::size_t>(output.box)];
    box.rows.push_back(contexts_.size() / static_cast<std::size_t>(m_) - 1);
    box.mu.push_back(output.mu);
    box.add(psi_, output.mu, output.cost);
    ++samples_;
  }

  // Computes the laws of the residuals at the current estimates.
  void fit() {
    for (LinearBox& box : boxes_) {
      const Eigen::VectorXf theta = box.theta.cast<float>();
      std::vector<double> residuals;
      for (std::size_t k = 0; k < box.rows.size(); ++k) {
        const float* psi = contexts_.data() + box.rows[k] * static_cast<std::size_t>(m_);
        residuals.push_back(box.mu[k] - static_cast<double>(theta.dot(Eigen::Map<const Eigen::VectorXf>(psi, m_))));
      }
      box.law = ResidualLaw(std::move(residuals), c_ * c_ * std::log1p(request().period));
    }
    samples_at_fit_ = samples_;
  }

  const int m_;
  const double c_;
  const RefitSchedule refit_;
  const std::size_t forced_;  // samples of a box before its law decides
  std::vector<LinearBox> boxes_;
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
                              Liu::demand});
        return variants;
      }};
}

}  // namespace pandora::rivals
