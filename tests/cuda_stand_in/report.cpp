// Settings, random numbers, and reports of defects.
#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>

#include "stand_in.hpp"

namespace stand_in {

std::atomic<std::size_t> refused{0}, most{0};

namespace {

std::string text(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != 0 ? value : otherwise;
}

int number(const char* name, int otherwise) {
  return std::stoi(text(name, std::to_string(otherwise).c_str()));
}

std::mutex report_mutex;
std::set<std::string> reported;

// The address at which the program lies in memory. Addresses minus this one are those in its file.
std::uintptr_t load_address() {
  static const std::uintptr_t address = [] {
    unsigned long first = 0;
    if (FILE* const maps = std::fopen("/proc/self/maps", "r")) {
      if (std::fscanf(maps, "%lx-", &first) != 1) first = 0;
      std::fclose(maps);
    }
    return static_cast<std::uintptr_t>(first);
  }();
  return address;
}

void at_end() {
  if (std::getenv("STAND_IN_TALK") != nullptr)
    std::fprintf(stderr, "stand-in: %zu allocations refused, at most %zu MiB in use\n", refused.load(), most >> 20);
  for (Device* const device : devices())
    if (!device->live.empty()) {
      std::size_t bytes = 0;
      for (const auto& [p, n] : device->live) bytes += n;
      report("leak: " + std::to_string(device->live.size()) + " allocations with " + std::to_string(bytes) +
             " bytes on device " + std::to_string(device->id) + " are never freed");
    }
  if (reported.empty()) return;
  std::fprintf(stderr, "stand-in: %zu defects\n", reported.size());
  std::fflush(nullptr);
  _exit(kDefects);
}

// Reports that a host thread, a kernel or a copy has touched forbidden memory.
[[maybe_unused]] void on_fault(int, siginfo_t* info, void*) {
  const Device* const device = device_of(info->si_addr);
  const std::string kernel = place_in_kernel();
  char line[400];
  std::snprintf(line, sizeof line, "stand-in: DEFECT: fault: %s touches address %p, %s\n",
                !kernel.empty()      ? kernel.c_str()
                : running != nullptr ? "work of a stream"
                                     : "the host",
                info->si_addr,
                device == nullptr ? "which is no device's memory" : "memory of a device that it has no right to");
  [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, line, std::strlen(line));
  void* calls[40];
  backtrace_symbols_fd(calls, backtrace(calls, 40), STDERR_FILENO);
  _exit(kDefects);
}

// Programs with a sanitiser keep its handlers, whose reports are better.
[[maybe_unused]] const bool installed = [] {
  std::atexit(at_end);
#if !defined(STAND_IN_SANITIZED)
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
#endif
  return true;
}();

}  // namespace

const Settings& settings() {
  static const Settings all = [] {
    Settings s;
    s.devices = number("STAND_IN_DEVICES", s.devices);
    s.multiprocessors = number("STAND_IN_MULTIPROCESSORS", s.multiprocessors);
    s.memory = static_cast<std::size_t>(number("STAND_IN_MEMORY_MIB", 2048)) << 20;
    s.block = number("STAND_IN_BLOCK", s.block);
    const std::string order = text("STAND_IN_ORDER", "late");
    s.order = order == "eager" ? Settings::eager : order == "random" ? Settings::random : Settings::late;
    s.seed = static_cast<std::uint64_t>(number("STAND_IN_SEED", 1));
    s.preempt = number("STAND_IN_PREEMPT", 0);
    s.keys = number("STAND_IN_KEYS", 1) != 0;
    s.first = number("STAND_IN_FIRST", 0) != 0;
    s.fail = text("STAND_IN_FAIL", "");
    s.exclusive = text("STAND_IN_EXCLUSIVE", "");
    s.resources = text("STAND_IN_RESOURCES", STAND_IN_RESOURCES);
    return s;
  }();
  return all;
}

std::uint64_t random_bits() {
  static std::atomic<std::uint64_t> threads{0};
  thread_local std::mt19937_64 generator(settings().seed * 1000003 + threads++);
  return generator();
}

std::string source_of(const void* pc) {
  static std::mutex mutex;
  static std::map<const void*, std::string> known;
  const std::lock_guard guard(mutex);
  if (const auto found = known.find(pc); found != known.end()) return found->second;
  char command[200], line[1000];
  // The address minus one lies in the call itself, and not in the instruction after it.
  std::snprintf(command, sizeof command, "addr2line -Cfpie /proc/%d/exe 0x%lx 2>/dev/null", getpid(),
                static_cast<unsigned long>(reinterpret_cast<std::uintptr_t>(pc) - 1 - load_address()));
  std::string out;
  if (FILE* const pipe = popen(command, "r")) {
    while (std::fgets(line, sizeof line, pipe) != nullptr) out += std::string("    ") + line;
    pclose(pipe);
  }
  return known[pc] = out;
}

void report(const std::string& what, const void* pc) {
  const std::string kernel = place_in_kernel();
  const std::lock_guard guard(report_mutex);
  char place[32];
  std::snprintf(place, sizeof place, "%p", pc);
  if (!reported.insert(pc != nullptr ? what.substr(0, what.find(':')) + place : what).second || reported.size() > 40)
    return;
  std::fprintf(stderr, "stand-in: DEFECT: %s%s\n%s", what.c_str(), kernel.empty() ? "" : (" [" + kernel + "]").c_str(),
               pc != nullptr ? source_of(pc).c_str() : "");
  if (settings().first) {
    std::fflush(nullptr);
    _exit(kDefects);
  }
}

bool fails(const char* kind) {
  const std::string& fail = settings().fail;  // KIND:N or KIND:N+
  const std::size_t colon = fail.find(':');
  if (fail.compare(0, colon, kind) != 0 || colon == std::string::npos) return false;
  static std::atomic<long> calls{0};
  const long call = ++calls, wanted = std::stol(fail.substr(colon + 1));
  return call == wanted || (fail.back() == '+' && call > wanted);
}

}  // namespace stand_in
