#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "host/outcomes/tables/features.hpp"
#include "host/outcomes/tables/text_hash.hpp"

namespace pandora {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Counts = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
using Eigen::Index;

constexpr Index kOversampling = 10;
constexpr int kPowerIterations = 4;
constexpr double kLeastRatio = 1e-9;  // of a singular value to the first; below, the direction is noise

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

  // An n-gram in pieces, the first of which is its tag.
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

  // A word's runs of three and four characters, a blank before and after.
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

// The weights of a text, of length 1, in the order of its counts; empty for a text without a word.
std::vector<std::pair<std::uint32_t, double>> weights(const Counts& counts, const std::vector<double>& idf) {
  std::vector<std::pair<std::uint32_t, double>> x;
  x.reserve(counts.size());
  double squares = 0;
  for (const auto& [bucket, n] : counts) {
    const double w = (1 + std::log(static_cast<double>(n))) * idf[bucket];
    x.emplace_back(bucket, w);
    squares += w * w;
  }
  for (auto& [bucket, w] : x) w /= std::sqrt(squares);
  return x;
}

// N sparse rows less their mean, as an operator.
class CentredTexts {
 public:
  CentredTexts(const std::vector<Counts>& counts, const std::vector<double>& idf)
      : mean_(Eigen::VectorXd::Zero(static_cast<Index>(idf.size()))) {
    for (const Counts& of_text : counts) rows_.push_back(weights(of_text, idf));
    for (const auto& row : rows_)
      for (const auto& [bucket, w] : row) mean_[bucket] += w / static_cast<double>(rows_.size());
  }

  Index rows() const { return static_cast<Index>(rows_.size()); }
  Index buckets() const { return mean_.size(); }

  Matrix times(const Matrix& right) const {
    Matrix product(rows(), right.cols());
    const Eigen::RowVectorXd shift = mean_.transpose() * right;
    for (Index i = 0; i < rows(); ++i) {
      product.row(i) = -shift;
      for (const auto& [bucket, w] : rows_[static_cast<std::size_t>(i)]) product.row(i) += w * right.row(bucket);
    }
    return product;
  }

  Matrix transposed_times(const Matrix& right) const {
    Matrix product = -mean_ * right.colwise().sum();
    for (Index i = 0; i < rows(); ++i)
      for (const auto& [bucket, w] : rows_[static_cast<std::size_t>(i)]) product.row(bucket) += w * right.row(i);
    return product;
  }

 private:
  std::vector<std::vector<std::pair<std::uint32_t, double>>> rows_;
  Eigen::VectorXd mean_;
};

Matrix orthonormal(const Matrix& columns) {
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(columns);
  return qr.householderQ() * Eigen::MatrixXd::Identity(columns.rows(), columns.cols());
}

// Right singular vectors, the first first (buckets x at most k), without those of singular values near 0.
Matrix right_singular_vectors(const CentredTexts& texts, Index k) {
  const Index rank = std::min({k + kOversampling, texts.rows(), texts.buckets()});
  Matrix signs(texts.buckets(), rank), basis;
  for (Index i = 0; i < signs.size(); ++i) signs.data()[i] = mixed(static_cast<std::uint64_t>(i) + 1) & 1 ? 1.0 : -1.0;
  Matrix images = texts.times(signs);
  for (int i = 0; i < kPowerIterations; ++i) {
    basis = orthonormal(texts.transposed_times(orthonormal(images)));
    images = texts.times(basis);
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

TextProjection TextProjection::fit(const TextColumn& texts, std::size_t k) {
  TextProjection projection{kBucketBits, k, {}, {}};
  const std::size_t buckets = std::size_t{1} << kBucketBits, n = std::min(texts.size(), kMostFitted);
  std::vector<Counts> counts;
  std::vector<double> texts_with(buckets);  // N_b
  for (std::size_t i = 0; i < n; ++i) {
    counts.push_back(count_ngrams(texts[i * texts.size() / n], kBucketBits));
    for (const auto& [bucket, count] : counts.back()) ++texts_with[bucket];
  }
  for (const double with : texts_with)
    projection.idf.push_back(rounded(1 + std::log((1 + static_cast<double>(n)) / (1 + with))));
  projection.basis.assign(buckets * k, 0.0);
  if (n == 0) return projection;
  const CentredTexts centred(counts, projection.idf);
  const Matrix vectors = right_singular_vectors(centred, static_cast<Index>(k));
  Eigen::Map<Matrix>(projection.basis.data(), vectors.rows(), static_cast<Index>(k)).leftCols(vectors.cols()) =
      vectors.unaryExpr([](double x) { return rounded(x); });
  return projection;
}

void TextProjection::apply(std::string_view text, std::span<double> out) const {
  std::fill(out.begin(), out.end(), 0.0);
  for (const auto& [bucket, w] : weights(count_ngrams(text, bits), idf)) {
    const double* const row = basis.data() + bucket * size;
    for (std::size_t j = 0; j < size; ++j) out[j] += w * row[j];
  }
}

}  // namespace pandora
