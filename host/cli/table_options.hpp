// Options of commands that read a table of outcomes, and reading it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "host/outcomes/tables/trace_table.hpp"

namespace pandora::cli {

struct TableOptions {
  std::vector<std::string> models;
  std::string missing = "refuse";

  /// --models and --missing.
  void add_to(CLI::App& command);
  void add_missing_to(CLI::App& command);
  /// Throws Error (usage) for a word that is none of theirs.
  void check() const;
  /// With a bar while it is read where somebody looks. Throws as read_trace().
  TraceTable read(const std::string& path) const;
};

/// "text" or "json"; throws Error (usage) otherwise.
void require_format(const std::string& format);

}  // namespace pandora::cli
