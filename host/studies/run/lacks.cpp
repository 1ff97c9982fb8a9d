#include "host/studies/run/lacks.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "host/studies/results/identity.hpp"

namespace pandora {

const Lack::Run& Lack::run_of(std::size_t unit) const {
  return *std::prev(
      std::upper_bound(where.begin(), where.end(), unit, [](std::size_t u, const Run& run) { return u < run.first; }));
}

std::vector<std::size_t> Lack::lanes_to_run() const {
  std::vector<std::size_t> lanes;
  for (std::size_t lane = 0; lane < there.size(); ++lane)
    if (!there[lane]) lanes.push_back(lane);
  return lanes;
}

std::size_t Lack::work() const {
  return units() * std::max<std::size_t>(static_cast<std::size_t>(std::count(there.begin(), there.end(), false)), 1);
}

void Lack::add(std::size_t part, std::size_t place, std::size_t count) {
  if (count > 0) where.push_back({part, place, units(), count});
}

std::vector<Lack> lacks_of(ResultFolder& folder, const PlannedSetting& planned, const std::vector<Part>& parts) {
  const std::size_t lanes = planned.setting.study.regret ? planned.plan.lanes.size() : 0;
  std::vector<Lack> lacks = {{std::vector<bool>(lanes, false), {}}};
  const auto of = [&lacks](const std::vector<bool>& there) -> Lack& {
    const auto found = std::find_if(lacks.begin(), lacks.end(), [&](const Lack& lack) { return lack.there == there; });
    return found != lacks.end() ? *found : lacks.emplace_back(Lack{there, {}});
  };
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const std::optional<PartContents> there = folder.load(planned, parts[p]);
    const std::size_t units = there ? there->units.size() : 0;
    lacks[0].add(p, units, parts[p].last - parts[p].first - units);
    if (there && !there->all_lanes()) of(there->lanes).add(p, 0, units);
  }
  std::erase_if(lacks, [](const Lack& lack) { return lack.where.empty(); });
  return lacks;
}

PlannedSweep sweep_of(const PlannedSetting& planned, const std::vector<Part>& parts, const Lack& lack) {
  const Plan& whole = planned.plan;
  PlannedSweep sweep{&planned, planned.setting.study, whole};
  sweep.plan.units = {};
  for (const Lack::Run& run : lack.where) {
    const std::size_t first = parts[run.part].first + run.place;
    sweep.plan.units.append(whole.units, first, first + run.count);
  }
  if (std::find(lack.there.begin(), lack.there.end(), true) == lack.there.end()) return sweep;
  sweep.plan.lanes.clear();
  for (const std::size_t lane : lack.lanes_to_run()) sweep.plan.lanes.push_back(whole.lanes[lane]);
  sweep.study.order = sweep.study.instances = false;  // they are there
  return sweep;
}

MissingWork missing_work(const StudyConfig& config, const std::vector<PlannedSetting>& settings,
                         const RunOptions& options) {
  std::vector<Setting> plain;
  for (const PlannedSetting& planned : settings) plain.push_back(planned.setting);
  ResultFolder folder = ResultFolder::look(
      options.out, options.mode, identity_of(config, plain, numerics_of(plain, options.backend)), options.note);
  const std::vector<Part> all = make_parts(settings);
  if (options.mode == ResultFolder::Mode::extend || folder.unknown()) folder.require_among(all);
  MissingWork missing;
  missing.parts_of_study = all.size();
  for (auto first = all.begin(); first != all.end();) {
    const auto last = std::find_if(first, all.end(), [&](const Part& p) { return p.setting != first->setting; });
    const std::vector<Part> parts(first, last);
    std::vector<bool> lacking(parts.size(), false);
    for (const Lack& lack : lacks_of(folder, settings[first->setting], parts)) {
      missing.sweeps.push_back(sweep_of(settings[first->setting], parts, lack));
      for (const Lack::Run& run : lack.where) lacking[run.part] = true;
    }
    for (std::size_t p = 0; p < parts.size(); ++p)
      if (lacking[p]) missing.parts.push_back(parts[p]);
    first = last;
  }
  return missing;
}

}  // namespace pandora
