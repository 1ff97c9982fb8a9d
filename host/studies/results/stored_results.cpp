// Reads folders of results, whoever wrote them and whether or not they are finished.
#include "host/studies/results/stored_results.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <climits>
#include <iterator>
#include <list>
#include <new>

#include "host/ground/base/fail.hpp"
#include "host/ground/base/printable.hpp"
#include "host/ground/files/sealed_file.hpp"
#include "host/ground/files/system_limits.hpp"
#include "host/studies/results/result_rows.hpp"
#include "host/studies/results/results_hdf5.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;

Error no_memory(const ResultFolder& folder, const std::string& program) {
  const std::string path = folder.path().string();
  return {ExitCode::device,
          fmt::format(
              "{}/results.h5: does not fit in memory; everything else is there, and `{} run {} --out {} --resume --set "
              "output.hdf5=false` ends without it",
              path, shell_word(program), shell_word(path + "/study.toml"), shell_word(path))};
}

// The existing data of a part, in the length of the whole part.
std::vector<UnitResult> units_there(std::optional<PartContents> found, const Part& part) {
  std::vector<UnitResult> units = found ? std::move(found->units) : std::vector<UnitResult>();
  units.resize(part.last - part.first);
  return units;
}

// Whether another build of the program made the results: another version, or a program with code of its own.
bool is_foreign(const Identity& identity) {
  return build_of_results(identity) != build_parts_of_identity();
}

// Makes a lane of a policy that this program does not know from its name; see lane_name().
PlannedLane lane_from(const std::string& name) {
  const std::vector<std::string> words = split(name, '/');
  const bool calibrates = words.empty() || words[0] != "-";
  const std::optional<int> T0 = calibrates && !words.empty() ? whole_within(words[0], 0, INT_MAX) : 0;
  if (words.size() < 3 || !T0 || words[1].empty() || words[1] == "oracle") throw Damaged("names a lane that cannot be");
  PlannedLane lane;
  lane.T0 = *T0;
  static std::list<Policy> unknown;  // as long as the program runs, like the known ones
  const auto known = std::ranges::find_if(
      unknown, [&](const Policy& policy) { return policy.name == words[1] && policy.uses_calibration == calibrates; });
  lane.policy = known != unknown.end()
                    ? &*known
                    : &unknown.emplace_back(Policy{.name = words[1], .uses_calibration = calibrates});
  lane.variant.reward = words[2];
  const std::size_t lead = words[0].size() + words[1].size() + words[2].size() + 3;
  if (name.size() > lead) lane.variant.hyperparameter = name.substr(lead);
  return lane;
}

// Takes the lanes of the plan from the results, because this program may have policies that they lack, and lack others.
void take_lanes_of(const ResultFolder& folder, const std::vector<Part>& parts, std::vector<PlannedSetting>& settings) {
  for (std::size_t s = 0; s < settings.size(); ++s) {
    const auto first = std::ranges::find_if(parts, [s](const Part& part) { return part.setting == s; });
    std::vector<std::string> names;
    if (first != parts.end()) names = folder.lanes_of(settings[s], *first);
    if (names.empty()) continue;
    std::vector<PlannedLane>& lanes = settings[s].plan.lanes;
    std::erase_if(lanes, [&names](const PlannedLane& lane) { return std::erase(names, lane_name(lane)) == 0; });
    if (lanes.empty() || lanes[0].policy->name != "oracle") throw Damaged("has no lane of the oracle");
    for (const std::string& name : names) lanes.push_back(lane_from(name));
  }
}

// The study in the file, or in the text.
StudyConfig config_of(const std::string& file, bool foreign, const std::optional<std::string>& text = {}) {
  try {
    StudyConfig config = StudyConfig::parse(text ? *text : read_study_text(file), file, foreign);
    if (!foreign) config.forget_defaults();
    return config;
  } catch (const Error& error) {
    fail(ExitCode::bad_data, "{}; run it again with {}", error.marked(), option("resume"));
  }
}

