// A launch: finds the kernel, and refuses launches that a device would refuse.
#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <utility>

#include "check.hpp"
#include "fibers.hpp"

namespace stand_in {
namespace {

struct Resources {
  unsigned registers = 0;
  std::size_t shared = 0;
};

// The registers and static shared memory of a kernel, from the real compiler. Zero if there was no such compiler.
Resources resources_of(const std::string& symbol) {
  static const std::map<std::string, Resources> all = [] {
    std::map<std::string, Resources> table;
    std::ifstream file(settings().resources);
    Resources found;
    for (std::string name; file >> name >> found.registers >> found.shared;) table[name] = found;
    return table;
  }();
  const auto found = all.find(symbol);
  return found != all.end() ? found->second : Resources{};
}

// How many such blocks fit on a multiprocessor of compute capability 9.0. It has 2,048 threads, 65,536 registers and
// 228 KiB of shared memory, of which every block takes 1 KiB more than it asks for.
std::size_t blocks_that_fit(const Resources& needs, unsigned threads, std::size_t shared_bytes) {
  const std::size_t warps = (threads + 31) / 32,
                    registers = std::max<std::size_t>((needs.registers + 7) / 8 * 8, 16) * 32 * warps,
                    shared = shared_bytes + needs.shared + 1024;
  return std::min({64 / warps, 65536 / registers, (std::size_t{228} << 10) / shared});
}

std::string demangled(const char* symbol) {
  int status = 0;
  char* const text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  const std::string out = text != nullptr ? text : symbol;
  std::free(text);
  return out.substr(0, 120);
}

// The shared memory that each kernel may use on each device, as the program asked for it.
std::mutex allowed_mutex;
std::map<std::pair<Device*, void (*)()>, std::size_t> allowed;

std::size_t allowed_shared(void (*stub)()) {
  const std::lock_guard guard(allowed_mutex);
  const auto found = allowed.find({current_device(), stub});
  return found != allowed.end() ? found->second : kUnaskedShared;
}

}  // namespace

cudaError_t allow_shared(void (*stub)(), int bytes) {
  if (bytes < 0 || static_cast<std::size_t>(bytes) > kShared) return set_error(cudaErrorInvalidValue);
  const std::lock_guard guard(allowed_mutex);
  allowed[{current_device(), stub}] = std::max(kUnaskedShared, static_cast<std::size_t>(bytes));
  return cudaSuccess;
}

cudaError_t resident_blocks(int* blocks, void (*stub)(), int threads, std::size_t shared_bytes) {
  Dl_info info{};
  if (threads < 1 || threads > settings().block || dladdr(reinterpret_cast<void*>(stub), &info) == 0)
    return set_error(cudaErrorInvalidValue);
  *blocks =
      static_cast<int>(blocks_that_fit(resources_of(info.dli_sname), static_cast<unsigned>(threads), shared_bytes));
  return cudaSuccess;
}

// The stub is the kernel of the host pass. The kernel of the device pass has the same name with a prefix.
cudaError_t launch(void (*stub)(), Call call, Kept kept, const void* parameters, dim3 grid, dim3 block,
                   std::size_t shared_bytes, cudaStream_t stream) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(stub), &info) == 0 || info.dli_sname == nullptr ||
      info.dli_saddr != reinterpret_cast<void*>(stub)) {
    report("launch: a kernel without a name outside of its file; its parameters' types need one");
    return set_error(cudaErrorInvalidValue);
  }
  const std::string symbol = info.dli_sname;
  void* const function = dlsym(RTLD_DEFAULT, ("device." + symbol).c_str());
  if (function == nullptr) {
    report("launch: the device pass has no " + demangled(symbol.c_str()));
    return set_error(cudaErrorInvalidValue);
  }
  if (fails("launch")) return set_error(cudaErrorLaunchOutOfResources);
  if (grid.x < 1 || grid.x > 0x7fffffffu || grid.y != 1 || grid.z != 1 || block.x < 1 || block.y != 1 || block.z != 1 ||
      block.x > static_cast<unsigned>(settings().block))
    return set_error(cudaErrorInvalidConfiguration);
  const Resources needs = resources_of(symbol);
  if (shared_bytes + needs.shared > allowed_shared(stub)) return set_error(cudaErrorInvalidValue);
  const unsigned warps = (block.x + 31) / 32;  // registers are given to warps, eight per thread at a time
  if ((needs.registers + 7) / 8 * 8 * warps * 32 > 65536) return set_error(cudaErrorLaunchOutOfResources);
  // The blocks of these kernels take one item after the other. Blocks that do not fit wait until all others are done,
  // and then run alone. That is a defect.
  const std::string name = demangled(symbol.c_str());
  if (name.find("run_blocks<") != std::string::npos || name.find("run_queue<") != std::string::npos)
    if (const std::size_t room =
            blocks_that_fit(needs, block.x, shared_bytes) * static_cast<std::size_t>(settings().multiprocessors);
        grid.x > room)
      report("launch: a second wave: " + std::to_string(grid.x) + " blocks of " + name + " where " +
             std::to_string(room) + " fit");
  const Launch launch{demangled(symbol.c_str()),
                      call,
                      reinterpret_cast<void (*)()>(function),
                      parameters,
                      grid.x,
                      block.x,
                      shared_bytes};
  return enqueue(
      stream, "a kernel",
      [launch] {
        run_kernel(launch);
        if (fails("fault")) running->stream->device->fault = cudaErrorIllegalAddress;
      },
      std::move(kept));
}

}  // namespace stand_in
