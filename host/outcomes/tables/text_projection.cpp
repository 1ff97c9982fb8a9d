#include "host/outcomes/tables/text_projection.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>

#include "host/outcomes/tables/text_hash.hpp"

namespace pandora {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Counts = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
using Eigen::Index;

constexpr Index kOversampling = 10;
constexpr int kPowerIterations = 4, kIterationsFromNear = 1;
constexpr double kLeastRatio = 1e-9;  // of a singular value to the first; less is noise

bool continues_a_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

bool is_of_a_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80;
}

std::string lowered(std::string_view text) {
  std::size_t size = std::min(text.size(), kMostText);
  while (size > 0 && size < text.size() && continues_a_character(text[size])) --size;
  std::string low(text.substr(0, size));
  for (char& c : low)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return low;
}

class Counter {
 public:
  explicit Counter(int bits) : mask_((std::uint64_t{1} << bits) - 1), slot_(mask_ + 1) {}

  // Adds an n-gram given in pieces; the first is its tag.
  void add(std::initializer_list<std::string_view> pieces) {
    Fnv1a hash;
    for (const std::string_view piece : pieces) hash.add(piece);
    const auto bucket = static_cast<std::uint32_t>(mixed(hash.state) & mask_);
    if (slot_[bucket] == 0) {
      counts_.emplace_back(bucket, 0);
      slot_[bucket] = static_cast<std::uint32_t>(counts_.size());
    }
    ++counts_[slot_[bucket] - 1].second;
  }

  // Adds a word's runs of three and four characters, with a blank before and after the word.
  void add_characters(std::string_view word) {
    padded_.assign(" ").append(word).append(" ");
    starts_.clear();
    for (std::size_t i = 0; i < padded_.size(); ++i)
      if (!continues_a_character(padded_[i])) starts_.push_back(i);
    starts_.push_back(padded_.size());
    for (std::size_t i = 0; i + 3 < starts_.size(); ++i)
      for (std::size_t end = i + 3; end < std::min(i + 5, starts_.size()); ++end)
        add({"c", std::string_view(padded_).substr(starts_[i], starts_[end] - starts_[i])});
  }

  Counts take() { return std::move(counts_); }

 private:
  std::uint64_t mask_;
  std::vector<std::uint32_t> slot_;  // 1 + a bucket's place in counts_; 0: none
  Counts counts_;
  std::string padded_;
  std::vector<std::size_t> starts_;  // of characters in padded_
};

double rounded(double x) {
  const double scale = std::pow(10.0, kDecimals);
  return std::round(x * scale) / scale + 0.0;
}

// 1 + log n of the first n.
const std::array<double, 256> kLogWeights = [] {
  std::array<double, 256> out{};
  for (std::size_t n = 1; n < out.size(); ++n) out[n] = 1 + std::log(static_cast<double>(n));
  return out;
}();

double log_weight(std::uint32_t n) {
  return n < kLogWeights.size() ? kLogWeights[n] : 1 + std::log(static_cast<double>(n));
}

// Calls per_bucket(bucket, weight) in the order of the counts; returns the weights' Euclidean norm.
template <class PerBucket>
double for_weights(CountedText text, const std::vector<double>& idf, const PerBucket& per_bucket) {
  double squares = 0;
  for (const std::uint32_t packed : text) {
    const std::uint32_t bucket = TextCounts::bucket_of(packed);
    const double w = log_weight(TextCounts::count_of(packed)) * idf[bucket];
    per_bucket(bucket, w);
    squares += w * w;
  }
  return std::sqrt(squares);
}

// How many numbers of a row are processed at a time: as many as registers hold.
constexpr Index kAtOnce = 32;
using Lane = Eigen::Array<double, kAtOnce, 1>;

// N sparse rows minus their mean, as an operator on matrices whose width is a multiple of kAtOnce.
class CentredTexts {
 public:
  CentredTexts(const TextCounts& counts, std::span<const std::size_t> texts, const std::vector<double>& idf)
      : counts_(counts), texts_(texts), idf_(idf), mean_(Eigen::VectorXd::Zero(static_cast<Index>(idf.size()))) {
    for (const std::size_t text : texts) {
      const double norm = for_weights(counts[text], idf, [](std::uint32_t, double) {});
      norms_.push_back(norm > 0 ? norm : 1.0);
      const double share = 1.0 / (norms_.back() * static_cast<double>(texts.size()));
      for_weights(counts[text], idf, [&](std::uint32_t bucket, double w) { mean_[bucket] += w * share; });
    }
  }

