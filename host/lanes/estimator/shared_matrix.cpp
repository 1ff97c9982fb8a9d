#include "host/lanes/estimator/shared_matrix.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <vector>

namespace pandora {

namespace {

// Triangles of 16 models and 385 features are ten megabytes, and every request reads them. Side by side, and in huge
// pages where the system gives them, reading takes two thirds of the time. Freed memory is used again, so that nothing
// faults.
class TriangleMemory {
 public:
  static std::shared_ptr<double[]> take(std::size_t numbers) {
    static auto* const memory = new TriangleMemory;  // must outlive all matrices, so it is never freed
    return {memory->slot(numbers), [numbers](double* slot) {
              const std::lock_guard lock(memory->mutex_);
              memory->free_[numbers].push_back(slot);  // there is room for all
            }};
  }

 private:
  double* slot(std::size_t numbers) {
    constexpr std::size_t kHuge = std::size_t{2} << 20, kLine = 64, kSlots = 16;
    const auto rounded = [](std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; };
    const std::lock_guard lock(mutex_);
    std::vector<double*>& free = free_[numbers];
    if (free.empty()) {
      const std::size_t one = rounded(numbers * sizeof(double) + 1, kLine), page = kSlots * one < kHuge ? kLine : kHuge;
      const std::size_t all = rounded(kSlots * one, page);
      free.reserve(free.capacity() + kSlots);
      char* const slots = static_cast<char*>(std::aligned_alloc(page, all));
      if (slots == nullptr) throw std::bad_alloc();
      if (page == kHuge) (void)::madvise(slots, all, MADV_HUGEPAGE);
      for (std::size_t k = kSlots; k-- > 0;) free.push_back(reinterpret_cast<double*>(slots + k * one));
    }
    double* const out = free.back();
    free.pop_back();
    return out;
  }

  std::mutex mutex_;
  std::map<std::size_t, std::vector<double*>> free_;  // by how many numbers they hold
};

}  // namespace

PackedTriangle::PackedTriangle(const Eigen::MatrixXd& matrix) {
  const Eigen::Index n = matrix.rows();
  const std::shared_ptr<double[]> numbers = TriangleMemory::take(static_cast<std::size_t>(n * (n + 1) / 2));
  double* end = numbers.get();
  for (Eigen::Index j = 0; j < n; ++j) end = std::copy_n(matrix.data() + j * n + j, n - j, end);
  numbers_ = numbers;
}

double PackedTriangle::quadratic_form(const Eigen::VectorXd& psi) const {
  double out = 0.0;
  const double* column = numbers_.get();
  for (Eigen::Index j = 0; j < psi.size(); ++j) {
    const Eigen::Index below = psi.size() - j - 1;
    const Eigen::Map<const Eigen::VectorXd> rest(column + 1, below);
    out += psi[j] * (*column * psi[j] + 2.0 * rest.dot(psi.tail(below)));
    column += below + 1;
  }
  return out;
}

}  // namespace pandora
