#include "host/studies/results/stored_results.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <list>
#include <optional>

#include "host/ground/files/input_file.hpp"
#include "host/ground/files/sealed_file.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;

// The parts of one (setting, environment, regime).
std::vector<std::vector<Part>> groups_of(const std::vector<PlannedSetting>& settings, const std::vector<Part>& parts) {
  std::vector<std::vector<Part>> groups;
  for (const Part& part : parts) {
    const std::size_t R = static_cast<std::size_t>(settings[part.setting].setting.study.replications);
    if (part.first % R == 0) groups.emplace_back();
    groups.back().push_back(part);
  }
  return groups;
}

}  // namespace

void for_each_group(ResultFolder& folder, const std::vector<PlannedSetting>& settings, const std::vector<Part>& parts,
                    Missing missing, const GroupBody& body) {
  for (const std::vector<Part>& group : groups_of(settings, parts)) {
    const PlannedSetting& planned = settings[group[0].setting];
    Plan plan = planned.plan;
    plan.units = {};
    plan.units.append(planned.plan.units, group.front().first, group.back().last);
    std::vector<UnitResult> results;
    for (const Part& part : group) {
      std::optional<PartContents> found = folder.load(planned, part, missing == Missing::leave_empty);
      if (missing == Missing::refuse && (!found || !found->whole()))
        throw Error(ExitCode::output_lost,
                    fmt::format("{}: vanished while the tables were made; run again with --resume",
                                (folder.path() / "parts" / part.name).string()));
      std::vector<UnitResult> units = found ? std::move(found->units) : std::vector<UnitResult>();
      units.resize(part.last - part.first);
      std::move(units.begin(), units.end(), std::back_inserter(results));
    }
    body(group[0].setting, plan, results);
  }
}

namespace {

// Whether another build of the program made the results: another version, or a program with code of its own.
bool is_foreign(const Identity& identity) {
  return build_of_results(identity) != build_parts_of_identity();
}

// A lane of a policy that this program does not know, from its name: see lane_name().
PlannedLane lane_from(const std::string& name) {
  std::vector<std::string> words;
  for (std::size_t at = 0; words.size() < 4 && at <= name.size();) {
    const std::size_t slash = words.size() == 3 ? name.size() : std::min(name.find('/', at), name.size());
    words.push_back(name.substr(at, slash - at));
    at = slash + 1;
  }
  if (words.size() < 3 || words[1].empty() || words[1] == "oracle") throw Damaged("names a lane that cannot be");
  PlannedLane lane;
  const bool calibrates = words[0] != "-";
  if (calibrates) {
    const auto [end, error] = std::from_chars(words[0].data(), words[0].data() + words[0].size(), lane.T0);
    if (error != std::errc() || end != words[0].data() + words[0].size()) throw Damaged("names a lane that cannot be");
  }
  static std::list<Policy> unknown;  // as long as the program, like those that are known
  const auto known = std::find_if(unknown.begin(), unknown.end(), [&](const Policy& policy) {
    return policy.name == words[1] && policy.uses_calibration == calibrates;
  });
  lane.policy = known != unknown.end()
                    ? &*known
                    : &unknown.emplace_back(Policy{.name = words[1], .uses_calibration = calibrates});
  lane.variant.reward = words[2];
  if (words.size() == 4) lane.variant.hyperparameter = words[3];
  return lane;
}

// The plan's lanes are those that the results have: this program has policies that were not there, and lacks others.
void take_lanes_of(const ResultFolder& folder, const std::vector<Part>& parts, std::vector<PlannedSetting>& settings) {
  for (std::size_t s = 0; s < settings.size(); ++s) {
    const auto first = std::find_if(parts.begin(), parts.end(), [s](const Part& part) { return part.setting == s; });
    std::vector<std::string> names;
    if (first != parts.end()) names = folder.lanes_of(settings[s], *first);
    if (names.empty()) continue;
    std::vector<PlannedLane>& lanes = settings[s].plan.lanes;
    std::erase_if(lanes, [&names](const PlannedLane& lane) { return std::erase(names, lane_name(lane)) == 0; });
    if (lanes.empty() || lanes[0].policy->name != "oracle") throw Damaged("has no lane of the oracle");
    for (const std::string& name : names) lanes.push_back(lane_from(name));
  }
}

}  // namespace

namespace {

StudyConfig config_of(const std::string& text, const std::string& file, bool foreign) {
  try {
    return StudyConfig::parse(text, file, foreign);
  } catch (const Error& error) {
    throw Error(ExitCode::bad_data, fmt::format("{}; run it again with --resume", error.what()));
  }
}

// Where the study differs from the one that the results were made of.
std::vector<std::string> strays(const Identity& of_results, const StudyConfig& config, bool foreign) {
  Identity there, read;
  for (const auto& [name, value] : of_results)
    if (name.starts_with("study.")) there[name] = value;
  for (const auto& [key, value] : config.identity()) read["study." + key] = value;
  if (foreign) {  // what one of the two versions does not have
    std::erase_if(there, [&read](const auto& entry) { return !read.contains(entry.first); });
    std::erase_if(read, [&there](const auto& entry) { return !there.contains(entry.first); });
  }
  return differences(there, read);
}

}  // namespace

