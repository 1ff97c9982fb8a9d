#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "host/ground/base/error.hpp"
#include "host/ground/base/printable.hpp"
#include "host/ground/figures/document.hpp"
#include "host/ground/files/system_limits.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostOutput = 64 * 1024;

// Calls again while a signal interrupts.
template <class Call>
auto uninterrupted(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// What is there to read of a process's output, whose end sets `open`. What is beyond kMostOutput is dropped.
void read_output(int output, std::string& said, bool& open) {
  char buffer[4096];
  for (int k = 0; k < 1000 && open; ++k) {  // one that never stops to write must end too
    const ssize_t n = uninterrupted([&] { return ::read(output, buffer, sizeof buffer); });
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    open = n > 0;
    if (n > 0) said.append(buffer, std::min(static_cast<std::size_t>(n), kMostOutput - said.size()));
  }
}

void wait_for(pid_t child, int output, double most_seconds, ChildResult& result) {
  using Clock = std::chrono::steady_clock;
  constexpr int kMilliseconds = 5;
  const auto end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(most_seconds));
  ::fcntl(output, F_SETFL, O_NONBLOCK);
  std::string said;
  bool open = true;
  while (uninterrupted([&] { return ::waitpid(child, &result.status, WNOHANG); }) == 0) {
    if (Clock::now() >= end) {
      ::kill(child, SIGKILL);
      uninterrupted([&] { return ::waitpid(child, &result.status, 0); });
      result.in_time = false;
      break;
    }
    // The end of its output is the usual sign of its own; a process that goes on after it is looked at by turns.
    pollfd waiting{output, POLLIN, 0};
    if (::poll(&waiting, open ? 1 : 0, kMilliseconds) > 0) read_output(output, said, open);
  }
  read_output(output, said, open);
  const char* const blanks = " \t\r\n";
  const std::size_t first = said.find_first_not_of(blanks);
  if (first != said.npos) result.said = said.substr(first, said.find_last_not_of(blanks) + 1 - first);
}

// Nothing to read, one descriptor for all that it says, signals as by default.
int spawn(std::vector<std::string>& words, int output, pid_t& child) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  ::posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  ::sigemptyset(&none);
  ::sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) ::sigaddset(&defaults, signal);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int failed = ::posix_spawn(&child, words[0].c_str(), &actions, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  return failed;
}

std::string refusal(const std::string& what, int reason) {
  const std::string remedy = remedy_of_limit(reason);
  return fmt::format("{} ({}){}", what, std::strerror(reason), remedy.empty() ? "" : "; " + remedy);
}

constexpr int kNoModules = 3;  // what the script ends with where matplotlib or jinja2 is missing

bool can_run(const fs::path& program) {
  std::error_code error;
  return fs::is_regular_file(program, error) && ::access(program.c_str(), X_OK) == 0;
}

std::vector<std::string> interpreters() {
  std::vector<std::string> out;
  const auto take = [&out](const fs::path& program) {
    // Relative folders of PATH mean another one in each working directory.
    if (program.is_absolute() && can_run(program) && std::find(out.begin(), out.end(), program) == out.end())
      out.push_back(program.string());
  };
  std::error_code error;
  if (const char* named = std::getenv("PANDORA_PYTHON")) {
    take(fs::absolute(named, error));
    return out;
  }
  const char* const path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "" : path, ':'))
    if (out.empty()) take(fs::path(folder) / "python3");
  take("/usr/bin/python3");
  return out;
}

// Empty where it is nowhere.
fs::path script() {
  std::error_code error;
  if (const char* named = std::getenv("PANDORA_RENDERER")) {
    const fs::path file = fs::absolute(named, error);
    return fs::is_regular_file(file, error) ? file : fs::path();
  }
  const fs::path own = fs::read_symlink("/proc/self/exe", error);
  fs::path folder = own.parent_path();
  if (fs::path installed = folder.parent_path() / "share/pandora/rendering/render.py";
      fs::is_regular_file(installed, error))
    return installed;
  for (; folder.has_relative_path(); folder = folder.parent_path())  // a build in the source tree
    if (fs::path source = folder / "python/src/pandora/rendering/render.py"; fs::is_regular_file(source, error))
      return source;
  return {};
}

std::string quoted(const std::string& word) {
  if (word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,") == word.npos)
    return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

// Why it did not end well.
std::string how_it_ended(const ChildResult& result, double most_seconds) {
  const std::string how = !result.in_time              ? fmt::format("took longer than {:g} s", most_seconds)
                          : WIFSIGNALED(result.status) ? fmt::format("was ended by signal {}", WTERMSIG(result.status))
                                                       : fmt::format("ended with code {}", WEXITSTATUS(result.status));
  return result.said.empty() ? "the renderer " + how : fmt::format("{}; the renderer {}", result.said, how);
}

}  // namespace

ChildResult run_child(std::vector<std::string> words, double most_seconds) {
  ChildResult result;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    result.problem = refusal("no pipe", errno);
    return result;
  }
  pid_t child = 0;
  const int failed = spawn(words, ends[1], child);
  ::close(ends[1]);
  if (failed != 0)
    result.problem = refusal(words[0] + " cannot be started", failed);
  else
    wait_for(child, ends[0], most_seconds, result);
  ::close(ends[0]);
  return result;
}

std::vector<std::string> parse_figure_formats(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (name != "svg" && name != "pdf" && name != "png")
      throw Error(ExitCode::usage,
                  fmt::format("--figures {}: unknown; use svg, pdf or png, or several as svg,pdf", name));
  return names;
}

RenderResult render_document(const fs::path& folder, const RenderOptions& options) {
  const fs::path file = script();
  std::error_code error;
  const fs::path absolute = fs::absolute(folder, error);
  const std::string command =
      fmt::format("python3 {} {} --format {}", quoted(file.empty() ? "render.py" : file.string()),
                  quoted(absolute.string()), fmt::join(options.formats, ","));
  const auto not_rendered = [&](const std::string& why) {
    return RenderResult{false, fmt::format("{}: not all was rendered: {}; report.json and the CSV files are there; "
                                           "then run `{}`",
                                           folder.string(), why, command)};
  };
  if (file.empty())
    return not_rendered(
        "render.py is not beside the program (PANDORA_RENDERER names its file; it is in "
        "share/pandora/rendering of an installation)");
  std::string why;
  for (const std::string& python : interpreters()) {
    const ChildResult result = run_child(
        {python, "-X", "utf8", "-B", file.string(), absolute.string(), "--format",
         fmt::format("{}", fmt::join(options.formats, ",")), "--processes", fmt::format("{}", options.processes)},
        options.most_seconds);
    if (!result.problem.empty()) {
      why = result.problem;
      continue;
    }
    if (result.in_time && WIFEXITED(result.status) && WEXITSTATUS(result.status) == 0) return {true, ""};
    if (!result.in_time || !WIFEXITED(result.status) || WEXITSTATUS(result.status) != kNoModules)
      return not_rendered(how_it_ended(result, options.most_seconds));
    why = result.said;
  }
  if (!why.empty()) return not_rendered(why);
  const char* const named = std::getenv("PANDORA_PYTHON");
  return not_rendered(
      named != nullptr
          ? fmt::format("PANDORA_PYTHON={} is no program that can be run (unset it, or name the file of a Python)",
                        named)
          : "python3 is not installed (Debian: python3-matplotlib python3-jinja2)");
}

}  // namespace pandora
