// theta_hat's Newton step for the paper's d, for teams without vectors. Other d loop over features; here features are
// in registers.
//
//   g = sum_s w_s (G_s - r_s) phi_s,  H = sum_s w_s G_s (1 - G_s) phi_s phi_s',  G_s = G(theta' phi_s).
//
// A member takes a sample at a time. The sample's d + d (d + 1) / 2 terms are added to as many sums in float. After 64
// samples these are added to sums in double, through a tree that halves each member's numbers. Samples belong to four
// streams of 32 at a time, so the bytes do not depend on the team's size. A warp does the d x d algebra: each member
// has a row of H, and later a column of its inverse.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/base/members.hpp"
#include "kernels/state/state.hpp"

namespace pandora::engine {

/// For d = D. Matrices are D x D by rows, in memory that all members see; symmetric ones store the lower triangle.
template <int D>
class RewardSums {
 public:
  static constexpr int kStreams = 4, kFlush = 64;
  static constexpr int kSums = D + D * (D + 1) / 2;
  static constexpr int kScratch = (kStreams * kSums + 1) / 2;  ///< doubles

  /// gradient and hessian of the first n deployed samples at theta, without ridges. By a team.
  template <class Real, class Team>
  static PANDORA_HD void sum(const Team& team, const LaneView<Real>& lane, int n, const double* theta, double* gradient,
                             double* hessian, double* scratch) {
    constexpr int kRound = kStreams * kWarp, kSegment = kFlush * kRound;
    const auto part = part_of(team);
    float* const partial = reinterpret_cast<float*>(scratch);
    for (int segment = 0; segment < n; segment += kSegment) {
      const int end = n - segment < kSegment ? n : segment + kSegment,
                streams = end - segment < kRound ? (end - segment + kWarp - 1) / kWarp : kStreams;
      for (int stream = part.index; stream < streams; stream += part.count)
        sum_stream(part.team, lane, segment + stream * kWarp, end, n - 1, theta, partial + stream * kSums);
      team.sync();
      for (int k = team.rank(); k < kSums; k += team.size()) {
        int i = 0;
        while (k >= D && (i + 1) * (i + 2) / 2 <= k - D) ++i;
        double& total = k < D ? gradient[k] : hessian[i * D + k - D - i * (i + 1) / 2];
        double sum = segment == 0 ? 0.0 : total;
        for (int stream = 0; stream < streams; ++stream) sum += static_cast<double>(partial[stream * kSums + k]);
        total = sum;
      }
      team.sync();
    }
  }

  /// direction = -hessian^-1 gradient, and L with the inverse of its diagonal; NaN where hessian is not positive
  /// definite. A warp calls this. Member i has row i of L; it gets numbers of other rows by shuffles, and column i from
  /// memory.
  template <class Warp>
  static PANDORA_HD void direct(const Warp& warp, const double* gradient, const double* hessian, double* L,
                                double* direction) {
    const Members<Warp> all{warp};
    Own<Warp, double> row[D], x, inverse;
    all.each([&](int i) {
      const int r = i < D ? i : D - 1;
      x[i] = -gradient[r];
      PANDORA_UNROLL
      for (int j = 0; j < D; ++j) row[j][i] = hessian[r * D + (j < r ? j : r)];
    });
    PANDORA_UNROLL
    for (int c = 0; c < D; ++c) {
      const double pivot = all.of(row[c], c),
                   root = pivot > 0.0 && is_finite(pivot) ? reciprocal_root(pivot) : std::bit_cast<double>(kNaN),
                   y = all.of(x, c) * root;
      all.each([&](int i) {
        row[c][i] *= root;
        if (i == c) inverse[i] = root;
        x[i] = i == c ? y : i > c ? fused(-row[c][i], y, x[i]) : x[i];
      });
      PANDORA_UNROLL
      for (int j = c + 1; j < D; ++j) {
        const double of_row = all.of(row[c], j);
        all.each([&](int i) { row[j][i] = fused(-row[c][i], of_row, row[j][i]); });
      }
    }
    all.each([&](int i) {
      PANDORA_UNROLL
      for (int j = 0; j < D; ++j)
        if (i < D && j <= i) L[i * D + j] = j < i ? row[j][i] : inverse[i];
    });
    warp.sync();
    all.each([&](int i) {
      PANDORA_UNROLL
      for (int c = 0; c < D; ++c) row[c][i] = i < c ? L[c * D + i] : 0.0;
    });
    PANDORA_UNROLL
    for (int c = D - 1; c >= 0; --c) {
      Own<Warp, double> solved;
      all.each([&](int i) { solved[i] = i == c ? x[i] * inverse[i] : 0.0; });
      const double y = all.of(solved, c);
      all.each([&](int i) { x[i] = i == c ? y : fused(-row[c][i], y, x[i]); });
    }
    all.each([&](int i) {
      if (i < D) direction[i] = x[i];
    });
  }

