#include "host/ground/base/want_of_memory.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

namespace pandora {
namespace {

constexpr std::size_t kReserve = std::size_t{4} << 20;  // more than a message, files and threads need to end
std::atomic<void*> reserve{nullptr};

std::atomic<bool> wanted{false};
std::atomic<const char*> line_of_want{""};

// The allocation fails all the same: the caller cannot know that little memory is left.
void give_up_reserve() {
  wanted = true;
  std::free(reserve.exchange(nullptr));
  throw std::bad_alloc();
}

void say(const char* text) {
  for (std::size_t left = std::strlen(text); left > 0;) {
    const ssize_t n = ::write(STDERR_FILENO, text, left);
    if (n <= 0) return;  // nobody listens
    text += n;
    left -= static_cast<std::size_t>(n);
  }
}

[[noreturn]] void last_words() {
  constexpr int kInternal = 1, kMemory = 4;  // ExitCode (host/ground/base/error.hpp)
  std::free(reserve.exchange(nullptr));
  int code = kInternal;
  try {
    if (const std::exception_ptr current = std::current_exception()) std::rethrow_exception(current);
    if (wanted) throw std::bad_alloc();  // after it left a noexcept function, the exception may not be the current one
    say("pandora: defect: the program ended itself; please report it with the command line\n");
  } catch (const std::bad_alloc&) {
    say_out_of_memory();
    code = kMemory;
  } catch (...) {
    say("pandora: defect: an exception that nothing takes; please report it with the command line\n");
  }
  ::_exit(code);
}

}  // namespace

void prepare_for_want_of_memory(const char* line) {
  line_of_want = line;
  std::set_terminate(last_words);
  reserve = std::malloc(kReserve);
  if (void* const memory = reserve) std::memset(memory, 1, kReserve);  // so that the system provides it
  std::set_new_handler(give_up_reserve);
}

bool memory_was_wanted() {
  return wanted;
}

void say_out_of_memory() {
  say(line_of_want);
}

}  // namespace pandora
