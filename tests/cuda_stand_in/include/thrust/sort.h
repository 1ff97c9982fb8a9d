#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/cuda_stand_in/stand_in.hpp"
#include "thrust/system/cuda/execution_policy.h"
#include "thrust/system_error.h"

namespace thrust {

// Scratch is taken and given back while the work is only queued; the work then fills it with rubbish.
template <class Allocator, class T, class Less>
void sort(const cuda::Policy<Allocator>& policy, T* first, T* last, Less less) {
  const std::size_t n = static_cast<std::size_t>(last - first), bytes = n * sizeof(T) + 4096;
  char* const scratch = policy.allocator.allocate(static_cast<std::ptrdiff_t>(bytes));
  const cudaError_t status = stand_in::enqueue(policy.stream, "thrust::sort", [=] {
    stand_in::touch(first, n * sizeof(T), false, "thrust::sort");
    stand_in::touch(first, n * sizeof(T), true, "thrust::sort");
    stand_in::touch(scratch, bytes, true, "thrust::sort's scratch");
    std::vector<T> values(first, last);
    std::memset(scratch, 0xa5, bytes);
    std::stable_sort(values.begin(), values.end(), less);
    std::copy(values.begin(), values.end(), first);
  });
  policy.allocator.deallocate(scratch, bytes);
  if (status != cudaSuccess) throw system_error(static_cast<int>(status), std::generic_category(), "sort");
}

}  // namespace thrust
