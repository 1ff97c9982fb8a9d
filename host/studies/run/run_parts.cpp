// Puts units that come in any order into parts on disk.
#include "host/studies/run/run_parts.hpp"

#include <fmt/format.h>

#include "host/studies/sweep/prepare_replication.hpp"
#include "host/studies/sweep/sound.hpp"

namespace pandora {
namespace {

// Units of a setting's parts that lack the same lanes.
struct Lack {
  // Consecutive units of a part; the first is the part's unit `place` and this lack's unit `first`.
  struct Run {
    std::size_t part, place, first, count;
  };
  std::vector<bool> there;  // for each lane of the plan: whether it exists; empty if the study simulates no policies
  std::vector<Run> where = {};  // few entries, because parts are few however many units they have

  std::size_t units() const { return where.empty() ? 0 : where.back().first + where.back().count; }

  const Run& run_of(std::size_t unit) const {
    return *std::prev(std::ranges::upper_bound(where, unit, {}, &Run::first));
  }

  // The numbers of the missing lanes, in the plan's order.
  std::vector<std::size_t> lanes_to_run() const {
    std::vector<std::size_t> lanes;
    for (std::size_t lane = 0; lane < there.size(); ++lane)
      if (!there[lane]) lanes.push_back(lane);
    return lanes;
  }

  // Lanes over all units; for a study without policies, units.
  std::size_t work() const { return units() * std::max<std::size_t>(lanes_to_run().size(), 1); }

  void add(std::size_t part, std::size_t place, std::size_t count) {
    if (count > 0) where.push_back({part, place, units(), count});
  }
};

// Some parts of a setting, and what they lack; every lack has some units.
struct Lacking {
  const PlannedSetting* planned;
  std::vector<Part> parts;
  std::vector<Lack> lacks;
};

// Setting by setting. Throws as ResultFolder::load does.
std::vector<Lacking> lacking(ResultFolder& folder, const std::vector<PlannedSetting>& settings,
                             const std::vector<Part>& parts) {
  std::vector<Lacking> out;
  for (const Part& part : parts) {
    const PlannedSetting& planned = settings[part.setting];
    if (out.empty() || out.back().planned != &planned) {
      const std::size_t lanes = planned.setting.study.regret ? planned.plan.lanes.size() : 0;
      out.push_back({&planned, {}, {{std::vector<bool>(lanes, false)}}});
    }
    std::vector<Lack>& lacks = out.back().lacks;
    const std::size_t p = out.back().parts.size();
    out.back().parts.push_back(part);
    const std::optional<PartContents> there = folder.load(planned, part);
    const std::size_t units = there ? there->units.size() : 0;
    lacks[0].add(p, units, part.last - part.first - units);
    if (!there || there->all_lanes()) continue;
    auto found = std::ranges::find(lacks, there->lanes, &Lack::there);
    if (found == lacks.end()) found = lacks.insert(found, {there->lanes});
    found->add(p, 0, units);
  }
  for (Lacking& of : out) std::erase_if(of.lacks, [](const Lack& lack) { return lack.where.empty(); });
  return out;
}

// The sweep that fills a lack. Lanes do not depend on each other, so a plan of only the missing lanes gives the same
// results as the whole plan.
PlannedSweep sweep_of(const Lacking& of, const Lack& lack) {
  const Plan& whole = of.planned->plan;
  PlannedSweep sweep{of.planned, of.planned->setting.study, whole};
  sweep.plan.units = {};
  for (const Lack::Run& run : lack.where) {
    const std::size_t first = of.parts[run.part].first + run.place;
    sweep.plan.units.append(whole.units, first, first + run.count);
  }
  if (std::ranges::count(lack.there, true) == 0) return sweep;
  sweep.plan.lanes.clear();
  for (const std::size_t lane : lack.lanes_to_run()) sweep.plan.lanes.push_back(whole.lanes[lane]);
  sweep.study.order = sweep.study.instances = false;  // they exist already
  return sweep;
}

// Collects the units of a setting's parts as they come, and stores each part when its last unit has come.
class PartCollector {
 public:
  // `stored` counts the parts that reached the disk.
  PartCollector(ResultFolder& folder, const Lacking& of, const RunOptions& options, std::size_t& stored)
      : of_(of),
        folder_(folder),
        options_(options),
        stored_(stored),
        results_(of.parts.size()),
        missing_(of.parts.size()) {
    for (const Lack& lack : of.lacks)
      for (const Lack::Run& run : lack.where) missing_[run.part] += run.count;
  }

