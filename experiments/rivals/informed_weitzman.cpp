// A yardstick that knows the form of the paper's environments, and learns their numbers.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "learned_surface.hpp"
#include "pandora/index_policy.hpp"
#include "pandora/policy.hpp"
#include "pandora/reservation_index.hpp"

namespace pandora::rivals {
namespace {

// The value of a box in context x, mu* = G(location + scale w) where all boxes share the law of w, and its expected
// cost.
struct BoxSurfaces {
  bool fitted = false;
  std::vector<std::size_t> rows;  // of the samples, in order
  std::vector<double> z;          // G^-1(mu*) of each sample
  Eigen::MatrixXd gram;
  LearnedSurface scale, expected_cost;

  explicit BoxSurfaces(int m) : gram(Eigen::MatrixXd::Zero(m, m)), scale(m), expected_cost(m) {}
};

// A yardstick that knows the form of the paper's environments (Section 6.2): the logistic link, one location for all
// boxes, a scale and an expected cost for each box, all linear in psi(x), and one law of the shock. It learns these,
// and solves the equation of the reservation index (eq:sigma) for them. The other policies learn the index itself.
class InformedWeitzman : public IndexPolicy {
 public:
  InformedWeitzman(const Replication& replication, const EstimationOptions& options)
      : IndexPolicy(replication.tape.boxes()),
        m_(replication.tape.contexts.index_size),
        refit_(options.refit),
        location_(m_),
        boxes_(static_cast<std::size_t>(boxes()), BoxSurfaces(m_)) {}

  bool waits_for_rewards() const override { return true; }  // mu is shown

  void calibrate(const Request& request, const Output& output, std::optional<double>) override {
    see(request);
    keep(output);
  }

  /// A Gram matrix for each box, and during a fit four more matrices; all contexts, whose memory grows by doubling.
  static CodeDemand demand(const Dimensions& dimensions, int T0, int periods) {
    const auto u64 = [](int n) { return static_cast<std::uint64_t>(n); };
    const std::uint64_t m = u64(dimensions.index_size()), rows = u64(std::max(T0, dimensions.boxes)) + u64(periods);
    return {sizeof(double) * m * m * u64(dimensions.boxes + 4) + 3 * sizeof(float) * m * rows, 3};
  }

 protected:
  void prepare(const Request& request) override {
    see(request);
    if (!solver_) fit();
  }

  double score(int a) override {
    const BoxSurfaces& box = boxes_[static_cast<std::size_t>(a)];
    if (box.rows.size() < kForced) return kForcedScore;
    // A linear function may leave the range of the quantity that it models.
    solver_->evaluate(location_.coefficients().dot(psi_), std::max(kLeastScale, box.scale.coefficients().dot(psi_)));
    return solver_->index(std::max(kLeastCost, box.expected_cost.coefficients().dot(psi_)));
  }

  void learn_from(std::span<const Output> open, int, double) override {
    bool first = false;  // whether a box was not there at the last fit
    for (const Output& output : open) {
      keep(output);
      const BoxSurfaces& box = boxes_[static_cast<std::size_t>(output.box)];
      first = first || (!box.fitted && box.rows.size() >= kForced);
    }
    if (first || refit_.jointly_due(samples_, samples_at_fit_) || refit_.due_in_period(request().period)) fit();
  }

 private:
  static constexpr std::size_t kForced = 10;  // samples of each box before the indices decide
  static constexpr double kLeastScale = 0.01, kLeastCost = 1e-4, kLeastMu = 1e-9;
  static constexpr int kBins = 400;  // of the law

  void see(const Request& request) {
    psi_ = Eigen::Map<const Eigen::VectorXf>(request.psi.data(), m_).cast<double>();
    contexts_.insert(contexts_.end(), request.psi.begin(), request.psi.end());
  }

  void keep(const Output& output) {
    BoxSurfaces& box = boxes_[static_cast<std::size_t>(output.box)];
    const double mu = std::clamp(output.mu, kLeastMu, 1.0 - kLeastMu), z = std::log(mu / (1.0 - mu));
    box.rows.push_back(contexts_.size() / static_cast<std::size_t>(m_) - 1);
    box.z.push_back(z);
    box.gram.selfadjointView<Eigen::Lower>().rankUpdate(psi_);
    location_.add(psi_, z);
    box.expected_cost.add(psi_, output.cost);
    ++samples_;
  }

  Eigen::VectorXd context(std::size_t row) const {
    return Eigen::Map<const Eigen::VectorXf>(contexts_.data() + row * static_cast<std::size_t>(m_), m_).cast<double>();
  }

  void fit() {
    Eigen::MatrixXd all = Eigen::MatrixXd::Zero(m_, m_);
    for (const BoxSurfaces& box : boxes_) all += box.gram;
    location_.fit(all.selfadjointView<Eigen::Lower>());
    // The scale includes E|w|, so that the law has E|w| = 1.
    std::vector<float> shocks;
    for (BoxSurfaces& box : boxes_) {
      if (box.rows.empty()) continue;
      std::vector<double> residuals;
      box.scale.forget();
      for (std::size_t k = 0; k < box.rows.size(); ++k) {
        const Eigen::VectorXd psi = context(box.rows[k]);
        residuals.push_back(box.z[k] - location_.coefficients().dot(psi));
        box.scale.add(psi, std::abs(residuals.back()));
      }
      const Eigen::MatrixXd gram = box.gram.selfadjointView<Eigen::Lower>();
      box.scale.fit(gram);
      box.expected_cost.fit(gram);
      box.fitted = true;
      for (std::size_t k = 0; k < box.rows.size(); ++k)
        shocks.push_back(static_cast<float>(residuals[k] /
                                            std::max(kLeastScale, box.scale.coefficients().dot(context(box.rows[k])))));
    }
    std::sort(shocks.begin(), shocks.end(), std::greater<>());
    law_ = compressed_law(shocks, kBins);
    solver_.emplace(law_);
    samples_at_fit_ = samples_;
  }

  const int m_;
  const RefitSchedule refit_;
  LearnedSurface location_;
  std::vector<BoxSurfaces> boxes_;
  std::vector<float> contexts_;  // rows of m
  ProjectedLaw law_;
  std::optional<ReservationSolver> solver_;
  int samples_ = 0, samples_at_fit_ = 0;
  Eigen::VectorXd psi_;  // of the period
};

}  // namespace

Policy informed_weitzman() {
  return {.name = "informed_weitzman",
          .title = "Informed Weitzman",
          .short_title = "Informed",
          .group = PolicyGroup::yardstick,
          .summary =
              "yardstick: told how the environments are made, learns location, scales, costs and the law of the shock",
          .by_name_only = true,
          .variants = [](const Grids&) -> std::vector<PolicyVariant> {
            return {{"known",
                     "",
                     {},
                     [](const Replication& replication, int, const EstimationOptions& options) {
                       return std::make_unique<InformedWeitzman>(replication, options);
                     },
                     InformedWeitzman::demand}};
          }};
}

}  // namespace pandora::rivals
