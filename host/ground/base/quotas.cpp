#include "host/ground/base/quotas.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>

namespace pandora {
namespace {
namespace fs = std::filesystem;

// The limit in a file of a group's folder; 0 if it is "max", is missing or is not a number.
std::uint64_t limit_in(std::istream& in) {
  std::uint64_t limit = 0;
  return in >> limit ? limit : 0;
}

// This process's group: the line "0::/path" of version 2.
std::string own_group(const fs::path& root) {
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("0::/")) return line.substr(4);
  return "";
}

template <class Number>
void lessen(Number& least, Number limit) {
  if (limit > 0 && (least == 0 || limit < least)) least = limit;
}

}  // namespace

Quotas quotas_of(const fs::path& root) {
  Quotas out;
  // On machines that also mount version 1, the tree of version 2 is in `unified`.
  for (const char* const mounted : {"sys/fs/cgroup", "sys/fs/cgroup/unified"}) {
    const auto look = [&](const fs::path& group) {
      std::ifstream cpu(group / "cpu.max"), memory(group / "memory.max");
      const std::uint64_t microseconds = limit_in(cpu), period = limit_in(cpu);
      if (period > 0) lessen(out.cores, static_cast<double>(microseconds) / static_cast<double>(period));
      lessen(out.memory, limit_in(memory));
    };
    fs::path group = root / mounted;
    look(group);
    // In a container the path may be the host's, of which the container sees only the end or nothing.
    for (const fs::path& name : fs::path(own_group(root)))
      if (name != "..") look(group /= name);
  }
  return out;
}

const Quotas& own_quotas() {
  static const Quotas quotas = quotas_of();
  return quotas;
}

double cores_for(int threads, int affine, const Quotas& quotas) {
  const double most = std::min(threads, std::max(1, affine));
  return quotas.cores > 0.0 ? std::min(most, quotas.cores) : most;
}

int usable_cores(int affine, const Quotas& quotas) {
  const int most = std::max(1, affine);
  return quotas.cores > 0.0 ? std::clamp(static_cast<int>(std::ceil(quotas.cores - 1e-9)), 1, most) : most;
}

int usable_cores() {
  return usable_cores(static_cast<int>(std::thread::hardware_concurrency()), own_quotas());
}

}  // namespace pandora
