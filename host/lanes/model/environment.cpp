#include "pandora/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "pandora/error.hpp"
#include "pandora/paper_setting.hpp"

namespace pandora {
namespace {

struct Registry {
  std::list<Environment> environments{paper_environments().begin(), paper_environments().end()};
  std::map<std::string, ReplicationDrawer> drawers;
  std::map<std::string, std::string> codes;
  bool any_without_code = false;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

const std::array<Environment, 3>& paper_environments() {
  // Radii: the 99th percentiles given in Section 6; sqrt(0.6) gives t_5 coordinates unit variance.
  static const std::array<Environment, 3> environments = {{
      {"uniform", 0, Law::uniform, 1.0f, std::numeric_limits<float>::infinity(), 0.23},
      {"gaussian", 1, Law::gaussian, 1.0f, 11.65f, 0.20},
      {"student_t5", 2, Law::student_t5, 0.774596669f, 13.56f, 0.27},
  }};
  return environments;
}

bool is_plain_name(const std::string& name) {
  constexpr std::size_t kLongest = 64;
  return !name.empty() && name.size() <= kLongest && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

const char* regime_name(Regime regime) {
  return regime == Regime::A ? "A" : "B";
}

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

std::string code_of_environment(const std::string& name) {
  const auto code = registry().codes.find(name);
  return code == registry().codes.end() ? "" : code->second;
}

bool has_registered_environments() {
  return registry().any_without_code;
}

void register_environment(Environment environment, ReplicationDrawer drawer, const std::string& code) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ExitCode::usage, fmt::format("environment \"{}\": {}", environment.name, why));
  };
  if (!is_plain_name(environment.name)) refuse("use letters, digits, _ and - in its name");
  if (environment.law == Law::custom && environment.coordinate == nullptr && !drawer)
    refuse("Law::custom needs a coordinate function");
  const bool replaces = !code.empty() && !code_of_environment(environment.name).empty();
  for (const Environment& other : registry().environments) {
    if (other.name == environment.name && replaces) continue;
    if (other.name == environment.name) refuse("the name is taken; choose another");
    if (other.id == environment.id)
      refuse(fmt::format("its stream {} (in C++ its id) belongs to {}; choose another, 3 to 255", environment.id,
                         other.name));
  }
  if (replaces) {
    std::erase_if(registry().environments, [&](const Environment& e) { return e.name == environment.name; });
    registry().drawers.erase(environment.name);
  }
  registry().any_without_code |= code.empty();
  if (!code.empty()) registry().codes[environment.name] = code;
  if (drawer) registry().drawers.emplace(environment.name, std::move(drawer));
  registry().environments.push_back(std::move(environment));
}

}  // namespace pandora
