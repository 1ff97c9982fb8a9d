#include "host/ground/figures/renderer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "host/ground/base/error.hpp"
#include "host/ground/base/split.hpp"
#include "host/ground/figures/child_process.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;

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
  if (const fs::path installed = folder.parent_path() / "share/pandora/rendering/render.py";
      fs::is_regular_file(installed, error))
    return installed;
  for (; folder.has_relative_path(); folder = folder.parent_path())  // a build in the source tree
    if (const fs::path source = folder / "python/src/pandora/rendering/render.py"; fs::is_regular_file(source, error))
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
