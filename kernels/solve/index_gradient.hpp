// Sums over a box's samples in vectors: one fused pass over the contexts of the tape. Host code only.
#pragma once

#include "kernels/solve/index_sums.hpp"

namespace pandora::engine {

/// C += sum_s w_s psi_s psi_s'; C is m x m in full, rows of `stride`. Without weights all are 1.
template <class Real, class Sum>
void add_outer(const SampleView<Real>& samples, const Real* weight, Sum* C);

}  // namespace pandora::engine
