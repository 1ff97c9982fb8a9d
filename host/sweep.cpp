#include "host/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "host/device_sweep.hpp"
#include "host/draw_instance.hpp"
#include "host/engine/run_on_cpu.hpp"
#include "host/environments.hpp"
#include "host/oracle_cache.hpp"
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
  return study.engine.precision == Precision::fp32 ? run_on_cpu<float>(replication, lanes, options)
                                                   : run_on_cpu<double>(replication, lanes, options);
}

// What a policy of one's own may get wrong must not reach the engines.
bool possible(const LaneSpec& spec, const Replication& replication) {
  const int A = replication.tape.boxes();
  const bool learns = spec.learns_index() || spec.learns_payoff() || spec.learns_reward();
  if (learns && spec.learning == Learning::none) return false;  // engines keep no estimates for such a lane
  if (spec.T0 < 0 || spec.T0 > replication.tape.calibration_rows) return false;
  if (spec.order != Order::listed) return true;
  if (spec.length < 1 || spec.length > A) return false;
  for (int k = 0; k < spec.length; ++k)
    if (spec.list[k] < 0 || spec.list[k] >= A || std::find(spec.list, spec.list + k, spec.list[k]) != spec.list + k)
      return false;
  return true;
}

// The same for an environment's code.
Replication checked(Replication replication, const Study& study, const Plan& plan, const Unit& unit) {
  const Tape& tape = replication.tape;
  const Contexts& contexts = tape.contexts;
  const Dimensions& dim = study.dimensions;
  const std::size_t rows = 1 + static_cast<std::size_t>(plan.calibration_periods) +
                           static_cast<std::size_t>(study.periods),
                    cells = rows * static_cast<std::size_t>(dim.boxes);
  const bool good =
      tape.calibration_rows == plan.calibration_periods && tape.online_rows == study.periods &&
      static_cast<std::size_t>(contexts.rows) == rows && contexts.boxes == dim.boxes &&
      contexts.index_size == dim.index_size() && contexts.index_stride >= contexts.index_size &&
      contexts.index_stride % padded_to_vector<float>(1) == 0 && contexts.reward_features == dim.reward_features &&
      contexts.psi.size() == rows * static_cast<std::size_t>(contexts.index_stride) &&
      tape.phi.size() == cells * static_cast<std::size_t>(dim.reward_features) && tape.mu.size() == cells &&
      tape.cost.size() == cells && tape.reward.size() == cells && replication.sigma.size() == cells;
  if (!good)
    throw Error(ExitCode::usage,
                fmt::format("environment {}: its drawer returned a tape or indices of another shape than {} boxes, {} "
                            "calibration and {} online periods",
                            unit.environment.name, dim.boxes, plan.calibration_periods, study.periods));
  return replication;
}

// Workers take a chunk of lanes of a prepared unit if there is one, else prepare the next unit. At most one unit more
// than there are workers holds a tape, which bounds the memory.
class SweepRunner {
 public:
  SweepRunner(const Study& study, const Plan& plan, const SweepOptions& options, const UnitSink& sink)
      : study_(study), plan_(plan), options_(options), sink_(sink) {
    threads_ =
        options.threads > 0 ? options.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    lanes_ = study.regret ? plan.lanes.size() : 0;
    total_ = plan.units.size() * std::max<std::size_t>(lanes_, 1);
  }

  void run() {
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
  }

 private:
  struct Active {
    std::size_t unit;
    std::unique_ptr<Replication> replication;  // null while it is being prepared
    UnitResult result;
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
    UnitResult& result = active->result;
    std::unique_ptr<Replication> replication;
    guarded([&] {
      result.lanes.resize(lanes_);
      replication = std::make_unique<Replication>(prepare_replication(
          study_, plan_, plan_.units[active->unit], study_.order ? &result.order : nullptr, options_.oracle_cache));
      if (study_.instances) result.instance = replication->instance;
    });
    lock.lock();
    active->replication = std::move(replication);
    if (lanes_ == 0 && active->replication != nullptr) complete(lock, active, 1);
    changed_.notify_all();
  }

  void run_chunk(std::unique_lock<std::mutex>& lock, std::list<Active>::iterator active) {
    const std::size_t first = active->next_lane;
    const std::size_t last = std::min(lanes_, first + static_cast<std::size_t>(study_.engine.chunk));
    active->next_lane = last;
    lock.unlock();
    guarded([&] { run_planned_lanes(study_, plan_, *active->replication, first, last, active->result.lanes); });
    lock.lock();
    active->done_lanes += last - first;
    if (active->done_lanes == lanes_)
      complete(lock, active, last - first);
    else
      report(last - first);
  }

  // The sink may write to a slow disk: meanwhile other workers go on.
  void complete(std::unique_lock<std::mutex>& lock, std::list<Active>::iterator active, std::size_t lanes) {
    if (failure_) return;  // a lane of this unit may be what failed
    const std::size_t unit = active->unit;
    UnitResult result = std::move(active->result);
    active_.erase(active);
    changed_.notify_all();
    lock.unlock();
    guarded([&] {
      const std::lock_guard one_at_a_time(sink_mutex_);
      sink_(unit, std::move(result));
    });
    lock.lock();
    report(lanes);
  }

