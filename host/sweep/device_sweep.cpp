#include "host/sweep/device_sweep.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "host/sweep/finite.hpp"
#include "host/sweep/prepare_replication.hpp"
#include "host/sweep/runnable_lanes.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

class DeviceSweep {
 public:
  DeviceSweep(const Study& study, const Plan& plan, const SweepOptions& options, const PreparerFactory& prepare,
              const UnitRunner& run, const UnitSink& sink, std::size_t units_at_once)
      : study_(study),
        plan_(plan),
        options_(options),
        prepare_(prepare),
        run_(run),
        sink_(sink),
        at_once_(std::min(units_at_once, (plan.units.size() + options.devices.size() - 1) / options.devices.size())) {}

  void run() {
    {
      std::vector<std::jthread> threads;
      try {
        const int most = kPreparersPerDevice * static_cast<int>(options_.devices.size());
        for (int i = 0; i < std::clamp(options_.threads, 1, most); ++i) {
          const int device = options_.devices[static_cast<std::size_t>(i) % options_.devices.size()];
          threads.emplace_back([this, device] { guarded([this, device] { prepare(device); }); });
        }
        for (const int device : options_.devices)
          threads.emplace_back([this, device] { guarded([this, device] { serve(device); }); });
      } catch (const std::system_error&) {
        guarded([] { throw Error(ExitCode::device, "the system refuses more threads; give fewer --threads"); });
      } catch (...) {  // those that were started wait for the rest
        guarded([] { throw; });
      }
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  struct Prepared {
    std::unique_ptr<Replication> replication;
    UnitResult result;  // of all lanes where the replication has failed
    RunnableLanes lanes;
  };

  std::size_t units() const { return plan_.units.size(); }

  void prepare(int device) {
    const UnitPreparer prepare_unit = prepare_(device);
    std::unique_lock lock(mutex_);
    for (;;) {
      // No more in memory than the devices are about to take.
      changed_.wait(lock, [this] {
        return failure_ || next_ == units() || next_ < (taken_ + options_.devices.size()) * at_once_;
      });
      end_if_interrupted(options_.interrupted);
      if (failure_ || next_ == units()) return;
      const std::size_t unit = next_++;
      lock.unlock();
      Prepared made;
      UnitResult& result = made.result;
      const Unit asked = plan_.units[unit];
      made.replication = std::make_unique<Replication>(
          named(asked, [&] { return prepare_unit(asked, study_.order ? &result.order : nullptr); }));
      if (study_.instances) result.instance = made.replication->instance;
      // Here, where several threads are: FrugalGPT searches its cascades.
      if (!fail_all_if_not_finite(*made.replication, plan_.lanes.size(), result)) {
        result.resize(plan_.lanes.size());
        made.lanes = runnable_lanes(plan_, *made.replication, 0, plan_.lanes.size(), result);
      }
      lock.lock();
      ready_.emplace(unit, std::move(made));
      changed_.notify_all();
    }
  }

  // Chunks are fixed ranges of units, whichever device is free first: what runs together never depends on timing.
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
      std::vector<LaneRecord> records = estimates_wanted(study_, specs);
      std::vector<std::vector<LaneTally>> tallies;
      if (!chunk.empty()) tallies = run_(device, chunk, records);
      {
        const std::lock_guard one_at_a_time(sink_mutex_);
        std::size_t recorded = 0, ran = 0;
        for (std::size_t unit = first; unit < last; ++unit) {
          const RunnableLanes& lanes = prepared[unit - first].lanes;
          const std::size_t own = records.empty() ? 0 : lanes.specs.size();
          UnitResult& result = prepared[unit - first].result;
          if (!lanes.specs.empty()) lanes.place(tallies[ran++], std::span(records).subspan(recorded, own), result);
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

  template <class Body>
  void guarded(Body&& body) {
    try {
      body();
    } catch (...) {
      const std::lock_guard guard(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    changed_.notify_all();
  }

  const Study& study_;
  const Plan& plan_;
  const SweepOptions& options_;
  const PreparerFactory& prepare_;
  const UnitRunner& run_;
  const UnitSink& sink_;
  const std::size_t at_once_;
  std::size_t next_ = 0, next_chunk_ = 0, taken_ = 0, done_ = 0;
  std::mutex mutex_, sink_mutex_;
  std::condition_variable changed_;
  std::map<std::size_t, Prepared> ready_;  // by unit
  std::exception_ptr failure_;
};

}  // namespace

void run_device_sweep(const Study& study, const Plan& plan, const SweepOptions& options, const PreparerFactory& prepare,
                      const UnitRunner& run, const UnitSink& sink, std::size_t units_at_once) {
  DeviceSweep(study, plan, options, prepare, run, sink, units_at_once).run();
}

}  // namespace pandora
