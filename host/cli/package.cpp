#include "host/cli/package.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "host/cli/help.hpp"
#include "host/ground/base/fail.hpp"
#include "host/ground/base/lists.hpp"

namespace pandora::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

std::vector<char*> pointers(Words& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// Paths of Python interpreters, the first to be asked first.
Words interpreters() {
  if (const char* named = std::getenv("PANDORA_PYTHON")) return {named};
  Words out;
  std::error_code error;
  const auto take = [&](const fs::path& program) {
    if (program.is_absolute() && ::access(program.c_str(), X_OK) == 0) out.push_back(program.string());
  };
  for (fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    take(folder / "python/venv/bin/python");
    take(folder / "bin/python3");  // an environment that the program is installed in
  }
  const char* const path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "" : path, ':')) take(fs::path(folder) / "python3");
  take("/usr/bin/python3");
  return out;
}

// Whether the interpreter finds the package, without importing it, which takes long.
bool has_package(const std::string& python) {
  Words words = {python, "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('pandora') is None)"};
  pid_t child = 0;
  if (::posix_spawn(&child, python.c_str(), nullptr, nullptr, pointers(words).data(), environ) != 0) return false;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

[[noreturn]] void run_in_package(const std::string& command, Words words) {
  for (const std::string& python : interpreters()) {
    if (!has_package(python)) continue;
    words.insert(words.begin(), {python, "-m", "pandora.offline"});
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) ::signal(signal, SIG_DFL);
    // One thread: BLAS with more makes a fit no faster, and slows it where other work runs.
    for (const char* const threads : {"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"})
      ::setenv(threads, "1", 0);
    ::execv(python.c_str(), pointers(words).data());
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

}  // namespace pandora::cli
