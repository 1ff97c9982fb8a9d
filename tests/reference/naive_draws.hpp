// The draws of a replication, one scalar at a time, from the layout of streams: key = seed, counter word 0 =
// block + attempt * 2^16, word 1 = period, word 2 = box + purpose * 2^8 + environment * 2^16 + regime * 2^24,
// word 3 = replication. Vectors are stored in full. Only the functions of one pair of words, such as two_normals, are
// shared with the code under test. distributions_test.cpp tests those by themselves.
#pragma once

#include <vector>

#include "kernels/tape/instance.hpp"
#include "tests/reference/naive_philox.hpp"

namespace pandora::naive {

/// The four words of a coordinate block.
Words block(const Stream& stream, std::uint32_t coordinate_block, std::uint32_t period, std::uint32_t box,
            std::uint32_t attempt = 0);

/// n numbers in (0, 1), four per block.
std::vector<double> uniforms(const Stream& stream, std::uint32_t period, int n);

/// beta_{1,a} of `output_costs = "centred"`: 8 (u - mean of u) / |u - mean of u| for u ~ U[0, 1]^n.
std::vector<double> centred_row(const Stream& stream, std::uint32_t box, int n);

/// Uniform[-1, 1]^n.
std::vector<float> context(const Stream& stream, std::uint32_t period, int n);

/// The vector xi of one attempt, scaled but not truncated. If the environment has a correlation, xi is drawn as for
/// boxes that are drawn together (docs/scenarios.md, "Dependence").
std::vector<float> untruncated_shock(const Environment& environment, int n, const Stream& stream, std::uint32_t period,
                                     std::uint32_t box, std::uint32_t attempt);

struct Shock {
  std::vector<float> xi;
  std::uint32_t rejected = 0;
};

/// The first attempt inside the ball.
Shock shock(const Environment& environment, int n, const Stream& stream, std::uint32_t period, std::uint32_t box);

}  // namespace pandora::naive