  /// out, rows of `stride`: (L L')^-1. Each member of a team computes columns.
  template <class Team>
  static PANDORA_HD void invert(const Team& team, const double* L, double* out, int stride) {
    for (int c = team.rank(); c < D; c += team.size()) {
      double x[D];
      PANDORA_UNROLL
      for (int i = 0; i < D; ++i) {
        x[i] = i == c ? 1.0 : 0.0;
        PANDORA_UNROLL
        for (int k = 0; k < i; ++k) x[i] = fused(-L[i * D + k], x[k], x[i]);
        x[i] *= L[i * D + i];
      }
      PANDORA_UNROLL
      for (int i = D - 1; i >= 0; --i) {
        PANDORA_UNROLL
        for (int k = i + 1; k < D; ++k) x[i] = fused(-L[k * D + i], x[k], x[i]);
        x[i] *= L[i * D + i];
      }
      PANDORA_UNROLL
      for (int i = 0; i < D; ++i)
        if (i <= c) out[i * stride + c] = out[c * stride + i] = x[i];
    }
  }

 private:
  struct Sums {
    float of[kSums];
  };
  struct Sample {
    float phi[D], told, weight;
  };
  struct alignas(8) Two {
    float of[2];
  };
  static_assert(D % 2 == 0);
  static constexpr std::uint64_t kNaN = 0x7ff8000000000000u;

  // Takes the samples first, first + 1, .. first + 31, then those 128 farther on, and so on up to `end`. Their features
  // are loaded one round ahead, their places two.
  template <class Real, class Warp>
  static PANDORA_HD void sum_stream(const Warp& warp, const LaneView<Real>& lane, int first, int end, int last,
                                    const double* theta, float* out) {
    constexpr int kRound = kStreams * kWarp;
    const Members<Warp> all{warp};
    const float *const features = lane.tape.phi, *const told = lane.tape.told, *const weights = lane.reward_weight;
    const int* const deployed = lane.deployed;
    float point[D];
    PANDORA_UNROLL
    for (int i = 0; i < D; ++i) point[i] = static_cast<float>(theta[i]);
    Own<Warp, Sums> sums;
    Own<Warp, Sample> next;
    Own<Warp, int> place;
    const auto fetch = [&](int i, int sample) {
      const Two* const phi = reinterpret_cast<const Two*>(features + static_cast<std::size_t>(place[i]) * D);
      PANDORA_UNROLL
      for (int k = 0; k < D / 2; ++k) {
        const Two two = phi[k];
        next[i].phi[2 * k] = two.of[0];
        next[i].phi[2 * k + 1] = two.of[1];
      }
      next[i].told = told[place[i]];
      next[i].weight = sample >= end ? 0.0f : weights == nullptr ? 1.0f : weights[sample];
      place[i] = deployed[sample + kRound < last ? sample + kRound : last];
    };
    all.each([&](int i) {
      sums[i] = {};
      place[i] = deployed[first + i < last ? first + i : last];
      fetch(i, first + i);
    });
    PANDORA_ROLLED
    for (; first < end; first += kRound) {  // loop: theta sample
      all.each([&](int i) {
        const Sample sample = next[i];
        fetch(i, first + i + kRound);
        float z = 0.0f;
        PANDORA_UNROLL
        for (int k = 0; k < D; ++k) z = fused(point[k], sample.phi[k], z);
        const float mean = logistic(z), slope = sample.weight * (mean * (1.0f - mean)),
                    excess = sample.weight * (mean - sample.told);
        PANDORA_UNROLL
        for (int k = 0; k < D; ++k) {
          const float scaled = slope * sample.phi[k];
          sums[i].of[k] = fused(excess, sample.phi[k], sums[i].of[k]);
          PANDORA_UNROLL
          for (int j = 0; j <= k; ++j) {
            float& sum = sums[i].of[D + k * (k + 1) / 2 + j];
            sum = fused(scaled, sample.phi[j], sum);
          }
        }
      });
    }
    halve<kPairs>(all, sums);
    all.each([&](int i) {
      PANDORA_UNROLL
      for (int k = 0; k < 2; ++k)
        if (2 * i + k < kPairs) out[2 * i + k] = sums[i].of[k];
    });
    PANDORA_UNROLL
    for (int k = kPairs; k < kSums; ++k) {
      Own<Warp, float> value;
      all.each([&](int i) { value[i] = sums[i].of[k]; });
      all.template add_up<kWarp / 2, 1>(value);
      if (warp.rank() == 0) out[k] = value[0];
    }
  }

  // Adds up the first `count` sums of all members by halving: in each round, members with the corresponding bit of
  // their rank set go on with the upper half. In the end member i has the sums 2 i and 2 i + 1.
  static constexpr int kPairs = 2 * kWarp;
  static_assert(kPairs <= kSums);
  template <int count, class Warp>
  static PANDORA_HD PANDORA_INLINE void halve(const Members<Warp>& all, Own<Warp, Sums>& sums) {
    constexpr int half = count / 2, mask = half / 2;
    PANDORA_UNROLL
    for (int k = 0; k < half; ++k) {
      Own<Warp, float> other;
      all.each([&](int i) {
        const float low = sums[i].of[k], high = sums[i].of[k + half];
        other[i] = (i & mask) != 0 ? low : high;
        sums[i].of[k] = (i & mask) != 0 ? high : low;
      });
      other = all.exchanged(other, mask);
      all.each([&](int i) { sums[i].of[k] += other[i]; });
    }
    if constexpr (mask > 1) halve<half>(all, sums);
  }
};

}  // namespace pandora::engine
