// Runs a plan's lanes on CPU cores, or hands them to devices (device_sweep.cpp). Also has the fingerprint of this
// machine's arithmetic.
#include "host/studies/sweep/sweep.hpp"

#include <algorithm>
#include <list>

#include "host/ground/base/option.hpp"
#include "host/ground/base/quotas.hpp"
#include "host/ground/files/sealed_file.hpp"
#include "host/lanes/model/draw_instance.hpp"
#include "host/lanes/model/drift.hpp"
#include "host/studies/sweep/crew.hpp"
#include "host/studies/sweep/device_sweep.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "host/studies/sweep/sound.hpp"
#include "kernels/base/assert.hpp"
#include "kernels/lane/cohort.hpp"
#include "pandora/custom_policy.hpp"

namespace pandora {
namespace {

int threads_of(const SweepOptions& options) {
  return options.threads > 0 ? options.threads : usable_cores();
}

// Workers take a chunk of lanes of a prepared unit if there is one, otherwise they prepare the next unit. Tapes exist
// for at most (workers + 1) units at a time, which limits the memory.
class SweepRunner : Crew {
 public:
  SweepRunner(const Study& study, const Plan& plan, const SweepOptions& options, const UnitSink& sink)
      : study_(study),
        plan_(plan),
        options_(options),
        sink_(sink),
        threads_(threads_of(options)),
        lanes_(study.regret ? plan.lanes.size() : 0),
        total_(plan.units.size() * std::max<std::size_t>(lanes_, 1)) {}

  void run() {
    run_all(std::vector<std::function<void()>>(static_cast<std::size_t>(threads_), [this] { serve(); }),
            threads_ > 1 ? option("threads", threads_) : "");
  }

 private:
  struct Active {
    std::size_t unit;
    std::unique_ptr<Replication> replication;  // null while it is being prepared
    UnitResult result;
    std::size_t next_lane = 0, done_lanes = 0;
  };

