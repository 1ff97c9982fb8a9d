// A matrix that copies of an estimator share.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <utility>

namespace pandora {

/// The lower triangle of a symmetric M, column after column. The cost of a quadratic form is the reading of M, and in
/// one piece M is read in less than half the time.
class PackedTriangle {
 public:
  PackedTriangle() = default;
  explicit PackedTriangle(const Eigen::MatrixXd& matrix);

  double quadratic_form(const Eigen::VectorXd& psi) const;  ///< psi' M psi

 private:
  std::shared_ptr<const double[]> numbers_;
};

/// A symmetric matrix (the lower triangle is filled) that copies share until one of them changes it. Copies are
/// frequent: an estimator is copied for every update while decisions go on. Only one thread at a time may use it.
class SharedMatrix {
 public:
  SharedMatrix() = default;
  SharedMatrix(Eigen::MatrixXd matrix)
      : matrix_(std::make_shared<Eigen::MatrixXd>(std::move(matrix))) {}  // NOLINT: implicit

  SharedMatrix(const SharedMatrix& other) : matrix_(other.matrix_), packed_(other.packed_) {}
  SharedMatrix& operator=(const SharedMatrix& other) {
    if (this != &other) matrix_ = other.matrix_, packed_ = other.packed_;
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
  /// The packed triangle, for readers in other threads.
  const PackedTriangle& packed() {
    if (!packed_) packed_ = PackedTriangle(*matrix_);
    return *packed_;
  }

 private:
  std::shared_ptr<Eigen::MatrixXd> matrix_ = std::make_shared<Eigen::MatrixXd>();
  // Memory for the next copy, because mapping and unmapping megabytes for every update would delay calls. A mark for
  // roll_back() may still share it.
  std::shared_ptr<Eigen::MatrixXd> spare_;
  std::optional<PackedTriangle> packed_;  // of the current matrix, once it was asked for
};

}  // namespace pandora
