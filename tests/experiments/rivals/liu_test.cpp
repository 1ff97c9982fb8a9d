// The distribution of residuals, and the policy after Liu et al., which solves Weitzman's equation for this
// distribution.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC 12 warns inside its own AVX-512 header (GCC bug 105593)
#endif
#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "experiments/rivals/residual_law.hpp"
#include "pandora/policy.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

// E[(v - sigma)^+] under the optimistic law, as an integral of its tail on a fine grid. v is mean + e. The mass above
// the largest residual lies at 1.
double excess_by_the_tail(const std::vector<double>& residuals, double L, double mean, double sigma) {
  const double n = static_cast<double>(residuals.size());
  const double largest = mean + *std::max_element(residuals.begin(), residuals.end());
  const double least = mean + *std::min_element(residuals.begin(), residuals.end());
  const auto tail = [&](double v) {  // P(value >= v)
    if (v <= least) return 1.0;
    const double S = static_cast<double>(
                         std::count_if(residuals.begin(), residuals.end(), [&](double e) { return mean + e >= v; })) /
                     n;
    if (v > std::max(largest, 1.0)) return 0.0;
    return std::min(1.0, S + std::sqrt(2.0 * S * (1.0 - S) * L / n) + L / n);
  };
  const int steps = 40000;
  const double width = (std::max(largest, 1.0) - sigma) / steps;
  double sum = 0.0;
  for (int k = 0; k < steps; ++k) sum += width * tail(sigma + (k + 0.5) * width);
  return sum;
}

TEST(ResidualLaw, SolvesWeitzmansEquationForItsOptimisticLaw) {
  test::Random random(5);
  for (const double L : {0.0, 0.02, 1.5})
    for (const int n : {1, 2, 17})
      for (const double mean : {0.2, 0.7, 1.1}) {
        std::vector<double> residuals;
        for (int k = 0; k < n; ++k) residuals.push_back(random.uniform(-0.3, 0.3));
        const rivals::ResidualLaw law(residuals, L);
        for (const double cost : {0.001, 0.05, 0.4, 2.0}) {
          const double sigma = law.index(mean, cost);
          EXPECT_NEAR(excess_by_the_tail(residuals, L, mean, sigma), cost, 1e-4 * (1.0 + cost))
              << "L " << L << " n " << n << " mean " << mean << " cost " << cost;
        }
      }
}

TEST(ResidualLaw, OfOneResidualIsTheValueLessTheCost) {
  EXPECT_DOUBLE_EQ(rivals::ResidualLaw({0.1}).index(0.5, 0.05), 0.55);
}

TEST(ResidualLaw, IsLargerWithMoreOptimism) {
  const std::vector<double> residuals = {-0.2, -0.1, 0.0, 0.1, 0.2};
  double last = 0.0;
  for (const double L : {0.0, 0.01, 0.1, 1.0, 10.0}) {
    const double sigma = rivals::ResidualLaw(residuals, L).index(0.5, 0.05);
    EXPECT_GT(sigma, last) << L;
    last = sigma;
  }
  EXPECT_DOUBLE_EQ(last, 1.0 - 0.05);  // all mass at 1
}

// Plays another policy, and compares its scores in each period with those of a dense fit to all samples so far.
class Watched : public CustomPolicy {
 public:
  Watched(CustomPolicy& policy, int boxes, int m, double c, const EstimationOptions& options)
      : policy_(policy), m_(m), c_(c), options_(options), psi_(boxes), mu_(boxes), cost_(boxes) {}

  void calibrate(const Request& request, const Output& output, std::optional<double> reward) override {
    now_ = request;
    add(output);
    policy_.calibrate(request, output, reward);
  }
  void begin(const Request& request) override {
    now_ = request;
    policy_.begin(request);
  }
  int next() override { return policy_.next(); }
  void opened(const Output& output) override {
    open_.push_back(output);
    policy_.opened(output);
  }
  int deploy() override { return policy_.deploy(); }
  void learn(double reward) override {
    const std::vector<double> scores = policy_.scores();
    for (int a = 0; a < static_cast<int>(scores.size()); ++a, ++compared)
      if (static_cast<int>(mu_[a].size()) < options_.forced.value_or(1))
        EXPECT_EQ(scores[a], kForcedScore);
      else
        EXPECT_NEAR(scores[a], score(a), 1e-5) << "period " << now_.period << " box " << a;
    policy_.learn(reward);
    for (const Output& output : open_) add(output);
    open_.clear();
  }

