// test_allocations.py preloads this library. In it the n-th allocation by the extension module of at least 1 KiB fails,
// whether by `operator new` or, as in Eigen, by malloc. Small allocations do not fail, because nanobind and
// nlohmann::json end the process if they lack a few hundred bytes for an argument or in a destructor. Python's own
// allocations do not fail either.
#include <dlfcn.h>
#include <link.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>

extern "C" void* __libc_malloc(std::size_t);
extern "C" void __libc_free(void*);

namespace {

long left = 0;  // the number of allocations until one fails; 0: none fails
std::uintptr_t module_begin = 0, module_end = 0;

bool fails(std::size_t size) {
  return left > 0 && size >= 1024 && --left == 0;
}

void* take(std::size_t size) {
  void* const place = fails(size) ? nullptr : __libc_malloc(size > 0 ? size : 1);
  if (place == nullptr) throw std::bad_alloc();
  return place;
}

int find_module(dl_phdr_info* info, std::size_t, void*) {
  if (std::strstr(info->dlpi_name, "/_core") == nullptr) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (const auto& part = info->dlpi_phdr[i]; part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0) {
      module_begin = info->dlpi_addr + part.p_vaddr;
      module_end = module_begin + part.p_memsz;
    }
  return 1;
}

}  // namespace

extern "C" bool fail_at(long n) {
  if (module_begin == 0) dl_iterate_phdr(find_module, nullptr);
  left = n;
  return module_begin != 0;
}

extern "C" long left_until_failure() {
  return left;
}

extern "C" void* malloc(std::size_t size) {
  const auto from = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  if (left > 0 && from >= module_begin && from < module_end && fails(size)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(size);
}

void* operator new(std::size_t size) {
  return take(size);
}
void* operator new[](std::size_t size) {
  return take(size);
}
void operator delete(void* place) noexcept {
  __libc_free(place);
}
void operator delete[](void* place) noexcept {
  __libc_free(place);
}
void operator delete(void* place, std::size_t) noexcept {
  __libc_free(place);
}
void operator delete[](void* place, std::size_t) noexcept {
  __libc_free(place);
}
