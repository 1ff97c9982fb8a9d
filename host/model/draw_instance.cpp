#include "host/model/draw_instance.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/tape/shock_projection.hpp"
#include "kernels/tape/tape.hpp"

namespace pandora {
namespace {

// n uniforms on (0, 1) belonging to row `row` of a parameter.
void uniforms(const Stream& stream, std::uint32_t row, int n, double* out) {
  for (int first = 0; first < n; first += 4) {
    std::uint32_t words[4][1];
    philox<1>(stream, {static_cast<std::uint32_t>(first / 4)}, {row}, {0}, words);
    for (int k = 0; k < 4 && first + k < n; ++k) out[first + k] = open_uniform(words[k][0]);
  }
}

// Rows with entries U[0,1], or as `slopes` says, each scaled to unit length.
std::vector<double> unit_rows(const Stream& stream, int rows, int columns, Slopes slopes = Slopes::common) {
  std::vector<double> out(static_cast<std::size_t>(rows) * columns);
  for (int i = 0; i < rows; ++i) {
    double* row = out.data() + static_cast<std::size_t>(i) * columns;
    uniforms(stream, static_cast<std::uint32_t>(i), columns, row);
    for (int j = 0; j < columns; ++j) {
      if (slopes == Slopes::random_sign) row[j] = 2.0 * row[j] - 1.0;
      if (slopes == Slopes::unrelated && j % rows != i) row[j] = 0.0;
    }
    double norm = 0.0;
    for (int j = 0; j < columns; ++j) norm += row[j] * row[j];
    norm = std::sqrt(norm);
    for (int j = 0; j < columns; ++j) row[j] /= norm;
  }
  return out;
}

}  // namespace

std::vector<double> unit_sphere(const Stream& stream, int size) {
  std::vector<double> out(static_cast<std::size_t>(size));
  double norm = 0.0;
  for (int first = 0; first < size; first += 4) {
    std::uint32_t words[4][1];
    philox<1>(stream, {static_cast<std::uint32_t>(first / 4)}, {0}, {0}, words);
    float normals[4];
    two_normals(words[0][0], words[1][0], normals[0], normals[1]);
    two_normals(words[2][0], words[3][0], normals[2], normals[3]);
    for (int k = 0; k < 4 && first + k < size; ++k) {
      out[first + k] = normals[k];
      norm += out[first + k] * out[first + k];
    }
  }
  for (double& value : out) value /= std::sqrt(norm);
  return out;
}

double calibrate_radius(const Instance& instance, const std::vector<double>& direction) {
  const Dimensions& dim = instance.dimensions;
  ShockWeights weights;
  weights.n_linear = 1;
  for (const double value : output_direction(instance, direction)) weights.linear.push_back(static_cast<float>(value));
  const std::uint32_t draws = static_cast<std::uint32_t>(dim.radius_draws);
  std::vector<float> projected(draws);
  draw_projected_shocks(instance.environment, dim.output, instance.stream(Purpose::radius_shock),
                        {0, draws, 0, static_cast<std::uint32_t>(dim.boxes)}, weights, projected.data(), nullptr);
  std::vector<double> magnitude(draws);
  if (instance.contextual()) {
    Instance probe = instance;
    probe.theta = direction;
    constexpr std::uint32_t kBatch = 8192;  // bounds the memory for the contexts
    for (std::uint32_t first = 0; first < draws; first += kBatch) {
      const std::uint32_t count = std::min(kBatch, draws - first);
      const Contexts contexts = draw_contexts(probe, {{Purpose::radius_context, first, count}});
      for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t box = (first + i) % static_cast<std::uint32_t>(dim.boxes);
        magnitude[first + i] =
            std::abs(contexts.reward_shift[i] + contexts.scale[static_cast<std::size_t>(i) * dim.boxes + box] *
                                                    static_cast<double>(projected[first + i]));
      }
    }
  } else {
    std::transform(projected.begin(), projected.end(), magnitude.begin(),
                   [](float w) { return std::abs(static_cast<double>(w)); });
  }
  return radius_of(magnitude);
}

double radius_of(std::vector<double>& magnitude) {
  const auto median = magnitude.begin() + static_cast<std::ptrdiff_t>(magnitude.size() / 2);
  std::nth_element(magnitude.begin(), median, magnitude.end());
  return 1.0 / *median;
}

Instance draw_instance(const Dimensions& dim, const Environment& environment, Regime regime, std::uint32_t replication,
                       std::uint64_t seed) {
  return draw_instance(dim, environment, regime, replication, seed,
                       [](const Instance& instance) { return calibrate_radius(instance, instance.theta); });
}

Instance draw_instance(const Dimensions& dim, const Environment& environment, Regime regime, std::uint32_t replication,
                       std::uint64_t seed, const std::function<double(const Instance&)>& radius_of) {
  Instance instance;
  instance.dimensions = dim;
  instance.environment = environment;
  instance.regime = regime;
  instance.replication = replication;
  instance.seed = seed;
  const int A = dim.boxes, d = dim.reward_features;
  instance.D = unit_rows(instance.stream(Purpose::reward_output_matrix), d, dim.output);
  if (instance.contextual()) {
    const Slopes slopes = environment.slopes;
    instance.Q = unit_rows(instance.stream(Purpose::reward_context_matrix), d, dim.context,
                           slopes == Slopes::unrelated ? Slopes::common : slopes);  // of all boxes
    instance.alpha = unit_rows(instance.stream(Purpose::scale_coefficients), A, dim.context, slopes);
    instance.beta0 = unit_rows(instance.stream(Purpose::context_cost_coefficients), A, dim.context, slopes);
    instance.beta1 = unit_rows(instance.stream(Purpose::output_cost_coefficients), A, dim.output, slopes);
  } else {
    instance.Q.assign(static_cast<std::size_t>(d) * dim.context, 0.0);
    instance.alpha.assign(static_cast<std::size_t>(A) * dim.context, 0.0);
    instance.beta0 = instance.alpha;
    instance.beta1.assign(static_cast<std::size_t>(A) * dim.output, 0.0);
  }
  for (int a = 0; a < A; ++a) {
    double levels[2];
    uniforms(instance.stream(Purpose::cost_levels), static_cast<std::uint32_t>(a), 2, levels);
    instance.c0.push_back(environment.cost_level * levels[0]);
    instance.c1.push_back(environment.cost_level * levels[1]);
  }
  instance.theta = unit_sphere(instance.stream(Purpose::theta_direction), d);
  const double radius = radius_of(instance);
  for (double& value : instance.theta) value *= radius;
  return instance;
}

}  // namespace pandora
