// The subcommands, and what they share. Each adds itself and its options to the program.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/ground/tables/table.hpp"
#include "host/report/renderer.hpp"
#include "host/report/report.hpp"
#include "host/studies/study/study_config.hpp"

namespace pandora::cli {

/// What the process was started with, what it is to do, and whether SIGINT or SIGTERM arrived.
struct Session {
  std::string command_line, program = "pandora";  ///< program: its path, or its name if it was found on PATH
  std::function<void()> run;                      ///< the command that was named, once all of the line is read
  std::atomic<bool> interrupted{false};

  void on_call(CLI::App* command, const std::function<void()>& body) {
    command->callback([this, body] { run = body; });
  }

  /// From here on the first signal sets `interrupted`, which the command looks at; else it ends the program.
  void listen();
};

using AddsCommand = void(CLI::App& program, Session& session);
AddsCommand add_run, add_merge, add_show, add_compare, add_verdict, add_report, add_tune, add_lanes, add_replay,
    add_explain, add_oracle, add_oracle_grid, add_oracle_exact, add_calibrate, add_policies, add_devices, add_trace,
    add_cascade;

/// Adds the command `name` to a group of commands, or to the program, with the help that is written for it (help.cpp).
/// There must be one.
CLI::App* add_command(CLI::App& group, const std::string& name);

/// The same for a command whose words are handed on to the Python package as they are, help included: `python -m
/// pandora.offline GROUP NAME ...`, without GROUP where `group` is the program. It ends with that process's exit code.
/// Throws Error (usage) with what to run where no Python has the package: PANDORA_PYTHON names the one that is asked;
/// without it those are that of `make python` beside the program and python3 on PATH.
void add_package_command(CLI::App& group, const std::string& name, Session& session);

/// Lists commands by the first sentence of their help, and wraps what is said of options in 80 columns.
std::shared_ptr<CLI::FormatterBase> help_formatter();

/// Groups of options, in the order of their use: those that have no group of their own come first.
inline constexpr const char* kStudyKeys = "Keys of the study";
inline constexpr const char* kMachine = "Where and how it runs";

/// The studies of a command that is about the oracle, one for each setting. Throws Error (usage) for an environment
/// whose oracle is code of its own.
std::vector<Setting> oracle_settings(const StudyConfig& config);
/// A heading, where keys vary.
void print_setting(const Setting& setting);

/// One line on standard error, whatever the message holds; a closed standard error is no error.
void print_error(const std::string& message);

/// Writes the report of a folder of results, by default into it, and says where it is.
void make_report(const std::string& folder, const std::string& out = "", const ReportOptions& options = {},
                 const RenderOptions& rendering = {});

/// To standard output, whatever the text holds.
void print_text(const std::string& text);
/// In the width of the terminal; LaTeX by Python.
void print_tables(const std::vector<Table>& tables, TableFormat format = TableFormat::text);

/// Parsers of option values; each throws Error (usage) naming the option, the value and what is possible.
GridShape parse_grid(const std::string& text);
void require_count(const char* option, int value, int least, int most = std::numeric_limits<int>::max());
void require_positive(const char* option, double value);
/// A folder that may be named; an empty word names none.
std::string folder_of(const char* option, const std::optional<std::string>& path);

}  // namespace pandora::cli
