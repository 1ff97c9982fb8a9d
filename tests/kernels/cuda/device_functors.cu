// Calls functions of kernels/ inside of kernels, so that nvcc must compile these functions as device code. Nothing is
// launched here: the kernels exist to be compiled and linked, also on a machine without a GPU.
#include "kernels/base/elementary.hpp"
#include "kernels/cuda/runtime.cuh"
#include "kernels/random/distributions.hpp"
#include "kernels/random/philox.hpp"
#include "kernels/rules/index_loss.hpp"
#include "kernels/rules/period.hpp"
#include "kernels/rules/spec.hpp"
#include "kernels/state/reward_state.hpp"
#include "kernels/tape/instance.hpp"
#include "kernels/tape/shock_projection.hpp"

namespace pandora {
namespace {

__device__ void store(float*& out, float value) {
  *out++ = value;
}
__device__ void store(double*& out, double value) {
  *out++ = value;
}

__global__ void elementary_functions(const float* x, float* out, const double* y, double* wide) {
  store(out, fused(x[0], x[1], x[2]));
  store(out, nearest(x[0]));
  store(out, scale_by_power_of_two(x[0], x[1]));
  store(out, natural_log(x[0]));
  float sine, cosine;
  sine_cosine_pi(x[0], sine, cosine);
  store(out, sine);
  store(out, cosine);
  store(out, exp2_minus_one(x[0]));
  store(out, exponential(x[0]));
  store(out, logistic(x[0]));
  store(out, index_link(x[0]));
  store(out, index_link_slope(x[0]));
  store(wide, fused(y[0], y[1], y[2]));
  store(wide, nearest(y[0]));
  store(wide, scale_by_power_of_two(y[0], y[1]));
  store(wide, exponential(y[0]));
  store(wide, logistic(y[0]));
  store(wide, index_link(y[0]));
  store(wide, index_link_slope(y[0]));
}

__global__ void random_words(Stream stream, std::uint32_t word0, std::uint32_t period, std::uint32_t box,
                             std::uint32_t* out) {
  std::uint32_t words[4][1];
  philox<1>(stream, {word0}, {period}, {box}, words);
  for (int k = 0; k < 4; ++k) out[k] = words[k][0];
  philox4x32_10<1>(words, stream.seed);
  out[4] = words[0][0] ^ stream.word2(box);
}

__global__ void laws(Law law, Stream stream, std::uint32_t word, float* out, double* wide) {
  store(out, signed_uniform(word));
  store(out, unit_uniform(word));
  store(wide, open_uniform(word));
  float first, second;
  two_normals(word, word + 1, first, second);
  store(out, first);
  store(out, second);
  store(out, student_t5(word, word + 1));
  float xi[4][1];
  shock_group<1>(law, stream, 0, {0}, {word}, {1}, xi);
  for (int k = 0; k < 4; ++k) store(out, xi[k][0]);
}

__global__ void shock_projections(Law law, Stream stream, const float* linear, const float* absolute, int count,
                                  float* out) {
  const std::uint32_t period = blockIdx.x * blockDim.x + threadIdx.x;
  if (period >= static_cast<std::uint32_t>(count)) return;
  ProjectedShocks<1> shocks;
  shocks.draw(law, 1.0f, 100, stream, linear, 10, absolute, 1, {0}, {period}, {0});
  for (int p = 0; p < 10; ++p) out[11 * period + p] = shocks.linear[p][0];
  out[11 * period + 10] = shocks.absolute[0][0] + shocks.squared_norm[0];
}

template <class Real>
__global__ void index_moments(Real z, Real cost, Real mu, Real* out) {
  const IndexMoment<Real> found = index_moment(z, cost, mu);
  out[0] = found.moment;
  out[1] = found.curvature;
}
template __global__ void index_moments<float>(float, float, float, float*);
template __global__ void index_moments<double>(double, double, double, double*);

__global__ void reward_states(int d, double* memory, const float* phi, double reward, double* out) {
  const RewardState state = RewardState::over(memory, d);
  RewardState changed = state;
  changed.reset(1.0);
  changed.observe(phi, reward);
  out[0] = state.linear(phi);
  out[1] = state.width(phi);
  out[2] = state.estimate(phi, 0.1);
  out[3] = RewardState::size(d);
}

template <class Real>
struct MuOfBox {
  const Real* mu;
  PANDORA_HD Real operator()(int box) const { return mu[box]; }
};

template <class Real>
__global__ void walks(const LaneSpec* spec, Stream stream, int boxes, const Real* score, const Real* mu,
                      PeriodOutcome* out) {
  const std::uint32_t lane = blockIdx.x * blockDim.x + threadIdx.x;
  int permutation[kMaxBoxes];
  random_permutation(stream, lane, boxes, permutation);
  out[lane] = walk_period(spec[lane], boxes, score, permutation, MuOfBox<Real>{mu});
}
template __global__ void walks<float>(const LaneSpec*, Stream, int, const float*, const float*, PeriodOutcome*);
template __global__ void walks<double>(const LaneSpec*, Stream, int, const double*, const double*, PeriodOutcome*);

}  // namespace

/// Whether cuBLAS, which is loaded at its first use, is there with all functions that the program uses. This needs no
/// device.
bool cublas_loads() {
  return cuda::cublas_functions().sgemm_batched != nullptr;
}

/// True if the host stubs of all kernels are there.
bool device_functors_linked() {
  const void* kernels[] = {reinterpret_cast<const void*>(&elementary_functions),
                           reinterpret_cast<const void*>(&random_words),
                           reinterpret_cast<const void*>(&laws),
                           reinterpret_cast<const void*>(&shock_projections),
                           reinterpret_cast<const void*>(&index_moments<float>),
                           reinterpret_cast<const void*>(&index_moments<double>),
                           reinterpret_cast<const void*>(&reward_states),
                           reinterpret_cast<const void*>(&walks<float>),
                           reinterpret_cast<const void*>(&walks<double>)};
  for (const void* kernel : kernels)
    if (kernel == nullptr) return false;
  return true;
}

}  // namespace pandora
