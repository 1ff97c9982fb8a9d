// Parts as JSON: writing results, and reading files that may hold anything.
#include "host/studies/results/parts.hpp"

#include <nlohmann/json.hpp>
#include <numeric>

#include "host/ground/base/fail.hpp"
#include "host/ground/files/sealed_file.hpp"
#include "host/lanes/model/trace_world.hpp"
#include "host/studies/results/lane_contents.hpp"
#include "host/studies/study/environment_keys.hpp"

namespace pandora {
namespace {

using nlohmann::json;

constexpr std::size_t kPartsOfALength = 50;

const json& field(const json& object, const char* name) {
  if (!object.is_object()) throw Damaged("is not laid out as a part");
  const auto at = object.find(name);
  if (at == object.end()) throw Damaged(fmt::format("has no {}", name));
  return *at;
}

// The fields that distinguish the part from all others of the study, and the properties of its environment on which its
// numbers depend.
json place(const PlannedSetting& planned, const Part& part) {
  const Unit& unit = planned.plan.units[part.first];
  const Environment& environment = unit.environment;
  return {{"setting", planned.setting.label()},
          {"environment", environment.name},
          {"options", options_of(environment)},
          {"regime", regime_name(unit.regime)},
          {"first_replication", unit.replication}};
}

// The lanes of a plan by name. A part stores lanes in the order of names, so that it does not depend on the order of a
// study's lists.
using NamedLanes = std::map<std::string, std::size_t>;
NamedLanes named_lanes(const Study& study, const Plan& plan) {
  NamedLanes lanes;
  for (std::size_t lane = 0; study.regret && lane < plan.lanes.size(); ++lane)
    lanes[lane_name(plan.lanes[lane])] = lane;
  return lanes;
}

// The table of outcomes of the part's environment, or null.
std::shared_ptr<const PromptOutcomes> table_in(const PlannedSetting& planned, const Part& part, const json& content) {
  const Environment environment = planned.plan.units[part.first].environment;
  if (!periods_are_prompts(environment) || !planned.setting.study.regret) return nullptr;
  const TraceSizes sizes = trace_sizes(environment);
  PromptOutcomes table;
  table.rows = static_cast<std::size_t>(sizes.online);
  table.models = static_cast<std::size_t>(sizes.boxes);
  const json& there = field(content, "table");
  if (field(there, "prompts") != table.rows) throw Damaged("holds another table");
  const auto numbers = [&](const char* name) {
    std::vector<float> out = unpack<float>(field(there, name), table.rows * table.models);
    if (!std::ranges::all_of(out, [](float x) { return std::isfinite(x); }))
      throw Damaged(fmt::format("holds a {} that is not finite", name));
    return out;
  };
  table.quality = numbers("quality");
  table.dollars = numbers("dollars");
  if (!sizes.has_rows_of_one_prompt()) {
    table.prompt.resize(table.rows);
    std::iota(table.prompt.begin(), table.prompt.end(), 0u);
  } else {
    table.prompt = unpack<std::uint32_t>(field(there, "prompt"), table.rows);
    if (std::ranges::any_of(table.prompt, [&](auto prompt) { return prompt >= table.rows; }))
      throw Damaged("holds a prompt that the table does not have");
  }
  return std::make_shared<const PromptOutcomes>(std::move(table));
}

[[noreturn]] void refuse_smaller(const std::string& what) {
  fail(ExitCode::mismatch,
       "holds {}, which the study does not have: results can grow but not shrink; name it too, or another {}", what,
       option("out"));
}

}  // namespace

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
                           fmt::format("{:03}-{}-{}-{:05}.part", settings[s].number, unit.environment.name,
                                       regime_name(unit.regime), unit.replication)});
          first = last;
        }
  }
  return parts;
}

std::uint64_t most_part_bytes(const PlannedSetting& planned, const Part& part) {
  constexpr std::uint64_t kFixed = std::uint64_t{64} << 20, kTimes = 16, kNotes = 1024;
  const Study& study = planned.setting.study;
  const Dimensions& dim = study.dimensions;
  const auto doubles = [](auto... of) { return (static_cast<std::uint64_t>(of) * ...) * sizeof(double); };
  const std::uint64_t lane =
      doubles(tally_size(study)) + doubles(dim.boxes, dim.index_size() + 2) + doubles(dim.reward_features) + kNotes;
  const Environment environment = planned.plan.units[part.first].environment;
  const std::uint64_t instance = doubles(size_of_instance(dim, environment) + 1000);  // or an environment that is code
  std::uint64_t periods = 0, rows = 0, table = 0;                                     // for a table of outcomes
  if (environment.trace != nullptr) {
    periods = static_cast<std::uint64_t>(study.periods);
    rows = periods * rows_of_period(study);
    if (laws_of(environment) == nullptr) table = doubles(trace_sizes(environment).online, dim.boxes + 1);
  }
  if (study.decisions) periods += static_cast<std::uint64_t>(study.periods) * (entries_of_period(study) + 8);
  return kFixed + table +
         kTimes * (part.last - part.first) *
             (planned.plan.lanes.size() * (lane + doubles(periods)) + instance + doubles(rows));
}