// The values in which the study differs from the one with which the results were made.
std::vector<std::string> strays(const Identity& of_results, const StudyConfig& config, bool foreign) {
  Identity there, read;
  for (const auto& [name, value] : of_results)
    if (name.starts_with("study.")) there[name] = value;
  for (const auto& [key, value] : config.identity()) read["study." + key] = value;
  if (foreign) {  // skips keys that only one of the two versions has
    std::erase_if(there, [&read](const auto& entry) { return !read.contains(entry.first); });
    std::erase_if(read, [&there](const auto& entry) { return !there.contains(entry.first); });
  }
  return differences(there, read);
}

// Opens the folder once its manifest and its study agree, and returns both as they were at one moment. Another process
// may be extending the folder just now.
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

// A file for each replication, part by part.
void write_decisions(ResultFolder& folder, const StudyConfig& config, const std::vector<PlannedSetting>& settings,
                     const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    const PlannedSetting& planned = settings[part.setting];
    if (!planned.setting.study.regret) continue;
    const std::vector<UnitResult> units = units_there(folder.load(planned, part), part);
    for (std::size_t u = 0; u < units.size(); ++u) {
      Hdf5File file;
      begin_hdf5(file, config, folder.identity());
      const Unit& unit = planned.plan.units[part.first + u];
      add_decisions(file, planned, unit, units[u]);
      folder.write(fmt::format("decisions/{:03}-{}-{}-{:05}.h5", planned.number, unit.environment.name,
                               regime_name(unit.regime), unit.replication),
                   file.bytes());
    }
  }
}

}  // namespace

void for_each_group(ResultFolder& folder, const std::vector<PlannedSetting>& settings, const std::vector<Part>& parts,
                    const GroupBody& body) {
  for (auto first = parts.begin(); first != parts.end();) {
    const PlannedSetting& planned = settings[first->setting];
    const std::size_t R = static_cast<std::size_t>(planned.setting.study.replications);
    const auto last = std::find_if(first + 1, parts.end(), [R](const Part& part) { return part.first % R == 0; });
    Plan plan = planned.plan;
    plan.units = {};
    plan.units.append(planned.plan.units, first->first, last[-1].last);
    std::vector<UnitResult> results;
    for (auto part = first; part != last; ++part) {
      std::optional<PartContents> found = folder.load(planned, *part);
      if (!folder.is_shown && (!found || !found->whole()))
        fail(ExitCode::output_lost, "{}: vanished while the tables were made; run again with {}",
             (folder.path() / "parts" / part->name).string(), option("resume"));
      std::vector<UnitResult> units = units_there(std::move(found), *part);
      for (UnitResult& unit : units)  // of a whole group they would take more memory than all else
        for (LaneNotes& notes : unit.notes) notes.decisions = {};
      std::ranges::move(units, std::back_inserter(results));
    }
    body(first->setting, plan, results);
    first = last;
  }
}

StudyConfig study_of_results(const ResultFolder& folder, bool foreign) {
  const std::string file = (folder.path() / "study.toml").string();
  // An extension writes the manifest first, with the study that it will write.
  const nlohmann::json state = folder.manifest().value("state", nlohmann::json()),
                       own = folder.manifest().value("study_toml", nlohmann::json());
  const bool extending = state == "running" && own.is_string();
  std::error_code error;
  if (!extending || fs::exists(file, error)) {
    StudyConfig config = config_of(file, foreign);
    const std::vector<std::string> found = strays(folder.identity(), config, foreign);
    if (found.empty()) return config;
    if (!extending)
      fail(ExitCode::bad_data, "{}: is not the study of the results: {} (\"here\" is the file); run it again with {}",
           file, fmt::join(found, "; "), option("resume"));
  }
  return config_of(file, foreign, own.get<std::string>());
}

StoredResults::StoredResults(const std::string& path, const DamageNote& note)
    : StoredResults(path, settled(path, note), note) {}

