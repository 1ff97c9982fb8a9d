// Another program as a process of its own.
#pragma once

#include <string>
#include <vector>

namespace pandora {

struct ChildResult {
  std::string problem;  ///< why it could not be started; empty where it was
  bool in_time = true;
  int status = 0;    ///< as waitpid() says
  std::string said;  ///< on both outputs, without blanks at its ends; 64 KiB at most
};

/// Runs words[0], a path, without a shell and with nothing to read. One that takes longer than `most_seconds` is ended,
/// whatever it does with its output; what it started itself is not waited for.
ChildResult run_child(std::vector<std::string> words, double most_seconds);

}  // namespace pandora
