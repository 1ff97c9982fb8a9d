// Every access of device code, in programs that are built with check.cpp; null in the others.
#pragma once

#include "stand_in.hpp"

namespace stand_in {

/// A copy or the like has touched the range.
__attribute__((weak)) void check_range(Device&, const void* p, std::size_t bytes, bool writes, const char* what);
/// The running thread of a kernel adds to *p.
__attribute__((weak)) void check_atomic(const void* p, std::size_t bytes, const void* pc);

cudaError_t set_error(cudaError_t status);  ///< devices.cpp: what cudaGetLastError returns
void wait_for_all(Device&);                 ///< streams.cpp

}  // namespace stand_in
