// What kernels throw. What it means to a user, and what to do about it, is said by the host
// (include/pandora/error.hpp).
#pragma once

#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>

namespace pandora {

/// An input that cannot be computed with.
struct InvalidInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A law whose truncation leaves next to nothing.
struct RejectsNearlyAll : InvalidInput {
  using InvalidInput::InvalidInput;
};

/// A device, or a library for it, refuses.
struct DeviceError : std::runtime_error {
  enum class Of { cuda, cublas, loading_cublas };
  DeviceError(Of what, const std::string& message) : std::runtime_error(message), of(what) {}
  Of of;
};

/// A backend cannot allocate `bytes`; less work at a time may fit.
struct OutOfMemory : std::bad_alloc {
  explicit OutOfMemory(std::size_t wanted) : bytes(wanted) {}
  std::size_t bytes;
};

}  // namespace pandora
