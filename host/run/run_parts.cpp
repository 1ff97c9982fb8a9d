#include "host/run/run_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <memory>
#include <optional>
#include <utility>

namespace pandora {
namespace {

// Units of parts, not yet there, that lack the same lanes.
struct Lack {
  // Some units of a part that follow each other, beginning with the part's unit `place` and this lack's unit `first`.
  struct Run {
    std::size_t part, place, first, count;
  };
  std::vector<bool> there;  // lanes of the plan
  std::vector<Run> where;   // parts are few however many units they have

  std::size_t units() const { return where.empty() ? 0 : where.back().first + where.back().count; }
  void add(std::size_t part, std::size_t place, std::size_t count) {
    if (count > 0) where.push_back({part, place, units(), count});
  }
  const Run& run_of(std::size_t unit) const {
    return *std::prev(std::upper_bound(where.begin(), where.end(), unit,
                                       [](std::size_t u, const Run& run) { return u < run.first; }));
  }
  bool everything() const { return std::find(there.begin(), there.end(), true) == there.end(); }
};

std::vector<std::size_t> lanes_to_run(const Lack& lack) {
  std::vector<std::size_t> lanes;
  for (std::size_t lane = 0; lane < lack.there.size(); ++lane)
    if (!lack.there[lane]) lanes.push_back(lane);
  return lanes;
}

// Collects the units of a setting's parts as they come and stores each part when its last unit is there.
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
    const std::size_t lanes = planned.setting.study.regret ? planned.plan.lanes.size() : 0;
    lacks_.push_back({std::vector<bool>(lanes, false), {}});  // first, and perhaps of no unit
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const std::optional<PartContents> there = folder.load(planned, parts[p]);
      const std::size_t units = there ? there->units.size() : 0;
      const std::size_t wanted = parts[p].last - parts[p].first;
      const bool all = !there || std::find(there->lanes.begin(), there->lanes.end(), false) == there->lanes.end();
      lacks_[0].add(p, units, wanted - units);
      if (!all) lack_of(there->lanes).add(p, 0, units);
      missing_[p] = all ? wanted - units : wanted;
    }
  }

  const std::vector<Lack>& lacks() const { return lacks_; }

  /// `unit` counts the units of the lack.
  void add(const Lack& lack, std::size_t unit, UnitResult&& result) {
    const Lack::Run& run = lack.run_of(unit);
    const std::size_t part = run.part, place = run.place + (unit - run.first);
    const std::vector<std::size_t> lanes = lanes_to_run(lack);
    tell_failures(planned_.plan.units[parts_[part].first + place], lanes, result);
    std::vector<UnitResult>& units = results_[part];
    units.resize(parts_[part].last - parts_[part].first);
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
    if (const std::optional<PartContents> there = folder_.load(planned_, parts_[part])) {
      for (UnitResult& u : units) u.resize(lack.there.size());
      add_lanes(there->units, units);
    }
    folder_.store(planned_, parts_[part], units);
    units = {};
    ++stored_;
  }

  std::size_t stored() const { return stored_; }

 private:
  Lack& lack_of(const std::vector<bool>& there) {
    const auto found =
        std::find_if(lacks_.begin(), lacks_.end(), [&](const Lack& lack) { return lack.there == there; });
    return found != lacks_.end() ? *found : lacks_.emplace_back(Lack{there, {}});
  }

  void tell_failures(const Unit& unit, const std::vector<std::size_t>& lanes, const UnitResult& result) {
    constexpr int kMostTold = 5;
    for (std::size_t k = 0; options_.failed && k < result.lanes.size() && told_ < kMostTold; ++k) {
      const LaneTally& tally = result.lanes[k];
      if (tally.failure == Failure::none) continue;
      options_.failed(fmt::format("lane {}/{} failed in period {}: {}{}", unit_name(unit),
                                  lane_name(planned_.plan.lanes[lanes[k]]), tally.failed_period,
                                  failure_message(tally, result.notes[k]),
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
  std::vector<Lack> lacks_;
  std::size_t stored_ = 0;
};

std::size_t work_of(const Lack& lack) {
  return lack.units() * std::max<std::size_t>(lanes_to_run(lack).size(), 1);
}

}  // namespace

void run_parts(ResultFolder& folder, const std::vector<PlannedSetting>& settings, const std::vector<Part>& parts,
               const RunOptions& options, OracleCache* cache, std::size_t& stored) {
  struct OfSetting {
    const PlannedSetting* planned;
    std::vector<Part> parts;
    std::unique_ptr<PartCollector> collector;
  };
  std::list<OfSetting> all;
  std::size_t total = 0, done = 0;
  for (auto first = parts.begin(); first != parts.end();) {
    const auto last = std::find_if(first, parts.end(), [&](const Part& p) { return p.setting != first->setting; });
    OfSetting& of = all.emplace_back(OfSetting{&settings[first->setting], {first, last}, nullptr});
    of.collector = std::make_unique<PartCollector>(folder, *of.planned, of.parts, options);
    for (const Lack& lack : of.collector->lacks()) total += work_of(lack);
    first = last;
  }
  for (OfSetting& of : all)
    for (const Lack& lack : of.collector->lacks()) {
      if (lack.where.empty()) continue;
      // Lanes do not depend on each other: a plan of those that are wanted gives what the whole one would.
      const Plan& whole = of.planned->plan;
      Plan plan = whole;
      plan.units = {};
      for (const Lack::Run& run : lack.where) {
        const std::size_t first = of.parts[run.part].first + run.place;
        plan.units.append(whole.units, first, first + run.count);
      }
      Study study = of.planned->setting.study;
      if (!lack.everything()) {
        plan.lanes.clear();
        for (const std::size_t lane : lanes_to_run(lack)) plan.lanes.push_back(whole.lanes[lane]);
        study.order = study.instances = false;  // they are there
      }
      SweepOptions sweep;
      sweep.threads = options.threads;
      sweep.devices = options.backend.devices;
      sweep.interrupted = options.interrupted;
      sweep.oracle_cache = cache;
      if (options.progress) sweep.progress = [&](std::size_t n, std::size_t) { options.progress(done + n, total); };
      const std::size_t before = of.collector->stored();
      const auto count = [&] { stored += of.collector->stored() - before; };
      try {
        run_sweep(study, plan, sweep,
                  [&](std::size_t unit, UnitResult&& result) { of.collector->add(lack, unit, std::move(result)); });
      } catch (...) {
        count();
        throw;
      }
      count();
      done += work_of(lack);
    }
}

}  // namespace pandora