  // `unit` is the number of the unit in the lack.
  void add(const Lack& lack, std::size_t unit, UnitResult&& result) {
    const Lack::Run& run = lack.run_of(unit);
    const std::size_t part = run.part, place = run.place + (unit - run.first);
    const std::vector<std::size_t> lanes = lack.lanes_to_run();
    tell_failures(of_.planned->plan.units[of_.parts[part].first + place], lanes, result);
    std::vector<UnitResult>& units = results_[part];
    units.resize(of_.parts[part].last - of_.parts[part].first);
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
    if (const std::optional<PartContents> there = folder_.load(*of_.planned, of_.parts[part])) {
      for (UnitResult& u : units) u.resize(lack.there.size());
      add_lanes(there->units, units);
    }
    folder_.store(*of_.planned, of_.parts[part], units);
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
                                  lane_name(of_.planned->plan.lanes[lanes[k]]), tally.failed_period,
                                  failure_message(tally, result.notes[k]),
                                  ++told_ == kMostTold ? "; further failures are listed in failures.csv alone" : ""));
    }
  }

  const Lacking& of_;
  ResultFolder& folder_;
  const RunOptions& options_;
  std::size_t& stored_;
  int told_ = 0;
  std::vector<std::vector<UnitResult>> results_;
  std::vector<std::size_t> missing_;
};

}  // namespace

MissingWork missing_work(const StudyConfig& config, const std::vector<PlannedSetting>& settings,
                         const RunOptions& options) {
  ResultFolder folder =
      ResultFolder::look(options.out, options.mode, identity_for(config, settings, options.backend), options.note);
  const std::vector<Part> all = make_parts(settings);
  if (options.mode == ResultFolder::Mode::extend || folder.unknown()) folder.require_among(all);
  MissingWork missing;
  missing.parts_of_study = all.size();
  for (const Lacking& of : lacking(folder, settings, all)) {
    std::vector<bool> lacks(of.parts.size(), false);
    for (const Lack& lack : of.lacks) {
      missing.sweeps.push_back(sweep_of(of, lack));
      for (const Lack::Run& run : lack.where) lacks[run.part] = true;
    }
    for (std::size_t p = 0; p < lacks.size(); ++p)
      if (lacks[p]) missing.parts.push_back(of.parts[p]);
  }
  return missing;
}

void run_parts(ResultFolder& folder, const std::vector<PlannedSetting>& settings, const std::vector<Part>& parts,
               const RunOptions& options, OracleCache* cache, std::size_t& stored) {
  BenchmarkWatch watch(options.note);
  const std::vector<Lacking> all = lacking(folder, settings, parts);
  std::size_t total = 0, done = 0;
  for (const Lacking& of : all)
    for (const Lack& lack : of.lacks) total += lack.work();
  for (const Lacking& of : all) {
    PartCollector collector(folder, of, options, stored);
    for (const Lack& lack : of.lacks) {
      const PlannedSweep planned = sweep_of(of, lack);
      SweepOptions sweep;
      sweep.threads = options.threads;
      sweep.devices = options.backend.devices;
      sweep.interrupted = options.interrupted;
      sweep.oracle_cache = cache;
      sweep.drawn = std::ref(watch);
      if (options.progress) sweep.progress = [&](std::size_t n, std::size_t) { options.progress(done + n, total); };
      run_sweep(planned.study, planned.plan, sweep,
                [&](std::size_t unit, UnitResult&& result) { collector.add(lack, unit, std::move(result)); });
      done += lack.work();
    }
  }
}

}  // namespace pandora
