// Turns exceptions of kernels into errors for the user.
#pragma once

#include <string>

#include "host/ground/base/option.hpp"
#include "kernels/base/error.hpp"
#include "pandora/error.hpp"

namespace pandora {

/// Returns the result of `body`. Exceptions of kernels become an Error with the remedy.
template <class Body>
auto for_the_user(Body&& body) {
  using Of = DeviceError::Of;
  try {
    return body();
  } catch (const RejectsNearlyAll& error) {
    throw Error(ExitCode::usage, std::string(error.what()) + "; give a larger one");
  } catch (const InvalidInput& error) {
    throw Error(ExitCode::usage, error.what());
  } catch (const DeviceError& error) {
    const char* const remedy = error.of == Of::cuda     ? "`pandora devices` shows the devices, "
                               : error.of == Of::cublas ? ""
                                                        : "install it or name its folder in LD_LIBRARY_PATH; ";
    throw Error(ExitCode::device, std::string(error.what()) + "; " + remedy + option("backend", "cpu") +
                                      " runs without " + (error.of == Of::cuda ? "one" : "it"));
  }
}

}  // namespace pandora
