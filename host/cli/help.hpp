// What `--help` says of each command, in one place: sentences, and examples with what they leave or print. The page of
// all commands is made of it (scripts/help-pages.py), and CI runs the examples.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace pandora::cli {

/// Adds the command `name` to a group of commands, or to the program, with the help that is written for it.
/// There must be one.
CLI::App* add_command(CLI::App& group, const std::string& name);

/// Lists commands by the first sentence of their help, and wraps what is said of options in 80 columns.
std::shared_ptr<CLI::FormatterBase> help_formatter();

/// Groups of options, in the order of their use: those that have no group of their own come first.
inline constexpr const char* kStudyKeys = "Keys of the study";
inline constexpr const char* kMachine = "Where and how it runs";

}  // namespace pandora::cli
