#include "host/cli/backend_options.hpp"

#include "host/studies/run/run_study.hpp"

namespace pandora::cli {

void BackendOptions::add_to(CLI::App& command) {
  command.add_option("--backend", backend, "auto, cpu or cuda")->capture_default_str();
  command.add_option("--devices", devices, "GPUs, such as 0,1, or all")->capture_default_str();
  command.add_option("--threads", threads, "worker threads; 0 is all cores")->capture_default_str();
}

BackendChoice BackendOptions::choose(const std::vector<PlannedSetting>& settings) const {
  return backend_for(backend, devices, settings);
}

}  // namespace pandora::cli
