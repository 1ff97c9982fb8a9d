#include "host/report/renderer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "host/ground/base/fail.hpp"
#include "host/ground/base/lists.hpp"
#include "host/ground/base/printable.hpp"
#include "host/ground/base/quotas.hpp"
#include "host/ground/files/input_file.hpp"
#include "host/ground/files/system_limits.hpp"
#include "host/studies/results/result_folder.hpp"
#include "host/studies/results/result_rows.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Words = std::vector<std::string>;

constexpr int kNoModules = 3, kNotWritten = 6;  // exit codes of the script

bool is_own(const fs::path& name, const std::vector<fs::path>& extensions) {
  const fs::path target = target_of_temporary(name.string()).value_or(name.string());
  return target.empty() || has(extensions, target.extension());
}

bool is_figure(const fs::path& name) {
  return is_own(name, {".csv", ".svg", ".pdf", ".png"});
}

// Whether the folder holds only an unfinished report, for instance of a process that was killed.
bool holds_unfinished(const fs::path& out) {
  const auto all = [](const fs::path& folder, auto&& belongs) {
    return std::ranges::all_of(entries_of(folder), [&](const fs::path& path) { return belongs(path.filename()); });
  };
  try {
    return all(out,
               [](const fs::path& name) {
                 return name == "figures" || name == "tables" || name == "report.tex" ||
                        (target_of_temporary(name.string()) && is_own(name, {".tex", ".html", ".json"}));
               }) &&
           all(out / "figures", is_figure) &&
           all(out / "tables", [](const fs::path& name) { return is_own(name, {".csv"}); });
  } catch (const Unreadable&) {
    return false;  // then it is not replaced
  }
}

// A file in memory as the child's input, so that nobody waits for the other end.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& text = "") : descriptor(::memfd_create("pandora", MFD_CLOEXEC)) {
    require_resources(descriptor < 0 ? errno : 0, "a program in Python");
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t n = ::write(descriptor, text.data() + at, text.size() - at);
      if (n <= 0) break;  // a truncated input is invalid JSON, which the script refuses
      at += static_cast<std::size_t>(n);
    }
    ::lseek(descriptor, 0, SEEK_SET);
  }
  ~MemoryFile() { ::close(descriptor); }
  MemoryFile(const MemoryFile&) = delete;

  // Also where no /proc is mounted.
  std::string text() const {
    std::string out;
    char buffer[4096];
    for (ssize_t n = 1; (n = ::pread(descriptor, buffer, sizeof buffer, static_cast<off_t>(out.size()))) > 0;)
      out.append(buffer, static_cast<std::size_t>(n));
    return out;
  }

  const int descriptor;
};

// The script that PANDORA_RENDERER names, otherwise the one beside the program: installed, or in its source tree. Empty
// if there is none.
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
  for (; folder.has_relative_path(); folder = folder.parent_path())  // for a build in the source tree
    if (fs::path source = folder / "python/src/pandora/rendering/render.py"; fs::is_regular_file(source, error))
      return source;
  return {};
}

// Runs the script with these words; `problem` says why it failed.
Ended run_script(const Words& words, const std::string& input) {
  Ended ended;
  const fs::path file = script();
  if (file.empty()) {
    ended.problem =
        "render.py is not beside the program (PANDORA_RENDERER names its file; it is in share/pandora/rendering of an "
        "installation)";
    return ended;
  }
  const char* const named = std::getenv("PANDORA_PYTHON");
  ended.problem =
      named != nullptr
          ? fmt::format("PANDORA_PYTHON={} is no program that can be run (unset it, or name the file of a Python)",
                        named)
          : "python3 is not installed (Debian: python3-matplotlib python3-jinja2)";
  for (const std::string& python : interpreters()) {
    Words all = {python, "-X", "utf8", "-B", file.string()};
    all.insert(all.end(), words.begin(), words.end());
    ended = run_child(std::move(all), input);
    if (!ended.problem.empty()) continue;
    const int code = WIFEXITED(ended.status) ? WEXITSTATUS(ended.status) : -1;
    if (code == 0) return ended;
    const std::string how = code < 0 ? fmt::format("was ended by signal {}", WTERMSIG(ended.status))
                                     : fmt::format("ended with code {}", code);
    ended.problem = code == kNoModules
                        ? ended.err
                        : fmt::format("{}{}the renderer {}", ended.err, ended.err.empty() ? "" : "; ", how);
    if (code == kNotWritten) throw Error(ExitCode::output_lost, ended.err);
    if (code != kNoModules) return ended;
  }
  return ended;
}

}  // namespace

