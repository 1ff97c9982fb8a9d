// `cascade`: cascades of models, which the package makes, tests and shows.
#include "host/cli/commands.hpp"
#include "host/cli/package.hpp"

namespace pandora::cli {

void add_cascade(CLI::App& program, Session& session) {
  CLI::App* cascade = program.add_subcommand(
      "cascade", "cascades of models: fitted on a table of outcomes, tested on another, and put into words");
  cascade->require_subcommand(1);
  const auto packaged = [&](const char* name, const char* meaning) {
    add_package_command(*cascade, name, meaning, session);
  };
  packaged("fit", "the cascade that is best at a price, or keeps a bound on dollars or quality, and what it promises");
  packaged("test", "what a cascade does on another table, beside one model alone, with intervals");
  packaged("frontier", "quality against dollars: cascades over a range of prices, models alone, mixtures of models");
  packaged("show", "a cascade's file in words");
  packaged("new", "a cascade that has learned nothing yet and learns while it runs");
}

}  // namespace pandora::cli
