// Samples of several boxes that are fitted together, and their fit by dense algebra.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "host/lanes/estimator/shrunk_fit.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora::test {

// Samples of A boxes whose slopes have a common part. Boxes with higher numbers have fewer samples, and the last may
// have none.
struct JointData {
  JointData(int boxes, int features, int n, std::uint64_t seed, bool last_is_empty = false) : A(boxes), m(features) {
    Random random(seed);
    std::vector<std::vector<float>> psi;
    for (int row = 0; row < n; ++row) {
      std::vector<float> x = {1.0f};
      for (int k = 1; k < m; ++k) x.push_back(static_cast<float>(random.uniform(-1.0, 1.0)));
      psi.push_back(x);
    }
    contexts = contexts_of(psi);
    for (int a = 0; a < A; ++a) {
      IndexSamples own;
      for (int row = 0; row < n; ++row) {
        if (random.uniform(0.0, 1.0) > 1.0 / (1 + a) || (last_is_empty && a == A - 1)) continue;
        const double mu = 0.5 + 0.2 * psi[row].back() + 0.1 * a * (m > 2 ? psi[row][1] : 0.0);
        own.add(row, 0.05 + 0.02 * a, std::min(0.95, std::max(0.05, mu + random.uniform(-0.3, 0.3))));
      }
      samples.push_back(own);
    }
  }
  std::vector<const IndexSamples*> all() const {
    std::vector<const IndexSamples*> out;
    for (const IndexSamples& own : samples) out.push_back(&own);
    return out;
  }

  int A, m;
  Contexts contexts;
  std::vector<IndexSamples> samples;
};

struct DenseFit {
  DenseFit(const JointData& of, const LaneSpec& spec, double ridge_index)
      : data(of), ridge(ridge_index), rho(of.A, Eigen::VectorXd::Zero(of.m)) {
    fit.start(spec, data.A, data.m, ridge);
    for (const IndexSamples& own : data.samples) fit.state.samples += own.size();
  }
  std::vector<Eigen::VectorXd*> at() {
    std::vector<Eigen::VectorXd*> out;
    for (Eigen::VectorXd& own : rho) out.push_back(&own);
    return out;
  }
  int refit() { return fit.refit(data.contexts, data.all(), at()); }
  // The objective under the present ridges and dispersions. There is a ridge on intercepts, one on the mean slope of
  // the boxes, and one on the deviations from it.
  double objective() const {
    double sum = 0.5 * all().dot(penalty() * all());
    for (std::size_t a = 0; a < rho.size(); ++a)
      sum += index_objective(data.contexts, data.samples[a], 0.0, rho[a]) / fit.state.dispersion[a];
    return sum;
  }
  Eigen::VectorXd gradient() const {
    Eigen::VectorXd out = penalty() * all(), own;
    for (int a = 0; a < data.A; ++a) {
      index_derivatives(data.contexts, data.samples[a], 0.0, rho[a], own, nullptr);
      out.segment(a * data.m, data.m) += own / fit.state.dispersion[a];
    }
    return out;
  }
  Eigen::VectorXd all() const {
    Eigen::VectorXd out(data.A * data.m);
    for (int a = 0; a < data.A; ++a) out.segment(a * data.m, data.m) = rho[a];
    return out;
  }
  Eigen::MatrixXd penalty() const {
    Eigen::MatrixXd out = Eigen::MatrixXd::Zero(data.A * data.m, data.A * data.m);
    for (int i = 0; i < out.rows(); ++i)
      for (int j = i % data.m; j < out.cols(); j += data.m)  // the same coordinate of each box
        if (i % data.m == 0)
          out(i, j) = i == j ? ridge : 0.0;
        else
          out(i, j) = (fit.state.ridge_mean - fit.state.ridge_own) / data.A + (i == j ? fit.state.ridge_own : 0.0);
    return out;
  }

  const JointData& data;
  double ridge;
  ShrunkFit fit;
  std::vector<Eigen::VectorXd> rho;
};

/// For A boxes, if their slopes are tied: in two groups, each with every second box.
inline LaneSpec shrunk(Shrinkage shrinkage = Shrinkage::two_level, int A = 0) {
  LaneSpec spec;
  spec.score = Score::learned_index;
  spec.learning = Learning::online;
  spec.fit = Fit::shrunk;
  spec.c_rho = 0.2;
  spec.shrinkage = shrinkage;
  for (int a = 0; a < A; ++a) {
    spec.tie[a] = static_cast<std::uint8_t>(a % 2);
    spec.tied[a] = static_cast<std::uint8_t>((A + 1 - a % 2) / 2);
  }
  return spec;
}

}  // namespace pandora::test
