// One replication's fixed parameters, as plain data (Section 6.2 of the paper).
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/random/distributions.hpp"

namespace pandora {

/// The largest numbers of boxes and of reward features. They size the small arrays of the per-period walk.
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
  int radius_draws = 131072;  ///< pooled draws of u' phi(x, omega_a) that determine the radius r of theta_*, >= 1

  /// m, the length of psi(x)
  int index_size() const { return index_features == IndexFeatures::affine ? context + 1 : 2 * context + 1; }

  friend bool operator==(const Dimensions&, const Dimensions&) = default;
};

/// How the coefficients of a replication's contexts and outputs (Q, alpha_a, beta_{0,a}, beta_{1,a}) are drawn. Each
/// row has unit length.
enum class Slopes : std::uint8_t {
  common,      ///< entries U[0, 1], as in the paper: a large part is common to all boxes
  unrelated,   ///< box a's alpha_a, beta_{0,a}, beta_{1,a} on coordinates j = a mod A alone: nothing is common
  random_sign  ///< entries U[-1, 1]
};

/// Which Q a box has in phi(x, omega_a) = Q x + D omega_a of regime B.
enum class Location : std::uint8_t {
  common,  ///< one Q for all boxes, as in the paper
  none,    ///< Q = 0
  own      ///< a Q_a for each box; box 1 has the common one
};

/// Whether costs or oracle indices are drawn; the other follows by (eq:sigma).
enum class Indices : std::uint8_t {
  of_costs,  ///< costs are drawn, as in the paper
  linear     ///< the index of box a is Lambda(rho_a' psi(x)) with rho_a drawn (eq:index:a)
};

/// The G of mu* = G(theta_*' phi). Policies that learn rewards assume the logistic one.
enum class RewardLink : std::uint8_t {
  logistic,
  algebraic,  ///< 1/2 + z / (2 (2 + |z|)): the same value and slope at 0, tails like 1 / |z|
  linear      ///< 1/2 + z / 10, clipped to [0, 1]: |z| exceeds 5 in fewer than one of a thousand outputs
};

/// How beta_{1,a} is drawn in regime B. This decides whether a box's cost depends on its output.
enum class OutputCostLaw : std::uint8_t {
  paper,   ///< entries U[0, 1], length 1: G(beta_{1,a}' |omega|) is close to 1, whatever the output
  centred  ///< entries that sum to 0, length kCentredCostLength: beta_{1,a}' |omega| has mean 0 given x
};
inline constexpr double kCentredCostLength = 8.0;

/// The scales s_a(x) of regime B.
enum class OutputScales : std::uint8_t {
  contextual,  ///< 0.5 + G(alpha_a' x), as in the paper
  constant     ///< alpha_a = 0, so s_a = 1
};

/// How the boxes' parameters (alpha_a, beta_{0,a}, beta_{1,a}, c_{0,a}, c_{1,a}) change while online periods pass
/// (docs/scenarios.md, "Drift"). The common parameters (theta_*, D, Q) stay.
struct ParameterDrift {
  enum class Kind : std::uint8_t {
    none,
    swap,  ///< two boxes, drawn at every change, exchange all of them
    step,  ///< every parameter of every box is drawn anew with probability `share`
    walk   ///< the directions of alpha_a and beta_{0,a} turn by about `speed` radians a period
  };
  Kind kind = Kind::none;
  std::vector<int> at;  ///< for swap and step: the online periods (1, 2, ...) in which a change takes effect, ascending
  double share = 1.0;   ///< in (0, 1]
  double speed = 0.0;   ///< n periods turn a direction by about speed sqrt(n)

  friend bool operator==(const ParameterDrift&, const ParameterDrift&) = default;
};

/// A box (its index, from 0) that comes or goes with an online period (1, 2, ...). A box that comes must be absent
/// before, one that goes must be present. The same box may come and go again and again.
struct BoxChange {
  int box = 0, at = 1;
  friend bool operator==(const BoxChange&, const BoxChange&) = default;
};

/// Sets of boxes, bit a for box a.
inline constexpr unsigned kAllBoxes = ~0u;
PANDORA_HD constexpr bool holds(unsigned boxes, int box) {
  return (boxes >> box & 1u) != 0;
}
PANDORA_HD constexpr int count_of(unsigned boxes, int A) {
  int n = 0;
  for (int a = 0; a < A; ++a) n += holds(boxes, a) ? 1 : 0;
  return n;
}

