#include "host/results/stored_results.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "host/files/input_file.hpp"
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

bool holds_report(const fs::path& folder) {
  try {
    return InputFile(folder / "report.html").read(1000).find("<meta name=\"generator\" content=\"pandora\">") !=
           std::string::npos;
  } catch (const Unreadable&) {
    return false;  // then it is not replaced
  }
}

void for_each_group(ResultFolder& folder, const std::vector<PlannedSetting>& settings, const std::vector<Part>& parts,
                    Missing missing, const GroupBody& body) {
  for (const std::vector<Part>& group : groups_of(settings, parts)) {
    const PlannedSetting& planned = settings[group[0].setting];
    Plan plan = planned.plan;
    plan.units = {};
    plan.units.append(planned.plan.units, group.front().first, group.back().last);
    std::vector<UnitResult> results;
    for (const Part& part : group) {
      std::optional<PartContents> found = folder.load(planned, part);
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

StudyConfig study_of_results(const ResultFolder& folder) {
  const std::string file = (folder.path() / "study.toml").string();
  StudyConfig config;
  try {
    config = read_study_file(file);
  } catch (const Error& error) {
    throw Error(ExitCode::bad_data, fmt::format("{}; run it again with --resume", error.what()));
  }
  Identity there, read;
  for (const auto& [name, value] : folder.identity())
    if (name.starts_with("study.")) there[name] = value;
  for (const auto& [key, value] : config.identity()) read["study." + key] = value;
  if (const std::vector<std::string> found = differences(there, read); !found.empty())
    throw Error(ExitCode::bad_data,
                fmt::format("{}: is not the study of the results: {} (here is the file); run it again with --resume",
                            file, fmt::join(found, "; ")));
  return config;
}

StoredResults::StoredResults(const std::string& path, DamageNote note)
    : path_(path), folder_(ResultFolder::read(path, std::move(note))), config_(study_of_results(folder_)) {
  settings_ = make_plans(config_);
  parts_ = make_parts(settings_);
}

void StoredResults::for_each_group(const GroupBody& body) {
  pandora::for_each_group(folder_, settings_, parts_, Missing::leave_empty, body);
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
    const auto found = folder_.load(settings_[part.setting], part);
    return found && found->whole();
  });
  return there == static_cast<std::ptrdiff_t>(parts_.size())
             ? ""
             : fmt::format("unfinished: {} of {} parts are complete", there, parts_.size());
}

}  // namespace pandora