StudyConfig study_of_results(const ResultFolder& folder, bool foreign) {
  const std::string file = (folder.path() / "study.toml").string();
  // An extension writes the manifest first, with the study that it is about to write.
  const nlohmann::json state = folder.manifest().value("state", nlohmann::json()),
                       own = folder.manifest().value("study_toml", nlohmann::json());
  const bool extending = state == "running" && own.is_string();
  std::error_code error;
  if (!extending || fs::exists(file, error)) {
    std::string text;
    try {
      text = read_study_text(file);
    } catch (const Error& problem) {
      throw Error(ExitCode::bad_data, fmt::format("{}; run it again with --resume", problem.what()));
    }
    const StudyConfig config = config_of(text, file, foreign);
    const std::vector<std::string> found = strays(folder.identity(), config, foreign);
    if (found.empty()) return config;
    if (!extending)
      throw Error(ExitCode::bad_data,
                  fmt::format("{}: is not the study of the results: {} (here is the file); run it again with --resume",
                              file, fmt::join(found, "; ")));
  }
  return config_of(own.get<std::string>(), file, foreign);
}

namespace {

// The folder once its manifest and its study agree, and that study, both of one moment: another process may be
// extending the folder just now.
std::pair<ResultFolder, StudyConfig> settled(const std::string& path, const DamageNote& note) {
  constexpr int kTries = 4;
  for (int tries = 1;; ++tries) {
    ResultFolder folder = ResultFolder::read(path, note);
    try {
      StudyConfig config = study_of_results(folder, is_foreign(folder.identity()));
      return {std::move(folder), std::move(config)};
    } catch (const Error&) {
      const bool changes = folder.manifest().value("state", nlohmann::json()) == "running" ||
                           ResultFolder::read(path, note).manifest() != folder.manifest();
      if (tries == kTries || !changes) throw;
    }
  }
}

}  // namespace

StoredResults::StoredResults(const std::string& path, DamageNote note)
    : StoredResults(path, settled(path, note), note) {}

StoredResults::StoredResults(const std::string& path, std::pair<ResultFolder, StudyConfig> found,
                             const DamageNote& note)
    : path_(path), folder_(std::move(found.first)), config_(std::move(found.second)) {
  const bool foreign = is_foreign(folder_.identity());
  if (!config_.passed_over().empty())
    note(fmt::format("{}/study.toml: this program does not know {}; shown without", path,
                     fmt::join(config_.passed_over(), ", ")));
  settings_ = make_plans(config_);
  parts_ = make_parts(settings_);
  try {
    if (foreign) take_lanes_of(folder_, parts_, settings_);
  } catch (const Damaged& damage) {
    throw Error(ExitCode::bad_data, fmt::format("{}: a part {}; run the study again", path, damage.what()));
  }
}

void StoredResults::for_each_group(const GroupBody& body) {
  pandora::for_each_group(folder_, settings_, parts_, Missing::leave_empty, body);
}

void StoredResults::for_each_part(const Wanted& wanted, const PartBody& body) {
  for (const Part& part : parts_) {
    const PlannedSetting& planned = settings_[part.setting];
    const Unit first = planned.plan.units[part.first];
    if (!wanted(part.setting, first)) continue;
    std::optional<PartContents> found = folder_.load(planned, part, true);
    std::vector<UnitResult> units = found ? std::move(found->units) : std::vector<UnitResult>();
    units.resize(part.last - part.first);
    body(part.setting, first, units);
  }
}

void append(Summary&& group, Summary& whole) {
  std::move(group.rows.begin(), group.rows.end(), std::back_inserter(whole.rows));
  std::move(group.oracle.begin(), group.oracle.end(), std::back_inserter(whole.oracle));
  std::move(group.order.begin(), group.order.end(), std::back_inserter(whole.order));
}

std::vector<SettingSummary> StoredResults::summaries() {
  std::vector<SettingSummary> out;
  for (const PlannedSetting& planned : settings_) out.push_back({planned.setting, {}});
  for_each_group([&](std::size_t s, const Plan& plan, const std::vector<UnitResult>& results) {
    append(summarise(settings_[s].setting.study, plan, results), out[s].summary);
  });
  return out;
}

std::string StoredResults::unfinished() {
  const auto there = std::count_if(parts_.begin(), parts_.end(), [&](const Part& part) {
    const auto found = folder_.load(settings_[part.setting], part, true);
    return found && found->whole();
  });
  return there == static_cast<std::ptrdiff_t>(parts_.size())
             ? ""
             : fmt::format("unfinished: {} of {} parts are complete", there, parts_.size());
}

}  // namespace pandora
