#include <fmt/format.h>

#include "host/cli/commands.hpp"
#include "host/lanes/devices/backend_choice.hpp"

namespace pandora::cli {

void add_devices(CLI::App& program, Command& run) {
  program.add_subcommand("devices", "the GPUs that this build can use, or why there are none")->callback([&run] {
    run = [] {
      for (const FoundDevices& found : find_all_devices()) fmt::print("{}", devices_text(found.report));
    };
  });
}

}  // namespace pandora::cli