  int compared = 0;

 private:
  Eigen::VectorXd context() const { return Eigen::Map<const Eigen::VectorXf>(now_.psi.data(), m_).cast<double>(); }
  void add(const Output& output) {
    psi_[output.box].push_back(context());
    mu_[output.box].push_back(output.mu);
    cost_[output.box].push_back(output.cost);
  }
  double score(int a) const {
    const int n = static_cast<int>(mu_[a].size());
    Eigen::MatrixXd rows(n, m_);
    Eigen::VectorXd mu(n), cost(n);
    for (int k = 0; k < n; ++k) rows.row(k) = psi_[a][k], mu[k] = mu_[a][k], cost[k] = cost_[a][k];
    Eigen::MatrixXd V = rows.transpose() * rows;
    for (int k = 0; k < m_; ++k) V(k, k) += options_.index_ridges().of(k);
    const Eigen::VectorXd psi = context(), theta = V.ldlt().solve(rows.transpose() * mu);
    const Eigen::VectorXd residuals = mu - rows * theta;
    const double log_t = std::log(1.0 + std::max(1, now_.period - 1)), bonus = std::sqrt(std::log(1.0 + now_.period));
    return rivals::ResidualLaw({residuals.begin(), residuals.end()}, c_ * c_ * log_t)
        .index(theta.dot(psi) + c_ * bonus * std::sqrt(psi.dot(V.ldlt().solve(psi))),
               std::max(1e-4, V.ldlt().solve(rows.transpose() * cost).dot(psi)));
  }

  CustomPolicy& policy_;
  const int m_;
  const double c_;
  const EstimationOptions options_;
  Request now_;
  std::vector<Output> open_;
  std::vector<std::vector<Eigen::VectorXd>> psi_;
  std::vector<std::vector<double>> mu_, cost_;
};

// If the policy fits at the end of each period, it uses the residuals of the samples before this period.
TEST(Liu, ScoresAreThoseOfADenseFit) {
  EstimationOptions own{parse_refit("every:1")};
  own.ridge_slopes = 30.0;
  own.forced = 4;
  for (const EstimationOptions& options : {EstimationOptions{parse_refit("every:1")}, own})
    for (const auto& [T0, c] : {std::pair{0, 0.0}, {0, 0.3}, {20, 0.0}, {20, 0.3}}) {
      const Replication replication = test::small_replication(test::small_dimensions(3, 6, 2), Regime::B, T0, 150, 71);
      const std::vector<PolicyVariant> variants = find_policy("liu")->variants({c});
      ASSERT_EQ(variants.size(), 1u);
      const auto policy = variants[0].custom(replication, T0, options);
      Watched watched(*policy, 3, replication.tape.contexts.index_size, c, options);
      EXPECT_EQ(run_custom_lane(replication, watched, T0).failure, Failure::none);
      EXPECT_EQ(watched.compared, 3 * 150);
    }
}

// Its assumption does not hold, because in regime B residuals depend on the context. It learns all the same: it loses
// less than 0.3 of the loss of a random order.
TEST(Liu, Learns) {
  const Replication replication = test::small_replication(test::small_dimensions(3, 6, 2), Regime::B, 50, 2000, 72);
  const auto utility_of = [&](const char* policy) {
    return run_reference_lane(replication, find_policy(policy)->variants({0.0})[0].lane(replication, 50), {}).utility;
  };
  const auto policy = find_policy("liu")->variants({0.0})[0].custom(replication, 50, {parse_refit("geometric:1.5")});
  const double oracle = utility_of("oracle"), random = utility_of("random_order");
  EXPECT_LT(oracle - run_custom_lane(replication, *policy, 50).utility, 0.3 * (oracle - random));
}

}  // namespace
}  // namespace pandora
