#include "host/results/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "host/files/sealed_file.hpp"
#include "host/sweep/finite.hpp"
#include "kernels/rules/checkpoints.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

using nlohmann::json;

constexpr std::size_t kPartsOfALength = 50;

// The numbers of a tally beside those of boxes and checkpoints.
constexpr double LaneTally::*kSums[] = {
    &LaneTally::utility, &LaneTally::utility_squares,  &LaneTally::realised_utility,
    &LaneTally::quality, &LaneTally::realised_quality, &LaneTally::cost,
};

// A tally as doubles, boxes and checkpoints that do not exist left out.
void append(const Study& study, const LaneTally& tally, std::vector<double>& out) {
  const int A = study.dimensions.boxes;
  for (const int value : {tally.periods, static_cast<int>(tally.failure), tally.failed_period})
    out.push_back(static_cast<double>(value));
  for (const auto sum : kSums) out.push_back(tally.*sum);
  out.insert(out.end(), tally.queries_of_box, tally.queries_of_box + A);
  out.insert(out.end(), tally.deployments_of_box, tally.deployments_of_box + A);
  out.insert(out.end(), tally.depth, tally.depth + A + 1);
  out.insert(out.end(), tally.curve, tally.curve + checkpoints(study.periods).size());
  for (int k = 0; k < RegretParts::kParts; ++k) {
    const auto part = RegretParts::part(k);
    out.push_back(tally.regret.*part);
    for (std::size_t at = 0; at < checkpoints(study.periods).size(); ++at) out.push_back(tally.regret_curve[at].*part);
  }
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
  for (const auto sum : kSums) tally.*sum = *at++;
  const auto take = [&at](double* to, int n) {
    std::copy_n(at, n, to);
    at += n;
  };
  take(tally.queries_of_box, A);
  take(tally.deployments_of_box, A);
  take(tally.depth, A + 1);
  const std::vector<int> periods = checkpoints(study.periods);
  take(tally.curve, static_cast<int>(periods.size()));
  for (int k = 0; k < RegretParts::kParts; ++k) {
    const auto part = RegretParts::part(k);
    tally.regret.*part = *at++;
    for (std::size_t point = 0; point < periods.size(); ++point) tally.regret_curve[point].*part = *at++;
  }
  if (tally.failure == Failure::none && !sums_are_finite(tally)) throw Damaged("holds a sum that is not finite");
  tally.horizon = study.periods;
  tally.next = next_checkpoint(tally.periods, study.periods);
  tally.recorded = static_cast<int>(std::upper_bound(periods.begin(), periods.end(), tally.periods) - periods.begin());
  return tally;
}

json notes_json(const LaneNotes& notes) {
  json out = json::object();
  if (!notes.list.empty()) {
    out["list"] = notes.list;
    out["thresholds"] = pack(notes.thresholds);
  }
  if (!notes.rho.empty()) out["rho"] = pack(notes.rho);
  if (!notes.theta.empty()) out["theta"] = pack(notes.theta);
  if (!notes.message.empty()) out["message"] = notes.message;
  return out;
}

