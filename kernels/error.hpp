// Errors that reach the user: one line that names the problem, why it is one, and the remedy.
#pragma once

#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>

namespace pandora {

/// Exit codes of the program (README, "Exit codes").
enum class ExitCode : int {
  done = 0,
  internal = 1,      ///< a defect of the program
  usage = 2,         ///< command line or configuration, including an output folder that is refused
  bad_data = 3,      ///< an input file
  device = 4,        ///< backend, device or memory
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

/// A backend cannot allocate `bytes`; less work at a time may fit.
struct OutOfMemory : std::bad_alloc {
  explicit OutOfMemory(std::size_t wanted) : bytes(wanted) {}
  std::size_t bytes;
};

}  // namespace pandora
