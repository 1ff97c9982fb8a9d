// The identity of results by its parts: study, build, arithmetic.
#include "host/studies/results/identity.hpp"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "host/ground/base/fail.hpp"
#include "host/ground/files/input_file.hpp"
#include "host/ground/files/sealed_file.hpp"
#include "host/ground/machine/build.hpp"
#include "pandora/environment.hpp"

namespace pandora {
namespace {

using nlohmann::json;

std::string program_digest() {
  constexpr std::uint64_t kMost = std::uint64_t{4} << 30;
  try {
    return sha256(read_file("/proc/self/exe", kMost)).substr(0, 16);
  } catch (const Unreadable& problem) {
    fail(ExitCode::bad_data, "the program itself {}; start it from a disk that can be read", problem.what());
  }
}

constexpr const char* kPolicyCode = "build.policy.";
constexpr const char* kEnvironmentCode = "build.environment.";

bool is_code(const std::string& name) {
  return name.starts_with(kPolicyCode) || name.starts_with(kEnvironmentCode);
}

// The codes of the policies and environments that a study simulates, for those that have a code.
Identity codes_of(const std::vector<Setting>& settings) {
  Identity out;
  for (const Setting& setting : settings) {
    for (const Policy& policy : all_policies())
      if (!policy.code.empty() && lists(setting.study.policies, policy)) out[kPolicyCode + policy.name] = policy.code;
    for (const Environment& environment : setting.study.environments)
      if (const std::string code = code_of_environment(environment.name); !code.empty())
        out[kEnvironmentCode + environment.name] = code;
  }
  return out;
}

std::string code_known_here(const std::string& name) {
  if (name.starts_with(kEnvironmentCode)) return code_of_environment(name.substr(std::strlen(kEnvironmentCode)));
  const Policy* const policy = find_policy(name.substr(std::strlen(kPolicyCode)));
  return policy == nullptr ? "" : policy->code;
}

std::string dump(const json& value) {
  return value.dump(2, ' ', false, json::error_handler_t::replace);
}

// The manifest contains the checksum of everything else in it.
std::string manifest_digest(json manifest) {
  manifest.erase("sha256");
  return sha256(dump(manifest));
}

}  // namespace

Identity build_parts_of_identity() {
  Identity identity;
  for (const auto& [name, value] : build_identity()) identity["build." + name] = value;
  if (has_registered_policies() || has_registered_environments()) identity["build.program"] = program_digest();
  return identity;
}

Identity build_of_results(const Identity& identity) {
  Identity out;
  for (const auto& [name, value] : identity)
    if (name.starts_with("build.") && !(is_code(name) && value == code_known_here(name))) out[name] = value;
  return out;
}

Identity identity_of(const StudyConfig& config, const std::vector<Setting>& settings, const Numerics& numerics) {
  Identity identity;
  for (const auto& [key, value] : config.identity()) identity["study." + key] = value;
  identity.merge(build_parts_of_identity());
  identity.merge(codes_of(settings));
  identity["numerics.backend"] = numerics.backend;
  identity["numerics.devices"] = numerics.hardware;
  identity["numerics.fingerprint"] = numerics.fingerprint;
  return identity;
}

Identity fixed_part(const Identity& identity) {
  Identity out = identity;
  std::erase_if(out, [](const auto& entry) {
    const std::string& name = entry.first;
    for (const char* growing : {"replications", "policies", "T0", "environments", "regimes"})
      if (name == std::string("study.") + growing) return true;
    return name.starts_with("study.hyperparameters.") || name.starts_with("study.environment.");
  });
  return out;
}

std::vector<std::string> differences(const Identity& there, const Identity& here) {
  std::vector<std::string> out;
  Identity all = there;
  all.insert(here.begin(), here.end());
  const auto text = [](const Identity& identity, const std::string& name) {
    const auto at = identity.find(name);
    return at == identity.end() ? std::string("absent") : at->second;
  };
  for (const auto& [name, value] : all)
    if (text(there, name) != text(here, name))
      out.push_back(fmt::format("{} is {} there and {} here", name, text(there, name), text(here, name)));
  return out;
}

std::vector<std::string> differences_of_fixed(const Identity& there, const Identity& here) {
  Identity a = fixed_part(there), b = fixed_part(here);
  const auto leave_out = [](Identity& of, const Identity& other) {
    std::erase_if(of, [&](const auto& entry) { return is_code(entry.first) && !other.contains(entry.first); });
  };
  leave_out(a, b);
  leave_out(b, a);
  return differences(a, b);
}

std::string manifest_text(json manifest) {
  manifest["sha256"] = manifest_digest(manifest);
  return dump(manifest) + "\n";
}

json parse_manifest(const std::string& text) {
  constexpr int kDeepest = 16;  // the parser itself has no limit
  json manifest = json::parse(
      text,
      [](int depth, json::parse_event_t, json&) {
        if (depth > kDeepest) throw Damaged("is not a manifest");
        return true;
      },
      false);
  if (manifest.is_discarded()) throw Damaged("is truncated or not JSON");
  if (!manifest.is_object() || !manifest.contains("sha256") || !manifest.contains("identity"))
    throw Damaged("is not a manifest");
  if (manifest["sha256"] != manifest_digest(manifest) || text != dump(manifest) + "\n")
    throw Damaged("its checksum differs");
  (void)identity_in(manifest);
  if (!manifest.value("sessions", json::array()).is_array()) throw Damaged("is not a manifest");
  return manifest;
}

Identity identity_in(const json& content) {
  try {
    return content.at("identity").get<Identity>();
  } catch (const json::exception&) {
    throw Damaged("has no identity");
  }
}

}  // namespace pandora
