#include "host/ground/files/apart.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <new>
#include <vector>

#include "host/ground/base/error.hpp"
#include "host/ground/files/system_limits.hpp"

namespace pandora {
namespace {

// The first byte of what comes back: ExitCode::done before what body returned, another before the message of its Error.
std::string answer(const std::function<std::string()>& body) {
  try {
    return static_cast<char>(ExitCode::done) + body();
  } catch (const Error& error) {
    return static_cast<char>(error.code()) + std::string(error.what());
  }
}

[[noreturn]] void serve(const std::function<std::string()>& body, int to) {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  // A parent that is killed takes the child along, and its locks go with it: a lock lasts as long as any descriptor.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::close_range(STDERR_FILENO + 1, static_cast<unsigned>(to) - 1, 0);
  ::close_range(static_cast<unsigned>(to) + 1, ~0U, 0);
  if (const int silent = ::open("/dev/null", O_WRONLY); silent >= 0) {
    ::dup2(silent, STDERR_FILENO);
    ::close(silent);
  }
  try {
    const std::string bytes = answer(body);
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t n = ::write(to, bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) ::_exit(1);
      done += static_cast<std::size_t>(n);
    }
    ::_exit(0);  // nothing of the program's own is flushed or closed twice
  } catch (...) {
    ::_exit(1);
  }
}

[[noreturn]] void refuse(int reason) {
  require_resources(reason, "a process of its own for what is made now cannot be started");
  throw std::bad_alloc();
}

// Ends with its process, also where this one runs out of memory meanwhile.
struct Child {
  pid_t id;
  int from;
  bool ended = false;

  bool end() {
    ::close(from);
    int status = 0;
    while (::waitpid(id, &status, 0) < 0 && errno == EINTR) {
    }
    ended = true;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  ~Child() {
    if (!ended) end();
  }
};

}  // namespace

std::optional<std::string> run_apart(const std::function<std::string()>& body) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) refuse(errno);
  std::fflush(nullptr);
  const pid_t id = ::fork();
  if (id == 0) {
    ::close(ends[0]);
    serve(body, ends[1]);
  }
  const int reason = errno;
  ::close(ends[1]);
  if (id < 0) {
    ::close(ends[0]);
    refuse(reason);
  }
  Child child{id, ends[0]};
  std::string bytes;
  std::vector<char> piece(std::size_t{1} << 16);
  for (;;) {
    const ssize_t n = ::read(child.from, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    bytes.append(piece.data(), static_cast<std::size_t>(n));
  }
  if (!child.end() || bytes.empty()) return {};
  const auto code = static_cast<ExitCode>(static_cast<unsigned char>(bytes[0]));
  bytes.erase(0, 1);
  if (code != ExitCode::done) throw Error(code, bytes);
  return bytes;
}

}  // namespace pandora
