// The exceptions that kernels throw. The host turns them into messages for users (include/pandora/error.hpp).
#pragma once

#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>

namespace pandora {

/// An input for which nothing can be computed.
struct InvalidInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A truncated law that rejects nearly every draw.
struct RejectsNearlyAll : InvalidInput {
  using InvalidInput::InvalidInput;
};

/// A device, or a library for it, refused a call.
struct DeviceError : std::runtime_error {
  enum class Of { cuda, cublas, loading_cublas };
  DeviceError(Of what, const std::string& message) : std::runtime_error(message), of(what) {}
  Of of;
};

/// A backend cannot allocate `bytes`. Less work at a time may fit.
struct OutOfMemory : std::bad_alloc {
  explicit OutOfMemory(std::size_t wanted) : bytes(wanted) {}
  std::size_t bytes;
};

}  // namespace pandora
