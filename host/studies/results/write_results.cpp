#include "host/studies/results/write_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <new>

#include "host/ground/files/system_limits.hpp"
#include "host/studies/results/result_rows.hpp"
#include "host/studies/results/results_hdf5.hpp"
#include "host/studies/results/stored_results.hpp"
#include "host/studies/results/summary.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

Error no_memory(const ResultFolder& folder, const std::string& program) {
  const std::string path = folder.path().string();
  return {
      ExitCode::device,
      fmt::format("{}/results.h5: does not fit in memory; everything else is there, and `{} run {} --out {} --resume "
                  "--set output.hdf5=false` ends without it",
                  path, shell_word(program), shell_word(path + "/study.toml"), shell_word(path))};
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
  ResultRows rows(names, settings[0].plan, program, has_table(settings));
  for (const PlannedSetting& planned : settings) out.settings.push_back({planned.setting, {}});
  for_each_group(folder, settings, parts, Missing::refuse,
                 [&](std::size_t s, const Plan& plan, const std::vector<UnitResult>& results) {
                   const Setting& setting = settings[s].setting;
                   Summary summary = summarise(setting.study, plan, results);
                   rows.add(setting, plan, results, summary);
                   out.failed_lanes += failed_lanes(results);
                   append(std::move(summary), out.settings[s].summary);
                 });
  const Study& first = settings[0].setting.study;
  if (first.regret)
    for (const char* name : {"summary", "oracle", "curves", "boxes", "depth", "choices", "failures"})
      folder.write(std::string(name) + ".csv", rows.csv(name));
  if (first.order) folder.write("oracle_order.csv", rows.csv("oracle_order"));
  if (first.hdf5) {  // last, and in a pass of its own: it alone may ask for more memory than there is
    std::string bytes;
    try {
      ResultsHdf5 hdf5(config, folder.identity());
      for_each_group(folder, settings, parts, Missing::refuse,
                     [&](std::size_t s, const Plan& plan, const std::vector<UnitResult>& results) {
                       hdf5.add(settings[s].setting, settings[s].number, plan, results);
                     });
      bytes = hdf5.bytes();
    } catch (const std::bad_alloc&) {
      throw no_memory(folder, program);
    } catch (const LimitReached&) {
      throw;
    } catch (const Error& error) {
      if (error.code() == ExitCode::device) throw no_memory(folder, program);
      throw;
    }
    folder.write("results.h5", bytes);
  }
  folder.write_checksums();
  return out;
}

}  // namespace pandora
