
#include "host/ground/files/sealed_file.hpp"
#include "host/lanes/model/draw_instance.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "host/studies/sweep/sweep.hpp"

namespace pandora {
namespace {

void append(std::string& bytes, std::span<const double> values) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

// The scores of every period of some lanes, which decisions only follow.
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

// A digest of what a small sweep gives here: laws, oracle, both regimes, all estimators, a few hundred periods.
// Machines differ in the mathematics library and in what the compiler made of the sources, whatever the flags say.
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
  probe.dimensions.context = 30;  // a start of the program waits for this: 10 ms
  probe.dimensions.output = 20;
  probe.dimensions.radius_draws = 1000;
  probe.oracle = {500, {5, 4, 5}, 100};
#if defined(PANDORA_STAND_IN)  // a thousand times slower than a device, and every program of its tests does this first
  probe.dimensions.context = 12;
  probe.periods = 40;
#endif
  const Plan plan = make_plan(probe);
  // As prepare_on_cpu, but for the radius of theta_*, whose calibration takes longer than all the rest.
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

std::string fingerprint_of(const std::vector<Setting>& settings, const DeviceSet& devices) {
  std::set<std::string> engines;
  std::string out;
  for (const Setting& setting : settings)
    if (engines.insert(setting.study.engine.text()).second)
      out += (out.empty() ? "" : " ") + fingerprint(setting.study.engine, setting.study.estimation, devices);
  return out;
}

}  // namespace pandora
