#include "host/ground/figures/run_gnuplot.hpp"

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

#include "host/ground/base/split.hpp"
#include "host/ground/files/system_limits.hpp"

extern char** environ;

namespace pandora {
namespace fs = std::filesystem;
namespace {

bool can_run(const fs::path& program) {
  std::error_code error;
  return fs::is_regular_file(program, error) && ::access(program.c_str(), X_OK) == 0;
}

constexpr std::size_t kMostOutput = 64 * 1024;

using Clock = std::chrono::steady_clock;

// A process while it runs. What it writes is kept up to kMostOutput, read and dropped beyond.
class Running {
 public:
  Running(pid_t id, int output) : id_(id), output_(output) { ::fcntl(output, F_SETFL, O_NONBLOCK); }

  /// False if it has not ended by then; it is killed. What it started and left behind is not waited for, though that
  /// may hold the other end of its output.
  bool end_by(Clock::time_point end) {
    bool in_time = true;
    while (!has_ended()) {
      if (Clock::now() >= end) {
        ::kill(id_, SIGKILL);
        while (::waitpid(id_, &status_, 0) < 0 && errno == EINTR) {
        }
        in_time = false;
        break;
      }
      wait_a_little();
    }
    read();
    return in_time;
  }

  int status() const { return status_; }
  const std::string& said() const { return said_; }

 private:
  bool has_ended() {
    pid_t found;
    while ((found = ::waitpid(id_, &status_, WNOHANG)) < 0 && errno == EINTR) {
    }
    return found != 0;
  }

  // The end of its output is the usual sign of its own: a process that goes on after it is looked at by turns.
  void wait_a_little() {
    constexpr int kMilliseconds = 5;
    pollfd waiting{output_, POLLIN, 0};
    if (::poll(&waiting, open_ ? 1 : 0, kMilliseconds) > 0) read();
  }

  void read() {
    char buffer[4096];
    for (int k = 0; k < 1000 && open_; ++k) {  // one that never stops to write must end too
      const ssize_t n = ::read(output_, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      open_ = n > 0;
      if (n > 0)
        said_.append(buffer, std::min(static_cast<std::size_t>(n), kMostOutput - std::min(kMostOutput, said_.size())));
    }
  }

  const pid_t id_;
  const int output_;
  bool open_ = true;
  int status_ = 0;
  std::string said_;
};

std::string refusal(const std::string& what, int reason) {
  const std::string remedy = remedy_of_limit(reason);
  return fmt::format("{} ({}){}", what, std::strerror(reason), remedy.empty() ? "" : "; " + remedy);
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

GnuplotResult run_gnuplot(const std::string& program, const fs::path& folder, const std::string& script,
                          const std::string& formats, double most_seconds) {
  // -d: without the files of settings of the machine and the user, so that equal data give equal figures.
  // A name that begins with - would pass for an option.
  std::vector<std::string> words = {program, "-d", "-e", fmt::format("formats = '{}'", formats), "./" + script};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {false, refusal("no pipe", errno)};
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
    return {false, refusal(program + " cannot be started", failed)};
  }
  Running running(child, ends[0]);
  const bool in_time = running.end_by(
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(most_seconds)));
  ::close(ends[0]);
  const int status = running.status();
  result.message = running.said();
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
