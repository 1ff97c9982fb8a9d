#include "host/studies/run/run_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "host/studies/sweep/fingerprint.hpp"
#include "host/studies/sweep/runnable_lanes.hpp"
#include "pandora/error.hpp"

namespace pandora {

Shard Shard::parse(const std::string& text) {
  Shard shard;
  const char *begin = text.data(), *end = begin + text.size(), *slash = std::find(begin, end, '/');
  const auto index = std::from_chars(begin, slash, shard.index);
  const auto count = slash == end ? index : std::from_chars(slash + 1, end, shard.count);
  if (index.ec != std::errc() || index.ptr != slash || slash == end || count.ec != std::errc() || count.ptr != end ||
      shard.index < 0 || shard.count < 1 || shard.index >= shard.count)
    throw Error(ExitCode::usage, fmt::format("--shard {}: give i/n with i from 0 to n - 1, such as 0/4", text));
  return shard;
}

BackendChoice backend_for(const std::string& backend, const std::string& devices,
                          const std::vector<PlannedSetting>& settings) {
  EngineSettings engine = settings[0].setting.study.engine;
  std::string cpu_only;
  for (const PlannedSetting& planned : settings) {
    const EngineSettings& other = planned.setting.study.engine;
    if (other.kind == EngineSettings::Kind::reference || other.precision == EngineSettings::Precision::fp64)
      engine = other;
    if (cpu_only.empty()) cpu_only = needs_cpu(planned.setting.study, planned.plan);
  }
  std::vector<FoundDevices> found;
  if (backend == "cpu")  // asks no driver
    for (const Backend& one : backends()) found.push_back({&one, {}});
  else
    found = find_all_devices();
  return choose_backend(backend, devices, engine, found, cpu_only);
}

Numerics numerics_of(const std::vector<Setting>& settings, const BackendChoice& backend) {
  return {backend.name, backend.hardware, fingerprint_of(settings, backend.devices)};
}

}  // namespace pandora
