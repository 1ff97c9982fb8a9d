#include "kernels/tape/tape.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/assert.hpp"
#include "kernels/base/lanes.hpp"
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
    rows.resize(static_cast<std::size_t>(padded_) * size_, 0.3);  // sums of 0 would be doubtful (QuickFused)
    weights_ = coordinate_major(rows, padded_, size_);
  }
  int padded() const { return padded_; }

  /// out = M x, each output summed over the coordinates in order.
  void apply(const float* x, float* out) const {
    for (int first = 0; first < padded_; first += kStrip) {
      float sum[kStrip] = {};
      const float* row = weights_.data() + first;
      int j = 0;
      for (; j + 4 <= size_; j += 4) add<4>(row + static_cast<std::size_t>(j) * padded_, x + j, sum);
      for (; j < size_; ++j) add<1>(row + static_cast<std::size_t>(j) * padded_, x + j, sum);
      for (int p = 0; p < kStrip; ++p) out[first + p] = sum[p];
    }
  }

 private:
  static constexpr int kStrip = 16;

  // Applies K coordinates to a strip.
  template <int K>
  void add(const float* row, const float* x, float (&sum)[kStrip]) const {
    assign_lanes<kStrip>(sum, [&](int p, auto& fused) PANDORA_INLINED {
      float total = sum[p];
      PANDORA_UNROLL
      for (int k = 0; k < K; ++k) total = fused(row[k * padded_ + p], x[k], total);
      return total;
    });
  }

  int size_, padded_ = 0;
  std::vector<float> weights_;
};

// Allocates the contexts and fills in the values that do not depend on x in regime A.
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
  if (!instance.linear_indices()) return out;
  out.index.resize(rows * A);
  for (std::size_t row = 0; row < rows; ++row)
    for (int a = 0; a < A; ++a)
      out.index[row * A + a] = linear_index_of(instance.rho[static_cast<std::size_t>(a) * out.index_size], 0.0f);
  return out;
}

// Writes the values of a context's maps into its row.
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

// Sets c_a(x) = E[(mu* - Lambda(rho_a' psi(x)))^+ | x]. A calibration of the radius has no law of the shocks yet and
// skips this.
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

namespace {

// Draws the contexts of a segment and the values that follow from them, into the rows from `row` on.
void fill_contexts(const Instance& instance, const ContextSegment& segment, std::size_t row, Contexts& out) {
  const Dimensions& dim = instance.dimensions;
  const int n = dim.context;
  MappedRows maps(instance);
  const Stream stream = instance.stream(segment.purpose);
  for (std::uint32_t i = 0; i < segment.count; ++i, ++row) {
    float* psi = out.psi.data() + row * out.index_stride;
    float* x = psi + 1;
    psi[0] = 1.0f;
    draw_context(stream, segment.first_period + i, n, x);
    for (int j = 0; j < n; ++j) add_index_features(dim.index_features, n, j, x[j], psi);
    if (instance.contextual())
      maps.fill(row, x, out);
    else
      for (int a = 0; a < out.boxes; ++a)
        out.context_cost[row * out.boxes + a] = context_cost_of(instance.c0[a], 0.0f, false);
  }
}

// Periods of one purpose with the same parameters.
struct TapeSegment {
  Purpose context, shock, reward;
  std::uint32_t first_period, count;
  std::uint32_t number;       // for cost_factor()
  std::uint32_t opening = 0;  // of every box
};

// Draws the outputs of a box in a segment, into the rows from `first` on.
void fill_outputs(const Instance& instance, const TapeSegment& segment, std::size_t first, int a, Tape& tape) {
  const Dimensions& dim = instance.dimensions;
  const Environment& environment = instance.environment;
  const std::size_t A = static_cast<std::size_t>(dim.boxes), d = static_cast<std::size_t>(dim.reward_features),
                    box = static_cast<std::size_t>(a);
  ShockWeights weights;
  weights.n_linear = dim.reward_features;
  weights.linear = coordinate_major(instance.D, dim.reward_features, dim.output);
  if (instance.contextual()) {
    weights.n_absolute = 1;
    weights.absolute.assign(instance.beta1.begin() + static_cast<std::ptrdiff_t>(a) * dim.output,
                            instance.beta1.begin() + static_cast<std::ptrdiff_t>(a + 1) * dim.output);
  }
  std::vector<float> linear(segment.count * d), absolute(segment.count);
  draw_projected_shocks(
      environment, dim.output, instance.stream(segment.shock),
      {segment.first_period, segment.count, draw_place(static_cast<std::uint32_t>(a), segment.opening), 0, true},
      weights, linear.data(), absolute.data());
  for (std::uint32_t i = 0; i < segment.count; ++i) {
    const std::size_t row = first + i, at = row * A + box;
    const double scale = tape.contexts.scale[at];
    tape.mu[at] =
        output_features(&tape.contexts.reward_context[tape.contexts.location_at(row, a) * d], &linear[i * d], scale,
                        instance.theta.data(), dim.reward_features, environment.reward_link, &tape.phi[at * d]);
    tape.cost[at] =
        output_cost_of(tape.contexts.context_cost[at], instance.c1[box], scale, absolute[i], instance.contextual());
    if (std::isfinite(environment.cost_tail))
      tape.cost[at] *=
          cost_factor(instance.stream(Purpose::cost_factor), environment.cost_tail, segment.number + segment.opening,
                      segment.first_period + i, static_cast<std::uint32_t>(a));
  }
}

void fill_rewards(const Instance& instance, const TapeSegment& segment, std::size_t row, Tape& tape) {
  const Stream stream = instance.stream(segment.reward);
  const std::size_t A = static_cast<std::size_t>(tape.boxes());
  for (std::uint32_t i = 0; i < segment.count; ++i, ++row)
    for (std::size_t a = 0; a < A; ++a)
      tape.reward[row * A + a] =
          reward_of(stream, segment.first_period + i, draw_place(static_cast<std::uint32_t>(a), segment.opening),
                    tape.mu[row * A + a]);
}

// Draws a segment of the tape from `row` on, except its contexts.
void fill_segment(const Instance& instance, const TapeSegment& segment, std::size_t row, Tape& tape) {
  for (int a = 0; a < tape.boxes(); ++a) fill_outputs(instance, segment, row, a, tape);
  if (segment.reward != segment.shock) fill_rewards(instance, segment, row, tape);  // no reward is seen at x_0
}

}  // namespace

