// The block transform: B rank-one updates of an inverse P = (ridge I + sum h_s psi_s psi_s')^-1 carried on the
// B x B Gram matrix of the block's contexts, and applied to P at the end by one product.
//
// One rule serves the design matrix V (eq:known-theta-V) (h = 1), LinUCB's regression (h = 1, e = p - y) and the
// curvature-weighted inverse of the index loss (h = Lambda'(z) 1{mu > Lambda(z)}, e = m(z)). With P_j the inverse
// before period j, v_j = P_j psi_j, s_j = 1 + h_j psi_j' v_j and f_j = sqrt(h_j / s_j):
//
//   row_j = psi' v_j                    (the current Gram row; columns i >= j)
//   P_{j+1} = P_j - u_j u_j',  u_j = f_j v_j,   C_j = f_j row_j
//   a prediction p_i = psi_i' rho moves by -row_j[i] e_j / s_j when rho moves by -v_j e_j / s_j (one Newton step)
//
// and from the block's start, image_j = P_0 psi_j:
//
//   row_j = gram_j - sum_{i<j} C_i[j] C_i       v_j = image_j - sum_{i<j} C_i[j] u_i
//
// over the earlier updated periods i. It is the Sherman-Morrison recursion in another order.
#pragma once

#include "kernels/simd.hpp"

namespace pandora {

template <class Real>
class GramBlock {
 public:
  /// For matrices of m rows with `stride`, blocks of up to B periods.
  GramBlock(int m, int stride, int B);

  /// Starts a block: images and Gram matrix of its contexts under P. See block_products.hpp for the arguments.
  void form(const Real* P, const Real* const* psi, const Real* transposed, int B);

  /// psi_j' P_j psi_j with all updates so far.
  Real quadratic(int j) const { return diagonal_[j]; }

  /// The update of period j with weight h >= 0; j must exceed that of the last update. Returns s_j; row() is then
  /// row_j, valid for columns i >= j.
  Real update(int j, Real h);
  const Real* row() const { return row_.data(); }

  /// Calls step(k, v) with v = v_j (m elements) for every update k = 0, 1, ... not seen by an earlier call.
  template <class Step>
  void materialise(Step&& step) {
    for (; materialised_ < updates_; ++materialised_) step(materialised_, vector(materialised_));
  }

  /// out = (P - U U') x over the updates that were materialised: the current inverse times x.
  void multiply(const Real* P, const Real* x, Real* out) const;

  /// P -= U U' for all updates; ends the block.
  void apply(Real* P);

  /// Whether 0 < psi_j' P psi_j <= factor ||psi_j||^2 for all contexts right after form(), which holds for the inverse
  /// of any matrix of at least I / factor; false (also for NaN) calls for a fresh inverse.
  bool sound(const Real* squared_norm, Real factor) const;

 private:
  const Real* vector(int update);

  int m_, stride_, width_, B_ = 0;
  int updates_ = 0, columns_ = 0, materialised_ = 0, materialised_columns_ = 0;
  SimdVector<Real> image_, gram_, diagonal_, row_, column_, u_, v_;
  struct Update {
    int period;
    Real f;
    int columns_before;  // columns C_i that precede it
  };
  std::vector<Update> log_;
};

}  // namespace pandora
