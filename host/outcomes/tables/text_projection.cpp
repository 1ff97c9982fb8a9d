#include "host/outcomes/tables/text_projection.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "host/outcomes/tables/text_hash.hpp"

namespace pandora {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Counts = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
using Eigen::Index;

constexpr Index kOversampling = 10;
constexpr int kPowerIterations = 4;
constexpr double kLeastRatio = 1e-9;  // of a singular value to the first; below, the direction is noise

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

Matrix random_signs(Index rows, Index columns) {
  Matrix signs(rows, columns);
  for (Index i = 0; i < signs.size(); ++i) signs.data()[i] = mixed(static_cast<std::uint64_t>(i) + 1) & 1 ? 1.0 : -1.0;
  return signs;
}

// Right singular vectors, the first first (buckets x at most k), without those of singular values near 0.
Matrix right_singular_vectors(const CentredTexts& texts, Index k) {
  const Index rank = std::min({k + kOversampling, texts.rows(), texts.buckets()});
  Matrix images = texts.times(random_signs(texts.buckets(), rank));
  Matrix basis;
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
  for (std::size_t b = 0; b < buckets; ++b)
    for (Index j = 0; j < vectors.cols(); ++j)
      projection.basis[b * k + static_cast<std::size_t>(j)] = rounded(vectors(static_cast<Index>(b), j));
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
