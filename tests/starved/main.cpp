// The program with failing allocations. The PANDORA_FAIL_AT-th allocation after the start fails. With PANDORA_FAIL_FOR
// so many in a row fail. It does not matter who allocates: operator new, HDF5 or the C library. PANDORA_COUNT_TO names
// a file that gets the number of allocations.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "kernels/base/sanitisers.hpp"
#include "pandora/program.hpp"

#if defined(PANDORA_SANITISED) || !defined(__GLIBC__)
int main() {
  return 77;  // sanitisers and other C libraries have their own allocators
}
#else
#include <atomic>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

std::atomic<std::uint64_t> asked{0};
std::uint64_t fail_at = 0, fail_for = 1;  // fail_at = 0: none
bool counting = false;

bool refused() {
  if (!counting) return false;
  const std::uint64_t n = ++asked;
  if (fail_at == 0 || n < fail_at || n >= fail_at + fail_for) return false;
  errno = ENOMEM;
  return true;
}

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace

extern "C" {
void* malloc(std::size_t size) {
  return refused() ? nullptr : __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  return refused() ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  return refused() ? nullptr : __libc_realloc(old, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  return refused() ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return refused() ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** to, std::size_t alignment, std::size_t size) {
  void* const memory = refused() ? nullptr : __libc_memalign(alignment, size);
  if (memory == nullptr) return ENOMEM;
  *to = memory;
  return 0;
}
}

int main(int argc, char** argv) {
  fail_at = number("PANDORA_FAIL_AT", 0);
  fail_for = number("PANDORA_FAIL_FOR", 1);
  counting = true;
  const int code = pandora::run_program(argc, argv);
  counting = false;
  if (const char* file = std::getenv("PANDORA_COUNT_TO"))
    if (std::FILE* to = std::fopen(file, "w")) {
      std::fprintf(to, "%llu\n", static_cast<unsigned long long>(asked.load()));
      std::fclose(to);
    }
  counting = true;  // for the destructors that run after main
  return code;
}
#endif
