// Evaluates the functions that bodies call on the device and on the CPU. The results must be equal in every bit.
#include <cstring>
#include <vector>

#include "kernels/cuda/cuda_backend.cuh"
#include "kernels/rules/index_loss.hpp"
#include "kernels/state/reward_state.hpp"
#include "kernels/tape/shock_projection.hpp"

namespace pandora {
namespace parity {  // not anonymous: other files must be able to name the types of a kernel's parameters

constexpr int kOutputs = 40;

PANDORA_HD inline std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
PANDORA_HD inline std::uint32_t bits(double value) {
  const std::uint64_t all = std::bit_cast<std::uint64_t>(value);
  return static_cast<std::uint32_t>(all) ^ static_cast<std::uint32_t>(all >> 32) * 0x9E3779B9u;
}

// Everything that decides a draw or a decision, at arguments that depend on the item.
struct AllFunctors {
  std::uint32_t* out;
  int items;

  PANDORA_HD void operator()(int item) const {
    std::uint32_t* at = out + static_cast<std::size_t>(item) * kOutputs;
    const float x = (static_cast<float>(item) / static_cast<float>(items) - 0.5f) * 40.0f;
    const double y = static_cast<double>(x) * 3.0;
    const Stream stream{42, Purpose::online_shock, 2, 1, 7};
    std::uint32_t words[4][1];
    philox<1>(stream, {static_cast<std::uint32_t>(item)}, {3}, {1}, words);
    for (int k = 0; k < 4; ++k) *at++ = words[k][0];
    *at++ = bits(natural_log(unit_uniform(words[0][0])));
    float a, b;
    sine_cosine_pi(signed_uniform(words[1][0]), a, b);
    *at++ = bits(a);
    *at++ = bits(b);
    two_normals(words[0][0], words[1][0], a, b);
    *at++ = bits(a);
    *at++ = bits(b);
    *at++ = bits(student_t5(words[2][0], words[3][0]));
    *at++ = bits(exp2_minus_one(x));
    *at++ = bits(exponential(x));
    *at++ = bits(logistic(x));
    *at++ = bits(index_link(x));
    *at++ = bits(exponential(y));
    *at++ = bits(logistic(y));
    *at++ = bits(index_link(y));
    const IndexMoment<float> single = index_moment(x * 0.1f, 0.1f, 0.6f);
    *at++ = bits(single.moment);
    *at++ = bits(single.curvature);
    const IndexMoment<double> wide = index_moment(y * 0.1, 0.1, 0.6);
    *at++ = bits(wide.moment);
    *at++ = bits(wide.curvature);
    for (const Law law : {Law::uniform, Law::gaussian, Law::student_t5}) {
      float xi[4][1];
      shock_group<1>(law, stream, 5, {0}, {static_cast<std::uint32_t>(item)}, {2}, xi);
      for (int k = 0; k < 4; ++k) *at++ = bits(xi[k][0]);
    }
    double memory[RewardState::size(3)];
    RewardState state = RewardState::over(memory, 3);
    state.reset(1.0);
    const float phi[3] = {signed_uniform(words[0][0]), signed_uniform(words[1][0]), signed_uniform(words[2][0])};
    state.observe(phi, item % 2);
    for (int k = 0; k < 3; ++k) *at++ = bits(state.theta[k]);
    *at++ = bits(state.estimate(phi, 0.1));
    while (at < out + static_cast<std::size_t>(item + 1) * kOutputs) *at++ = 0;
  }
};

}  // namespace parity

/// How many values differ between device 0 and the CPU, over `items` arguments; -1 if every value of the CPU is 0.
long device_functor_mismatches(int items) {
  std::vector<std::uint32_t> expected(static_cast<std::size_t>(items) * parity::kOutputs), actual(expected);
  const parity::AllFunctors host{expected.data(), items};
  for (int item = 0; item < items; ++item) host(item);
  cuda::CudaBackend backend(0);
  const std::size_t bytes = expected.size() * sizeof(expected[0]);
  const cuda::Memory memory = backend.allocate(bytes);
  backend.threads(items, parity::AllFunctors{static_cast<std::uint32_t*>(memory.get()), items});
  backend.download(actual.data(), memory.get(), bytes);
  long different = 0, zeros = 0;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    different += actual[k] != expected[k];
    zeros += expected[k] == 0;
  }
  return zeros == static_cast<long>(expected.size()) ? -1 : different;
}

}  // namespace pandora
