#include "host/studies/sweep/prepare_replication.hpp"

#include <fmt/format.h>

#include <new>
#include <optional>

#include "host/lanes/model/draw_instance.hpp"
#include "host/lanes/model/kernel_errors.hpp"
#include "host/lanes/model/trace_world.hpp"
#include "host/studies/sweep/oracle_cache.hpp"
#include "host/studies/sweep/own_environment.hpp"
#include "pandora/environment.hpp"
#include "pandora/error.hpp"

namespace pandora {

void keep_prompts(const Study& study, const Plan& plan, const Unit& unit, UnitResult& result) {
  if (unit.environment.trace == nullptr || !study.regret) return;
  const auto world = TraceWorld::of(*trace_keys(unit.environment), unit.environment.name);
  result.table = world->outcomes();
  const std::vector<int> rows = world->online_rows(preparation_of(study, plan, unit).request);
  result.prompts.assign(rows.begin(), rows.end());
}

Replication prepare_on_cpu(const Preparation& from, OrderFrequencies* order, OracleCache* cache) {
  const ReplicationRequest& request = from.request;
  const Environment& environment = request.environment;
  const Unit unit{environment, request.regime, request.replication};
  if (const TraceKeys* keys = trace_keys(environment)) return TraceWorld::of(*keys, environment.name)->draw(request);
  if (const ReplicationDrawer& drawer = find_drawer(environment.name)) {
    try {
      Replication drawn = for_the_user([&] { return drawer(request); });
      require_sound(drawn, request);
      return drawn;
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
  replication.instance =
      draw_instance(request.dimensions, environment, request.regime, request.replication, request.seed);
  const Instance& instance = replication.instance;
  std::optional<ShockSample> drawn;  // a cached table does without, and so do drawn indices
  if (instance.linear_indices()) drawn.emplace();
  const auto sample = [&]() -> const ShockSample& {
    if (!drawn) drawn = draw_shock_sample(instance, request.oracle.samples);
    return *drawn;
  };
  if (order != nullptr)
    *order = named(unit, [&] { return order_frequencies(instance, sample(), from.order_contexts, request.oracle); });
  if (from.tape) {
    replication.tape = draw_tape(instance, request.calibration_periods, request.periods);
    const Contexts& contexts = replication.tape.contexts;
    const int first = replication.tape.online_row(0);
    const auto build = [&] { return oracle_table(instance, sample(), contexts, request.oracle, first); };
    if (instance.linear_indices())
      replication.sigma = OracleTable::drawn_indices(contexts, first);
    else
      replication.sigma = (cache == nullptr || environment.law == Law::custom  // whose code no key can hold
                               ? build()
                               : cache->get(instance, contexts, request.oracle, first, build))
                              .indices(instance, contexts, first);
  }
  return replication;
}

Replication prepare_replication(const Study& study, const Plan& plan, const Unit& unit, OrderFrequencies* order,
                                OracleCache* cache) {
  return prepare_on_cpu(preparation_of(study, plan, unit), order, cache);
}

}  // namespace pandora
