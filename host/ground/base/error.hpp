// Errors that reach the user: one line that names the problem, why it is one, and the remedy.
#pragma once

#include <stdexcept>
#include <string>

namespace pandora {

/// Exit codes of the program (docs/commands.md, "Exit codes").
enum class ExitCode : int {
  done = 0,
  internal = 1,      ///< lanes failed, or a defect of the program
  usage = 2,         ///< command line or configuration, also an output folder that is refused
  bad_data = 3,      ///< an input file
  device = 4,        ///< backend, device or memory
  mismatch = 5,      ///< results that belong to another study, build or arithmetic
  output_lost = 6,   ///< results could not be written (disk full, folder vanished)
  interrupted = 130  ///< SIGINT or SIGTERM
};

class Error : public std::runtime_error {
 public:
  /// what() spells options that option() (host/ground/base/option.hpp) marked in the message as on the command line.
  Error(ExitCode code, const std::string& message);
  ExitCode code() const { return code_; }
  /// The message with its marks, to put it into another Error or to spell the options differently.
  const char* marked() const { return marked_.what(); }

 private:
  std::runtime_error marked_;  // can be copied without an exception
  ExitCode code_;
};

}  // namespace pandora