  void report(std::size_t lanes) {
    done_ += lanes;
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
  const UnitSink& sink_;
  int threads_ = 1;
  std::size_t lanes_ = 0, total_ = 0, done_ = 0, next_unit_ = 0;
  std::mutex mutex_, sink_mutex_;
  std::condition_variable changed_;
  std::list<Active> active_;
  std::exception_ptr failure_;
};

}  // namespace

void end_if_interrupted(const std::atomic<bool>* flag) {
  if (flag != nullptr && flag->load()) throw Error(ExitCode::interrupted, "interrupted; nothing was written");
}

Replication prepare_replication(const Study& study, const Plan& plan, const Unit& unit, OrderFrequencies* order,
                                OracleCache* cache) {
  if (const ReplicationDrawer& drawer = find_drawer(unit.environment.name)) {
    try {
      return checked(drawer(study, plan, unit), study, plan, unit);
    } catch (const Error&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      throw Error(ExitCode::internal, fmt::format("{}: the environment's drawer failed: {}; mend the program",
                                                  unit_name(unit), error.what()));
    } catch (...) {
      throw Error(ExitCode::internal,
                  fmt::format("{}: the environment's drawer failed; mend the program", unit_name(unit)));
    }
  }
  Replication replication;
  replication.instance = draw_instance(study.dimensions, unit.environment, unit.regime, unit.replication, study.seed);
  const Instance& instance = replication.instance;
  std::optional<ShockSample> drawn;  // a cached table does without
  const auto sample = [&]() -> const ShockSample& {
    if (!drawn) drawn = draw_shock_sample(instance, study.oracle.samples);
    return *drawn;
  };
  if (order != nullptr) *order = order_frequencies(instance, sample(), study.order_contexts, study.oracle);
  if (study.regret) {
    replication.tape = draw_tape(instance, plan.calibration_periods, study.periods);
    const Contexts& contexts = replication.tape.contexts;
    const int first = replication.tape.online_row(0);
    const auto build = [&] { return oracle_table(instance, sample(), contexts, study.oracle, first); };
    const OracleTable table = cache == nullptr || unit.environment.law == Law::own  // whose code no key can hold
                                  ? build()
                                  : cache->get(instance, contexts, study.oracle, first, build);
    replication.sigma = table.indices(instance, contexts, first);
  }
  return replication;
}

RunnableLanes runnable_lanes(const Plan& plan, const Replication& replication, std::size_t first, std::size_t last,
                             std::vector<LaneTally>& tallies) {
  RunnableLanes lanes;
  for (std::size_t k = first; k < last; ++k) {
    const PolicyVariant& variant = plan.lanes[k].variant;
    const int T0 = plan.lanes[k].T0;
    Failure failure = Failure::policy;
    try {
      if (variant.own) {
        if (const std::unique_ptr<OwnPolicy> policy = variant.own(replication, T0); policy != nullptr) {
          tallies[k] = run_own_lane(replication, *policy, T0);
          continue;
        }
      } else if (const LaneSpec spec = variant.lane(replication, T0); possible(spec, replication)) {
        lanes.specs.push_back(spec);
        lanes.at.push_back(k);
        continue;
      }
    } catch (const LaneFailure& lane_failure) {
      failure = lane_failure.failure();
    } catch (const Error&) {  // meant for the user
      throw;
    } catch (const std::bad_alloc&) {  // not the policy's fault, and gone the next time
      throw;
    } catch (...) {
    }
    tallies[k].start(replication.tape.online_rows);
    tallies[k].fail(failure, 0);
  }
  return lanes;
}

void run_planned_lanes(const Study& study, const Plan& plan, const Replication& replication, std::size_t first,
                       std::size_t last, std::vector<LaneTally>& tallies) {
  const RunnableLanes lanes = runnable_lanes(plan, replication, first, last, tallies);
  if (!lanes.specs.empty()) lanes.place(run_lanes(study, replication, lanes.specs), tallies);
}

std::string needs_cpu(const Study& study, const Plan& plan) {
  for (const Environment& environment : study.environments)
    if (environment.law == Law::own || find_drawer(environment.name))
      return fmt::format("environment {} is code that runs on the CPU", environment.name);
  for (const PlannedLane& lane : plan.lanes)
    if (lane.variant.own) return fmt::format("policy {} is code that runs on the CPU", lane.policy->name);
  return "";
}

void run_sweep(const Study& study, const Plan& plan, const SweepOptions& options, const UnitSink& sink) {
  if (options.devices.empty() || !study.regret) return SweepRunner(study, plan, options, sink).run();
  SweepOptions resolved = options;
  if (resolved.threads == 0) resolved.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const BlockOptions block{study.estimation, study.engine.block};
  run_device_sweep(
      study, plan, resolved, [&](int device) { return prepare_on_device(device, study, plan); },
      [&](int device, std::span<const UnitOfLanes> units) {
        return run_on_device(device, units, block);  // a signal lets it finish: all of it would be lost
      },
      sink);
}

std::vector<UnitResult> run_sweep(const Study& study, const Plan& plan, const SweepOptions& options) {
  std::vector<UnitResult> results(plan.units.size());
  run_sweep(study, plan, options, [&](std::size_t unit, UnitResult&& result) { results[unit] = std::move(result); });
  return results;
}

}  // namespace pandora
