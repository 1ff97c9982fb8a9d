// Checks of every access of device code. These functions exist in programs that are built with check.cpp; in others
// they are null.
#pragma once

#include "stand_in.hpp"

namespace stand_in {

/// To be called when a copy or memset has touched the range.
__attribute__((weak)) void check_range(Device&, const void* p, std::size_t bytes, bool writes, const char* what);
/// To be called when the running thread of a kernel adds to *p.
__attribute__((weak)) void check_atomic(const void* p, std::size_t bytes, const void* pc);

cudaError_t set_error(cudaError_t status);  ///< devices.cpp; cudaGetLastError returns it
void wait_for_all(Device&);                 ///< streams.cpp

}  // namespace stand_in
