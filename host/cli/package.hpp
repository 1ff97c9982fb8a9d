// Commands that run in the Python package: what people do with outcomes. The program finds a Python that has it, and
// becomes that process.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "host/cli/commands.hpp"

namespace pandora::cli {

/// Adds a subcommand whose words are handed on to the package as they are, help included: `python -m pandora.offline
/// GROUP NAME ...`, without GROUP where `group` is the program. It ends with that process's exit code. Throws Error
/// (usage) with what to run where no Python has the package: PANDORA_PYTHON names the one that is asked; without it those
/// are that of `make python` beside the program and python3 on PATH.
void add_package_command(CLI::App& group, const std::string& name, Session& session);

}  // namespace pandora::cli
