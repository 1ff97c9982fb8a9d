// Philox4x32-10 (Salmon et al., SC 2011): value = f(key, counter). Nothing is stored, so a draw is the same
// in any order, on any thread, device or rank.
//
//   const Stream stream{seed, Purpose::online_shock, environment, regime, replication};
//   std::uint32_t words[4][1];
//   philox<1>(stream, {coordinate_block}, {period}, {box}, words);
//
// Random123 and cuRAND produce the same words (tests/kernels/random/philox_test.cpp). The device calls cuRAND's
// generator. The CPU has the generator written out, because W counters side by side vectorise there.
#pragma once

#include <cstdint>

#include "kernels/base/hd.hpp"

#if defined(__CUDACC__)
#include <curand_philox4x32_x.h>
#endif

namespace pandora {

/// The purpose of a random number. The values are part of the stream layout: never renumber them, only append.
enum class Purpose : std::uint8_t {
  theta_direction = 0,
  reward_output_matrix = 1,       // D
  reward_context_matrix = 2,      // Q
  scale_coefficients = 3,         // alpha_a
  context_cost_coefficients = 4,  // beta_{0,a}
  output_cost_coefficients = 5,   // beta_{1,a}
  cost_levels = 6,                // c_{0,a}, c_{1,a}
  radius_context = 7,
  radius_shock = 8,
  oracle_shock = 9,
  order_context = 10,
  initial_context = 11,
  initial_shock = 12,
  calibration_context = 13,
  calibration_shock = 14,
  calibration_reward = 15,
  online_context = 16,
  online_shock = 17,
  online_reward = 18,
  random_order = 19,
  projection_vector = 20,
  custom_policy = 21,       // for users' policies
  exploration = 22,         // draws of policies: Thompson's normals at box 0, epsilon-greedy's at box 1
  cost_factor = 23,         // at box + kMaxBoxes * segment of the tape (x_0, calibration, online)
  index_coefficients = 24,  // rho_a of linear indices: slopes at period a, the intercept at kMaxBoxes + a
  drift = 25,               // which parameters change at change k, drawn at period k, and how directions turn
  feedback = 26,            // for a period: whether its reward is told, whether it is wrong, and when it is told
};

/// Coordinates of a family of draws. The key is the seed; counter word 2 = box | purpose << 8 |
/// environment << 16 | regime << 24, word 3 = replication. Words 0 (coordinate block, rejection attempt in
/// the upper half) and 1 (period or sample) are given with each draw. T_0, policy, thread, device and rank
/// are deliberately absent.
struct Stream {
  std::uint64_t seed = 1;
  Purpose purpose{};
  std::uint8_t environment = 0;
  std::uint8_t regime = 0;
  std::uint32_t replication = 0;

  PANDORA_HD std::uint32_t word2(std::uint32_t box) const {
    return box | static_cast<std::uint32_t>(purpose) << 8 | static_cast<std::uint32_t>(environment) << 16 |
           static_cast<std::uint32_t>(regime) << 24;
  }
};

/// Ten rounds on W counters side by side, in place: counter[word][lane].
template <int W>
PANDORA_HD inline void philox4x32_10(std::uint32_t (&counter)[4][W], std::uint64_t seed) {
#if defined(__CUDA_ARCH__)
  for (int lane = 0; lane < W; ++lane) {
    const uint4 words =
        curand_Philox4x32_10(make_uint4(counter[0][lane], counter[1][lane], counter[2][lane], counter[3][lane]),
                             make_uint2(static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)));
    counter[0][lane] = words.x;
    counter[1][lane] = words.y;
    counter[2][lane] = words.z;
    counter[3][lane] = words.w;
  }
#else
  std::uint32_t key0 = static_cast<std::uint32_t>(seed);
  std::uint32_t key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    PANDORA_SIMD
    for (int lane = 0; lane < W; ++lane) {
      const std::uint64_t product0 = std::uint64_t{0xD2511F53u} * counter[0][lane];
      const std::uint64_t product1 = std::uint64_t{0xCD9E8D57u} * counter[2][lane];
      const std::uint32_t high0 = static_cast<std::uint32_t>(product0 >> 32);
      const std::uint32_t high1 = static_cast<std::uint32_t>(product1 >> 32);
      counter[0][lane] = high1 ^ counter[1][lane] ^ key0;
      counter[1][lane] = static_cast<std::uint32_t>(product1);
      counter[2][lane] = high0 ^ counter[3][lane] ^ key1;
      counter[3][lane] = static_cast<std::uint32_t>(product0);
    }
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
#endif
}

/// One coordinate block (four words) for W draws with their own word 0, period and box.
template <int W>
PANDORA_HD inline void philox(const Stream& stream, const std::uint32_t (&word0)[W], const std::uint32_t (&period)[W],
                              const std::uint32_t (&box)[W], std::uint32_t (&words)[4][W]) {
  PANDORA_SIMD
  for (int lane = 0; lane < W; ++lane) {
    words[0][lane] = word0[lane];
    words[1][lane] = period[lane];
    words[2][lane] = stream.word2(box[lane]);
    words[3][lane] = stream.replication;
  }
  philox4x32_10<W>(words, stream.seed);
}

}  // namespace pandora