LaneNotes notes_of(const Study& study, const json& in) {
  const Dimensions& dim = study.dimensions;
  LaneNotes notes;
  if (!in.is_object()) throw Damaged("is not laid out as a part");
  if (const auto list = in.find("list"); list != in.end()) {
    if (!list->is_array() || list->empty() || list->size() > static_cast<std::size_t>(dim.boxes) ||
        !in.contains("thresholds"))
      throw Damaged("holds a list of boxes that cannot be");
    for (const json& box : *list) {
      if (!box.is_number_integer()) throw Damaged("holds a list of boxes that cannot be");
      notes.list.push_back(whole(box.get<double>(), dim.boxes - 1));
    }
    notes.thresholds = unpack(in["thresholds"]);
    if (!notes.thresholds.empty() && notes.thresholds.size() + 1 != notes.list.size())
      throw Damaged("holds a list of boxes that cannot be");
  }
  if (in.contains("rho")) notes.rho = unpack(in["rho"], static_cast<std::size_t>(dim.boxes * dim.index_size()));
  if (in.contains("theta")) notes.theta = unpack(in["theta"], static_cast<std::size_t>(dim.reward_features));
  if (const auto message = in.find("message"); message != in.end()) {
    if (!message->is_string()) throw Damaged("is not laid out as a part");
    notes.message = message->get<std::string>();
  }
  return notes;
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

// What distinguishes the part from every other of the study, and what its numbers depend on of its environment.
json place(const PlannedSetting& planned, const Part& part) {
  const Unit& unit = planned.plan.units[part.first];
  const Environment& environment = unit.environment;
  return {{"setting", planned.setting.label()},
          {"environment", environment.name},
          {"law", static_cast<int>(environment.law)},
          {"stream", static_cast<int>(environment.id)},
          {"numbers", pack(std::vector<double>{environment.shock_scale, environment.truncation_radius,
                                               environment.cost_level, static_cast<double>(environment.slopes),
                                               static_cast<double>(environment.reward_link), environment.cost_tail})},
          {"regime", regime_name(unit.regime)},
          {"first_replication", unit.replication}};
}

// The lanes of a plan by their names, in the order of the names: that in which a part has them, so that the order of a
// study's lists leaves no trace in it.
class NamedLanes {
 public:
  explicit NamedLanes(const Study& study, const Plan& plan) {
    if (study.regret)
      for (std::size_t lane = 0; lane < plan.lanes.size(); ++lane)
        lanes_.emplace_back(lane_name(plan.lanes[lane]), lane);
    std::sort(lanes_.begin(), lanes_.end());
  }
  auto begin() const { return lanes_.begin(); }
  auto end() const { return lanes_.end(); }
  std::size_t size() const { return lanes_.size(); }

  /// The lane of that name, or null.
  const std::pair<std::string, std::size_t>* find(const std::string& name) const {
    const auto at = std::lower_bound(lanes_.begin(), lanes_.end(), std::pair(name, std::size_t{0}));
    return at != lanes_.end() && at->first == name ? &*at : nullptr;
  }

 private:
  std::vector<std::pair<std::string, std::size_t>> lanes_;
};

[[noreturn]] void refuse_smaller(const std::string& what) {
  throw Error(ExitCode::mismatch, fmt::format("holds {}, which the study has not: results grow, they do not shrink; "
                                              "name it too, or another --out",
                                              what));
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
    for (std::size_t group = 0; group < plan.units.size(); group += R)
      for (std::size_t first = 0, length = 1; first < R; length *= 2)
        for (std::size_t k = 0; k < kPartsOfALength && first < R; ++k) {
          const std::size_t last = std::min(first + length, R);
          const Unit& unit = plan.units[group + first];
          parts.push_back({s, group + first, group + last,
                           fmt::format("{:03}-{}-{}-{:05}.part", s, unit.environment.name, regime_name(unit.regime),
                                       unit.replication)});
          first = last;
        }
  }
  return parts;
}

std::size_t tally_size(const Study& study) {
  const std::size_t points = checkpoints(study.periods).size();
  return 3 + std::size(kSums) + 3 * static_cast<std::size_t>(study.dimensions.boxes) + 1 + points +
         RegretParts::kParts * (1 + points);
}

std::uint64_t most_part_bytes(const PlannedSetting& planned, const Part& part) {
  constexpr std::uint64_t kFixed = std::uint64_t{64} << 20, kTimes = 16, kNotes = 1024;
  const Study& study = planned.setting.study;
  const Dimensions& dim = study.dimensions;
  const auto doubles = [](auto... of) { return (static_cast<std::uint64_t>(of) * ...) * sizeof(double); };
  const std::uint64_t lane =
      doubles(tally_size(study)) + doubles(dim.boxes, dim.index_size() + 2) + doubles(dim.reward_features) + kNotes;
  const std::uint64_t instance = doubles(dim.boxes + 1, dim.context + dim.output + 2, dim.reward_features + 2);
  return kFixed + kTimes * (part.last - part.first) * (planned.plan.lanes.size() * lane + instance);
}

