#include "pandora/environment.hpp"

#include <fmt/format.h>

#include <map>

#include "pandora/error.hpp"

namespace pandora {
namespace {

struct Registry {
  std::list<Environment> environments{paper_environments().begin(), paper_environments().end()};
  std::map<std::string, ReplicationDrawer> drawers;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

const std::list<Environment>& known_environments() {
  return registry().environments;
}

const Environment* find_environment(const std::string& name) {
  for (const Environment& environment : registry().environments)
    if (environment.name == name) return &environment;
  return nullptr;
}

const ReplicationDrawer& find_drawer(const std::string& environment) {
  static const ReplicationDrawer none;
  const auto drawer = registry().drawers.find(environment);
  return drawer == registry().drawers.end() ? none : drawer->second;
}

void register_environment(Environment environment, ReplicationDrawer drawer) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ExitCode::usage, fmt::format("environment \"{}\": {}", environment.name, why));
  };
  if (!is_plain_name(environment.name)) refuse("use letters, digits, _ and - in its name");
  if (environment.law == Law::custom && environment.coordinate == nullptr && !drawer)
    refuse("Law::custom needs a coordinate function");
  for (const Environment& other : registry().environments) {
    if (other.name == environment.name) refuse("the name is taken; choose another");
    if (other.id == environment.id)
      refuse(fmt::format("its id {} belongs to {}; choose another", environment.id, other.name));
  }
  if (drawer) registry().drawers.emplace(environment.name, std::move(drawer));
  registry().environments.push_back(std::move(environment));
}

}  // namespace pandora
