// Threads that prepare replications, and threads that take chunks of them to a device.
#include "host/studies/sweep/device_sweep.hpp"

#include <algorithm>

#include "host/studies/sweep/crew.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "host/studies/sweep/sound.hpp"

namespace pandora {
namespace {

constexpr std::size_t kPreparersPerDevice = 4;  // enough to keep it busy while each waits for its own stream

class DeviceSweep : Crew {
 public:
  DeviceSweep(const Study& study, const Plan& plan, const SweepOptions& options, const PreparerFactory& prepare,
              const UnitRunner& run, const UnitSink& sink, DeviceGroups groups)
      : study_(study),
        plan_(plan),
        options_(options),
        prepare_(prepare),
        run_(run),
        sink_(sink),
        groups_(groups.per_device * options.devices.ids.size()),
        at_once_(std::min(groups.units, (plan.units.size() + groups_ - 1) / groups_)) {
    for (const int device : options.devices.ids) on_device_[device];
  }

  void run() {
    const std::vector<int>& devices = options_.devices.ids;
    const std::size_t most = kPreparersPerDevice * devices.size(),
                      preparers = std::clamp<std::size_t>(static_cast<std::size_t>(options_.threads), 1, most);
    std::vector<std::function<void()>> bodies;
    for (std::size_t i = 0; i < preparers; ++i) bodies.push_back([=, this] { prepare(devices[i % devices.size()]); });
    for (std::size_t i = 0; i < groups_; ++i) bodies.push_back([=, this] { serve(devices[i % devices.size()]); });
    run_all(bodies, "");
  }

 private:
  struct OnDevice {
    int running = 0;  // groups that run
    std::size_t started = 0;
    bool alone = false;  // whether the running group must stay alone
  };
  struct Prepared {
    std::unique_ptr<Replication> replication;
    UnitResult result;  // the result of all lanes, if the replication failed
    RunnableLanes lanes;
  };

  std::size_t units() const { return plan_.units.size(); }

  void prepare(int device) {
    const ReplicationPreparer prepare_unit = prepare_(device);
    std::unique_lock lock(mutex_);
    for (;;) {
      // Keeps no more replications in memory than the devices are about to take.
      changed_.wait(lock, [this] { return failure_ || next_ == units() || next_ < (taken_ + groups_) * at_once_; });
      end_if_interrupted(options_.interrupted);
      if (failure_ || next_ == units()) return;
      const std::size_t unit = next_++;
      lock.unlock();
      Prepared made;
      UnitResult& result = made.result;
      const Unit asked = plan_.units[unit];
      made.replication = std::make_unique<Replication>(named(asked, [&] {
        return prepare_unit(preparation_of(study_, plan_, asked), study_.order ? &result.order : nullptr);
      }));
      if (study_.instances) result.instance = made.replication->instance;
      keep_prompts(study_, plan_, asked, result);
      // Done here because several threads run here, and FrugalGPT's search for cascades takes time.
      if (!fail_all_if_not_finite(*made.replication, plan_.lanes.size(), result)) {
        result.resize(plan_.lanes.size());
        made.lanes = runnable_lanes(study_, plan_, *made.replication, 0, plan_.lanes.size(), result);
      }
      lock.lock();
      ready_.emplace(unit, std::move(made));
      changed_.notify_all();
    }
  }

  // A group that runs on a device, from construction to destruction. `alone` waits until no other group runs, and keeps
  // others away.
  class Running {
   public:
    Running(DeviceSweep& sweep, int device, bool alone) : sweep_(sweep), here_(sweep.on_device_.at(device)) {
      std::unique_lock lock(sweep_.mutex_);
      sweep_.changed_.wait(lock, [&] { return alone ? here_.running == 0 : !here_.alone; });
      here_.alone = alone;
      alone_at_first_ = here_.running++ == 0;
      number_ = ++here_.started;
    }
    Running(const Running&) = delete;
    ~Running() {
      const std::lock_guard lock(sweep_.mutex_);
      --here_.running;
      here_.alone = false;
      sweep_.changed_.notify_all();
    }
    /// Whether other groups ran on the device meanwhile.
    bool had_company() const {
      const std::lock_guard lock(sweep_.mutex_);
      return !alone_at_first_ || here_.started != number_;
    }

