#include "kernels/tape/tape.hpp"

#include <cmath>

#include "kernels/tape/formulas.hpp"
#include "kernels/tape/shock_projection.hpp"

namespace pandora {
namespace {

// x with independent Uniform[-1, 1] coordinates, four per Philox block.
void draw_context(const Stream& stream, std::uint32_t period, int size, float* x) {
  constexpr int W = 16;
  std::uint32_t block[W], periods[W], box[W] = {}, words[4][W];
  for (int lane = 0; lane < W; ++lane) periods[lane] = period;
  for (int first = 0; first < size; first += 4 * W) {
    for (int lane = 0; lane < W; ++lane) block[lane] = static_cast<std::uint32_t>(first / 4 + lane);
    philox<W>(stream, block, periods, box, words);
    for (int lane = 0; lane < W; ++lane)
      for (int k = 0; k < 4; ++k)
        if (const int j = first + 4 * lane + k; j < size) x[j] = signed_uniform(words[k][lane]);
  }
}

// Linear maps of the context, coordinate-major and side by side, padded to whole strips of kStrip outputs.
class ContextMaps {
 public:
  ContextMaps(int context_size, std::vector<double> rows) : size_(context_size) {
    const int outputs = static_cast<int>(rows.size()) / size_;
    padded_ = (outputs + kStrip - 1) / kStrip * kStrip;
    rows.resize(static_cast<std::size_t>(padded_) * size_, 0.0);
    weights_ = coordinate_major(rows, padded_, size_);
  }
  int padded() const { return padded_; }

  /// out = M x, each output summed over the coordinates in order.
  void apply(const float* x, float* out) const {
    for (int first = 0; first < padded_; first += kStrip) {
      float sum[kStrip] = {};
      const float* row = weights_.data() + first;
      for (int j = 0; j < size_; ++j, row += padded_) {
        PANDORA_SIMD
        for (int p = 0; p < kStrip; ++p) sum[p] = fused(row[p], x[j], sum[p]);
      }
      for (int p = 0; p < kStrip; ++p) out[first + p] = sum[p];
    }
  }

 private:
  static constexpr int kStrip = 16;
  int size_, padded_ = 0;
  std::vector<float> weights_;
};

// Room for the contexts, with the values that do not depend on x in regime A.
Contexts room_for(const Instance& instance, int count) {
  const Dimensions& dim = instance.dimensions;
  const int A = dim.boxes;
  Contexts out;
  out.rows = count;
  out.boxes = A;
  out.reward_features = dim.reward_features;
  out.locations = location_count(dim, instance.environment);
  out.index_size = dim.index_size();
  out.index_stride = padded_to_vector<float>(out.index_size);
  const std::size_t rows = static_cast<std::size_t>(count);
  out.psi.assign(rows * out.index_stride, 0.0f);
  out.reward_context.assign(out.location_at(rows, 0) * dim.reward_features, 0.0f);
  out.reward_shift.assign(out.location_at(rows, 0), 0.0);
  out.scale.assign(rows * A, 1.0);  // s = 0.5 + G(0)
  out.context_cost.resize(rows * A);
  for (std::size_t row = 0; row < rows; ++row)
    for (int a = 0; a < A; ++a) out.context_cost[row * A + a] = context_cost_of(instance.c0[a], 0.0f, false);
  if (!instance.linear_indices()) return out;
  out.index.resize(rows * A);
  for (std::size_t row = 0; row < rows; ++row)
    for (int a = 0; a < A; ++a)
      out.index[row * A + a] = linear_index_of(instance.rho[static_cast<std::size_t>(a) * out.index_size], 0.0f);
  return out;
}

// What the maps of a context give, into its row.
class MappedRows {
 public:
  explicit MappedRows(const Instance& instance)
      : instance_(instance),
        maps_(instance.dimensions.context, context_maps(instance)),
        mapped_(static_cast<std::size_t>(maps_.padded())) {}

  void fill(std::size_t row, const float* x, Contexts& out) {
    maps_.apply(x, mapped_.data());
    const int A = out.boxes, d = out.reward_features;
    for (int location = 0; location < out.locations; ++location) {
      const std::size_t at = out.location_at(row, location);
      double shift = 0.0;
      for (int k = 0; k < d; ++k) {
        const float value = mapped_[static_cast<std::size_t>(location) * d + k];
        out.reward_context[at * d + k] = value;
        shift += instance_.theta[k] * static_cast<double>(value);
      }
      out.reward_shift[at] = shift;
    }
    const float* const alpha = mapped_.data() + out.locations * d;
    const float* const beta0 = alpha + A;
    for (int a = 0; a < A; ++a) {
      out.scale[row * A + a] = shock_scale_of(alpha[a], true);
      out.context_cost[row * A + a] = context_cost_of(instance_.c0[a], beta0[a], true);
      if (!out.index.empty())
        out.index[row * A + a] =
            linear_index_of(instance_.rho[static_cast<std::size_t>(a) * out.index_size], beta0[A + a]);
    }
  }