json part_content(const PlannedSetting& planned, const Part& part, const Identity& identity,
                  const std::vector<UnitResult>& results) {
  const Study& study = planned.setting.study;
  const NamedLanes lanes(study, planned.plan);
  json units = json::array(), names = json::array();
  for (const auto& [name, lane] : lanes) names.push_back(name);
  for (const UnitResult& result : results) {
    // Objects from the beginning: json that turns from null into one crashes where there is no memory for it.
    json unit = json::object();
    std::vector<double> tallies;
    for (const auto& [name, lane] : lanes) append(study, result.lanes[lane], tallies);
    unit["tallies"] = pack(tallies);
    json notes = json::object();
    for (const auto& [name, lane] : lanes)
      if (json note = notes_json(result.notes[lane]); !note.empty()) notes[name] = std::move(note);
    unit["notes"] = std::move(notes);
    unit["order"] = pack(std::vector<double>{result.order.permutations, result.order.max_mass, result.order.min_mass});
    if (result.instance) {
      json instance = json::object();
      for (const InstanceField& f : kInstanceFields) instance[f.name] = pack((*result.instance).*f.member);
      unit["instance"] = std::move(instance);
    }
    units.push_back(std::move(unit));
  }
  return {{"identity", identity},
          {"place", place(planned, part)},
          {"lanes", std::move(names)},
          {"units", std::move(units)}};
}

Identity identity_in(const json& content) {
  const json& identity = field(content, "identity");
  if (!identity.is_object()) throw Damaged("is not laid out as a part");
  Identity out;
  for (const auto& [name, value] : identity.items()) {
    if (!value.is_string()) throw Damaged("is not laid out as a part");
    out[name] = value.get<std::string>();
  }
  return out;
}

bool PartContents::whole() const {
  return units.size() == wanted && std::find(lanes.begin(), lanes.end(), false) == lanes.end();
}

PartContents part_contents(const PlannedSetting& planned, const Part& part, const json& content) {
  const Study& study = planned.setting.study;
  const json here = place(planned, part), &written = field(content, "place");
  for (const char* name : {"setting", "environment", "regime", "first_replication"})
    if (field(written, name) != here[name]) throw Damaged("holds another part of the study");
  if (written != here)
    throw Error(ExitCode::mismatch, fmt::format("was made with other values of [environment.{}]; give it another name "
                                                "or another --out",
                                                planned.plan.units[part.first].environment.name));
  PartContents out;
  out.wanted = part.last - part.first;
  const NamedLanes lanes(study, planned.plan);
  out.lanes.resize(lanes.size());
  std::vector<const std::pair<std::string, std::size_t>*> there;  // in the part's order
  const json& names = field(content, "lanes");
  if (!names.is_array()) throw Damaged("is not laid out as a part");
  for (const json& name : names) {
    if (!name.is_string()) throw Damaged("is not laid out as a part");
    there.push_back(lanes.find(name.get<std::string>()));
    if (there.back() == nullptr) refuse_smaller("lane " + name.get<std::string>().substr(0, 200));
    if (out.lanes[there.back()->second]) throw Damaged("names a lane twice");
    out.lanes[there.back()->second] = true;
  }
  const json& units = field(content, "units");
  if (!units.is_array() || units.empty()) throw Damaged("holds no units");
  if (units.size() > out.wanted)
    refuse_smaller(fmt::format("replication {}", planned.plan.units[part.last - 1].replication + 1));
  const std::size_t size = tally_size(study);
  for (std::size_t u = 0; u < units.size(); ++u) {
    UnitResult result;
    result.resize(out.lanes.size());
    const std::vector<double> tallies = unpack(field(units[u], "tallies"), there.size() * size);
    for (std::size_t k = 0; k < there.size(); ++k)
      result.lanes[there[k]->second] = tally_of(study, tallies.data() + k * size);
    const json& notes = field(units[u], "notes");
    if (!notes.is_object()) throw Damaged("is not laid out as a part");
    for (const auto* lane : there)
      if (const auto note = notes.find(lane->first); note != notes.end())
        result.notes[lane->second] = notes_of(study, *note);
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
    out.units.push_back(std::move(result));
  }
  return out;
}

void add_lanes(const std::vector<UnitResult>& from, std::vector<UnitResult>& into) {
  for (std::size_t u = 0; u < from.size(); ++u) {
    for (std::size_t lane = 0; lane < from[u].lanes.size(); ++lane)
      if (from[u].lanes[lane].ran()) {
        into[u].lanes[lane] = from[u].lanes[lane];
        into[u].notes[lane] = from[u].notes[lane];
      }
    into[u].order = from[u].order;
    into[u].instance = from[u].instance;
  }
}

}  // namespace pandora
