// Commands that run in the Python package: what people do with outcomes. The program finds a Python that has it, and
// becomes that process.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "host/cli/commands.hpp"
#include "host/ground/base/fail.hpp"

namespace pandora::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// Paths of Python interpreters, the first to be asked first.
Words candidates() {
  std::vector<fs::path> beside;
  std::error_code error;
  for (fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path(); folder.has_relative_path();
       folder = folder.parent_path())  // in an environment that the program is installed in, it is bin/python3
    beside.insert(beside.end(), {folder / "python/venv/bin/python", folder / "bin/python3"});
  return interpreters(beside);
}

// Whether the interpreter finds the package, without importing it, which takes long.
bool has_package(const std::string& python) {
  const Ended asked =
      run_child({python, "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('pandora') is None)"});
  return asked.problem.empty() && asked.status == 0;
}

[[noreturn]] void run_in_package(const std::string& command, Words words) {
  for (const std::string& python : candidates()) {
    if (!has_package(python)) continue;
    words.insert(words.begin(), {python, "-m", "pandora.offline"});
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) ::signal(signal, SIG_DFL);
    // One thread: BLAS with more makes a fit no faster, and slows it where other work runs.
    for (const char* const threads : {"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"})
      ::setenv(threads, "1", 0);
    ::execv(python.c_str(), arguments.data());
  }
  const char* const named = std::getenv("PANDORA_PYTHON");
  fail(
      ExitCode::usage,
      "`pandora {}` runs in pandora's Python package, which {}; run `make package` in the source folder, or install it "
      "with pip (docs/install.md)",
      command, named != nullptr ? fmt::format("PANDORA_PYTHON={} does not have", named) : "no python3 here has");
}

}  // namespace

void add_package_command(CLI::App& group, const std::string& name, Session& session) {
  CLI::App* command = add_command(group, name);
  command->set_help_flag();
  command->prefix_command();
  // A command that is not inside a group has one word.
  const Words words = group.get_parent() == nullptr ? Words{name} : Words{group.get_name(), name};
  session.on_call(command, [command, words] {
    Words all = words;
    for (const std::string& word : command->remaining()) all.push_back(word);
    run_in_package(fmt::format("{}", fmt::join(words, " ")), std::move(all));
  });
}

void add_cascade(CLI::App& program, Session& session) {
  CLI::App* cascade = add_command(program, "cascade");
  cascade->require_subcommand(1);
  for (const char* name : {"fit", "test", "frontier", "show", "new"}) add_package_command(*cascade, name, session);
}

}  // namespace pandora::cli