json part_content(const PlannedSetting& planned, const Part& part, const Identity& identity,
                  const std::vector<UnitResult>& results) {
  const Study& study = planned.setting.study;
  const NamedLanes lanes = named_lanes(study, planned.plan);
  json units = json::array(), names = json::array();
  for (const auto& [name, lane] : lanes) names.push_back(name);
  for (const UnitResult& result : results) {
    // Starts as an object: json crashes without memory when null turns into an object.
    json unit = json::object();
    std::vector<double> tallies;
    for (const auto& [name, lane] : lanes) append_tally(study, result.lanes[lane], tallies);
    unit["tallies"] = pack(tallies);
    json notes = json::object();
    for (const auto& [name, lane] : lanes)
      if (json note = notes_json(result.notes[lane]); !note.empty()) notes[name] = std::move(note);
    unit["notes"] = std::move(notes);
    unit["order"] = pack(std::vector<double>{result.order.permutations, result.order.max_mass, result.order.min_mass});
    if (result.instance) {
      json instance = json::object();
      for (const InstanceField& f : kInstanceFields)
        if (is_part_of(f, *result.instance)) instance[f.name] = pack((*result.instance).*f.member);
      unit["instance"] = std::move(instance);
    }
    if (result.table != nullptr) unit["prompts"] = pack<std::uint32_t>(result.prompts);
    units.push_back(std::move(unit));
  }
  json out = {{"identity", identity},
              {"place", place(planned, part)},
              {"lanes", std::move(names)},
              {"units", std::move(units)}};
  add_names_of_sums(out);
  if (!results.empty() && results[0].table != nullptr) {
    const PromptOutcomes& table = *results[0].table;
    out["table"] = {
        {"prompts", table.rows}, {"quality", pack<float>(table.quality)}, {"dollars", pack<float>(table.dollars)}};
    if (trace_sizes(planned.plan.units[part.first].environment).has_rows_of_one_prompt())
      out["table"]["prompt"] = pack<std::uint32_t>(table.prompt);
  }
  return out;
}

std::vector<std::string> lanes_in(const json& content) {
  try {
    return field(content, "lanes").get<std::vector<std::string>>();
  } catch (const json::exception&) {
    throw Damaged("is not laid out as a part");
  }
}

PartContents part_contents(const PlannedSetting& planned, const Part& part, const json& content,
                           bool passes_over_others) {
  const Study& study = planned.setting.study;
  const json here = place(planned, part), &written = field(content, "place");
  for (const char* name : {"setting", "environment", "regime", "first_replication"})
    if (field(written, name) != here[name]) throw Damaged("holds another part of the study");
  // An environment of another program may be known only by its name. Its part can be shown, but not used otherwise.
  if (!passes_over_others && field(written, "options") != here["options"])
    fail(ExitCode::mismatch, "was made with other values of [environment.{}]; give it another name or another {}",
         planned.plan.units[part.first].environment.name, option("out"));
  PartContents out;
  out.wanted = part.last - part.first;
  const NamedLanes lanes = named_lanes(study, planned.plan);
  out.lanes.resize(study.regret ? planned.plan.lanes.size() : 0);
  std::vector<NamedLanes::const_iterator> there;  // in the part's order; the end iterator: passed over
  for (const std::string& name : lanes_in(content)) {
    there.push_back(lanes.find(name));
    if (there.back() == lanes.end() && passes_over_others) continue;
    if (there.back() == lanes.end()) refuse_smaller("lane " + name.substr(0, 200));
    if (out.lanes[there.back()->second]) throw Damaged("names a lane twice");
    out.lanes[there.back()->second] = true;
  }
  const json& units = field(content, "units");
  if (!units.is_array() || units.empty()) throw Damaged("holds no units");
  if (units.size() > out.wanted && !passes_over_others)
    refuse_smaller(fmt::format("replication {}", planned.plan.units[part.last - 1].replication + 1));
  require_own_sums(content);
  const std::shared_ptr<const PromptOutcomes> table = table_in(planned, part, content);
  const std::size_t size = tally_size(study);
  for (std::size_t u = 0; u < std::min(units.size(), out.wanted); ++u) {
    UnitResult result;
    result.resize(out.lanes.size());
    const std::vector<double> tallies = unpack(field(units[u], "tallies"), there.size() * size);
    for (std::size_t k = 0; k < there.size(); ++k)
      if (there[k] != lanes.end()) result.lanes[there[k]->second] = tally_of(study, tallies.data() + k * size);
    const json& notes = field(units[u], "notes");
    if (!notes.is_object()) throw Damaged("is not laid out as a part");
    for (const auto lane : there)
      if (const auto note = lane == lanes.end() ? notes.end() : notes.find(lane->first); note != notes.end())
        result.notes[lane->second] = notes_of(study, *note);
    const std::vector<double> order = unpack(field(units[u], "order"), 3);
    const bool possible = order[0] >= 0.0 && order[0] <= study.order_contexts && order[1] >= 0.0 && order[1] <= 1.0 &&
                          order[2] >= 0.0 && order[2] <= 1.0;  // false for NaN
    if (!possible) throw Damaged("holds a frequency that cannot be");
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
        if (is_part_of(f, instance)) instance.*f.member = unpack(field(field(units[u], "instance"), f.name));
      result.instance = std::move(instance);
    }
    if (table != nullptr) {
      result.table = table;
      result.prompts = unpack<std::uint32_t>(field(units[u], "prompts"),
                                             static_cast<std::size_t>(study.periods) * rows_of_period(study));
      if (std::ranges::any_of(result.prompts, [&](auto row) { return row >= table->rows; }))
        throw Damaged("holds a prompt that the table does not have");
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
    into[u].table = from[u].table;
    into[u].prompts = from[u].prompts;
  }
}

}  // namespace pandora
