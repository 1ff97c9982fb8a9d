// gnuplot as a process of its own.
#pragma once

#include <filesystem>
#include <string>

namespace pandora {

/// The file of the program: what the environment variable PANDORA_GNUPLOT names, else `gnuplot` in a folder of PATH;
/// empty where there is none that can be executed.
std::string find_gnuplot();

struct GnuplotResult {
  bool good = false;
  std::string message;  ///< what it wrote, and how it ended where that was not well
};

/// Runs a script of `folder` in a process with `folder` as its working directory. Neither a shell nor the user's own
/// settings of gnuplot have a part in it. A process that takes longer than `most_seconds` is ended, whatever it does
/// with its output; what it started itself is not waited for.
GnuplotResult run_gnuplot(const std::string& program, const std::filesystem::path& folder, const std::string& script,
                          const std::string& formats, double most_seconds);

}  // namespace pandora
