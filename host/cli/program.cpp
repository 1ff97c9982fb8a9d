#include "pandora/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>

#include "host/cli/commands.hpp"
#include "host/ground/base/fail.hpp"
#include "host/ground/base/nearest.hpp"
#include "host/ground/base/printable.hpp"
#include "host/ground/base/want_of_memory.hpp"
#include "host/ground/files/system_limits.hpp"
#include "host/ground/machine/build.hpp"
#include "host/lanes/model/kernel_errors.hpp"

namespace pandora {
namespace cli {
namespace {

Session the_session;

int fail_for_memory() {
  say_out_of_memory();
  return static_cast<int>(ExitCode::device);
}

// Says why the program ends, and returns its exit code.
int end_with(ExitCode code, const std::string& message) {
  // What libraries and streams make of want of memory is anything: a study that is not TOML, a value of another type.
  if (memory_was_wanted() && code != ExitCode::device && code != ExitCode::interrupted) return fail_for_memory();
  if (!message.empty()) print_error(message);  // empty: another rank says it
  return static_cast<int>(code);
}

// The words before the first option name commands, as deep as commands have commands.
void refuse_unknown_command(const CLI::App& program, int argc, char** argv) {
  const CLI::App* command = &program;
  std::string called = "pandora", words;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const std::vector<const CLI::App*> inside = command->get_subcommands({});
    if (inside.empty()) return;
    words += (i > 1 ? " " : "") + std::string(argv[i]);
    const auto at = std::ranges::find_if(inside, [&](auto* c) { return c->get_name() == argv[i]; });
    if (at == inside.end()) {
      std::vector<std::string> names;
      for (const CLI::App* c : inside) names.push_back(c->get_name());
      fail(ExitCode::usage, "{}: unknown command{}; `{} --help` lists the commands", words,
           nearest_text(nearest(argv[i], names)), called);
    }
    command = *at;
    called += " " + command->get_name();
  }
}

// CLI11 takes an empty word, such as that of a shell's variable that is not set, for 0.
void refuse_empty_numbers(const CLI::App& program) {
  for (const CLI::App* command : program.get_subcommands()) {
    for (const CLI::Option* option : command->get_options())
      if (const std::string type = option->get_type_name(); type == "FLOAT" || type == "INT" || type == "UINT")
        for (const std::string& word : option->results())
          if (word.find_first_not_of(" \t") == std::string::npos)
            fail(ExitCode::usage, "{} \"{}\": is no number; give one or leave it out", option->get_name(), word);
    refuse_empty_numbers(*command);
  }
}

// The options near to one that the command does not have.
std::string nearest_options(const CLI::App& program) {
  const CLI::App* command = &program;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().back();
  const std::vector<std::string> unknown = program.remaining(true);
  std::vector<std::string> names;
  for (const CLI::Option* option : command->get_options())
    if (!option->get_lnames().empty()) names.push_back("--" + option->get_lnames()[0]);
  if (unknown.empty() || !unknown[0].starts_with("--")) return "";
  return nearest_text(nearest(unknown[0].substr(0, unknown[0].find('=')), names));
}

// A file that is opened while one of these is closed would become it: progress and errors would end up in results.
void open_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // Output that nobody can take is an error (flushed), messages that nobody wants are none.
    (void)::open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// The one place that looks whether standard output got everything; the stream remembers earlier failures.
int flushed(int code) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  const std::string reason = errno != 0 ? fmt::format(" ({})", std::strerror(errno)) : "";
  print_error(fmt::format("standard output could not be written{}; is its disk full?", reason));
  return code == static_cast<int>(ExitCode::done) ? static_cast<int>(ExitCode::output_lost) : code;
}

// The variable chooses among programs of several levels; one that was started although it is of another would mix them.
void refuse_other_level() {
  const char* const level = std::getenv("PANDORA_LEVEL");
  if (level == nullptr || *level == '\0') return;
  const std::string flags = build_identity().at("flags"), mark = "-march=x86-64-";
  if ((flags + " ").find(mark + level + " ") != std::string::npos) return;
  fail(ExitCode::usage,
       "PANDORA_LEVEL={}: this program is compiled for one kind of processor, and not for that level; unset it, or "
       "start the program of all levels (packaging/levels)",
       level);
}

int run_command_line(int argc, char** argv) {
  if (argc > 0) the_session.program = argv[0];
  std::error_code pathless;  // a command that names the program must run in other folders, too
  if (const auto path = std::filesystem::absolute(the_session.program, pathless);
      !pathless && the_session.program.find('/') != std::string::npos)
    the_session.program = path.string();
  for (int i = 0; i < argc; ++i) the_session.command_line += (i > 0 ? " " : "") + std::string(argv[i]);

  CLI::App program("pandora: simulates policies for the online contextual Pandora's box; fits and serves LLM cascades",
                   "pandora");
  program.formatter(help_formatter());
  program.set_version_flag("--version", build_text());
  program.require_subcommand(1);
  for (const auto add :
       {add_run, add_merge, add_show, add_compare, add_verdict, add_report, add_tune, add_lanes, add_replay,
        add_explain, add_oracle, add_calibrate, add_policies, add_devices, add_trace, add_cascade})
    add(program, the_session);
  program.footer(  // after the commands, which would have it too
      "`pandora COMMAND --help` says what a command does, with examples.\n\n"
      "Exit codes: 0 done, 1 lanes failed (failures.csv) or a defect of the program,\n"
      "2 usage or configuration, 3 bad data, 4 device or memory, 5 results of another\n"
      "study, build or arithmetic, 6 results could not be written, 130 interrupted.");
  try {
    refuse_other_level();
    refuse_unknown_command(program, argc, argv);
    program.parse(argc, argv);
    refuse_empty_numbers(program);
    for_the_user(the_session.run);
    return static_cast<int>(ExitCode::done);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);  // --help, --version
    const bool unknown = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    return end_with(ExitCode::usage,
                    fmt::format("{}{}; see `pandora --help`", error.what(), unknown ? nearest_options(program) : ""));
  } catch (const Error& error) {
    return end_with(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return fail_for_memory();
  } catch (const std::length_error&) {  // of a container: more than any machine has
    return fail_for_memory();
  } catch (const std::system_error& error) {  // what fmt throws where a stream takes no more
    if (std::ferror(stdout) != 0) return static_cast<int>(ExitCode::done);  // flushed() tells it
    if (error.code() == std::errc::not_enough_memory) return fail_for_memory();
    const std::string remedy = remedy_of_limit(error.code().value());
    return end_with(ExitCode::device, fmt::format("the system refuses what is needed ({}){}", error.what(),
                                                  remedy.empty() ? "" : "; " + remedy));
  } catch (const std::exception& error) {
    return end_with(ExitCode::internal,
                    fmt::format("defect: {}; please report it with the command line", error.what()));
  } catch (...) {
    return end_with(ExitCode::internal,
                    "defect: an exception that says nothing; please report it with the command line");
  }
}

}  // namespace

void print_error(const std::string& message) {
  constexpr std::size_t kMost =
      2000;  // three paths of the length that a system allows would be more; nobody reads them
  std::fputs(("pandora: " + printable(message, kMost) + "\n").c_str(), stderr);
}

void Session::listen() {
  struct sigaction action = {};
  action.sa_handler = [](int) { the_session.interrupted.store(true); };
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // a second signal ends the program at once
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace cli

int run_program(int argc, char** argv) {
  cli::open_standard_streams();
  std::setlocale(LC_NUMERIC, "C");  // CLI11 reads 0.5 by the locale, which a program around this one may have set
  std::signal(SIGXFSZ, SIG_IGN);    // a write beyond the limit on files is then an error like any other
  prepare_for_want_of_memory("pandora: out of memory; use fewer --threads or a smaller --periods or --samples\n");
  try {
    return cli::flushed(cli::run_command_line(argc, argv));
  } catch (...) {  // while an error was put into words
    say_out_of_memory();
    return static_cast<int>(ExitCode::device);
  }
}

}  // namespace pandora
