#include "host/run/run_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pandora {
namespace {

// Collects the units of parts as they come and stores each part when its last unit is there.
class PartCollector {
 public:
  PartCollector(ResultFolder& folder, const PlannedSetting& planned, const std::vector<Part>& parts,
                const RunOptions& options)
      : folder_(folder),
        planned_(planned),
        parts_(parts),
        options_(options),
        results_(parts.size()),
        missing_(parts.size()) {
    for (std::size_t p = 0; p < parts.size(); ++p) {
      results_[p].resize(parts[p].last - parts[p].first);
      missing_[p] = results_[p].size();
      for (std::size_t u = parts[p].first; u < parts[p].last; ++u) where_.emplace_back(p, u - parts[p].first);
    }
  }

  /// `index` counts the units of all parts, one part after the other.
  void add(std::size_t index, UnitResult&& result) {
    const auto [part, place] = where_[index];
    tell_failures(planned_.plan.units[parts_[part].first + place], result);
    results_[part][place] = std::move(result);
    if (--missing_[part] > 0) return;
    folder_.store(planned_, parts_[part], results_[part]);
    results_[part] = {};
    ++stored_;
  }

  std::size_t stored() const { return stored_; }

 private:
  void tell_failures(const Unit& unit, const UnitResult& result) {
    constexpr int kMostTold = 5;
    for (std::size_t lane = 0; options_.failed && lane < result.lanes.size() && told_ < kMostTold; ++lane) {
      const LaneTally& tally = result.lanes[lane];
      if (tally.failure == Failure::none) continue;
      options_.failed(fmt::format("lane {}/{} failed in period {}: {}{}", unit_name(unit),
                                  lane_name(planned_.plan.lanes[lane]), tally.failed_period,
                                  failure_text(tally.failure),
                                  ++told_ == kMostTold ? "; further failures are listed in failures.csv alone" : ""));
    }
  }

  ResultFolder& folder_;
  const PlannedSetting& planned_;
  const std::vector<Part>& parts_;
  const RunOptions& options_;
  int told_ = 0;
  std::vector<std::vector<UnitResult>> results_;
  std::vector<std::size_t> missing_;
  std::vector<std::pair<std::size_t, std::size_t>> where_;
  std::size_t stored_ = 0;
};

std::size_t lanes_of(const PlannedSetting& planned, std::size_t units) {
  return units * (planned.setting.study.regret ? planned.plan.lanes.size() : 1);
}

}  // namespace

void run_parts(ResultFolder& folder, const std::vector<PlannedSetting>& settings, const std::vector<Part>& parts,
               const RunOptions& options, OracleCache* cache, std::size_t& stored) {
  std::size_t total = 0, done = 0;
  for (const Part& part : parts) total += lanes_of(settings[part.setting], part.last - part.first);
  for (auto first = parts.begin(); first != parts.end();) {
    const auto last = std::find_if(first, parts.end(), [&](const Part& p) { return p.setting != first->setting; });
    const std::vector<Part> some(first, last);
    const PlannedSetting& planned = settings[first->setting];
    Plan plan = planned.plan;
    plan.units.clear();
    for (const Part& part : some)
      plan.units.insert(plan.units.end(), planned.plan.units.begin() + static_cast<std::ptrdiff_t>(part.first),
                        planned.plan.units.begin() + static_cast<std::ptrdiff_t>(part.last));
    PartCollector collector(folder, planned, some, options);
    const auto count = [&] { stored += collector.stored(); };
    SweepOptions sweep;
    sweep.threads = options.threads;
    sweep.devices = options.backend.devices;
    sweep.interrupted = options.interrupted;
    sweep.oracle_cache = cache;
    if (options.progress) sweep.progress = [&](std::size_t n, std::size_t) { options.progress(done + n, total); };
    try {
      run_sweep(planned.setting.study, plan, sweep,
                [&](std::size_t unit, UnitResult&& result) { collector.add(unit, std::move(result)); });
    } catch (...) {
      count();
      throw;
    }
    count();
    done += lanes_of(planned, plan.units.size());
    first = last;
  }
}

}  // namespace pandora
