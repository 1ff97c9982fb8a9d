// A matrix that copies of an estimator share.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <utility>

namespace pandora {

/// The lower triangle of a symmetric M, column after column. What a quadratic form costs is the reading of M, and in one
/// piece M is read in less than half the time.
class PackedTriangle {
 public:
  PackedTriangle() = default;
  explicit PackedTriangle(const Eigen::MatrixXd& matrix);

  double quadratic_form(const Eigen::VectorXd& psi) const;  ///< psi' M psi

 private:
  std::shared_ptr<const double[]> numbers_;
};

/// A symmetric matrix, of which the lower triangle is filled, that copies share until one of them changes it: an estimator
/// is copied for every lesson beside decisions. All of it is done by one thread at a time.
class SharedMatrix {
 public:
  SharedMatrix() = default;
  SharedMatrix(Eigen::MatrixXd matrix)
      : matrix_(std::make_shared<Eigen::MatrixXd>(std::move(matrix))) {}  // NOLINT: implicit

  SharedMatrix(const SharedMatrix& other) : matrix_(other.matrix_), packed_(other.packed_) {}
  SharedMatrix& operator=(const SharedMatrix& other) {
    matrix_ = other.matrix_, packed_ = other.packed_;
    return *this;
  }
  SharedMatrix(SharedMatrix&&) = default;
  SharedMatrix& operator=(SharedMatrix&&) = default;

  const Eigen::MatrixXd& operator*() const { return *matrix_; }
  const Eigen::MatrixXd* operator->() const { return matrix_.get(); }
  Eigen::MatrixXd& change() {
    if (matrix_.use_count() > 1) {
      if (spare_ == nullptr || spare_.use_count() > 1) spare_ = std::make_shared<Eigen::MatrixXd>();
      *spare_ = *matrix_;
      std::swap(matrix_, spare_);
    }
    packed_.reset();
    return *matrix_;
  }
  /// For readers in other threads.
  const PackedTriangle& packed() {
    if (!packed_) packed_ = PackedTriangle(*matrix_);
    return *packed_;
  }

 private:
  std::shared_ptr<Eigen::MatrixXd> matrix_ = std::make_shared<Eigen::MatrixXd>();
  // Memory for the next copy: megabytes that are mapped and unmapped for every lesson let calls wait. What is undone may
  // still share it.
  std::shared_ptr<Eigen::MatrixXd> spare_;
  std::optional<PackedTriangle> packed_;  // of the matrix as it is, once asked for
};

}  // namespace pandora
