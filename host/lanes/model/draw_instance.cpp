#include "host/lanes/model/draw_instance.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "host/lanes/model/preparation.hpp"
#include "kernels/base/assert.hpp"
#include "kernels/rules/period.hpp"
#include "kernels/tape/shock_projection.hpp"
#include "kernels/tape/tape.hpp"
#include "oracle/reservation_index.hpp"

namespace pandora {
namespace {

// n uniforms on (0, 1) for row `row` of a parameter.
void uniforms(const Stream& stream, std::uint32_t row, int n, double* out) {
  for (int first = 0; first < n; first += 4) {
    std::uint32_t words[4][1];
    philox<1>(stream, {static_cast<std::uint32_t>(first / 4)}, {row}, {0}, words);
    for (int k = 0; k < 4 && first + k < n; ++k) out[first + k] = open_uniform(words[k][0]);
  }
}

// Scales a vector to unit length.
void normalise(double* row, int columns) {
  double norm = 0.0;
  for (int j = 0; j < columns; ++j) norm += row[j] * row[j];
  norm = std::sqrt(norm);
  for (int j = 0; j < columns; ++j) row[j] /= norm;
}

// A row for one of `boxes` boxes: entries U[0,1], or as `slopes` says, scaled to unit length.
void unit_row(const Stream& stream, std::uint32_t period, int columns, Slopes slopes, int box, int boxes, double* row) {
  uniforms(stream, period, columns, row);
  for (int j = 0; j < columns; ++j) {
    if (slopes == Slopes::random_sign) row[j] = 2.0 * row[j] - 1.0;
    if (slopes == Slopes::unrelated && j % boxes != box) row[j] = 0.0;
  }
  normalise(row, columns);
}

// Several such rows; `rows_of_box` consecutive ones belong to a box.
std::vector<double> unit_rows(const Stream& stream, int rows, int columns, Slopes slopes = Slopes::common,
                              int rows_of_box = 1) {
  std::vector<double> out(static_cast<std::size_t>(rows) * columns);
  for (int i = 0; i < rows; ++i)
    unit_row(stream, static_cast<std::uint32_t>(i), columns, slopes, i / rows_of_box, rows / rows_of_box,
             out.data() + static_cast<std::size_t>(i) * columns);
  return out;
}

// Centres a row of beta_1 under OutputCostLaw::centred: subtracts the mean of its entries and scales it to
// kCentredCostLength. Entries that are 0 belong to other boxes (Slopes::unrelated) and stay 0.
void centre_row(double* row, int columns) {
  double sum = 0.0, count = 0.0, square = 0.0;
  for (int j = 0; j < columns; ++j) {
    sum += row[j];
    count += row[j] != 0.0 ? 1.0 : 0.0;
  }
  for (int j = 0; j < columns; ++j) {
    if (row[j] != 0.0) row[j] -= sum / count;
    square += row[j] * row[j];
  }
  PANDORA_ASSERT(square > 0.0);  // a box has at least two coordinates
  for (int j = 0; j < columns; ++j) row[j] *= kCentredCostLength / std::sqrt(square);
}

// Q, or Q_a of box after box; zero where the environment has none and in regime A.
std::vector<double> draw_locations(const Instance& instance) {
  const Dimensions& dim = instance.dimensions;
  const Environment& environment = instance.environment;
  const int d = dim.reward_features, rows = location_count(dim, environment) * d;
  if (!instance.contextual() || environment.location == Location::none)
    return std::vector<double>(static_cast<std::size_t>(rows) * dim.context, 0.0);
  const bool of_all = environment.location == Location::common && environment.slopes == Slopes::unrelated;
  return unit_rows(instance.stream(Purpose::reward_context_matrix), rows, dim.context,
                   of_all ? Slopes::common : environment.slopes, d);
}

// rho_a: an intercept with which the oracle opens about 1.5 of three boxes, and slopes with which a box's index has a
// standard deviation of about 0.045 over contexts. That is a third or a quarter of the deviation in the paper's regime
// B. With a larger one, Lambda(rho_a' psi(x)) would leave (0, 1); now it does so only where r_a' x is five of its
// standard deviations below its mean.
std::vector<double> draw_indices(const Instance& instance) {
  constexpr double kLeastIntercept = 0.3, kGreatestIntercept = 0.65, kSlope = 0.1;
  const Dimensions& dim = instance.dimensions;
  const std::size_t n = static_cast<std::size_t>(dim.context), m = static_cast<std::size_t>(dim.index_size());
  const Stream stream = instance.stream(Purpose::index_coefficients);
  const std::vector<double> slopes = unit_rows(stream, dim.boxes, dim.context, instance.environment.slopes);
  std::vector<double> rho(static_cast<std::size_t>(dim.boxes) * m, 0.0);
  for (std::size_t a = 0; a < static_cast<std::size_t>(dim.boxes); ++a) {
    double level = 0.0;
    uniforms(stream, static_cast<std::uint32_t>(kMaxBoxes + a), 1, &level);
    rho[a * m] = kLeastIntercept + (kGreatestIntercept - kLeastIntercept) * level;
    const auto owner = static_cast<std::size_t>(slopes_owner(instance.environment, static_cast<int>(a)));
    for (std::size_t j = 0; instance.contextual() && j < n; ++j) rho[a * m + 1 + j] = kSlope * slopes[owner * n + j];
  }
  return rho;
}

// direction' D xi for `count` draws of the instance's stream. `boxes`: 0, or the number of boxes that take turns in it.
std::vector<float> projected_shocks(const Instance& instance, const std::vector<double>& direction, Purpose purpose,
                                    std::uint32_t count, std::uint32_t boxes) {
  ShockWeights weights;
  weights.n_linear = 1;
  for (const double value : output_direction(instance, direction)) weights.linear.push_back(static_cast<float>(value));
  std::vector<float> projected(count);
  draw_projected_shocks(instance.environment, instance.dimensions.output, instance.stream(purpose),
                        {0, count, 0, boxes}, weights, projected.data(), nullptr);
  return projected;
}

// The law of theta_*' D xi as the means of its quantile bins, from the oracle's stream of shocks.
std::vector<double> draw_shock_quantiles(const Instance& instance) {
  std::vector<float> projected =
      projected_shocks(instance, instance.theta, Purpose::oracle_shock,
                       static_cast<std::uint32_t>(draws_behind_costs(instance.dimensions)), 0);
  std::sort(projected.begin(), projected.end(), std::greater<>());
  return compressed_law(projected, kShockQuantiles).points;
}

}  // namespace

std::vector<double> unit_sphere(const Stream& stream, int size, std::uint32_t period, std::uint32_t box) {
  std::vector<double> out(static_cast<std::size_t>(size));
  for (int first = 0; first < size; first += 4) {
    std::uint32_t words[4][1];
    philox<1>(stream, {static_cast<std::uint32_t>(first / 4)}, {period}, {box}, words);
    float normals[4];
    two_normals(words[0][0], words[1][0], normals[0], normals[1]);
    two_normals(words[2][0], words[3][0], normals[2], normals[3]);
    for (int k = 0; k < 4 && first + k < size; ++k) out[first + k] = normals[k];
  }
  normalise(out.data(), size);
  return out;
}

void draw_row_of_box(Instance& instance, InstanceField::Member parameter, int box, int redraw) {
  const Environment& environment = instance.environment;
  const int A = instance.dimensions.boxes;
  const std::size_t a = static_cast<std::size_t>(box);
  std::vector<double>& values = instance.*parameter;
  if (parameter == &Instance::c0 || parameter == &Instance::c1) {
    double levels[2];
    uniforms(instance.stream(Purpose::cost_levels), static_cast<std::uint32_t>(box + redraw * kMaxBoxes), 2, levels);
    values[a] = environment.cost_level * levels[parameter == &Instance::c1 ? 1 : 0];
    return;
  }
  if (!instance.contextual()) return;
  if (parameter == &Instance::alpha && environment.output_scales == OutputScales::constant) return;
  const Purpose purpose = parameter == &Instance::alpha   ? Purpose::scale_coefficients
                          : parameter == &Instance::beta0 ? Purpose::context_cost_coefficients
                                                          : Purpose::output_cost_coefficients;
  const int columns = static_cast<int>(values.size()) / A, owner = slopes_owner(environment, box);
  unit_row(instance.stream(purpose), static_cast<std::uint32_t>(owner + redraw * kMaxBoxes), columns,
           environment.slopes, owner, A, &values[a * columns]);
  if (parameter == &Instance::beta1 && environment.output_costs == OutputCostLaw::centred)
    centre_row(&values[a * columns], columns);
}

double calibrate_radius(const Instance& instance, const std::vector<double>& direction) {
  const Dimensions& dim = instance.dimensions;
  const std::uint32_t draws = static_cast<std::uint32_t>(dim.radius_draws);
  const std::vector<float> projected =
      projected_shocks(instance, direction, Purpose::radius_shock, draws, static_cast<std::uint32_t>(dim.boxes));
  std::vector<double> magnitude(draws);
  if (instance.contextual()) {
    Instance probe = instance;
    probe.theta = direction;
    constexpr std::uint32_t kBatch = 8192;  // limits the memory for the contexts
    for (std::uint32_t first = 0; first < draws; first += kBatch) {
      const std::uint32_t count = std::min(kBatch, draws - first);
      const Contexts contexts = draw_contexts(probe, {{Purpose::radius_context, first, count}});
      for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t box = (first + i) % static_cast<std::uint32_t>(dim.boxes);
        magnitude[first + i] = std::abs(contexts.reward_shift[contexts.location_at(i, static_cast<int>(box))] +
                                        contexts.scale[static_cast<std::size_t>(i) * dim.boxes + box] *
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
  instance.Q = draw_locations(instance);
  const bool linear = instance.linear_indices();
  const std::size_t boxes = static_cast<std::size_t>(A), context = static_cast<std::size_t>(dim.context);
  instance.alpha.assign(boxes * context, 0.0);
  instance.beta0 = instance.alpha;
  instance.beta1.assign(boxes * static_cast<std::size_t>(dim.output), 0.0);
  instance.c0.assign(boxes, 0.0);
  instance.c1 = instance.c0;
  for (const InstanceField::Member parameter : kParametersOfBoxes)
    for (int a = 0; a < A && (!linear || parameter == &Instance::alpha); ++a)
      draw_row_of_box(instance, parameter, a, 0);
  if (linear) instance.rho = draw_indices(instance);
  instance.theta = unit_sphere(instance.stream(Purpose::theta_direction), d);
  const double radius = radius_of(instance);
  for (double& value : instance.theta) value *= radius;
  if (linear) instance.shock_quantiles = draw_shock_quantiles(instance);
  return instance;
}

OrderFrequencies count_orders(const std::vector<double>& sigma, int A) {
  const std::size_t boxes = static_cast<std::size_t>(A), contexts = sigma.size() / boxes;
  std::map<std::vector<int>, int> counts;
  std::vector<int> order(boxes);
  for (std::size_t row = 0; row < contexts; ++row) {
    for (std::size_t a = 0; a < boxes; ++a)
      if (!is_finite(sigma[row * boxes + a]))
        throw IndexNotFinite("the oracle's index of box " + std::to_string(a + 1) + " in context " +
                             std::to_string(row + 1) + " of Table 3 is not finite");
    sort_boxes(A, sigma.data() + row * boxes, order.data());
    ++counts[order];
  }
  const auto [least, greatest] = std::minmax_element(counts.begin(), counts.end(),
                                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const double n = static_cast<double>(contexts);
  return {static_cast<double>(counts.size()), greatest->second / n, least->second / n};
}

OrderFrequencies order_frequencies(const Instance& instance, const ShockSample& sample, int contexts,
                                   const OracleOptions& options) {
  const Contexts drawn = draw_contexts(instance, {{Purpose::order_context, 0, static_cast<std::uint32_t>(contexts)}});
  return count_orders(oracle_indices(instance, sample, drawn, options), drawn.boxes);
}

}  // namespace pandora
