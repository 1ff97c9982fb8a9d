#include "host/cli/backend_options.hpp"

#include "host/sweep/runnable_lanes.hpp"

namespace pandora::cli {

void BackendOptions::add_to(CLI::App& command) {
  command.add_option("--backend", backend, "auto, cpu or cuda")->capture_default_str();
  command.add_option("--devices", devices, "GPUs, such as 0,1, or all")->capture_default_str();
  command.add_option("--threads", threads, "worker threads; 0 is all cores")->capture_default_str();
}

BackendChoice BackendOptions::choose(const std::vector<PlannedSetting>& settings) const {
  EngineSettings engine = settings[0].setting.study.engine;
  std::string cpu_only;
  for (const PlannedSetting& planned : settings) {
    const EngineSettings& other = planned.setting.study.engine;
    if (other.kind == EngineSettings::Kind::reference || other.precision == EngineSettings::Precision::fp64)
      engine = other;
    if (cpu_only.empty()) cpu_only = needs_cpu(planned.setting.study, planned.plan);
  }
  return choose_backend(backend, devices, engine, backend == "cpu" ? DeviceReport{} : find_devices(), cpu_only);
}

}  // namespace pandora::cli