/// Groups of boxes, each box (from 0) in one of them at most.
using BoxGroups = std::vector<std::vector<int>>;

/// A tail exponent of at least this counts as no tail.
inline constexpr double kNoTail = 1e300;

/// A source of replications in place of the model. Kernels only pass it on.
struct OtherSource {
  virtual ~OtherSource() = default;
  /// Whether requests have contexts. Without them psi is (1, 0), and a policy may know that no request differs.
  virtual bool has_contexts() const { return true; }
};

/// The law of the outputs omega = s_a(x) xi, where xi = shock_scale * (iid coordinates) and whole vectors outside the
/// ball of truncation_radius are rejected. Also u, the upper bound of c_{0,a} and c_{1,a}.
struct Environment {
  std::string name;
  std::uint8_t id = 0;  ///< stream coordinate; never reuse one
  Law law = Law::uniform;
  float shock_scale = 1.0f;
  float truncation_radius = std::numeric_limits<float>::infinity();
  double cost_level = 0.0;                       ///< u
  CoordinateLaw::Function coordinate = nullptr;  ///< for Law::custom
  Slopes slopes = Slopes::common;
  RewardLink reward_link = RewardLink::logistic;
  /// alpha > 1: costs have an independent Pareto(alpha) factor of mean 1; infinite: none
  double cost_tail = std::numeric_limits<double>::infinity();
  /// r in [0, 1): the correlation of the normals behind the shocks of two boxes in one period of the tape. The law of a
  /// single box does not depend on it.
  double correlation = 0.0;
  ParameterDrift drift = {};
  std::vector<BoxChange> arrives = {}, leaves = {};
  /// The boxes of a group have one alpha, one beta_0 and one beta_1, those of its first box; with linear indices they
  /// have the same slopes of rho_a.
  BoxGroups ties = {};
  Location location = Location::common;
  Indices indices = Indices::of_costs;
  OutputCostLaw output_costs = OutputCostLaw::paper;
  OutputScales output_scales = OutputScales::contextual;
  /// A table of outcomes in place of the model; null: none. Two environments are equal only if they share it.
  std::shared_ptr<const OtherSource> trace = nullptr;

  friend bool operator==(const Environment&, const Environment&) = default;
};

/// The box whose slopes a box has: the first of its group, or itself.
inline int slopes_owner(const Environment& environment, int box) {
  for (const std::vector<int>& group : environment.ties)
    for (const int one : group)
      if (one == box) return group[0];
  return box;
}

/// Whether parameters change while periods pass.
inline bool moves(const Environment& environment) {
  return environment.drift.kind != ParameterDrift::Kind::none;
}

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
  std::vector<double> Q;       ///< d x d_x, box after box if each has its own; zero in regime A
  std::vector<double> alpha;   ///< A x d_x, zero in regime A
  std::vector<double> beta0;   ///< A x d_x, zero in regime A
  std::vector<double> beta1;   ///< A x d_w, zero in regime A
  std::vector<double> c0, c1;  ///< A, in [0, u]
  /// Only for Indices::linear (empty otherwise), where beta_0, beta_1, c_0 and c_1 are zero: rho_a, A x m; and quantile
  /// means of theta_*' D xi, descending. Under the law of these means, expected costs make the indices Lambda(rho_a'
  /// psi(x)).
  std::vector<double> rho, shock_quantiles;

  bool contextual() const { return regime == Regime::B; }
  bool linear_indices() const { return environment.indices == Indices::linear; }
  Stream stream(Purpose purpose) const {
    return {seed, purpose, environment.id, static_cast<std::uint8_t>(regime), replication};
  }

  friend bool operator==(const Instance&, const Instance&) = default;
};

/// The number of matrices Q in an instance. Box a has the a-th of them, or all have the only one.
inline int location_count(const Dimensions& dimensions, const Environment& environment) {
  return environment.location == Location::own ? dimensions.boxes : 1;
}

