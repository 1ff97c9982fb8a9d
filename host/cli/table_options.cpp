#include "host/cli/table_options.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "host/cli/progress_bar.hpp"
#include "host/outcomes/tables/read_trace.hpp"
#include "pandora/error.hpp"

namespace pandora::cli {

void TableOptions::add_to(CLI::App& command) {
  command.add_option("--models", models, "only these models (default: all)")->delimiter(',');
  add_missing_to(command);
}

void TableOptions::add_missing_to(CLI::App& command) {
  command.add_option("--missing", missing, "rows with missing cells: refuse, or drop and count them")
      ->capture_default_str();
}

void TableOptions::check() const {
  if (missing != "refuse" && missing != "drop")
    throw Error(ExitCode::usage, fmt::format("--missing {}: unknown; use refuse or drop", missing));
}

TraceTable TableOptions::read(const std::string& path) const {
  constexpr int kMebibyte = 20;
  TraceOptions options;
  options.missing = missing == "drop" ? MissingCells::drop : MissingCells::refuse;
  options.models = models;
  ProgressBar bar(!is_terminal(STDERR_FILENO), "MiB");
  options.progress = [&bar](std::uint64_t done, std::uint64_t total) {
    if (done >> kMebibyte > 0) bar.update(done >> kMebibyte, std::max(done, total) >> kMebibyte);
  };
  return read_trace(path, options);
}

void require_format(const std::string& format) {
  if (format != "text" && format != "json")
    throw Error(ExitCode::usage, fmt::format("--format {}: unknown; use text or json", format));
}

}  // namespace pandora::cli
