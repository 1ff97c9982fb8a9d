#include "host/lanes/devices/backend_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "host/ground/base/lists.hpp"
#include "host/ground/base/option.hpp"
#include "host/ground/base/printable.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

std::vector<int> parse_devices(const std::string& text, const DeviceReport& report) {
  if (text == "all") return report.usable();
  const std::string asked = option("devices", text);
  std::vector<int> ids;
  for (const std::string& word : split(text + ",", ',')) {
    int id = -1;
    const char* const end = word.data() + word.size();
    if (const auto [stop, error] = std::from_chars(word.data(), end, id); error != std::errc() || stop != end || id < 0)
      throw Error(ExitCode::usage, asked + ": give all, or numbers such as 0,1");
    if (has(ids, id)) throw Error(ExitCode::usage, fmt::format("{}: {} is named twice; name each once", asked, id));
    const auto device = std::find_if(report.devices.begin(), report.devices.end(),
                                     [id](const DeviceInfo& info) { return info.id == id; });
    if (device == report.devices.end())
      throw Error(ExitCode::device, fmt::format("{}: there is no device {}; `pandora devices` lists them", asked, id));
    if (!device->unusable.empty())
      throw Error(ExitCode::device, fmt::format("{}: device {}: {}", asked, id, device->unusable));
    ids.push_back(id);
  }
  return ids;
}

std::string device_backends(const std::vector<FoundDevices>& found) {
  std::vector<std::string> names;
  for (const FoundDevices& one : found) names.push_back(one.backend->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

const std::vector<Backend>& backends() {
  static const std::vector<Backend> all = {
      {"cuda", find_devices, run_on_device, prepare_on_device},
  };
  return all;
}

std::vector<FoundDevices> find_all_devices() {
  std::vector<FoundDevices> found;
  for (const Backend& backend : backends()) found.push_back({&backend, backend.find()});
  return found;
}

BackendChoice choose_backend(const std::string& backend, const std::string& devices, const EngineSettings& engine,
                             const std::vector<FoundDevices>& found, const std::string& needs_cpu) {
  const bool automatic = backend == "auto";
  const std::string cpu = option("backend", "cpu");
  const FoundDevices* chosen = nullptr;  // the first that the request can mean, or one with a device
  for (const FoundDevices& one : found)
    if ((automatic || backend == one.backend->name) &&
        (chosen == nullptr || (!chosen->report.none.empty() && one.report.none.empty())))
      chosen = &one;
  const auto on_cpu = [](const std::string& why) { return BackendChoice{"cpu", why, {}, ""}; };
  const auto refuse = [&](ExitCode code, const std::string& why) {
    throw Error(code, fmt::format("{}: {}", option("backend", backend), why));
  };
  if (backend == "cpu") {
    if (devices != "all")
      throw Error(ExitCode::usage, fmt::format("{}: belongs to {} or auto, not cpu", option("devices", devices),
                                               option("backend", device_backends(found))));
    return on_cpu("asked for");
  }
  if (chosen == nullptr) refuse(ExitCode::usage, fmt::format("unknown; use auto, cpu or {}", device_backends(found)));
  if (engine.kind != EngineSettings::Kind::blocked || engine.precision != EngineSettings::Precision::fp32) {
    const std::string why = "only the blocked engine in single precision runs on a GPU";
    if (!automatic)
      refuse(ExitCode::usage,
             fmt::format("{}; leave {} and {} out or use {}", why, option("engine"), option("precision"), cpu));
    return on_cpu(why);
  }
  if (!needs_cpu.empty()) {
    if (!automatic) refuse(ExitCode::usage, fmt::format("{}; leave it out or use {}", needs_cpu, cpu));
    return on_cpu(needs_cpu);
  }
  const DeviceReport& report = chosen->report;
  if (!report.none.empty()) {
    if (!automatic || devices != "all") refuse(ExitCode::device, fmt::format("{}; use {} or auto", report.none, cpu));
    return on_cpu(report.none);
  }
  const std::vector<int> ids = parse_devices(devices, report);
  std::vector<std::string> names;
  std::set<std::string> kinds;
  for (const DeviceInfo& info : report.devices)
    if (has(ids, info.id)) {
      names.push_back(fmt::format("{}: {}", info.id, info.name));
      kinds.insert(info.name);
    }
  return {chosen->backend->name,
          fmt::format("{}, driver {}", fmt::join(names, ", "), report.driver),
          {chosen->backend, ids},
          fmt::format("{}", fmt::join(kinds, ", "))};
}

bool has_code_for(const std::string& architectures, int major, int minor) {
  const int version = 10 * major + minor;
  for (const std::string& entry : split(architectures, ',')) {
    if (entry.empty() || !std::isdigit(static_cast<unsigned char>(entry[0]))) return true;  // native, all, all-major
    const int code = std::stoi(entry);
    if (!entry.ends_with("-virtual") && code / 10 == major && code <= version) return true;
    if (!entry.ends_with("-real") && code <= version) return true;
  }
  return false;
}

std::string devices_text(const DeviceReport& report) {
  std::string text;
  constexpr double kGiB = 1u << 30;
  for (const DeviceInfo& info : report.devices)
    text += fmt::format("{}  {}, compute capability {}.{}, {} multiprocessors, {:.1f} GiB: {}\n", info.id, info.name,
                        info.major, info.minor, info.multiprocessors, info.memory / kGiB,
                        info.unusable.empty() ? "usable" : info.unusable);
  if (!report.none.empty()) text += fmt::format("no usable GPU: {}\n", report.none);
  if (!report.driver.empty()) text += fmt::format("driver: CUDA {}\n", report.driver);
  if (!report.runtime.empty()) text += fmt::format("this build: CUDA {}\n", report.runtime);
  return text;
}

}  // namespace pandora