/// The number of quantile means behind costs that follow from indices. Each mean is over equally many of about 4
/// radius_draws shocks. Using the means in place of the shocks moves an index by less than 1e-4.
inline constexpr int kShockQuantiles = 512;
inline int draws_behind_costs(const Dimensions& dimensions) {
  const int each = 4 * dimensions.radius_draws / kShockQuantiles;
  return kShockQuantiles * (each < 1 ? 1 : each);
}

/// A parameter of an instance: its name in files, its symbol, its size (rows x columns; without columns it is a vector,
/// with 0 rows the environment does not have it) and its axes. Parts, results.h5, plans and the checks for finite
/// numbers loop over kInstanceFields.
struct InstanceField {
  using Member = std::vector<double> Instance::*;
  using Length = int (*)(const Dimensions&, const Environment&);
  const char *name, *symbol, *meaning, *unit, *axes;
  Member member;
  Length rows;
  Length columns;  ///< null: a vector
};
/// The sizes of fields.
namespace length {
inline int boxes(const Dimensions& dim, const Environment&) {
  return dim.boxes;
}
inline int context(const Dimensions& dim, const Environment&) {
  return dim.context;
}
inline int output(const Dimensions& dim, const Environment&) {
  return dim.output;
}
inline int reward_features(const Dimensions& dim, const Environment&) {
  return dim.reward_features;
}
inline int located_features(const Dimensions& dim, const Environment& environment) {
  return location_count(dim, environment) * dim.reward_features;
}
inline int linear_boxes(const Dimensions& dim, const Environment& environment) {
  return environment.indices == Indices::linear ? dim.boxes : 0;
}
inline int index_size(const Dimensions& dim, const Environment&) {
  return dim.index_size();
}
inline int quantiles(const Dimensions&, const Environment& environment) {
  return environment.indices == Indices::linear ? kShockQuantiles : 0;
}
}  // namespace length
inline constexpr InstanceField kInstanceFields[] = {
    {"theta", "theta_*", "theta_*", "", "d", &Instance::theta, &length::reward_features, nullptr},
    {"D", "D", "D of phi = Q x + D omega", "", "d x d_w", &Instance::D, &length::reward_features, &length::output},
    {"Q", "Q", "Q, zero in regime A; of box after box where each has its own", "", "d x d_x", &Instance::Q,
     &length::located_features, &length::context},
    {"alpha", "alpha", "alpha_a of the scales, zero in regime A", "", "box x d_x", &Instance::alpha, &length::boxes,
     &length::context},
    {"beta0", "beta_0", "beta_{0,a} of the context costs, zero in regime A", "", "box x d_x", &Instance::beta0,
     &length::boxes, &length::context},
    {"beta1", "beta_1", "beta_{1,a} of the output costs, zero in regime A", "", "box x d_w", &Instance::beta1,
     &length::boxes, &length::output},
    {"c0", "c_0", "c_{0,a}", "reward", "box", &Instance::c0, &length::boxes, nullptr},
    {"c1", "c_1", "c_{1,a}", "reward", "box", &Instance::c1, &length::boxes, nullptr},
    {"rho", "rho", "rho_a of the oracle's indices Lambda(rho_a' psi(x)), where these are drawn", "", "box x m",
     &Instance::rho, &length::linear_boxes, &length::index_size},
    {"shock_quantiles", "the shock's quantiles",
     "quantile means of theta_*' D xi behind costs that follow from indices", "", "bin", &Instance::shock_quantiles,
     &length::quantiles, nullptr},
};

/// How many numbers a field has, and all fields together.
inline std::size_t size_of(const InstanceField& field, const Dimensions& dimensions, const Environment& environment) {
  const std::size_t rows = static_cast<std::size_t>(field.rows(dimensions, environment));
  return field.columns == nullptr ? rows : rows * static_cast<std::size_t>(field.columns(dimensions, environment));
}
/// Whether instances of this environment have the field.
inline bool is_part_of(const InstanceField& field, const Instance& instance) {
  return field.rows(instance.dimensions, instance.environment) > 0;
}
inline std::size_t size_of_instance(const Dimensions& dimensions, const Environment& environment) {
  std::size_t size = 0;
  for (const InstanceField& field : kInstanceFields) size += size_of(field, dimensions, environment);
  return size;
}

}  // namespace pandora
