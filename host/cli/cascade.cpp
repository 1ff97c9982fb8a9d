// `cascade`: cascades of models, which the package makes, tests and shows.
#include "host/cli/commands.hpp"
#include "host/cli/help.hpp"
#include "host/cli/package.hpp"

namespace pandora::cli {

void add_cascade(CLI::App& program, Session& session) {
  CLI::App* cascade = add_command(program, "cascade");
  cascade->require_subcommand(1);
  for (const char* name : {"fit", "test", "frontier", "show", "new"}) add_package_command(*cascade, name, session);
}

}  // namespace pandora::cli
