// k numbers of a text: its n-grams hashed into buckets, weighted by how rare they are, projected on the directions in
// which the texts of a table vary most.
//
// The text is cut after its first kMostText bytes (no character in two); A to Z become a to z; a word is a run of
// digits, letters a to z and characters beyond ASCII. N-grams are, each hashed as a tag and its bytes,
//   words            "w" word
//   pairs of words   "p" word " " next word
//   3 and 4 characters of " " word " "    "c" characters
// and stable_hash(tag and bytes) mod B is the bucket of B = 2^bits. A bucket that n > 0 n-grams fell in has the weight
// (1 + log n) idf(bucket); the weights, divided by their Euclidean norm, are a vector x in R^B, and the numbers are
// V' x. idf(b) = 1 + log((1 + N) / (1 + N_b)) for N texts of which N_b have bucket b. V (B x k) are the first right
// singular vectors of the texts' x minus their mean, by a randomised SVD (Halko, Martinsson, Tropp 2011, with power
// iterations), the largest entry of each positive. V and idf are rounded to kDecimals decimals, so that a text file
// holds them exactly.
#pragma once

#include <cstddef>
#include <utility>

#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {

inline constexpr std::size_t kMostText = 65536;
inline constexpr int kBucketBits = 12;
inline constexpr int kDecimals = 6;
inline constexpr std::size_t kMostFitted = 20000;
inline constexpr std::size_t kMostTextFeatures = 512;

/// Buckets that n-grams of a text fall in, and how many in each; in the order in which they come. bits <= 16.
std::vector<std::pair<std::uint32_t, std::uint32_t>> count_ngrams(std::string_view text, int bits);

struct TextProjection {
  int bits = 0;               ///< B = 2^bits buckets
  std::size_t size = 0;       ///< k
  std::vector<double> idf;    ///< B
  std::vector<double> basis;  ///< B x k, row-major

  bool operator==(const TextProjection&) const = default;

  /// Of at most kMostFitted texts, evenly over the column. k may be larger than the rank: further numbers are then 0.
  static TextProjection fit(const TextColumn& texts, std::size_t k);

  /// out: k numbers; all 0 for a text without a word.
  void apply(std::string_view text, std::span<double> out) const;
};

}  // namespace pandora
