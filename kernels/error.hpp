// Errors that reach the user: one line that names the problem, why it is one, and the remedy.
#pragma once

#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>

#include "kernels/failure.hpp"

namespace pandora {

/// Exit codes of the program (README, "Exit codes").
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

/// A backend cannot allocate `bytes`; less work at a time may fit.
struct OutOfMemory : std::bad_alloc {
  explicit OutOfMemory(std::size_t wanted) : bytes(wanted) {}
  std::size_t bytes;
};

}  // namespace pandora
