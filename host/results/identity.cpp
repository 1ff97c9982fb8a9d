#include "host/results/identity.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <span>

#include "host/devices/device.hpp"
#include "host/engine/run_on_cpu.hpp"
#include "host/files/input_file.hpp"
#include "host/files/sealed_file.hpp"
#include "host/machine/build.hpp"
#include "host/model/draw_instance.hpp"
#include "host/reference/reference_engine.hpp"
#include "host/sweep/prepare_replication.hpp"
#include "host/sweep/sweep.hpp"
#include "pandora/environment.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

void append(std::string& bytes, std::span<const double> values) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

// The scores of every period of some lanes, which decisions only follow.
std::string scores_of(const Study& study, const Replication& replication, const std::vector<LaneSpec>& lanes,
                      const BackendChoice& backend) {
  std::vector<LaneRecord> records(lanes.size());
  const BlockOptions options{study.estimation, study.engine.block};
  if (!backend.devices.empty()) {
    const std::vector<UnitOfLanes> units = {{&replication, lanes}};
    run_on_device(backend.devices[0], units, options, nullptr, records);
  } else if (study.engine.kind == EngineSettings::Kind::reference) {
    for (std::size_t k = 0; k < lanes.size(); ++k)
      run_reference_lane(replication, lanes[k], study.estimation, &records[k]);
  } else if (study.engine.precision == EngineSettings::Precision::fp32) {
    run_on_cpu<float>(replication, lanes, options, nullptr, records);
  } else {
    run_on_cpu<double>(replication, lanes, options, nullptr, records);
  }
  std::string bytes;
  for (const LaneRecord& record : records) append(bytes, record.scores);
  return bytes;
}

// A digest of what a small sweep gives here: laws, oracle, both regimes, all estimators, a few hundred periods.
// Machines differ in the mathematics library and in what the compiler made of the sources, whatever the flags say.
std::string fingerprint(const EngineSettings& engine, const EstimationOptions& estimation,
                        const BackendChoice& backend) {
  Study probe;
  probe.engine = engine;
  probe.estimation = estimation;
  probe.environments.assign(paper_environments().begin() + 1, paper_environments().end());
  probe.policies = {"online_plugin", "dow", "linucb_online"};
  probe.hyperparameters = Grids{0.1};
  probe.T0 = {30};
  probe.periods = 100;
  probe.replications = 1;
  probe.dimensions.context = 30;  // a start of the program waits for this: 10 ms
  probe.dimensions.output = 20;
  probe.dimensions.radius_draws = 1000;
  probe.oracle = {500, {5, 4, 5}, 100};
#if defined(PANDORA_STAND_IN)  // a thousand times slower than a device, and every program of its tests does this first
  probe.dimensions.context = 12;
  probe.periods = 40;
#endif
  const Plan plan = make_plan(probe);
  // As prepare_replication, but for the radius of theta_*, whose calibration takes longer than all the rest.
  UnitPreparer prepare = [&](const Unit& unit, OrderFrequencies*) {
    Replication r;
    r.instance = draw_instance(probe.dimensions, unit.environment, unit.regime, unit.replication, probe.seed,
                               [](const Instance&) { return 1.0; });
    r.tape = draw_tape(r.instance, plan.calibration_periods, probe.periods);
    r.sigma = oracle_indices(r.instance, draw_shock_sample(r.instance, probe.oracle.samples), r.tape.contexts,
                             probe.oracle, r.tape.online_row(0));
    return r;
  };
  if (!backend.devices.empty()) prepare = prepare_on_device(backend.devices[0], probe, plan);
  std::string bytes;
  for (const Unit& unit : plan.units) {
    const Replication replication = prepare(unit, nullptr);
    const Tape& tape = replication.tape;
    append(bytes, tape.mu);
    append(bytes, tape.cost);
    append(bytes, std::span(replication.sigma).subspan(tape.at(tape.online_row(0), 0)));
    std::vector<LaneSpec> lanes;
    for (const PlannedLane& lane : plan.lanes) lanes.push_back(lane.variant.lane(replication, lane.T0));
    bytes += scores_of(probe, replication, lanes, backend);
  }
  return sha256(bytes).substr(0, 16);
}

std::string program_digest() {
  constexpr std::uint64_t kMost = std::uint64_t{4} << 30;
  try {
    return sha256(read_file("/proc/self/exe", kMost)).substr(0, 16);
  } catch (const Unreadable& problem) {
    throw Error(ExitCode::bad_data,
                fmt::format("the program itself {}; start it from a disk that can be read", problem.what()));
  }
}

}  // namespace

Identity build_parts_of_identity() {
  Identity identity;
  for (const auto& [name, value] : build_identity()) identity["build." + name] = value;
  if (has_registered_policies() || has_registered_environments()) identity["build.program"] = program_digest();
  return identity;
}

namespace {

constexpr const char* kPolicyCode = "build.policy.";
constexpr const char* kEnvironmentCode = "build.environment.";

bool is_code(const std::string& name) {
  return name.starts_with(kPolicyCode) || name.starts_with(kEnvironmentCode);
}

// Of the policies and environments that a study simulates, as far as they have a code of their own.
Identity codes_of(const std::vector<Setting>& settings) {
  Identity out;
  for (const Setting& setting : settings) {
    const std::vector<std::string>& named = setting.study.policies;
    for (const Policy& policy : all_policies())
      if (!policy.code.empty() &&
          (named.empty() ? !policy.by_name_only : std::find(named.begin(), named.end(), policy.name) != named.end()))
        out[kPolicyCode + policy.name] = policy.code;
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

}  // namespace

Identity build_of_results(const Identity& identity) {
  Identity out;
  for (const auto& [name, value] : identity)
    if (name.starts_with("build.") && !(is_code(name) && value == code_known_here(name))) out[name] = value;
  return out;
}

Identity identity_of(const StudyConfig& config, const std::vector<Setting>& settings, const BackendChoice& backend) {
  Identity identity;
  for (const auto& [key, value] : config.identity()) identity["study." + key] = value;
  identity.merge(build_parts_of_identity());
  identity.merge(codes_of(settings));
  identity["numerics.backend"] = backend.name;
  identity["numerics.devices"] = backend.hardware;
  std::set<std::string> engines;
  std::vector<std::string> fingerprints;
  for (const Setting& setting : settings)
    if (engines.insert(setting.study.engine.text()).second)
      fingerprints.push_back(fingerprint(setting.study.engine, setting.study.estimation, backend));
  identity["numerics.fingerprint"] = fmt::format("{}", fmt::join(fingerprints, " "));
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
  std::set<std::string> names;
  for (const auto& [name, value] : there) names.insert(name);
  for (const auto& [name, value] : here) names.insert(name);
  const auto text = [](const Identity& identity, const std::string& name) {
    const auto at = identity.find(name);
    return at == identity.end() ? std::string("absent") : at->second;
  };
  for (const std::string& name : names)
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

}  // namespace pandora
