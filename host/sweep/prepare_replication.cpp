#include "host/sweep/prepare_replication.hpp"

#include <fmt/format.h>

#include <new>
#include <optional>

#include "host/model/draw_instance.hpp"
#include "host/model/trace_world.hpp"
#include "host/sweep/oracle_cache.hpp"
#include "pandora/environment.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

// What an environment's code may get wrong must not reach the engines.
Replication of_asked_shape(Replication replication, const Study& study, const Plan& plan, const Unit& unit) {
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

ReplicationRequest request_of(const Study& study, const Plan& plan, const Unit& unit) {
  return {study.dimensions, unit.environment,         unit.regime,   unit.replication,
          study.seed,       plan.calibration_periods, study.periods, study.oracle};
}

}  // namespace

void keep_prompts(const Study& study, const Plan& plan, const Unit& unit, UnitResult& result) {
  if (unit.environment.trace == nullptr || !study.regret) return;
  const auto world = TraceWorld::of(*unit.environment.trace, unit.environment.name);
  result.table = world->outcomes();
  const std::vector<int> rows = world->online_rows(request_of(study, plan, unit));
  result.prompts.assign(rows.begin(), rows.end());
}

Replication prepare_replication(const Study& study, const Plan& plan, const Unit& unit, OrderFrequencies* order,
                                OracleCache* cache) {
  const ReplicationRequest request = request_of(study, plan, unit);
  if (unit.environment.trace != nullptr)
    return TraceWorld::of(*unit.environment.trace, unit.environment.name)->draw(request);
  if (const ReplicationDrawer& drawer = find_drawer(unit.environment.name)) {
    try {
      return of_asked_shape(for_the_user([&] { return drawer(request); }), study, plan, unit);
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
  std::optional<ShockSample> drawn;  // a cached table does without, and so do drawn indices
  if (instance.linear_indices()) drawn.emplace();
  const auto sample = [&]() -> const ShockSample& {
    if (!drawn) drawn = draw_shock_sample(instance, study.oracle.samples);
    return *drawn;
  };
  if (order != nullptr)
    *order = named(unit, [&] { return order_frequencies(instance, sample(), study.order_contexts, study.oracle); });
  if (study.regret) {
    replication.tape = draw_tape(instance, plan.calibration_periods, study.periods);
    const Contexts& contexts = replication.tape.contexts;
    const int first = replication.tape.online_row(0);
    const auto build = [&] { return oracle_table(instance, sample(), contexts, study.oracle, first); };
    if (instance.linear_indices())
      replication.sigma = OracleTable::drawn_indices(contexts, first);
    else
      replication.sigma = (cache == nullptr || unit.environment.law == Law::custom  // whose code no key can hold
                               ? build()
                               : cache->get(instance, contexts, study.oracle, first, build))
                              .indices(instance, contexts, first);
  }
  return replication;
}

}  // namespace pandora
