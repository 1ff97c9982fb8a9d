// Errors that reach the user: one line that names the problem, why it is one, and the remedy.
#pragma once

#include <stdexcept>
#include <string>

#include "kernels/base/error.hpp"
#include "kernels/base/failure.hpp"

namespace pandora {

/// Exit codes of the program (docs/commands.md, "Exit codes").
enum class ExitCode : int {
  done = 0,
  internal = 1,      ///< lanes failed, or a defect of the program
  usage = 2,         ///< command line or configuration, including an output folder that is refused
  bad_data = 3,      ///< an input file
  device = 4,        ///< backend, device or memory
  mismatch = 5,      ///< results that do not belong to this study, build or arithmetic
  output_lost = 6,   ///< results could not be written (disk full, folder vanished)
  interrupted = 130  ///< SIGINT or SIGTERM
};

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// Ends a lane, not the run: the engines catch it and record what it carries in the lane's tally.
class LaneFailure : public Error {
 public:
  explicit LaneFailure(Failure failure) : LaneFailure(failure, failure_text(failure)) {}
  LaneFailure(Failure failure, const std::string& message) : Error(ExitCode::internal, message), failure_(failure) {}
  Failure failure() const { return failure_; }

 private:
  Failure failure_;
};

/// What `body` returns; what kernels throw in it becomes an Error with the remedy.
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
    const char* const remedy =
        error.of == Of::cuda     ? "; `pandora devices` shows the devices, --backend cpu runs without one"
        : error.of == Of::cublas ? "; --backend cpu runs without it"
                                 : "; install it or name its folder in LD_LIBRARY_PATH; --backend cpu runs without it";
    throw Error(ExitCode::device, error.what() + std::string(remedy));
  }
}

}  // namespace pandora
