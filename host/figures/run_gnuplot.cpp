#include "host/figures/run_gnuplot.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "host/base/split.hpp"

extern char** environ;

namespace pandora {
namespace fs = std::filesystem;
namespace {

bool can_run(const fs::path& program) {
  std::error_code error;
  return fs::is_regular_file(program, error) && ::access(program.c_str(), X_OK) == 0;
}

constexpr std::size_t kMostOutput = 64 * 1024;

// What the process writes until it closes its end; true if that was in time. More than kMostOutput is read and dropped.
bool read_until(int descriptor, std::chrono::steady_clock::time_point end, std::string& out) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd waiting{descriptor, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::min<long long>(left.count(), 1000)));
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    char buffer[4096];
    const ssize_t n = ::read(descriptor, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    out.append(buffer, std::min(static_cast<std::size_t>(n), kMostOutput - std::min(kMostOutput, out.size())));
  }
}

// What the process gets: its folder, nothing to read, one descriptor for all that it says, signals as by default.
class Settings {
 public:
  Settings(const std::string& folder, int output) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    ::posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
    ::posix_spawnattr_init(&attributes_);
    sigset_t none, defaults;
    ::sigemptyset(&none);
    ::sigemptyset(&defaults);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) ::sigaddset(&defaults, signal);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &defaults);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;
  ~Settings() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace

std::string find_gnuplot() {
  if (const char* named = std::getenv("PANDORA_GNUPLOT")) {
    std::error_code error;
    return can_run(named) ? fs::absolute(named, error).string() : "";
  }
  const char* const path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "" : path, ':')) {
    // Relative folders mean another one in each working directory.
    const fs::path program = fs::path(folder) / "gnuplot";
    if (program.is_absolute() && can_run(program)) return program.string();
  }
  return "";
}

GnuplotResult run_gnuplot(const std::string& program, const fs::path& folder, const std::vector<std::string>& scripts,
                          const std::string& formats, double most_seconds) {
  // -d: without the files of settings of the machine and the user, so that equal data give equal figures.
  std::vector<std::string> words = {program, "-d", "-e", fmt::format("formats = '{}'", formats)};
  // A name that begins with - would pass for an option.
  for (const std::string& script : scripts) words.push_back("./" + script);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {false, fmt::format("no pipe ({})", std::strerror(errno))};
  pid_t child = 0;
  int failed;
  {
    const Settings settings(folder.string(), ends[1]);
    failed =
        ::posix_spawn(&child, program.c_str(), settings.actions(), settings.attributes(), arguments.data(), environ);
  }
  ::close(ends[1]);
  GnuplotResult result;
  if (failed != 0) {
    ::close(ends[0]);
    return {false, fmt::format("{} cannot be started ({})", program, std::strerror(failed))};
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(most_seconds);
  const bool in_time =
      read_until(ends[0], std::chrono::time_point_cast<std::chrono::steady_clock::duration>(end), result.message);
  if (!in_time) ::kill(child, SIGKILL);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  while (!result.message.empty() && std::isspace(static_cast<unsigned char>(result.message.back())))
    result.message.pop_back();
  while (!result.message.empty() && std::isspace(static_cast<unsigned char>(result.message.front())))
    result.message.erase(0, 1);
  result.good = in_time && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (result.good) return result;
  const std::string how = !in_time              ? fmt::format("took longer than {:g} s", most_seconds)
                          : WIFSIGNALED(status) ? fmt::format("was ended by signal {}", WTERMSIG(status))
                                                : fmt::format("ended with code {}", WEXITSTATUS(status));
  result.message += (result.message.empty() ? "gnuplot " : "; gnuplot ") + how;
  return result;
}

}  // namespace pandora