  Index rows() const { return static_cast<Index>(texts_.size()); }
  Index buckets() const { return mean_.size(); }

  Matrix times(const Matrix& right) const {
    Matrix product(rows(), right.cols());
    const Eigen::RowVectorXd shift = mean_.transpose() * right;
    for (Index i = 0; i < rows(); ++i)
      for (Index j = 0; j < right.cols(); j += kAtOnce) {
        Lane sum = Lane::Zero();
        const double norm = for_weights(counts_[texts_[static_cast<std::size_t>(i)]], idf_,
                                        [&](std::uint32_t bucket, double w) { sum += w * lane(right, bucket, j); });
        Eigen::Map<Lane>(&product(i, j)) = sum / (norm > 0 ? norm : 1.0) - lane(shift, 0, j);
      }
    return product;
  }

  Matrix transposed_times(const Matrix& right) const {
    Matrix product = -mean_ * right.colwise().sum();
    for (Index i = 0; i < rows(); ++i)
      for (Index j = 0; j < right.cols(); j += kAtOnce) {
        const Lane scaled = lane(right, i, j) / norms_[static_cast<std::size_t>(i)];
        for_weights(counts_[texts_[static_cast<std::size_t>(i)]], idf_,
                    [&](std::uint32_t bucket, double w) { Eigen::Map<Lane>(&product(bucket, j)) += w * scaled; });
      }
    return product;
  }

 private:
  template <class Rows>
  static Eigen::Map<const Lane> lane(const Rows& matrix, Index i, Index j) {
    return Eigen::Map<const Lane>(&matrix(i, j));
  }

  const TextCounts& counts_;
  std::span<const std::size_t> texts_;
  const std::vector<double>& idf_;
  std::vector<double> norms_;  // of the weights
  Eigen::VectorXd mean_;
};

Matrix orthonormal(const Matrix& columns) {
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(columns);
  return qr.householderQ() * Eigen::MatrixXd::Identity(columns.rows(), columns.cols());
}

// Appends columns of 0 up to a width that CentredTexts accepts.
Matrix widened(const Matrix& columns) {
  Matrix out = Matrix::Zero(columns.rows(), (columns.cols() + kAtOnce - 1) / kAtOnce * kAtOnce);
  out.leftCols(columns.cols()) = columns;
  return out;
}

// The right singular vectors in order (buckets x at most k), without those of singular values near 0. `near`: the
// vectors of nearly the same texts, from which fewer iterations suffice; without columns if there are none.
Matrix right_singular_vectors(const CentredTexts& texts, Index k, const Matrix& near) {
  const Index rank = std::min({k + kOversampling, texts.rows(), texts.buckets()});
  Matrix start(texts.buckets(), rank), basis;
  for (Index i = 0; i < start.size(); ++i) start.data()[i] = mixed(static_cast<std::uint64_t>(i) + 1) & 1 ? 1.0 : -1.0;
  Index known = std::min(near.cols(), rank);
  while (known > 0 && near.col(known - 1).isZero()) --known;  // beyond the rank
  if (known > 0) {
    start /= std::sqrt(static_cast<double>(start.rows()));
    start.leftCols(known) = near.leftCols(known);
  }
  const auto times = [&](const Matrix& right) -> Matrix { return texts.times(widened(right)).leftCols(right.cols()); };
  Matrix images = times(start);
  for (int i = 0; i < (known > 0 ? kIterationsFromNear : kPowerIterations); ++i) {
    if (known == 0) images = orthonormal(images);  // images of nearly singular vectors are nearly orthogonal
    basis = orthonormal(texts.transposed_times(widened(images)).leftCols(rank));
    images = times(basis);
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(images.transpose() * images);
  Index kept = 0;  // eigenvalues ascend
  const auto singular = [&](Index i) { return std::sqrt(std::max(0.0, solver.eigenvalues()[rank - 1 - i])); };
  while (kept < std::min(k, rank) && singular(kept) > kLeastRatio * std::max(singular(0), kLeastRatio)) ++kept;
  Matrix vectors = basis * solver.eigenvectors().rightCols(kept).rowwise().reverse();
  for (Index j = 0; j < kept; ++j) {
    Index largest = 0;
    vectors.col(j).cwiseAbs().maxCoeff(&largest);
    if (vectors(largest, j) < 0) vectors.col(j) = -vectors.col(j).eval();
  }
  return vectors;
}

}  // namespace