  void serve() {
    std::unique_lock lock(mutex_);
    while (!failure_) {
      end_if_interrupted(options_.interrupted);
      const auto active = std::ranges::find_if(
          active_, [this](const Active& a) { return a.replication != nullptr && a.next_lane != lanes_; });
      if (active != active_.end()) {
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

  void prepare(std::unique_lock<std::mutex>& lock) {
    const auto active = active_.insert(active_.end(), Active{});
    active->unit = next_unit_++;
    lock.unlock();
    const Unit unit = plan_.units[active->unit];
    UnitResult& result = active->result;
    std::unique_ptr<Replication> replication;
    bool done = false;  // no lane is to be run: the plan has none, or numbers are not finite and all lanes have failed
    guarded([&] {
      const InterruptOfLane interrupt(options_.interrupted);
      result.resize(lanes_);
      replication = std::make_unique<Replication>(
          prepare_replication(study_, plan_, unit, study_.order ? &result.order : nullptr, options_.oracle_cache));
      if (study_.instances) result.instance = replication->instance;
      if (options_.drawn && find_drawer(unit.environment.name))
        options_.drawn(*replication, preparation_of(study_, plan_, unit).request);
      keep_prompts(study_, plan_, unit, result);
      done = lanes_ == 0 || fail_all_if_not_finite(*replication, lanes_, result);
    });
    lock.lock();
    if (done) {
      active->next_lane = lanes_;
      complete(lock, active, std::max<std::size_t>(lanes_, 1));
    } else {
      active->replication = std::move(replication);
    }
    changed_.notify_all();
  }

  void run_chunk(std::unique_lock<std::mutex>& lock, std::list<Active>::iterator active) {
    const std::size_t first = active->next_lane;
    const std::size_t last = std::min(lanes_, first + static_cast<std::size_t>(study_.engine.chunk));
    active->next_lane = last;
    lock.unlock();
    guarded([&] {
      const InterruptOfLane interrupt(options_.interrupted);
      run_planned_lanes(study_, plan_, *active->replication, first, last, active->result);
    });
    lock.lock();
    active->done_lanes += last - first;
    if (active->done_lanes == lanes_)
      complete(lock, active, last - first);
    else
      report(last - first);
  }

  // The sink may write to a slow disk; other workers go on meanwhile.
  void complete(std::unique_lock<std::mutex>& lock, std::list<Active>::iterator active, std::size_t lanes) {
    if (failure_) return;  // the failure may be in a lane of this unit
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

  const Study& study_;
  const Plan& plan_;
  const SweepOptions& options_;
  const UnitSink& sink_;
  const int threads_;
  const std::size_t lanes_, total_;
  std::size_t done_ = 0, next_unit_ = 0;
  std::mutex sink_mutex_;
  std::list<Active> active_;
};

void append(std::string& bytes, std::span<const double> values) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

// The scores in every period of some lanes. Decisions alone would hide small differences between scores.
std::string scores_of(const Study& study, const Replication& replication, const std::vector<LaneSpec>& lanes,
                      const DeviceSet& devices) {
  std::vector<LaneRecord> records(lanes.size());
  if (!devices.empty()) {
    const std::vector<UnitOfLanes> units = {{&replication, lanes}};
    devices.backend->run(devices.ids[0], units, {study.estimation, study.engine.block}, nullptr, records);
  } else {
    for (std::size_t k = 0; k < lanes.size(); ++k) run_one_lane(study, replication, lanes[k], &records[k]);
  }
  std::string bytes;
  for (const LaneRecord& record : records) append(bytes, record.scores);
  return bytes;
}

// A digest of the results of a small sweep here: laws, oracle, both regimes, all estimators, a few hundred periods.
// Machines differ in the mathematics library and in the compiler's code, whatever the flags say.
std::string fingerprint(const EngineSettings& engine, const EstimationOptions& estimation, const DeviceSet& devices) {
  Study probe;
  probe.engine = engine;
  probe.estimation = estimation;
  probe.environments.assign(paper_environments().begin() + 1, paper_environments().end());
  probe.policies = {"online_plugin", "dow", "linucb_online"};
  probe.hyperparameters = Grids{0.1};
  probe.T0 = {30};
  probe.periods = 100;
  probe.replications = 1;
  probe.dimensions.context = 30;  // the start of the program waits for this: 10 ms
  probe.dimensions.output = 20;
  probe.dimensions.radius_draws = 1000;
  probe.oracle = {500, {5, 4, 5}, 100};
#if defined(PANDORA_STAND_IN)  // a thousand times slower than a device, and every program in its tests does this first
  probe.dimensions.context = 12;
  probe.periods = 40;
#endif
  const Plan plan = make_plan(probe);
  // Like prepare_on_cpu, but without the calibration of theta_*'s radius, which takes longer than all the rest.
  ReplicationPreparer prepare = [](const Preparation& from, OrderFrequencies*) {
    const ReplicationRequest& asked = from.request;
    Replication r;
    r.instance = draw_instance(asked.dimensions, asked.environment, asked.regime, asked.replication, asked.seed,
                               [](const Instance&) { return 1.0; });
    r.tape = draw_tape(r.instance, asked.calibration_periods, asked.periods);
    r.sigma = oracle_indices(r.instance, draw_shock_sample(r.instance, asked.oracle.samples), r.tape.contexts,
                             asked.oracle, r.tape.online_row(0));
    return r;
  };
  if (!devices.empty()) prepare = devices.backend->preparer(devices.ids[0]);
  std::string bytes;
  for (const Unit& unit : plan.units) {
    const Replication replication = prepare(preparation_of(probe, plan, unit), nullptr);
    const Tape& tape = replication.tape;
    append(bytes, tape.mu);
    append(bytes, tape.cost);
    append(bytes, std::span(replication.sigma).subspan(tape.at(tape.online_row(0), 0)));
    std::vector<LaneSpec> lanes;
    for (const PlannedLane& lane : plan.lanes) lanes.push_back(lane.variant.lane(replication, lane.T0));
    bytes += scores_of(probe, replication, lanes, devices);
  }
  return sha256(bytes).substr(0, 16);
}

}  // namespace

void end_if_interrupted(const std::atomic<bool>* flag) {
  if (flag != nullptr && flag->load()) throw Error(ExitCode::interrupted, "interrupted; nothing was written");
}

DeviceGroups groups_of(const Study& study) {
  engine::Shape shape{};
  shape.A = study.dimensions.boxes;
  shape.m = study.dimensions.index_size();
  shape.stride = padded_to_vector<float>(shape.m);
  shape.d = study.dimensions.reward_features;
  shape.B = study.engine.block;
  return !study.actions.wide() && study.ties.empty() && engine::go_in_cohorts<float>(shape) ? DeviceGroups{.units = 16}
                                                                                            : DeviceGroups{};
}

void run_sweep(const Study& study, const Plan& plan, const SweepOptions& options, const UnitSink& sink) {
  if (options.devices.empty() || !study.regret) return SweepRunner(study, plan, options, sink).run();
  SweepOptions resolved = options;
  resolved.threads = threads_of(options);
  const BlockOptions block{study.estimation, study.engine.block};
  PANDORA_ASSERT(options.devices.backend != nullptr);
  const Backend& backend = *options.devices.backend;
  run_device_sweep(
      study, plan, resolved,
      [&](int device) -> ReplicationPreparer {
        const ReplicationPreparer on_device = of_table(study) ? nullptr : backend.preparer(device);
        return [on_device](const Preparation& from, OrderFrequencies* order) {
          return on_device && !moves(from.request.environment) && from.request.budget.of == Pacing::Of::nothing
                     ? on_device(from, order)
                     : prepare_on_cpu(from, order);
        };
      },
      [&](int device, std::span<const UnitOfLanes> units, std::span<LaneRecord> records) {
        // a signal lets it finish, because otherwise all of it would be lost
        return backend.run(device, units, block, nullptr, records);
      },
      sink, groups_of(study));
}

std::vector<UnitResult> run_sweep(const Study& study, const Plan& plan, const SweepOptions& options) {
  std::vector<UnitResult> results(plan.units.size());
  run_sweep(study, plan, options, [&](std::size_t unit, UnitResult&& result) { results[unit] = std::move(result); });
  return results;
}

std::string fingerprint_of(const std::vector<Setting>& settings, const DeviceSet& devices) {
  std::set<std::string> engines;
  std::string out;
  for (const Setting& setting : settings)
    if (engines.insert(setting.study.engine.text()).second)
      out += (out.empty() ? "" : " ") + fingerprint(setting.study.engine, setting.study.estimation, devices);
  return out;
}

}  // namespace pandora