Contexts draw_contexts(const Instance& instance, const std::vector<ContextSegment>& segments) {
  int rows = 0;
  for (const ContextSegment& segment : segments) rows += static_cast<int>(segment.count);
  Contexts out = room_for(instance, rows);
  std::size_t row = 0;
  for (const ContextSegment& segment : segments) {
    fill_contexts(instance, segment, row, out);
    row += segment.count;
  }
  balance_costs(instance, out);
  return out;
}

Tape draw_tape(const Instance& instance, int calibration_periods, int periods, Course* course, int openings) {
  const std::uint32_t C = static_cast<std::uint32_t>(calibration_periods), T = static_cast<std::uint32_t>(periods);
  PANDORA_ASSERT(course == nullptr || openings == 1);
  std::vector<TapeSegment> segments = {
      {Purpose::initial_context, Purpose::initial_shock, Purpose::initial_shock, 0, 1, 0},
      {Purpose::calibration_context, Purpose::calibration_shock, Purpose::calibration_reward, 0, C, 1},
      {Purpose::online_context, Purpose::online_shock, Purpose::online_reward, 0, T, 2}};
  for (std::uint32_t k = 1; k < static_cast<std::uint32_t>(openings); ++k) {
    segments.push_back(segments[2]);
    segments.back().opening = k;
  }
  Tape tape;
  tape.calibration_rows = calibration_periods;
  tape.online_rows = periods;
  if (course == nullptr) {
    std::vector<ContextSegment> contexts;
    for (const TapeSegment& segment : segments) contexts.push_back({segment.context, 0, segment.count});
    tape.contexts = draw_contexts(instance, contexts);
  } else {  // the online rows follow
    tape.contexts = room_for(instance, 1 + calibration_periods + periods);
    for (const TapeSegment& s : {segments[0], segments[1]})
      fill_contexts(instance, {s.context, 0, s.count}, s.number, tape.contexts);
  }
  const std::size_t cells = static_cast<std::size_t>(tape.contexts.rows) * static_cast<std::size_t>(tape.boxes());
  tape.phi.resize(cells * static_cast<std::size_t>(instance.dimensions.reward_features));
  tape.mu.resize(cells);
  tape.cost.resize(cells);
  tape.reward.assign(cells, 0);
  std::size_t row = 0;
  for (const TapeSegment& segment : segments) {
    if (course == nullptr || segment.number < 2) fill_segment(instance, segment, row, tape);
    row += segment.count;
  }
  if (course == nullptr) return tape;
  Instance now = instance;
  for (int first = 0; first < periods;) {
    const int next = std::min(course->advance(first, now), periods);
    TapeSegment segment = segments[2];
    segment.first_period = static_cast<std::uint32_t>(first);
    segment.count = static_cast<std::uint32_t>(next - first);
    const std::size_t at = static_cast<std::size_t>(tape.online_row(first));
    fill_contexts(now, {segment.context, segment.first_period, segment.count}, at, tape.contexts);
    fill_segment(now, segment, at, tape);
    first = next;
  }
  return tape;
}

}  // namespace pandora
