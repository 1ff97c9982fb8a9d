// Makes faults of the file system, in a program that is started with this library preloaded. It counts the calls that
// concern paths below a folder. Before the chosen call it ends the process, or it makes the call fail.
//
//   FAULTS_FOLDER     the folder
//   FAULTS_AT         the number of the chosen call, from 1; 0: none
//   FAULTS_COUNT      a file, to which each call adds a line
//   FAULTS_RANK       under mpirun: the only rank whose calls are counted
//   FAULTS_PROCESSES  the number of threads and processes that can be started; further ones fail with EAGAIN
//   FAULTS_KIND       kill, stop (until SIGCONT), ENOSPC, EIO or EAGAIN. For calls that write there are three more:
//                     half-kill and half-ENOSPC write half, and then the process ends or the next call fails; short
//                     writes half
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <new>

namespace {

constexpr int kMostDescriptors = 4096;
std::atomic<bool> below[kMostDescriptors];  // whether a descriptor belongs to a file below the folder
std::atomic<bool> full{false};              // the next write fails

// Memory that the program shares with the processes that it forks.
struct Shared {
  std::atomic<long> calls{0};
  pid_t program = ::getpid();
};
Shared& shared() {
  static Shared& once =
      *new (::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared;
  return once;
}

struct Wish {
  char folder[PATH_MAX] = "";
  const char* count = nullptr;
  long at = 0;
  long processes = -1;  // no limit
  bool kill = false, stop = false, half = false, fails = true;
  int error = EIO;
  Wish() {
    if (const char* given = ::getenv("FAULTS_FOLDER")) (void)::strncpy(folder, given, sizeof folder - 1);
    count = ::getenv("FAULTS_COUNT");
    if (const char* given = ::getenv("FAULTS_AT")) at = ::atol(given);
    const char* kind = ::getenv("FAULTS_KIND");
    if (kind == nullptr) kind = "kill";
    half = ::strncmp(kind, "half-", 5) == 0;
    if (half) kind += 5;
    if (::strcmp(kind, "short") == 0) half = true, fails = false;
    kill = ::strcmp(kind, "kill") == 0;
    stop = ::strcmp(kind, "stop") == 0;
    if (const char* given = ::getenv("FAULTS_PROCESSES")) processes = ::atol(given);
    if (::strcmp(kind, "ENOSPC") == 0) error = ENOSPC;
    if (::strcmp(kind, "EAGAIN") == 0) error = EAGAIN;
    if (const char* wanted = ::getenv("FAULTS_RANK")) {
      const char* rank = ::getenv("OMPI_COMM_WORLD_RANK");
      if (rank == nullptr || ::strcmp(rank, wanted) != 0) folder[0] = '\0';
    }
  }
};

const Wish& wish() {
  static const Wish once;
  return once;
}

bool concerns(const char* path) {
  const char* folder = wish().folder;
  if (path == nullptr || folder[0] == '\0') return false;
  char whole[2 * PATH_MAX];
  if (path[0] == '/') {
    whole[0] = '\0';
  } else {
    if (::getcwd(whole, PATH_MAX) == nullptr) return false;
    ::strcat(whole, "/");
  }
  ::strncat(whole, path, PATH_MAX - 1);
  const size_t length = ::strlen(folder);
  return ::strncmp(whole, folder, length) == 0 && (whole[length] == '/' || whole[length] == '\0');
}

bool concerns(int descriptor) {
  return descriptor >= 0 && descriptor < kMostDescriptors && below[descriptor];
}

[[noreturn]] void end() {
  ::kill(shared().program, SIGKILL);
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

// Counts a call. Returns true if this call shall fail. `half`: the call may also be done by half.
bool strikes(const char* name, bool half = false) {
  const long n = ++shared().calls;
  if (wish().count != nullptr) {  // by system calls, because this library would count the others
    const int file = static_cast<int>(
        ::syscall(SYS_openat, AT_FDCWD, wish().count, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    char line[64] = "";
    ::strncat(line, name, 60);
    ::strcat(line, "\n");
    (void)!::syscall(SYS_write, file, line, ::strlen(line));
    ::syscall(SYS_close, file);
  }
  if (n != wish().at) return false;
  if (wish().half && half) return true;
  if (wish().kill) end();
  if (wish().stop) {
    ::kill(shared().program, SIGSTOP);
    return false;
  }
  errno = wish().error;
  return true;
}

// Counts a thread or process before it starts. Returns true if it shall not start.
bool too_many() {
  static std::atomic<long> started{0};
  return wish().processes >= 0 && started++ >= wish().processes;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

int opened(int descriptor, bool is) {
  if (descriptor >= 0 && descriptor < kMostDescriptors) below[descriptor] = is;
  return descriptor;
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

// Versions of glibc declare these functions differently: nonnull, noexcept, aliases.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wnonnull-compare"
#endif
#pragma GCC diagnostic ignored "-Wshadow"
extern "C" {

#define PANDORA_OPEN(name)                                                         \
  int name(const char* path, int flags, ...) {                                     \
    va_list arguments;                                                             \
    va_start(arguments, flags);                                                    \
    const mode_t mode = mode_of(flags, arguments);                                 \
    va_end(arguments);                                                             \
    const bool is = concerns(path);                                                \
    if (is && strikes("open")) return -1;                                          \
    return opened(next<int(const char*, int, ...)>(#name)(path, flags, mode), is); \
  }
PANDORA_OPEN(open)
PANDORA_OPEN(open64)

#define PANDORA_OPENAT(name)                                                                \
  int name(int at, const char* path, int flags, ...) {                                      \
    va_list arguments;                                                                      \
    va_start(arguments, flags);                                                             \
    const mode_t mode = mode_of(flags, arguments);                                          \
    va_end(arguments);                                                                      \
    const bool is = at == AT_FDCWD || path[0] == '/' ? concerns(path) : concerns(at);       \
    if (is && strikes("openat")) return -1;                                                 \
    return opened(next<int(int, const char*, int, ...)>(#name)(at, path, flags, mode), is); \
  }
PANDORA_OPENAT(openat)
PANDORA_OPENAT(openat64)

ssize_t write(int descriptor, const void* bytes, size_t size) {
  const auto real = next<ssize_t(int, const void*, size_t)>("write");
  if (concerns(descriptor) && full.exchange(false)) {
    errno = wish().error;
    return -1;
  }
  if (concerns(descriptor) && strikes("write", true)) {
    if (!wish().half) return -1;
    const ssize_t n = real(descriptor, bytes, size / 2);
    if (wish().kill) end();
    full = wish().fails;
    return n;
  }
  return real(descriptor, bytes, size);
}

ssize_t read(int descriptor, void* bytes, size_t size) {
  if (concerns(descriptor) && strikes("read")) return -1;
  return next<ssize_t(int, void*, size_t)>("read")(descriptor, bytes, size);
}

int fsync(int descriptor) {
  if (concerns(descriptor) && strikes("fsync")) return -1;
  return next<int(int)>("fsync")(descriptor);
}

int flock(int descriptor, int operation) noexcept {
  if (concerns(descriptor) && strikes("flock")) return -1;
  return next<int(int, int)>("flock")(descriptor, operation);
}

int close(int descriptor) {
  const bool is = concerns(descriptor);
  const bool failed = is && strikes("close");
  const int error = errno;
  if (is) below[descriptor] = false;
  const int result = next<int(int)>("close")(descriptor);
  if (failed) errno = error;
  return failed ? -1 : result;
}

int rename(const char* from, const char* to) noexcept {
  if ((concerns(from) || concerns(to)) && strikes("rename")) return -1;
  return next<int(const char*, const char*)>("rename")(from, to);
}

#define PANDORA_OF_PATH(name)                        \
  int name(const char* path) noexcept {              \
    if (concerns(path) && strikes(#name)) return -1; \
    return next<int(const char*)>(#name)(path);      \
  }
PANDORA_OF_PATH(unlink)
PANDORA_OF_PATH(remove)
PANDORA_OF_PATH(rmdir)

int mkdir(const char* path, mode_t mode) noexcept {
  if (concerns(path) && strikes("mkdir")) return -1;
  return next<int(const char*, mode_t)>("mkdir")(path, mode);
}

pid_t fork() {
  if (!too_many()) return next<pid_t()>("fork")();
  errno = EAGAIN;
  return -1;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) noexcept {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  return too_many() ? EAGAIN : next<Create>("pthread_create")(thread, attributes, body, argument);
}

int posix_spawn(pid_t* id, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const arguments[], char* const variables[]) {
  using Spawn = int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const[],
                    char* const[]);
  return too_many() ? EAGAIN : next<Spawn>("posix_spawn")(id, path, actions, attributes, arguments, variables);
}

DIR* opendir(const char* path) {
  if (concerns(path) && strikes("opendir")) return nullptr;
  return next<DIR*(const char*)>("opendir")(path);
}

}  // extern "C"
