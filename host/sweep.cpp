#include "host/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "host/block_engine.hpp"
#include "host/device_sweep.hpp"
#include "host/draw_instance.hpp"
#include "kernels/error.hpp"

namespace pandora {
namespace {

// The tallies of some lanes of one replication by the study's engine.
std::vector<LaneTally> run_lanes(const Study& study, const Replication& replication,
                                 const std::vector<LaneSpec>& lanes) {
  using Kind = EngineSettings::Kind;
  using Precision = EngineSettings::Precision;
  if (study.engine.kind == Kind::reference) {
    std::vector<LaneTally> tallies;
    for (const LaneSpec& lane : lanes) tallies.push_back(run_reference_lane(replication, lane, study.estimation));
    return tallies;
  }
  const BlockOptions options{study.estimation, study.engine.block};
  return study.engine.precision == Precision::fp32 ? run_block_lanes<float>(replication, lanes, options)
                                                   : run_block_lanes<double>(replication, lanes, options);
}

// Workers take a chunk of lanes of a prepared unit if there is one, else prepare the next unit. At most one unit more
// than there are workers holds a tape, which bounds the memory.
class SweepRunner {
 public:
  SweepRunner(const Study& study, const Plan& plan, const SweepOptions& options)
      : study_(study), plan_(plan), options_(options), results_(plan.units.size()) {
    threads_ =
        options.threads > 0 ? options.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    lanes_ = study.regret ? plan.lanes.size() : 0;
    total_ = plan.units.size() * std::max<std::size_t>(lanes_, 1);
  }

  std::vector<UnitResult> run() {
    std::vector<std::thread> workers;
    try {
      for (int i = 0; i < threads_; ++i) workers.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      const std::lock_guard guard(mutex_);
      fail(std::make_exception_ptr(
          Error(ExitCode::device, fmt::format("--threads {}: the system refuses so many; give fewer", threads_))));
    }
    for (std::thread& worker : workers) worker.join();
    if (failure_) std::rethrow_exception(failure_);
    return std::move(results_);
  }

 private:
  struct Active {
    std::size_t unit;
    std::unique_ptr<Replication> replication;  // null while it is being prepared
    std::size_t next_lane = 0, done_lanes = 0;
  };

  void work() {
    guarded([this] { serve(); });
  }

  void serve() {
    std::unique_lock lock(mutex_);
    while (!failure_) {
      try {
        end_if_interrupted(options_.interrupted);
      } catch (...) {
        fail(std::current_exception());
        break;
      }
      if (const auto active = with_lanes_left(); active != active_.end()) {
        run_chunk(lock, active);
      } else if (next_unit_ < plan_.units.size() && active_.size() <= static_cast<std::size_t>(threads_)) {
        prepare(lock);
      } else if (next_unit_ == plan_.units.size() && active_.empty()) {
        return;
      } else {
        changed_.wait(lock);
      }
    }
  }

  std::list<Active>::iterator with_lanes_left() {
    auto active = active_.begin();
    while (active != active_.end() && (active->replication == nullptr || active->next_lane == lanes_)) ++active;
    return active;
  }

  void prepare(std::unique_lock<std::mutex>& lock) {
    const auto active = active_.insert(active_.end(), Active{});
    active->unit = next_unit_++;
    lock.unlock();
    UnitResult result;
    std::unique_ptr<Replication> replication;
    guarded([&] {
      result.lanes.resize(lanes_);
      replication = std::make_unique<Replication>(
          prepare_replication(study_, plan_, plan_.units[active->unit], study_.order ? &result.order : nullptr));
    });
    lock.lock();
    results_[active->unit] = std::move(result);
    active->replication = std::move(replication);
    if (lanes_ == 0) {
      finished(1);
      active_.erase(active);
    }
    changed_.notify_all();
  }

  void run_chunk(std::unique_lock<std::mutex>& lock, std::list<Active>::iterator active) {
    const std::size_t first = active->next_lane;
    const std::size_t last = std::min(lanes_, first + static_cast<std::size_t>(study_.engine.chunk));
    active->next_lane = last;
    std::vector<LaneResult>& results = results_[active->unit].lanes;
    lock.unlock();
    guarded([&] {
      std::vector<LaneSpec> specs;
      for (std::size_t lane = first; lane < last; ++lane)
        specs.push_back(plan_.lanes[lane].variant.lane(*active->replication, plan_.lanes[lane].T0));
      const std::vector<LaneTally> tallies = run_lanes(study_, *active->replication, specs);
      for (std::size_t lane = first; lane < last; ++lane) results[lane] = lane_result(tallies[lane - first]);
    });
    lock.lock();
    finished(last - first);
    active->done_lanes += last - first;
    if (active->done_lanes == lanes_) {
      active_.erase(active);
      changed_.notify_all();
    }
  }

  void finished(std::size_t count) {
    done_ += count;
    if (options_.progress) options_.progress(done_, total_);
  }

  template <class Body>
  void guarded(Body&& body) {
    try {
      body();
    } catch (...) {
      const std::lock_guard guard(mutex_);
      fail(std::current_exception());
    }
  }

  void fail(std::exception_ptr failure) {
    if (!failure_) failure_ = failure;
    changed_.notify_all();
  }

  const Study& study_;
  const Plan& plan_;
  const SweepOptions& options_;
  std::vector<UnitResult> results_;
  int threads_ = 1;
  std::size_t lanes_ = 0, total_ = 0, done_ = 0, next_unit_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Active> active_;
  std::exception_ptr failure_;
};

}  // namespace

LaneResult lane_result(const LaneTally& tally) {
  const double T = tally.periods;
  return {tally.utility / T, tally.realised_utility / T, tally.queries() / T};
}

void end_if_interrupted(const std::atomic<bool>* flag) {
  if (flag != nullptr && flag->load()) throw Error(ExitCode::interrupted, "interrupted; nothing was written");
}

Replication prepare_replication(const Study& study, const Plan& plan, const Unit& unit, OrderStatistics* order) {
  Replication replication;
  replication.instance = draw_instance(study.dimensions, unit.environment, unit.regime, unit.replication, study.seed);
  const ShockSample sample = draw_shock_sample(replication.instance, study.oracle.samples);
  if (order != nullptr) *order = order_statistics(replication.instance, sample, study.order_contexts, study.oracle);
  if (study.regret) {
    replication.tape = draw_tape(replication.instance, plan.calibration_periods, study.periods);
    replication.sigma = oracle_indices(replication.instance, sample, replication.tape.contexts, study.oracle,
                                       replication.tape.online_row(0));
  }
  return replication;
}

std::vector<UnitResult> run_sweep(const Study& study, const Plan& plan, const SweepOptions& options) {
  if (options.devices.empty() || !study.regret) return SweepRunner(study, plan, options).run();
  SweepOptions resolved = options;
  if (resolved.threads == 0) resolved.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const BlockOptions block{study.estimation, study.engine.block};
  return run_device_sweep(
      study, plan, resolved, [&](int device) { return prepare_on_device(device, study, plan); },
      [&](int device, std::span<const UnitOfLanes> units) {
        return run_on_device(device, units, block, nullptr, options.interrupted);
      });
}

}  // namespace pandora
