// Turns a text into k numbers. Its n-grams are hashed into buckets, weighted by how rare they are, and projected onto
// the directions in which the texts of a table vary most.
//
// The text is cut after its first kMostText bytes (at a whole character). A to Z become a to z. A word is a run of
// digits, letters a to z and characters beyond ASCII. The n-grams are these, each hashed as a tag and its bytes:
//   pairs of words   "p" word " " next word
//   3 and 4 characters of " " word " "    "c" characters
// The bucket of an n-gram is stable_hash(tag and bytes) mod B, with B = 2^bits buckets. A bucket with n > 0 n-grams has
// the weight (1 + log n) idf(bucket). The weights, divided by their Euclidean norm, are a vector x in R^B, and the
// numbers are V' x. idf(b) = 1 + log((1 + N) / (1 + N_b)), where N_b of the N texts have bucket b. V (B x k) are the
// first right singular vectors of the texts' x minus their mean, by a randomised SVD (Halko, Martinsson, Tropp 2011,
// with power iterations), with the largest entry of each positive. V and idf are rounded to kDecimals decimals, so that
// a text file holds them exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {

inline constexpr std::size_t kMostText = 65536;
inline constexpr int kBucketBits = 12;
inline constexpr int kDecimals = 6;
inline constexpr std::size_t kMostFitted = 20000;
inline constexpr std::size_t kMostTextFeatures = 512;

/// The buckets of a text's n-grams and how many fall into each, in the order of first occurrence. bits <= 16.
std::vector<std::pair<std::uint32_t, std::uint32_t>> count_ngrams(std::string_view text, int bits);

/// The result of count_ngrams() for a text, packed.
using CountedText = std::span<const std::uint32_t>;

/// The n-grams of texts, counted once for many fits.
class TextCounts {
 public:
  static constexpr int kMostBits = 16;
  static constexpr std::uint32_t kMostCount = 65535;  ///< of a bucket; larger counts become this

  /// Counts these rows, in kBucketBits.
  static TextCounts of(const TextColumn& texts, std::span<const std::size_t> rows);
  void push_back(std::string_view text, int bits);

  std::size_t size() const { return ends_.size(); }
  CountedText operator[](std::size_t text) const {
    const std::size_t begin = text == 0 ? 0 : ends_[text - 1];
    return std::span(packed_).subspan(begin, ends_[text] - begin);
  }
  static std::uint32_t bucket_of(std::uint32_t packed) { return packed & ((std::uint32_t{1} << kMostBits) - 1); }
  static std::uint32_t count_of(std::uint32_t packed) { return packed >> kMostBits; }

 private:
  std::vector<std::uint32_t> packed_;
  std::vector<std::size_t> ends_;  // one for each text
};

struct TextProjection {
  int bits = 0;               ///< B = 2^bits buckets
  std::size_t size = 0;       ///< k
  std::vector<double> idf;    ///< B
  std::vector<double> basis;  ///< B x k, row-major

  bool operator==(const TextProjection&) const = default;

  /// Fits a projection to these texts. k may exceed the rank: the further numbers are then 0. `near`: the projection of
  /// nearly the same texts, from which the decomposition begins and needs fewer iterations.
  static TextProjection fit(const TextCounts& counts, std::span<const std::size_t> texts, std::size_t k,
                            const TextProjection* near = nullptr);
  /// The rows on which a fit is made when there are `rows` rows: at most kMostFitted, evenly spread.
  static std::vector<std::size_t> spread(std::size_t rows);

  /// out: k numbers; all 0 for a text without a word.
  void apply(std::string_view text, std::span<double> out) const;
  /// For a text that was counted in the same number of buckets.
  void apply(CountedText text, std::span<double> out) const;
};

}  // namespace pandora
