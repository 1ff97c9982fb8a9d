#include "host/results/write_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <optional>

#include "host/results/report.hpp"
#include "host/results/results_hdf5.hpp"
#include "host/results/summary.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

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

Error no_memory(const ResultFolder& folder, const std::string& program) {
  const std::string path = folder.path().string();
  return {ExitCode::device,
          fmt::format("{0}/results.h5: does not fit in memory; everything else is there, and `{1} run {0}/study.toml "
                      "--out {0} --resume --set output.hdf5=false` ends without it",
                      path, program)};
}

// Calls body(setting, plan, results) for the parts of one (setting, environment, regime) after the other.
template <class Body>
void for_each_group(ResultFolder& folder, const std::vector<PlannedSetting>& settings, const std::vector<Part>& parts,
                    Body&& body) {
  for (const std::vector<Part>& group : groups_of(settings, parts)) {
    const PlannedSetting& planned = settings[group[0].setting];
    Plan plan = planned.plan;
    plan.units.assign(planned.plan.units.begin() + static_cast<std::ptrdiff_t>(group.front().first),
                      planned.plan.units.begin() + static_cast<std::ptrdiff_t>(group.back().last));
    std::vector<UnitResult> results;
    for (const Part& part : group) {
      std::optional<std::vector<UnitResult>> found = folder.load(planned, part);
      if (!found)
        throw Error(ExitCode::output_lost,
                    fmt::format("{}: vanished while the tables were made; run again with --resume",
                                (folder.path() / "parts" / part.name).string()));
      std::move(found->begin(), found->end(), std::back_inserter(results));
    }
    body(group[0].setting, plan, results);
  }
}

}  // namespace

std::size_t failed_lanes(const std::vector<UnitResult>& results) {
  std::size_t count = 0;
  for (const UnitResult& result : results)
    count += static_cast<std::size_t>(std::count_if(result.lanes.begin(), result.lanes.end(),
                                                    [](const LaneTally& t) { return t.failure != Failure::none; }));
  return count;
}

Findings write_results(ResultFolder& folder, const StudyConfig& config, const std::vector<PlannedSetting>& settings,
                       const std::vector<Part>& parts, const std::string& program) {
  Findings out;
  const Varied& names = settings[0].setting.varied;
  std::string summary_text, oracle_text, order_text, curves_text, failures_text;
  std::vector<Summary> of_setting(settings.size());
  for_each_group(folder, settings, parts, [&](std::size_t s, const Plan& plan, const std::vector<UnitResult>& results) {
    const Setting& setting = settings[s].setting;
    const Varied& varied = setting.varied;
    Summary summary = summarise(setting.study, plan, results);
    summary_text += summary_rows(summary, varied);
    oracle_text += oracle_rows(summary, varied);
    order_text += order_rows(summary, varied);
    curves_text += curve_rows(setting.study, plan, results, summary, varied);
    failures_text += failure_rows(setting, plan, results, program);
    out.failed_lanes += failed_lanes(results);
    Summary& whole = of_setting[s];
    std::move(summary.rows.begin(), summary.rows.end(), std::back_inserter(whole.rows));
    std::move(summary.oracle.begin(), summary.oracle.end(), std::back_inserter(whole.oracle));
    std::move(summary.order.begin(), summary.order.end(), std::back_inserter(whole.order));
  });
  const Study& first = settings[0].setting.study;
  if (first.regret) {
    folder.write("summary.csv", summary_header(names) + summary_text);
    folder.write("oracle.csv", oracle_header(names) + oracle_text);
    folder.write("curves.csv", curve_header(names) + curves_text);
    folder.write("failures.csv", failure_header(names) + failures_text);
  }
  if (first.order) folder.write("oracle_order.csv", order_header(names) + order_text);
  if (first.hdf5) {  // last, and in a pass of its own: it alone may ask for more memory than there is
    try {
      ResultsHdf5 hdf5(config, folder.identity());
      for_each_group(folder, settings, parts,
                     [&](std::size_t s, const Plan& plan, const std::vector<UnitResult>& results) {
                       hdf5.add(settings[s].setting, s, plan, results);
                     });
      folder.write("results.h5", hdf5.bytes());
    } catch (const std::bad_alloc&) {
      throw no_memory(folder, program);
    } catch (const Error& error) {
      if (error.code() == ExitCode::device) throw no_memory(folder, program);
      throw;
    }
  }
  folder.write_checksums();
  for (std::size_t s = 0; s < settings.size(); ++s) {
    if (!names.empty()) out.tables += fmt::format("\n==== {} ====\n", settings[s].setting.label());
    out.tables += tables_text(settings[s].setting.study, of_setting[s]);
  }
  return out;
}

}  // namespace pandora
