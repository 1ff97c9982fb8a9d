// Puts units that come in any order into parts on disk.
#include "host/studies/run/run_parts.hpp"

#include <fmt/format.h>

#include <list>

#include "host/studies/sweep/prepare_replication.hpp"
#include "host/studies/sweep/sound.hpp"

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
  return units() * std::max<std::size_t>(static_cast<std::size_t>(std::ranges::count(there, false)), 1);
}

void Lack::add(std::size_t part, std::size_t place, std::size_t count) {
  if (count > 0) where.push_back({part, place, units(), count});
}

std::vector<Lack> lacks_of(ResultFolder& folder, const PlannedSetting& planned, const std::vector<Part>& parts) {
  const std::size_t lanes = planned.setting.study.regret ? planned.plan.lanes.size() : 0;
  std::vector<Lack> lacks = {{std::vector<bool>(lanes, false), {}}};
  const auto of = [&lacks](const std::vector<bool>& there) -> Lack& {
    const auto found = std::ranges::find(lacks, there, &Lack::there);
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
  if (std::ranges::count(lack.there, true) == 0) return sweep;
  sweep.plan.lanes.clear();
  for (const std::size_t lane : lack.lanes_to_run()) sweep.plan.lanes.push_back(whole.lanes[lane]);
  sweep.study.order = sweep.study.instances = false;  // they exist already
  return sweep;
}

MissingWork missing_work(const StudyConfig& config, const std::vector<PlannedSetting>& settings,
                         const RunOptions& options) {
  ResultFolder folder =
      ResultFolder::look(options.out, options.mode, identity_for(config, settings, options.backend), options.note);
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

namespace {

// Collects the units of a setting's parts as they come, and stores each part when its last unit has come.
class PartCollector {
 public:
  /// `stored` counts the parts that reached the disk.
  PartCollector(ResultFolder& folder, const PlannedSetting& of, std::vector<Part> some, const RunOptions& options,
                std::size_t& stored)
      : planned(of),
        parts(std::move(some)),
        lacks(lacks_of(folder, planned, parts)),
        folder_(folder),
        options_(options),
        stored_(stored),
        results_(parts.size()),
        missing_(parts.size()) {
    for (const Lack& lack : lacks)
      for (const Lack::Run& run : lack.where) missing_[run.part] += run.count;
  }

  const PlannedSetting& planned;
  const std::vector<Part> parts;
  const std::vector<Lack> lacks;

  /// `unit` is the number of the unit in the lack.
  void add(const Lack& lack, std::size_t unit, UnitResult&& result) {
    const Lack::Run& run = lack.run_of(unit);
    const std::size_t part = run.part, place = run.place + (unit - run.first);
    const std::vector<std::size_t> lanes = lack.lanes_to_run();
    tell_failures(planned.plan.units[parts[part].first + place], lanes, result);
    std::vector<UnitResult>& units = results_[part];
    units.resize(parts[part].last - parts[part].first);
    UnitResult& whole = units[place];
    whole.resize(lack.there.size());
    for (std::size_t k = 0; k < lanes.size(); ++k) {
      whole.lanes[lanes[k]] = result.lanes[k];
      whole.notes[lanes[k]] = std::move(result.notes[k]);
    }
    whole.order = result.order;
    whole.instance = std::move(result.instance);
    whole.table = result.table;
    whole.prompts = std::move(result.prompts);
    if (--missing_[part] > 0) return;
    if (const std::optional<PartContents> there = folder_.load(planned, parts[part])) {
      for (UnitResult& u : units) u.resize(lack.there.size());
      add_lanes(there->units, units);
    }
    folder_.store(planned, parts[part], units);
    units = {};
    ++stored_;
  }

 private:
  void tell_failures(const Unit& unit, const std::vector<std::size_t>& lanes, const UnitResult& result) {
    constexpr int kMostTold = 5;
    for (std::size_t k = 0; options_.failed && k < result.lanes.size() && told_ < kMostTold; ++k) {
      const LaneTally& tally = result.lanes[k];
      if (tally.failure == Failure::none) continue;
      options_.failed(fmt::format("lane {}/{} failed in period {}: {}{}", unit_name(unit),
                                  lane_name(planned.plan.lanes[lanes[k]]), tally.failed_period,
                                  failure_message(tally, result.notes[k]),
                                  ++told_ == kMostTold ? "; further failures are listed in failures.csv alone" : ""));
    }
  }

  ResultFolder& folder_;
  const RunOptions& options_;
  std::size_t& stored_;
  int told_ = 0;
  std::vector<std::vector<UnitResult>> results_;
  std::vector<std::size_t> missing_;
};

}  // namespace

void run_parts(ResultFolder& folder, const std::vector<PlannedSetting>& settings, const std::vector<Part>& parts,
               const RunOptions& options, OracleCache* cache, std::size_t& stored) {
  BenchmarkWatch watch(options.note);
  std::list<PartCollector> all;
  std::size_t total = 0, done = 0;
  for (auto first = parts.begin(); first != parts.end();) {
    const auto last = std::find_if(first, parts.end(), [&](const Part& p) { return p.setting != first->setting; });
    all.emplace_back(folder, settings[first->setting], std::vector(first, last), options, stored);
    for (const Lack& lack : all.back().lacks) total += lack.work();
    first = last;
  }
  for (PartCollector& of : all)
    for (const Lack& lack : of.lacks) {
      const PlannedSweep planned = sweep_of(of.planned, of.parts, lack);
      SweepOptions sweep;
      sweep.threads = options.threads;
      sweep.devices = options.backend.devices;
      sweep.interrupted = options.interrupted;
      sweep.oracle_cache = cache;
      sweep.drawn = std::ref(watch);
      if (options.progress) sweep.progress = [&](std::size_t n, std::size_t) { options.progress(done + n, total); };
      run_sweep(planned.study, planned.plan, sweep,
                [&](std::size_t unit, UnitResult&& result) { of.add(lack, unit, std::move(result)); });
      done += lack.work();
    }
}

}  // namespace pandora
