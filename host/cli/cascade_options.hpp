// Options that `cascade fit` and `cascade frontier` share: what is fitted, apart from the aim.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "host/cascades/fits/aim.hpp"

namespace pandora::cli {

struct CascadeFitOptions {
  std::string kind;
  CascadeFitSettings settings;

  void add_to(CLI::App& command, const std::string& default_kind);
  /// Throws Error (usage) for a kind that is none.
  CascadeFitSettings checked() const;
};

}  // namespace pandora::cli
