// The subcommands. Each adds itself and its options to the program; the returned function runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <functional>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "host/ground/tables/table.hpp"
#include "host/report/report.hpp"
#include "host/studies/study/study_config.hpp"

namespace pandora::cli {

using Command = std::function<void()>;

/// What the process was started with, and whether SIGINT or SIGTERM arrived.
struct Session {
  std::string command_line, program = "pandora";  ///< program: its path, or its name if it was found on PATH
  std::atomic<bool> interrupted{false};

  /// From here on the first signal sets `interrupted`, which the command looks at; else it ends the program.
  void listen();
};

void add_run(CLI::App& program, Session& session, Command& run);
void add_merge(CLI::App& program, Session& session, Command& run);
void add_show(CLI::App& program, Command& run);
void add_compare(CLI::App& program, Command& run);
void add_verdict(CLI::App& program, Command& run);
void add_report(CLI::App& program, Command& run);
void add_tune(CLI::App& program, Session& session, Command& run);
void add_lanes(CLI::App& program, Command& run);
void add_replay(CLI::App& program, Command& run);
void add_explain(CLI::App& program, Command& run);
void add_oracle(CLI::App& program, Session& session, Command& run);
void add_oracle_grid(CLI::App& oracle, Session& session, Command& run);
void add_calibrate(CLI::App& program, Session& session, Command& run);
void add_policies(CLI::App& program, Command& run);
void add_devices(CLI::App& program, Command& run);
void add_trace(CLI::App& program, Command& run);
void add_trace_check(CLI::App& trace, Command& run);
void add_trace_export(CLI::App& trace, Command& run);
void add_trace_features(CLI::App& trace, Command& run);
void add_cascade(CLI::App& program, Command& run);
void add_cascade_fit(CLI::App& cascade, Command& run);
void add_cascade_test(CLI::App& cascade, Command& run);
void add_cascade_frontier(CLI::App& cascade, Command& run);
void add_cascade_show(CLI::App& cascade, Command& run);
void add_cascade_new(CLI::App& cascade, Command& run);

/// The studies of a command that is about the oracle, one for each setting. Throws Error (usage) for an environment
/// whose oracle is code of its own.
std::vector<Setting> oracle_settings(const StudyConfig& config);
/// A heading, where keys vary.
void print_setting(const Setting& setting);

/// One line on standard error, whatever the message holds; a closed standard error is no error.
void print_error(const std::string& message);

/// Writes the report of a folder of results and says where it is.
void make_report(const std::string& folder, ReportOptions options);

/// To standard output, whatever the text holds.
void print_text(const std::string& text);

/// To standard output, indented.
void print_json(const nlohmann::json& json);

/// To standard output, in the width of the terminal.
void print_table(const Table& table, TableFormat format = TableFormat::text);

/// Parsers of option values; each throws Error (usage) naming the option, the value and what is possible.
GridShape parse_grid(const std::string& text);
void require_count(const char* option, int value, int least, int most = std::numeric_limits<int>::max());
void require_positive(const char* option, double value);

}  // namespace pandora::cli
