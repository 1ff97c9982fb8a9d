// Made-up results: a folder whose lanes have the utilities that a test gives.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "host/studies/results/stored_results.hpp"
#include "kernels/rules/checkpoints.hpp"
#include "tests/host/folder_test.hpp"

namespace pandora::test {

/// The utility of a lane that failed.
inline constexpr double kFailed = std::numeric_limits<double>::quiet_NaN();

/// The utility per period, x 1000, of a lane (see lane_name) in a replication.
using MadeUpUtility = std::function<double(const std::string& lane, const Unit& unit)>;

/// Utilities by the lane's name and then by replication, the same in every environment and regime. Other lanes have 0.
inline MadeUpUtility by_name(std::map<std::string, std::vector<double>> utilities) {
  return [utilities = std::move(utilities)](const std::string& lane, const Unit& unit) {
    const auto found = utilities.find(lane);
    return found == utilities.end() ? 0.0 : found->second.at(unit.replication);
  };
}

/// A lane that opens box 1 alone, at a cost of 0.1, and gains the same in every period.
inline LaneTally made_up_tally(const Study& study, double utility_x1000) {
  LaneTally tally;
  tally.start(study.periods);
  if (std::isnan(utility_x1000)) {
    tally.fail(Failure::index_fit, 1);
    return tally;
  }
  const double T = study.periods, per_period = utility_x1000 / 1000.0;
  tally.periods = study.periods;
  tally.utility = tally.realised_utility = per_period * T;
  tally.cost = 0.1 * T;
  tally.quality = tally.realised_quality = tally.utility + tally.cost;
  tally.queries_of_box[0] = tally.deployments_of_box[0] = tally.depth[1] = T;
  for (const int period : checkpoints(study.periods)) tally.curve[tally.recorded++] = per_period * period;
  tally.next = 0;
  return tally;
}

class MadeUpResults : public FolderTest {
 protected:
  std::filesystem::path parent() const override { return in_memory(); }

  std::string path(const std::string& folder = "results") const { return (base_ / folder).string(); }

  /// Four replications of 100 periods in one environment and regime, without output that is not compared. `more` may
  /// add keys, but not replace any.
  static std::string study_of(const std::string& policies, const std::string& more = "") {
    return "replications = 4\n" + study_without_replications(policies, more);
  }
  static std::string study_without_replications(const std::string& policies, const std::string& more = "") {
    return "periods = 100\nenvironments = [\"uniform\"]\nregimes = [\"A\"]\npolicies = [" + policies +
           "]\noutput.order = false\noutput.instances = false\noutput.hdf5 = false\n" + more;
  }

  /// Writes all that a run of the study would leave, except its tables. `change` may alter tallies.
  void write(const std::string& study, const MadeUpUtility& utility, const std::string& folder = "results",
             const std::function<void(const std::string& lane, LaneTally&)>& change = {}) const {
    const StudyConfig config = StudyConfig::parse(study, "study.toml");
    const std::vector<PlannedSetting> settings = make_plans(config);
    Identity identity = build_parts_of_identity();
    for (const auto& [key, value] : config.identity()) identity["study." + key] = value;
    ResultFolder results =
        ResultFolder::open(path(folder), ResultFolder::Mode::fresh, identity, [](const std::string&) {});
    for (const Part& part : make_parts(settings)) {
      const PlannedSetting& planned = settings[part.setting];
      std::vector<UnitResult> units(part.last - part.first);
      for (std::size_t u = 0; u < units.size(); ++u) {
        units[u].resize(planned.plan.lanes.size());
        for (std::size_t lane = 0; lane < units[u].lanes.size(); ++lane) {
          const std::string name = lane_name(planned.plan.lanes[lane]);
          LaneTally& tally = units[u].lanes[lane];
          tally = made_up_tally(planned.setting.study, utility(name, planned.plan.units[part.first + u]));
          if (change) change(name, tally);
        }
      }
      results.store(planned, part, units);
    }
    results.write("study.toml", config.toml());
    results.write_manifest({{"state", "complete"}, {"session", nlohmann::json::object()}});
  }

  StoredResults read(const std::string& folder = "results") const {
    return StoredResults(path(folder), [](const std::string& note) { ADD_FAILURE() << note; });
  }

  StoredResults results_of(const std::string& study, const MadeUpUtility& utility) const {
    write(study, utility);
    return read();
  }

  /// Removes replication r of uniform, A, as if it had not been run yet.
  void forget(int r, const std::string& folder = "results") const {
    char name[64];
    std::snprintf(name, sizeof name, "parts/000-uniform-A-%05d.part", r);
    ASSERT_TRUE(std::filesystem::remove(base_ / folder / name)) << name;
  }
};

}  // namespace pandora::test
