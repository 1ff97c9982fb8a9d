#include "host/ground/figures/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "host/ground/files/system_limits.hpp"

extern char** environ;

namespace pandora {
namespace {

constexpr std::size_t kMostOutput = 64 * 1024;

using Clock = std::chrono::steady_clock;

// A process while it runs. What it writes beyond kMostOutput is read and dropped.
class Running {
 public:
  Running(pid_t id, int output) : id_(id), output_(output) { ::fcntl(output, F_SETFL, O_NONBLOCK); }

  void end_by(Clock::time_point end, ChildResult& result) {
    while (!has_ended()) {
      if (Clock::now() >= end) {
        ::kill(id_, SIGKILL);
        while (::waitpid(id_, &status_, 0) < 0 && errno == EINTR) {
        }
        result.in_time = false;
        break;
      }
      wait_a_little();
    }
    read();
    result.status = status_;
    const char* const blanks = " \t\r\n";
    const std::size_t first = said_.find_first_not_of(blanks);
    if (first != said_.npos) result.said = said_.substr(first, said_.find_last_not_of(blanks) + 1 - first);
  }

 private:
  bool has_ended() {
    pid_t found;
    while ((found = ::waitpid(id_, &status_, WNOHANG)) < 0 && errno == EINTR) {
    }
    return found != 0;
  }

  // The end of its output is the usual sign of its own; a process that goes on after it is looked at by turns.
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
      if (n > 0) said_.append(buffer, std::min(static_cast<std::size_t>(n), kMostOutput - said_.size()));
    }
  }

  const pid_t id_;
  const int output_;
  bool open_ = true;
  int status_ = 0;
  std::string said_;
};

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
    Running(child, ends[0])
        .end_by(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(most_seconds)),
                result);
  ::close(ends[0]);
  return result;
}

}  // namespace pandora