std::vector<std::pair<std::uint32_t, std::uint32_t>> count_ngrams(std::string_view text, int bits) {
  const std::string low = lowered(text);
  Counter counter(bits);
  std::string_view before;
  for (std::size_t at = 0; at < low.size();) {
    std::size_t end = at;
    while (end < low.size() && is_of_a_word(low[end])) ++end;
    if (end > at) {
      const std::string_view word = std::string_view(low).substr(at, end - at);
      counter.add({"w", word});
      if (!before.empty()) counter.add({"p", before, " ", word});
      counter.add_characters(word);
      before = word;
    }
    at = end + 1;
  }
  return counter.take();
}

void TextCounts::push_back(std::string_view text, int bits) {
  for (const auto& [bucket, count] : count_ngrams(text, bits))
    packed_.push_back(std::min(count, kMostCount) << kMostBits | bucket);
  ends_.push_back(packed_.size());
}

TextCounts TextCounts::of(const TextColumn& texts, std::span<const std::size_t> rows) {
  TextCounts out;
  for (const std::size_t row : rows) out.push_back(texts[row], kBucketBits);
  return out;
}

std::vector<std::size_t> TextProjection::spread(std::size_t texts) {
  const std::size_t n = std::min(texts, kMostFitted);
  std::vector<std::size_t> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = i * texts / n;
  return out;
}

TextProjection TextProjection::fit(const TextCounts& counts, std::span<const std::size_t> texts, std::size_t k,
                                   const TextProjection* near) {
  TextProjection projection{kBucketBits, k, {}, {}};
  const std::size_t buckets = std::size_t{1} << kBucketBits, n = texts.size();
  std::vector<std::uint32_t> texts_with(buckets);  // N_b
  for (const std::size_t text : texts)
    for (const std::uint32_t packed : counts[text]) ++texts_with[TextCounts::bucket_of(packed)];
  for (const std::uint32_t with : texts_with)
    projection.idf.push_back(rounded(1 + std::log((1.0 + static_cast<double>(n)) / (1.0 + with))));
  projection.basis.assign(buckets * k, 0.0);
  if (n == 0) return projection;
  const CentredTexts centred(counts, texts, projection.idf);
  const bool known = near != nullptr && near->bits == kBucketBits && near->size == k;
  const Matrix start =
      known ? Matrix(Eigen::Map<const Matrix>(near->basis.data(), static_cast<Index>(buckets), static_cast<Index>(k)))
            : Matrix();
  const Matrix vectors = right_singular_vectors(centred, static_cast<Index>(k), start);
  Eigen::Map<Matrix>(projection.basis.data(), vectors.rows(), static_cast<Index>(k)).leftCols(vectors.cols()) =
      vectors.unaryExpr([](double x) { return rounded(x); });
  return projection;
}

void TextProjection::apply(CountedText text, std::span<double> out) const {
  std::fill(out.begin(), out.end(), 0.0);
  if (text.empty()) return;
  using Part = Eigen::Array<double, 16, 1>;
  const std::size_t in_parts = size / 16 * 16;
  for (std::size_t j = 0; j < in_parts; j += 16) {
    Part sum = Part::Zero();
    const double norm = for_weights(text, idf, [&](std::uint32_t bucket, double w) {
      sum += w * Eigen::Map<const Part>(basis.data() + bucket * size + j);
    });
    Eigen::Map<Part>(out.data() + j) = sum / norm;
  }
  if (in_parts == size) return;
  const std::span<double> rest = out.subspan(in_parts);
  const double norm = for_weights(text, idf, [&](std::uint32_t bucket, double w) {
    for (std::size_t j = 0; j < rest.size(); ++j) rest[j] += w * basis[bucket * size + in_parts + j];
  });
  for (double& x : rest) x /= norm;
}

void TextProjection::apply(std::string_view text, std::span<double> out) const {
  TextCounts counts;
  counts.push_back(text, bits);
  apply(counts[0], out);
}

}  // namespace pandora
