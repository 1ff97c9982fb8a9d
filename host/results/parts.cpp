#include "host/results/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "host/files/sealed_file.hpp"
#include "kernels/rules/checkpoints.hpp"

namespace pandora {
namespace {

using nlohmann::json;

constexpr std::size_t kPartsPerGroup = 50;

// A tally as doubles, boxes and checkpoints that do not exist left out.
void append(const Study& study, const LaneTally& tally, std::vector<double>& out) {
  const int A = study.dimensions.boxes;
  for (const double value :
       {static_cast<double>(tally.periods), static_cast<double>(tally.failure),
        static_cast<double>(tally.failed_period), tally.utility, tally.utility_squares, tally.realised_utility})
    out.push_back(value);
  out.insert(out.end(), tally.queries_of_box, tally.queries_of_box + A);
  out.insert(out.end(), tally.depth, tally.depth + A + 1);
  out.insert(out.end(), tally.curve, tally.curve + checkpoints(study.periods).size());
}

int whole(double value, int most) {
  if (!(value >= 0.0 && value <= most && value == std::floor(value))) throw Damaged("holds a count that cannot be");
  return static_cast<int>(value);
}

LaneTally tally_of(const Study& study, const double* at) {
  const int A = study.dimensions.boxes;
  LaneTally tally;
  tally.periods = whole(*at++, study.periods);
  tally.failure = static_cast<Failure>(whole(*at++, static_cast<int>(Failure::policy)));
  tally.failed_period = whole(*at++, study.periods);
  tally.utility = *at++;
  tally.utility_squares = *at++;
  tally.realised_utility = *at++;
  std::copy_n(at, A, tally.queries_of_box);
  std::copy_n(at += A, A + 1, tally.depth);
  const std::vector<int> periods = checkpoints(study.periods);
  std::copy_n(at += A + 1, periods.size(), tally.curve);
  tally.horizon = study.periods;
  tally.next = next_checkpoint(tally.periods, study.periods);
  tally.recorded = static_cast<int>(std::upper_bound(periods.begin(), periods.end(), tally.periods) - periods.begin());
  return tally;
}

struct InstanceField {
  const char* name;
  std::vector<double> Instance::*member;
};
constexpr InstanceField kInstanceFields[] = {
    {"theta", &Instance::theta}, {"D", &Instance::D},         {"Q", &Instance::Q},   {"alpha", &Instance::alpha},
    {"beta0", &Instance::beta0}, {"beta1", &Instance::beta1}, {"c0", &Instance::c0}, {"c1", &Instance::c1},
};

const json& field(const json& object, const char* name) {
  if (!object.is_object()) throw Damaged("is not laid out as a part");
  const auto at = object.find(name);
  if (at == object.end()) throw Damaged(fmt::format("has no {}", name));
  return *at;
}

// What distinguishes the part from every other of the study.
json place(const PlannedSetting& planned, const Part& part) {
  const Unit& unit = planned.plan.units[part.first];
  return {{"setting", planned.setting.label()},
          {"environment", unit.environment.name},
          {"regime", regime_name(unit.regime)},
          {"first_replication", unit.replication},
          {"replications", part.last - part.first}};
}

}  // namespace

std::vector<PlannedSetting> make_plans(const StudyConfig& config) {
  std::vector<PlannedSetting> out;
  for (Setting& setting : config.settings()) {
    Plan plan = make_plan(setting.study);
    out.push_back({std::move(setting), std::move(plan)});
  }
  return out;
}

std::vector<Part> make_parts(const std::vector<PlannedSetting>& settings) {
  std::vector<Part> parts;
  for (std::size_t s = 0; s < settings.size(); ++s) {
    const Plan& plan = settings[s].plan;
    const std::size_t R = static_cast<std::size_t>(settings[s].setting.study.replications);
    const std::size_t length = (R + kPartsPerGroup - 1) / kPartsPerGroup;
    for (std::size_t group = 0; group < plan.units.size(); group += R)
      for (std::size_t first = 0; first < R; first += length) {
        const Unit& unit = plan.units[group + first];
        parts.push_back({s, group + first, group + std::min(first + length, R),
                         fmt::format("{:03}-{}-{}-{:05}.part", s, unit.environment.name, regime_name(unit.regime),
                                     unit.replication)});
      }
  }
  return parts;
}

std::size_t tally_size(const Study& study) {
  return 6 + 2 * static_cast<std::size_t>(study.dimensions.boxes) + 1 + checkpoints(study.periods).size();
}

json part_content(const PlannedSetting& planned, const Part& part, const Identity& identity,
                  const std::vector<UnitResult>& results) {
  json units = json::array();
  for (const UnitResult& result : results) {
    json unit;
    std::vector<double> tallies;
    for (const LaneTally& tally : result.lanes) append(planned.setting.study, tally, tallies);
    unit["tallies"] = pack(tallies);
    unit["order"] = pack(std::vector<double>{result.order.permutations, result.order.max_mass, result.order.min_mass});
    if (result.instance)
      for (const InstanceField& f : kInstanceFields) unit["instance"][f.name] = pack((*result.instance).*f.member);
    units.push_back(std::move(unit));
  }
  return {{"identity", identity}, {"place", place(planned, part)}, {"units", std::move(units)}};
}

Identity part_identity(const json& content) {
  const json& identity = field(content, "identity");
  if (!identity.is_object()) throw Damaged("is not laid out as a part");
  Identity out;
  for (const auto& [name, value] : identity.items()) {
    if (!value.is_string()) throw Damaged("is not laid out as a part");
    out[name] = value.get<std::string>();
  }
  return out;
}

std::vector<UnitResult> part_results(const PlannedSetting& planned, const Part& part, const json& content) {
  const Study& study = planned.setting.study;
  if (field(content, "place") != place(planned, part)) throw Damaged("holds another part of the study");
  const json& units = field(content, "units");
  if (!units.is_array() || units.size() != part.last - part.first) throw Damaged("holds another number of units");
  const std::size_t lanes = study.regret ? planned.plan.lanes.size() : 0, size = tally_size(study);
  std::vector<UnitResult> results;
  for (std::size_t u = 0; u < units.size(); ++u) {
    UnitResult result;
    const std::vector<double> tallies = unpack(field(units[u], "tallies"), lanes * size);
    for (std::size_t lane = 0; lane < lanes; ++lane)
      result.lanes.push_back(tally_of(study, tallies.data() + lane * size));
    const std::vector<double> order = unpack(field(units[u], "order"), 3);
    result.order = {order[0], order[1], order[2]};
    if (study.instances) {
      const Unit& unit = planned.plan.units[part.first + u];
      Instance instance;
      instance.dimensions = study.dimensions;
      instance.environment = unit.environment;
      instance.regime = unit.regime;
      instance.replication = unit.replication;
      instance.seed = study.seed;
      for (const InstanceField& f : kInstanceFields)
        instance.*f.member = unpack(field(field(units[u], "instance"), f.name));
      result.instance = std::move(instance);
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace pandora