 private:
  const Instance& instance_;
  ContextMaps maps_;
  std::vector<float> mapped_;
};

// c_a(x) = E[(mu* - Lambda(rho_a' psi(x)))^+ | x]; a calibration of the radius goes before the law of the shocks.
void balance_costs(const Instance& instance, Contexts& contexts) {
  const std::vector<double>& law = instance.shock_quantiles;
  if (contexts.index.empty() || law.empty()) return;
  const std::size_t A = static_cast<std::size_t>(contexts.boxes);
  for (std::size_t at = 0; at < contexts.index.size(); ++at)
    contexts.context_cost[at] =
        !instance.contextual() && at >= A
            ? contexts.context_cost[at - A]
            : expected_excess(law.data(), static_cast<int>(law.size()),
                              contexts.reward_shift[contexts.location_at(at / A, static_cast<int>(at % A))],
                              contexts.scale[at], contexts.index[at], instance.environment.reward_link);
}

}  // namespace

std::vector<double> context_maps(const Instance& instance) {
  const std::size_t n = static_cast<std::size_t>(instance.dimensions.context),
                    m = static_cast<std::size_t>(instance.dimensions.index_size());
  std::vector<double> rows = instance.Q;
  rows.insert(rows.end(), instance.alpha.begin(), instance.alpha.end());
  rows.insert(rows.end(), instance.beta0.begin(), instance.beta0.end());
  for (std::size_t first = 1; first < instance.rho.size(); first += m)
    rows.insert(rows.end(), instance.rho.begin() + static_cast<std::ptrdiff_t>(first),
                instance.rho.begin() + static_cast<std::ptrdiff_t>(first + n));
  return rows;
}

Contexts draw_contexts(const Instance& instance, const std::vector<ContextSegment>& segments) {
  const Dimensions& dim = instance.dimensions;
  const int n = dim.context;
  int rows = 0;
  for (const ContextSegment& segment : segments) rows += static_cast<int>(segment.count);
  Contexts out = room_for(instance, rows);
  MappedRows maps(instance);
  std::size_t row = 0;
  for (const ContextSegment& segment : segments) {
    const Stream stream = instance.stream(segment.purpose);
    for (std::uint32_t i = 0; i < segment.count; ++i, ++row) {
      float* psi = out.psi.data() + row * out.index_stride;
      float* x = psi + 1;
      psi[0] = 1.0f;
      draw_context(stream, segment.first_period + i, n, x);
      for (int j = 0; j < n; ++j) add_index_features(dim.index_features, n, j, x[j], psi);
      if (instance.contextual()) maps.fill(row, x, out);
    }
  }
  balance_costs(instance, out);
  return out;
}

Tape draw_tape(const Instance& instance, int calibration_periods, int periods) {
  const Dimensions& dim = instance.dimensions;
  const int A = dim.boxes, d = dim.reward_features;
  struct Segment {
    Purpose context, shock, reward;
    std::uint32_t count;
  };
  const Segment segments[] = {
      {Purpose::initial_context, Purpose::initial_shock, Purpose::initial_shock, 1},
      {Purpose::calibration_context, Purpose::calibration_shock, Purpose::calibration_reward,
       static_cast<std::uint32_t>(calibration_periods)},
      {Purpose::online_context, Purpose::online_shock, Purpose::online_reward, static_cast<std::uint32_t>(periods)}};

  Tape tape;
  tape.calibration_rows = calibration_periods;
  tape.online_rows = periods;
  std::vector<ContextSegment> context_segments;
  for (const Segment& s : segments) context_segments.push_back({s.context, 0, s.count});
  tape.contexts = draw_contexts(instance, context_segments);
  const std::size_t rows = static_cast<std::size_t>(tape.contexts.rows);
  tape.phi.resize(rows * A * d);
  tape.mu.resize(rows * A);
  tape.cost.resize(rows * A);
  tape.reward.assign(rows * A, 0);

  std::vector<float> linear, absolute;
  for (int a = 0; a < A; ++a) {
    ShockWeights weights;
    weights.n_linear = d;
    weights.linear = coordinate_major(instance.D, d, dim.output);
    if (instance.contextual()) {
      weights.n_absolute = 1;
      weights.absolute.assign(instance.beta1.begin() + static_cast<std::ptrdiff_t>(a) * dim.output,
                              instance.beta1.begin() + static_cast<std::ptrdiff_t>(a + 1) * dim.output);
    }
    std::size_t row = 0;
    std::uint32_t number = 0;
    for (const Segment& segment : segments) {
      linear.resize(static_cast<std::size_t>(segment.count) * d);
      absolute.resize(segment.count);
      draw_projected_shocks(instance.environment, dim.output, instance.stream(segment.shock),
                            {0, segment.count, static_cast<std::uint32_t>(a), 0}, weights, linear.data(),
                            absolute.data());
      for (std::uint32_t i = 0; i < segment.count; ++i, ++row) {
        const std::size_t at = row * A + a;
        const double scale = tape.contexts.scale[at];
        tape.mu[at] = output_features(&tape.contexts.reward_context[tape.contexts.location_at(row, a) * d],
                                      &linear[static_cast<std::size_t>(i) * d], scale, instance.theta.data(), d,
                                      instance.environment.reward_link, &tape.phi[at * d]);
        tape.cost[at] =
            output_cost_of(tape.contexts.context_cost[at], instance.c1[a], scale, absolute[i], instance.contextual());
        if (std::isfinite(instance.environment.cost_tail))
          tape.cost[at] *= cost_factor(instance.stream(Purpose::cost_factor), instance.environment.cost_tail, number, i,
                                       static_cast<std::uint32_t>(a));
      }
      ++number;
    }
  }

  std::size_t row = 1;  // no reward is seen at x_0
  for (std::size_t k = 1; k < std::size(segments); ++k) {
    const Stream stream = instance.stream(segments[k].reward);
    for (std::uint32_t period = 0; period < segments[k].count; ++period, ++row)
      for (int a = 0; a < A; ++a)
        tape.reward[row * A + a] = reward_of(stream, period, static_cast<std::uint32_t>(a), tape.mu[row * A + a]);
  }
  return tape;
}

}  // namespace pandora
