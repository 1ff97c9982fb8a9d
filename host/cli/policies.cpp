#include <fmt/format.h>

#include "host/cli/commands.hpp"

namespace pandora::cli {

void add_policies(CLI::App& program, Command& run) {
  program.add_subcommand("policies", "the policies, one line each")->callback([&run] {
    run = [] {
      for (const Policy& policy : all_policies()) fmt::print("{:<24}{}\n", policy.name, policy.summary);
    };
  });
}

}  // namespace pandora::cli
