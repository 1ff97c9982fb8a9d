// The estimate of theta_* that a lane carries: theta_hat, the reward design Phi^-1 (eq:design:matrix:t), and the
// inverse curvature that turns one new sample into one Newton step.
#pragma once

#include "kernels/base/elementary.hpp"
#include "kernels/base/team.hpp"
#include "kernels/tape/instance.hpp"

namespace pandora {

/// A view of d + 2 d^2 numbers laid out as theta_hat, Phi^-1, C with C = (eta_0 I + sum G'(z_k) phi_k phi_k')^-1.
struct RewardState {
  int d = 0;
  double* theta = nullptr;
  double* design_inverse = nullptr;
  double* curvature_inverse = nullptr;

  static PANDORA_HD constexpr int size(int d) { return d + 2 * d * d; }
  static PANDORA_HD RewardState over(double* memory, int d) { return {d, memory, memory + d, memory + d + d * d}; }

  PANDORA_HD void reset(double ridge) {
    for (int i = 0; i < d; ++i) theta[i] = 0.0;
    for (int i = 0; i < d * d; ++i) design_inverse[i] = curvature_inverse[i] = i % (d + 1) == 0 ? 1.0 / ridge : 0.0;
  }

  PANDORA_HD double linear(const float* phi) const {
    double z = 0.0;
    for (int i = 0; i < d; ++i) z += theta[i] * static_cast<double>(phi[i]);
    return z;
  }

  // What follows is the work of a team, with the same result in every member. `image`: d numbers that all of them see
  // and nobody else uses meanwhile.

  /// ||phi||_{Phi^-1}
  template <class Team>
  PANDORA_HD double width(const Team& team, const float* phi, double* image) const {
    const double square = d == kPaperFeatures ? multiply<kPaperFeatures>(team, design_inverse, phi, image)
                                              : multiply<0>(team, design_inverse, phi, image);
    return ::sqrt(square < 0.0 ? 0.0 : square);
  }

  /// theta_hat' phi + c_theta ||phi||_{Phi^-1}: what G is taken of in (eq:mu:tilde). G hides what is infinite.
  template <class Team>
  PANDORA_HD double optimistic(const Team& team, const float* phi, double c_theta, double* image) const {
    return linear(phi) + (c_theta <= 0.0 ? 0.0 : c_theta * width(team, phi, image));
  }

  /// The deployed sample (phi, r): Phi gains phi phi'; theta_hat takes the Newton step of this sample alone, with
  /// gradient and weight at the value before it. To be waited for.
  template <class Team>
  PANDORA_HD void observe(const Team& team, const float* phi, double reward, double* image) {
    if (d == kPaperFeatures)
      observe_sized<kPaperFeatures>(team, phi, reward, image);
    else
      observe_sized<0>(team, phi, reward, image);
  }

  // One thread's.
  PANDORA_HD double width(const float* phi) const {
    double image[kMaxRewardFeatures];
    return width(SerialTeam{}, phi, image);
  }
  PANDORA_HD double optimistic(const float* phi, double c_theta) const {
    double image[kMaxRewardFeatures];
    return optimistic(SerialTeam{}, phi, c_theta, image);
  }
  /// G(theta_hat' phi + c_theta ||phi||_{Phi^-1}), (eq:mu:tilde)
  PANDORA_HD double estimate(const float* phi, double c_theta) const { return logistic(optimistic(phi, c_theta)); }
  PANDORA_HD void observe(const float* phi, double reward) {
    double image[kMaxRewardFeatures];
    observe(SerialTeam{}, phi, reward, image);
  }

 private:
  // Loops of this constant length unroll into vectors; other d take the general path.
  static constexpr int kPaperFeatures = 10;

  // image = inverse phi; returns phi' image. `inverse` is symmetric: row j is column j.
  template <int D, class Team>
  PANDORA_HD double multiply(const Team& team, const double* inverse, const float* phi, double* image) const {
    const int n = D > 0 ? D : d;
    if constexpr (Team::kVectors) {
      for (int i = 0; i < n; ++i) image[i] = 0.0;
      for (int j = 0; j < n; ++j) {
        const double weight = static_cast<double>(phi[j]);
        for (int i = 0; i < n; ++i) image[i] += inverse[j * n + i] * weight;
      }
    } else {        // the same sums, an element per member
      team.sync();  // the last image is still being read, the inverse being written
      for (int i = team.rank(); i < n; i += team.size()) {
        double sum = 0.0;
        for (int j = 0; j < n; ++j) sum += inverse[j * n + i] * static_cast<double>(phi[j]);
        image[i] = sum;
      }
      team.sync();
    }
    double quadratic = 0.0;
    for (int i = 0; i < n; ++i) quadratic += image[i] * static_cast<double>(phi[i]);
    return quadratic;
  }

  // inverse <- (inverse^-1 + h phi phi')^-1 by Sherman-Morrison; image = old inverse * phi; returns 1 + h phi' image.
  template <int D, class Team>
  PANDORA_HD double rank_one(const Team& team, double* inverse, const float* phi, double h, double* image) const {
    const int n = D > 0 ? D : d;
    const double s = 1.0 + h * multiply<D>(team, inverse, phi, image);
    for (int i = team.rank(); i < n; i += team.size()) {
      const double weight = image[i] * (h / s);
      for (int j = 0; j < n; ++j) inverse[i * n + j] -= weight * image[j];
    }
    return s;
  }

  template <int D, class Team>
  PANDORA_HD void observe_sized(const Team& team, const float* phi, double reward, double* image) {
    const int n = D > 0 ? D : d;
    rank_one<D>(team, design_inverse, phi, 1.0, image);
    const double g = logistic(linear(phi));
    const double s = rank_one<D>(team, curvature_inverse, phi, g * (1.0 - g), image);
    for (int i = team.rank(); i < n; i += team.size()) theta[i] -= image[i] * (g - reward) / s;
  }
};

}  // namespace pandora