   private:
    DeviceSweep& sweep_;
    OnDevice& here_;
    bool alone_at_first_;
    std::size_t number_;
  };

  // Returns false if there was no room while other groups held some.
  template <class Run>
  bool fits_beside_others(int device, Run&& run) {
    const Running here(*this, device, false);
    try {
      run();
      return true;
    } catch (const DeviceFull&) {
      if (!here.had_company()) throw;
      return false;
    }
  }

  // Chunks are fixed ranges of units, whichever device is free first. So timing never decides which units run together.
  void serve(int device) {
    std::unique_lock lock(mutex_);
    while (!failure_ && next_chunk_ * at_once_ < units()) {
      end_if_interrupted(options_.interrupted);
      const std::size_t first = next_chunk_++ * at_once_, last = std::min(first + at_once_, units());
      changed_.wait(lock, [&] {
        return failure_ || static_cast<std::size_t>(
                               std::distance(ready_.lower_bound(first), ready_.lower_bound(last))) == last - first;
      });
      if (failure_) return;
      std::vector<Prepared> prepared;
      for (std::size_t unit = first; unit < last; ++unit) prepared.push_back(std::move(ready_.extract(unit).mapped()));
      ++taken_;
      changed_.notify_all();
      lock.unlock();
      std::vector<UnitOfLanes> chunk;
      std::size_t specs = 0;
      for (const Prepared& unit : prepared) {
        if (!unit.lanes.specs.empty()) chunk.push_back({unit.replication.get(), unit.lanes.specs});
        specs += unit.lanes.specs.size();
      }
      std::vector<LaneRecord> records;
      std::vector<std::vector<LaneTally>> tallies;
      const auto run = [&] {
        records = records_wanted(study_, specs);
        if (!chunk.empty()) tallies = run_(device, chunk, records);
      };
      if (!fits_beside_others(device, run)) {
        const Running alone(*this, device, true);
        run();
      }
      {
        const std::lock_guard one_at_a_time(sink_mutex_);
        std::size_t recorded = 0, ran = 0;
        for (std::size_t unit = first; unit < last; ++unit) {
          const RunnableLanes& lanes = prepared[unit - first].lanes;
          const std::size_t own = records.empty() ? 0 : lanes.specs.size();
          UnitResult& result = prepared[unit - first].result;
          if (!lanes.specs.empty())
            lanes.place(study_, *prepared[unit - first].replication, tallies[ran++],
                        std::span(records).subspan(recorded, own), result);
          fail_sums_not_finite(result.lanes);
          recorded += own;
          sink_(unit, std::move(result));
        }
      }
      lock.lock();
      done_ += (last - first) * plan_.lanes.size();
      if (options_.progress) options_.progress(done_, units() * plan_.lanes.size());
    }
  }

  const Study& study_;
  const Plan& plan_;
  const SweepOptions& options_;
  const PreparerFactory& prepare_;
  const UnitRunner& run_;
  const UnitSink& sink_;
  const std::size_t groups_, at_once_;
  std::size_t next_ = 0, next_chunk_ = 0, taken_ = 0, done_ = 0;
  std::mutex sink_mutex_;
  std::map<std::size_t, Prepared> ready_;  // by unit
  std::map<int, OnDevice> on_device_;
};

}  // namespace

void run_device_sweep(const Study& study, const Plan& plan, const SweepOptions& options, const PreparerFactory& prepare,
                      const UnitRunner& run, const UnitSink& sink, DeviceGroups groups) {
  DeviceSweep(study, plan, options, prepare, run, sink, groups).run();
}

}  // namespace pandora
