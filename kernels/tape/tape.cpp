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
  explicit ContextMaps(int context_size) : size_(context_size) {}

  /// Appends a row-major matrix; returns the position of its first output.
  int append(const std::vector<double>& rows, int n_rows) {
    const int first = outputs_;
    outputs_ += n_rows;
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    return first;
  }
  void finish() {
    padded_ = (outputs_ + kStrip - 1) / kStrip * kStrip;
    rows_.resize(static_cast<std::size_t>(padded_) * size_, 0.0);
    weights_ = coordinate_major(rows_, padded_, size_);
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
  int size_, outputs_ = 0, padded_ = 0;
  std::vector<double> rows_;
  std::vector<float> weights_;
};

}  // namespace

Contexts draw_contexts(const Instance& instance, const std::vector<ContextSegment>& segments) {
  const Dimensions& dim = instance.dimensions;
  const int A = dim.boxes, d = dim.reward_features, n = dim.context;
  Contexts out;
  for (const ContextSegment& segment : segments) out.rows += static_cast<int>(segment.count);
  out.boxes = A;
  out.reward_features = d;
  out.index_size = dim.index_size();
  out.index_stride = padded_to_vector<float>(out.index_size);
  const std::size_t rows = static_cast<std::size_t>(out.rows);
  out.psi.assign(rows * out.index_stride, 0.0f);
  out.reward_context.assign(rows * d, 0.0f);
  out.reward_shift.assign(rows, 0.0);
  out.scale.assign(rows * A, 1.0);  // regime A: s = 0.5 + G(0)
  out.context_cost.resize(rows * A);
  for (std::size_t row = 0; row < rows; ++row)
    for (int a = 0; a < A; ++a) out.context_cost[row * A + a] = context_cost_of(instance.c0[a], 0.0f, false);

  ContextMaps maps(n);
  maps.append(instance.Q, d);
  const int alpha = maps.append(instance.alpha, A), beta0 = maps.append(instance.beta0, A);
  maps.finish();
  std::vector<float> mapped(static_cast<std::size_t>(maps.padded()));
  std::size_t row = 0;
  for (const ContextSegment& segment : segments) {
    const Stream stream = instance.stream(segment.purpose);
    for (std::uint32_t i = 0; i < segment.count; ++i, ++row) {
      float* psi = out.psi.data() + row * out.index_stride;
      float* x = psi + 1;
      psi[0] = 1.0f;
      draw_context(stream, segment.first_period + i, n, x);
      for (int j = 0; j < n; ++j) add_index_features(dim.index_features, n, j, x[j], psi);
      if (!instance.contextual()) continue;
      float* reward_context = out.reward_context.data() + row * d;
      maps.apply(x, mapped.data());
      double shift = 0.0;
      for (int k = 0; k < d; ++k) {
        reward_context[k] = mapped[k];
        shift += instance.theta[k] * static_cast<double>(mapped[k]);
      }
      out.reward_shift[row] = shift;
      for (int a = 0; a < A; ++a) {
        out.scale[row * A + a] = shock_scale_of(mapped[alpha + a], true);
        out.context_cost[row * A + a] = context_cost_of(instance.c0[a], mapped[beta0 + a], true);
      }
    }
  }
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
        tape.mu[at] =
            output_features(&tape.contexts.reward_context[row * d], &linear[static_cast<std::size_t>(i) * d], scale,
                            instance.theta.data(), d, instance.environment.reward_link, &tape.phi[at * d]);
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
