// The stand-in's cuBLAS, a library that the program loads as it loads the real one. Products are plain loops. cuBLAS
// leaves the order of summation open, and the order may depend on the shape and on the batch. Here it does depend on
// them. Memory between the rows of a matrix and its leading dimension is not touched.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "cublas_v2.h"
#include "tests/cuda_stand_in/stand_in.hpp"

namespace stand_in {

struct Cublas {
  Device* device;
  cudaStream_t stream;
};

namespace {

struct Product {
  bool ta, tb;
  int m, n, k;
  float alpha, beta;
  int lda, ldb, ldc;

  bool valid() const {
    const bool good = m >= 0 && n >= 0 && k >= 0 && lda >= std::max(1, ta ? k : m) && ldb >= std::max(1, tb ? n : k) &&
                      ldc >= std::max(1, m);
    if (!good) report("cuBLAS: sizes or leading dimensions that it refuses");
    return good;
  }

  template <class T>
  static T* at(T* p, int column, int ld) {
    return p + static_cast<std::size_t>(column) * static_cast<std::size_t>(ld);
  }
  template <class T>
  static void touch_columns(T* p, int rows, int columns, int ld, bool writes, const char* what) {
    for (int j = 0; j < columns; ++j) touch(at(p, j, ld), sizeof(float) * static_cast<std::size_t>(rows), writes, what);
  }

  void run(const float* A, const float* B, float* C, int count) const {
    touch_columns(A, ta ? k : m, ta ? m : k, lda, false, "a product's A");
    touch_columns(B, tb ? n : k, tb ? k : n, ldb, false, "a product's B");
    if (beta != 0.0f) touch_columns(C, m, n, ldc, false, "a product's C");
    touch_columns(C, m, n, ldc, true, "a product's C");
    const int parts = 1 + (m + n + k + count / 64) % 3;
    std::vector<float> sum(static_cast<std::size_t>(m)), part(sum);
    for (int j = 0; j < n; ++j) {
      std::fill(sum.begin(), sum.end(), 0.0f);
      for (int first = 0; first < parts; ++first) {
        std::fill(part.begin(), part.end(), 0.0f);
        for (int l = first; l < k; l += parts) {
          const float b = tb ? at(B, l, ldb)[j] : at(B, j, ldb)[l];
          for (int i = 0; i < m; ++i) part[i] = __builtin_fmaf(ta ? at(A, i, lda)[l] : at(A, l, lda)[i], b, part[i]);
        }
        for (int i = 0; i < m; ++i) sum[i] += part[i];
      }
      for (int i = 0; i < m; ++i) {
        float& c = at(C, j, ldc)[i];
        c = alpha * sum[i] + (beta != 0.0f ? beta * c : 0.0f);
      }
    }
  }
};

cublasStatus_t status_of(cudaError_t status) {
  return status == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

// Reports outputs of a batch that overlap.
void expect_apart(float* const C[], int count, std::size_t bytes) {
  std::vector<const float*> sorted(C, C + count);
  std::sort(sorted.begin(), sorted.end());
  for (int item = 1; item < count; ++item)
    if (reinterpret_cast<std::uintptr_t>(sorted[item]) - reinterpret_cast<std::uintptr_t>(sorted[item - 1]) < bytes)
      return report("cuBLAS: two results of a batch overlap, which its manual leaves undefined");
}

}  // namespace
}  // namespace stand_in

using namespace stand_in;

extern "C" {

cublasStatus_t cublasCreate(cublasHandle_t* out) {
  if (fails("cublas") || current_device() == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  *out = new Cublas{current_device(), nullptr};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) {
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "success" : "a failure that the stand-in was asked for";
}

cublasStatus_t cublasSgemm(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                           const float* alpha, const float* A, int lda, const float* B, int ldb, const float* beta,
                           float* C, int ldc) {
  const Product product{ta == CUBLAS_OP_T, tb == CUBLAS_OP_T, m, n, k, *alpha, *beta, lda, ldb, ldc};
  if (!product.valid()) return CUBLAS_STATUS_INVALID_VALUE;
  return status_of(enqueue(h->stream, "a product", [=] { product.run(A, B, C, 1); }));
}

cublasStatus_t cublasSgemmBatched(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                                  const float* alpha, const float* const A[], int lda, const float* const B[], int ldb,
                                  const float* beta, float* const C[], int ldc, int count) {
  const Product product{ta == CUBLAS_OP_T, tb == CUBLAS_OP_T, m, n, k, *alpha, *beta, lda, ldb, ldc};
  if (!product.valid()) return CUBLAS_STATUS_INVALID_VALUE;
  if (fails("product")) return CUBLAS_STATUS_EXECUTION_FAILED;
  if (h->device != current_device()) report("cuBLAS: a handle of another device than the current one");
  return status_of(enqueue(h->stream, "a batch of products", [=] {
    const std::size_t bytes = sizeof(void*) * static_cast<std::size_t>(count);
    touch(A, bytes, false, "the list of A");
    touch(B, bytes, false, "the list of B");
    touch(C, bytes, false, "the list of C");
    expect_apart(C, count,
                 sizeof(float) *
                     (static_cast<std::size_t>(ldc) * static_cast<std::size_t>(n - 1) + static_cast<std::size_t>(m)));
    std::set<std::pair<const float*, const float*>> done;  // repeated products fill a batch up; nobody reads them
    for (int item = 0; item < count; ++item)
      if (done.insert({A[item], B[item]}).second || product.beta != 0.0f) product.run(A[item], B[item], C[item], count);
  }));
}

}  // extern "C"