Ended run_child(Words words, const std::string& input) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const MemoryFile in(input), out, err;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  for (const auto& [file, as] :
       {std::pair{&in, STDIN_FILENO}, std::pair{&out, STDOUT_FILENO}, std::pair{&err, STDERR_FILENO}})
    ::posix_spawn_file_actions_adddup2(&actions, file->descriptor, as);
  sigset_t none, defaults;
  ::sigemptyset(&none);
  ::sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) ::sigaddset(&defaults, signal);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, words[0].c_str(), &actions, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  Ended ended;
  if (failed != 0) {
    const std::string remedy = remedy_of_limit(failed);
    ended.problem = fmt::format("{} cannot be started ({}){}", words[0], std::strerror(failed),
                                remedy.empty() ? "" : "; " + remedy);
    return ended;
  }
  while (::waitpid(child, &ended.status, 0) < 0 && errno == EINTR) {
  }
  ended.out = out.text();
  ended.err = err.text();
  ended.err.erase(ended.err.find_last_not_of(" \t\r\n") + 1);
  return ended;
}

Words interpreters(const std::vector<fs::path>& first) {
  Words out;
  std::error_code error;
  const auto take = [&](const fs::path& program) {
    // Relative folders of PATH are skipped, because they depend on the working directory.
    if (program.is_absolute() && fs::is_regular_file(program, error) && ::access(program.c_str(), X_OK) == 0)
      add_new(out, program.string());
  };
  if (const char* named = std::getenv("PANDORA_PYTHON")) {
    take(fs::absolute(named, error));
    return out;
  }
  std::ranges::for_each(first, take);
  const char* const path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "" : path, ':')) take(fs::path(folder) / "python3");
  take("/usr/bin/python3");
  return out;
}

FolderLock claim_report(const fs::path& out) {
  std::error_code error;
  if (fs::exists(out, error) && !(fs::is_directory(out, error) && (holds_report(out) || holds_unfinished(out))))
    fail(ExitCode::usage, "{}: is not empty and holds no report; name another folder", option("out", out.string()));
  fs::create_directories(out, error);
  require_resources(error.value(), option("out", out.string()));
  if (error)
    fail(ExitCode::usage, "{}: cannot be created ({}); name a writable folder", option("out", out.string()),
         error.message());
  std::optional<FolderLock> lock = FolderLock::take(out);
  if (!lock)
    fail(ExitCode::usage, "{}: another process is making a report there; wait for it, or name another folder",
         option("out", out.string()));
  for (const fs::path& folder : {out, out / "figures", out / "tables"})
    remove_leftovers(folder, Others::may_write, [](const std::string& target) {
      return is_own(target, {".html", ".tex", ".json"}) || is_figure(target);
    });
  return std::move(*lock);
}

RenderResult render(const fs::path& folder, const json& numbers, const RenderOptions& options) {
  std::error_code ignored;
  for (const char* name : {"report.html", "report.tex", "report.json"}) fs::remove(folder / name, ignored);
  // The order of the keys puts the generator among the first words of the file.
  nlohmann::ordered_json ordered = {{"generator", "pandora numbers 1"}, {"of", "study"}};
  for (const auto& [key, value] : numbers.items()) ordered[key] = value;
  write_file(folder / "numbers.json", ordered.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
  Words words = {"--format", fmt::format("{}", fmt::join(options.formats, ","))};
  if (options.T0) words.insert(words.end(), {"--t0", fmt::format("{}", *options.T0)});
  std::string command = fmt::format("python3 {}", shell_word(script().empty() ? "render.py" : script().string()));
  for (const std::string& word : words) command += " " + shell_word(word);
  words.insert(words.end(), {"--processes", fmt::format("{}", usable_cores()), "--", folder.string()});
  const Ended ended = run_script(words, "");
  if (ended.problem.empty()) return {ended.out, ""};
  return {ended.out,
          fmt::format("{}: not all was rendered: {}; its numbers are in numbers.json; then run `{} {}`",
                      folder.string(), ended.problem, command, shell_word(fs::absolute(folder, ignored).string()))};
}

std::string latex_of(const json& tables) {
  const Ended ended = run_script({"--latex"}, tables.dump(-1, ' ', false, json::error_handler_t::replace));
  if (!ended.problem.empty())
    fail(ExitCode::usage, "{}: {}; text, markdown and csv need no Python", option("format", "latex"), ended.problem);
  return ended.out;
}

}  // namespace pandora
