// The renderer of documents: a script in Python (python/src/pandora/rendering) as a process of its own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pandora {

struct RenderOptions {
  std::vector<std::string> formats = {"svg"};  ///< of figures: svg, pdf, png; the page has them as SVG in any case
  int processes = 1;                           ///< that draw at once
  double most_seconds = 600;                   ///< after which it is taken to hang
};

struct RenderResult {
  bool rendered = false;
  std::string message;  ///< why not all was rendered and what to do; empty where it was
};

/// The formats that a list such as "svg,pdf" names. Throws Error (usage).
std::vector<std::string> parse_figure_formats(const std::vector<std::string>& names);

/// Renders the document of a folder (document.hpp). The interpreter is what the environment variable PANDORA_PYTHON
/// names, else python3 in a folder of PATH, else /usr/bin/python3, whichever has the modules; the script is what
/// PANDORA_RENDERER names, else that beside the program: installed, or in its source tree.
RenderResult render_document(const std::filesystem::path& folder, const RenderOptions& options);

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
