#include "host/sweep/runnable_lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <new>

#include "host/engine/run_on_cpu.hpp"
#include "host/reference/reference_engine.hpp"
#include "pandora/environment.hpp"
#include "pandora/error.hpp"

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
bool can_run(const LaneSpec& spec, const Replication& replication) {
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

}  // namespace

RunnableLanes runnable_lanes(const Plan& plan, const Replication& replication, std::size_t first, std::size_t last,
                             std::vector<LaneTally>& tallies) {
  RunnableLanes lanes;
  for (std::size_t k = first; k < last; ++k) {
    const PolicyVariant& variant = plan.lanes[k].variant;
    const int T0 = plan.lanes[k].T0;
    Failure failure = Failure::policy;
    try {
      if (variant.custom) {
        if (const std::unique_ptr<CustomPolicy> policy = variant.custom(replication, T0); policy != nullptr) {
          tallies[k] = run_custom_lane(replication, *policy, T0);
          continue;
        }
      } else if (const LaneSpec spec = variant.lane(replication, T0); can_run(spec, replication)) {
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
    if (environment.law == Law::custom || find_drawer(environment.name))
      return fmt::format("environment {} is code that runs on the CPU", environment.name);
  for (const PlannedLane& lane : plan.lanes)
    if (lane.variant.custom) return fmt::format("policy {} is code that runs on the CPU", lane.policy->name);
  return "";
}

}  // namespace pandora
