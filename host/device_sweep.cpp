#include "host/device_sweep.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace pandora {
namespace {

class DeviceSweep {
 public:
  DeviceSweep(const Study& study, const Plan& plan, const SweepOptions& options, const PreparerFactory& prepare,
              const UnitRunner& run, std::size_t units_at_once)
      : study_(study),
        plan_(plan),
        options_(options),
        prepare_(prepare),
        run_(run),
        at_once_(units_at_once),
        results_(plan.units.size()) {}

  std::vector<UnitResult> run() {
    {
      std::vector<std::jthread> threads;
      const int preparers = std::min(options_.threads, kPreparersPerDevice * static_cast<int>(options_.devices.size()));
      for (int i = 0; i < preparers; ++i) {
        const int device = options_.devices[static_cast<std::size_t>(i) % options_.devices.size()];
        threads.emplace_back([this, device] { guarded([this, device] { prepare(device); }); });
      }
      for (const int device : options_.devices)
        threads.emplace_back([this, device] { guarded([this, device] { serve(device); }); });
    }
    if (failure_) std::rethrow_exception(failure_);
    return std::move(results_);
  }

 private:
  struct Ready {
    std::size_t unit;
    std::unique_ptr<Replication> replication;
  };

  void prepare(int device) {
    const UnitPreparer prepare_unit = prepare_(device);
    std::unique_lock lock(mutex_);
    for (;;) {
      // No more in memory than the devices are about to take.
      changed_.wait(lock, [this] { return failure_ || waiting_ + ready_.size() < at_once_ * options_.devices.size(); });
      end_if_interrupted(options_.interrupted);
      if (failure_ || next_ == plan_.units.size()) return;
      const std::size_t unit = next_++;
      ++waiting_;
      lock.unlock();
      UnitResult result;
      auto replication =
          std::make_unique<Replication>(prepare_unit(plan_.units[unit], study_.order ? &result.order : nullptr));
      lock.lock();
      results_[unit] = std::move(result);
      ready_.push_back({unit, std::move(replication)});
      --waiting_;
      changed_.notify_all();
    }
  }

  void serve(int device) {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] {
        return failure_ || ready_.size() >= at_once_ || (next_ == plan_.units.size() && waiting_ == 0);
      });
      if (failure_ || ready_.empty()) return;
      std::vector<Ready> taken;
      while (!ready_.empty() && taken.size() < at_once_) {
        taken.push_back(std::move(ready_.front()));
        ready_.pop_front();
      }
      changed_.notify_all();
      lock.unlock();
      std::vector<UnitOfLanes> units;
      for (const Ready& one : taken) {
        units.push_back({one.replication.get(), {}});
        for (const PlannedLane& lane : plan_.lanes)
          units.back().lanes.push_back(lane.variant.lane(*one.replication, lane.T0));
      }
      const std::vector<std::vector<LaneTally>> tallies = run_(device, units);
      lock.lock();
      for (std::size_t u = 0; u < taken.size(); ++u)
        for (const LaneTally& tally : tallies[u]) results_[taken[u].unit].lanes.push_back(lane_result(tally));
      done_ += taken.size() * plan_.lanes.size();
      if (options_.progress) options_.progress(done_, plan_.units.size() * plan_.lanes.size());
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
  const std::size_t at_once_;
  std::vector<UnitResult> results_;
  std::size_t next_ = 0, waiting_ = 0, done_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Ready> ready_;
  std::exception_ptr failure_;
};

}  // namespace

std::vector<UnitResult> run_device_sweep(const Study& study, const Plan& plan, const SweepOptions& options,
                                         const PreparerFactory& prepare, const UnitRunner& run,
                                         std::size_t units_at_once) {
  return DeviceSweep(study, plan, options, prepare, run, units_at_once).run();
}

}  // namespace pandora
