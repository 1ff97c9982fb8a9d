// One replication's fixed parameters, as plain data (Section 6.2 of the paper).
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/random/distributions.hpp"

namespace pandora {

/// Largest number of boxes and of reward features; they size the small arrays of the per-period walk.
inline constexpr int kMaxBoxes = 16;
inline constexpr int kMaxRewardFeatures = 64;

/// Index feature map psi: affine (1, x) as in the paper, or with squares (1, x, x^2).
enum class IndexFeatures : std::uint8_t { affine, affine_and_squares };

/// Sizes; the defaults are the paper's.
struct Dimensions {
  int boxes = 3;             ///< A, 1..kMaxBoxes
  int context = 100;         ///< d_x >= 1
  int output = 100;          ///< d_w >= 1
  int reward_features = 10;  ///< d, 1..kMaxRewardFeatures
  IndexFeatures index_features = IndexFeatures::affine;
  int radius_draws = 131072;  ///< pooled draws of u' phi(x, omega_a) behind the radius r of theta_*, >= 1

  /// m, the length of psi(x)
  int index_size() const { return index_features == IndexFeatures::affine ? context + 1 : 2 * context + 1; }

  friend bool operator==(const Dimensions&, const Dimensions&) = default;
};

/// How the coefficients of a replication's contexts and outputs (Q, alpha_a, beta_{0,a}, beta_{1,a}) are drawn; each
/// row has unit length.
enum class Slopes : std::uint8_t {
  common,      ///< entries U[0, 1], as in the paper: the boxes have a large part in common
  unrelated,   ///< box a's alpha_a, beta_{0,a}, beta_{1,a} on coordinates j = a mod A alone: nothing in common
  random_sign  ///< entries U[-1, 1]
};

/// The G of mu* = G(theta_*' phi). Policies that learn rewards assume the logistic one.
enum class RewardLink : std::uint8_t {
  logistic,
  algebraic  ///< 1/2 + z / (2 (2 + |z|)): the same value and slope at 0, tails as of 1 / |z|
};

/// Tails from here on are none.
inline constexpr double kNoTail = 1e300;

struct TraceKeys;  // host/model/trace_keys.hpp

/// Law of the outputs omega = s_a(x) xi: xi = shock_scale * (iid coordinates), whole vectors outside the ball
/// of truncation_radius rejected; and u, the upper bound of c_{0,a} and c_{1,a}.
struct Environment {
  std::string name;
  std::uint8_t id = 0;  ///< stream coordinate; never reuse one
  Law law = Law::uniform;
  float shock_scale = 1.0f;
  float truncation_radius = std::numeric_limits<float>::infinity();
  double cost_level = 0.0;                       ///< u
  CoordinateLaw::Function coordinate = nullptr;  ///< of Law::custom
  Slopes slopes = Slopes::common;
  RewardLink reward_link = RewardLink::logistic;
  /// alpha > 1: costs have a Pareto(alpha) factor of mean 1, independent of all else; infinite: none
  double cost_tail = std::numeric_limits<double>::infinity();
  /// A table of outcomes in place of the model; null: none. Two environments are equal if they share it.
  std::shared_ptr<const TraceKeys> trace = nullptr;

  friend bool operator==(const Environment&, const Environment&) = default;
};

/// Regime A: alpha = beta = 0, Q = 0 (context-invariant). Regime B: all of them drawn (contextual).
enum class Regime : std::uint8_t { A = 0, B = 1 };

/// Matrices are row-major; vectors of box a start at a * length.
struct Instance {
  Dimensions dimensions;
  Environment environment;
  Regime regime = Regime::A;
  std::uint32_t replication = 0;
  std::uint64_t seed = 1;

  std::vector<double> theta;   ///< theta_*, d
  std::vector<double> D;       ///< d x d_w
  std::vector<double> Q;       ///< d x d_x, zero in regime A
  std::vector<double> alpha;   ///< A x d_x, zero in regime A
  std::vector<double> beta0;   ///< A x d_x, zero in regime A
  std::vector<double> beta1;   ///< A x d_w, zero in regime A
  std::vector<double> c0, c1;  ///< A, in [0, u]

  bool contextual() const { return regime == Regime::B; }
  Stream stream(Purpose purpose) const {
    return {seed, purpose, environment.id, static_cast<std::uint8_t>(regime), replication};
  }

  friend bool operator==(const Instance&, const Instance&) = default;
};

/// A parameter of an instance: its name in files, its symbol, its length (rows x columns, 0 columns: a vector) and what
/// its axes are. Parts, results.h5, plans and the checks of what is finite go over kInstanceFields.
struct InstanceField {
  using Member = std::vector<double> Instance::*;
  using Length = int Dimensions::*;
  const char *name, *symbol, *meaning, *unit, *axes;
  Member member;
  Length rows;
  Length columns;  ///< null: a vector
};
inline constexpr InstanceField kInstanceFields[] = {
    {"theta", "theta_*", "theta_*", "", "d", &Instance::theta, &Dimensions::reward_features, nullptr},
    {"D", "D", "D of phi = Q x + D omega", "", "d x d_w", &Instance::D, &Dimensions::reward_features,
     &Dimensions::output},
    {"Q", "Q", "Q, zero in regime A", "", "d x d_x", &Instance::Q, &Dimensions::reward_features, &Dimensions::context},
    {"alpha", "alpha", "alpha_a of the scales, zero in regime A", "", "box x d_x", &Instance::alpha, &Dimensions::boxes,
     &Dimensions::context},
    {"beta0", "beta_0", "beta_{0,a} of the context costs, zero in regime A", "", "box x d_x", &Instance::beta0,
     &Dimensions::boxes, &Dimensions::context},
    {"beta1", "beta_1", "beta_{1,a} of the output costs, zero in regime A", "", "box x d_w", &Instance::beta1,
     &Dimensions::boxes, &Dimensions::output},
    {"c0", "c_0", "c_{0,a}", "reward", "box", &Instance::c0, &Dimensions::boxes, nullptr},
    {"c1", "c_1", "c_{1,a}", "reward", "box", &Instance::c1, &Dimensions::boxes, nullptr},
};

/// Numbers of a field, and of all fields.
inline std::size_t size_of(const InstanceField& field, const Dimensions& dimensions) {
  const std::size_t rows = static_cast<std::size_t>(dimensions.*field.rows);
  return field.columns == nullptr ? rows : rows * static_cast<std::size_t>(dimensions.*field.columns);
}
inline std::size_t size_of_instance(const Dimensions& dimensions) {
  std::size_t size = 0;
  for (const InstanceField& field : kInstanceFields) size += size_of(field, dimensions);
  return size;
}

}  // namespace pandora