StoredResults::StoredResults(const std::string& path, std::pair<ResultFolder, StudyConfig> found,
                             const DamageNote& note)
    : path_(path), folder_(std::move(found.first)), config_(std::move(found.second)) {
  folder_.is_shown = true;
  if (!config_.passed_over().empty())
    note(fmt::format("{}/study.toml: this program does not know {}; shown without", path,
                     fmt::join(config_.passed_over(), ", ")));
  settings_ = make_plans(config_);
  parts_ = make_parts(settings_);
  try {
    if (is_foreign(folder_.identity())) take_lanes_of(folder_, parts_, settings_);
  } catch (const Damaged& damage) {
    fail(ExitCode::bad_data, "{}: a part {}; run the study again", path, damage.what());
  }
}

void StoredResults::for_each_group(const GroupBody& body) {
  pandora::for_each_group(folder_, settings_, parts_, body);
}

void StoredResults::for_each_part(const Wanted& wanted, const PartBody& body) {
  for (const Part& part : parts_) {
    const PlannedSetting& planned = settings_[part.setting];
    const Unit first = planned.plan.units[part.first];
    if (!wanted(part, first)) continue;
    body(part.setting, first, units_there(folder_.load(planned, part), part));
  }
}

void append(Summary&& group, Summary& whole) {
  std::ranges::move(group.rows, std::back_inserter(whole.rows));
  std::ranges::move(group.oracle, std::back_inserter(whole.oracle));
  std::ranges::move(group.order, std::back_inserter(whole.order));
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
  const std::size_t lacking = lacking_parts(folder_, settings_, parts_).size();
  return lacking == 0 ? ""
                      : fmt::format("unfinished: {} of {} parts are complete", parts_.size() - lacking, parts_.size());
}

std::size_t failed_lanes(const std::vector<UnitResult>& results) {
  std::size_t count = 0;
  for (const UnitResult& result : results)
    for (const LaneTally& tally : result.lanes) count += tally.failure == Failure::none ? 0 : 1;
  return count;
}

std::vector<Part> lacking_parts(ResultFolder& folder, const std::vector<PlannedSetting>& settings,
                                const std::vector<Part>& parts) {
  std::vector<Part> lacking;
  std::ranges::copy_if(parts, std::back_inserter(lacking), [&](const Part& part) {
    const auto there = folder.load(settings[part.setting], part);
    return !there || !there->whole();
  });
  return lacking;
}

Findings write_results(ResultFolder& folder, const StudyConfig& config, const std::vector<PlannedSetting>& settings,
                       const std::vector<Part>& parts, const std::string& program) {
  Findings out;
  ResultRows rows(settings[0].setting.varied, settings[0].plan, program, has_table(settings));
  for (const PlannedSetting& planned : settings) out.settings.push_back({planned.setting, {}});
  for_each_group(folder, settings, parts, [&](std::size_t s, const Plan& plan, const std::vector<UnitResult>& results) {
    const Setting& setting = settings[s].setting;
    Summary summary = summarise(setting.study, plan, results);
    rows.add(setting, plan, results, summary);
    out.failed_lanes += failed_lanes(results);
    append(std::move(summary), out.settings[s].summary);
  });
  const Study& first = settings[0].setting.study;
  if (first.decisions) write_decisions(folder, config, settings, parts);
  if (first.regret)
    for (const char* name : {"summary", "oracle", "curves", "boxes", "depth", "choices", "failures"})
      folder.write(std::string(name) + ".csv", rows.csv(name));
  if (first.order) folder.write("oracle_order.csv", rows.csv("oracle_order"));
  if (first.hdf5) {  // last, and separately, because it alone may need more memory than there is
    std::string bytes;
    try {
      Hdf5File file;
      begin_hdf5(file, config, folder.identity());
      for_each_group(folder, settings, parts,
                     [&](std::size_t s, const Plan& plan, const std::vector<UnitResult>& results) {
                       add_to_hdf5(file, settings[s], plan, results);
                     });
      bytes = file.bytes();
    } catch (const std::bad_alloc&) {
      throw no_memory(folder, program);
    } catch (const LimitReached&) {
      throw;
    } catch (const Error& error) {
      if (error.code() != ExitCode::device) throw;
      throw no_memory(folder, program);
    }
    folder.write("results.h5", bytes);
  }
  folder.write_checksums();
  return out;
}

}  // namespace pandora
