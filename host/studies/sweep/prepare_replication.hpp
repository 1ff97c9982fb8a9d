// Everything about one replication, on the CPU.
#pragma once

#include "host/lanes/model/preparation.hpp"
#include "host/studies/study/study.hpp"
#include "host/studies/study/unit_result.hpp"
#include "pandora/error.hpp"
#include "pandora/replication.hpp"

namespace pandora {

class OracleCache;

/// What `body` returns; where an oracle's order cannot be told, the unit is named.
template <class Body>
auto named(const Unit& unit, Body&& body) {
  try {
    return body();
  } catch (const IndexNotFinite& error) {
    throw Error(ExitCode::usage, unit_name(unit) + ": " + error.what() + "; mend the values of environment." +
                                     unit.environment.name + ", or set output.order to false");
  }
}

/// A ReplicationPreparer on the CPU; `cache` keeps the oracle's tables. Throws Error if the environment is code that
/// fails or draws what require_sound (own_environment.hpp) refuses.
Replication prepare_on_cpu(const Preparation& from, OrderFrequencies* order, OracleCache* cache = nullptr);

/// Draws the instance, tape and oracle indices of a unit on the CPU; and, into `order` if it is not null,
/// the frequencies of the oracle's orders.
Replication prepare_replication(const Study& study, const Plan& plan, const Unit& unit, OrderFrequencies* order,
                                OracleCache* cache = nullptr);

/// Where the unit's environment is a table of outcomes: the table and the rows of the unit's periods.
void keep_prompts(const Study& study, const Plan& plan, const Unit& unit, UnitResult& result);

}  // namespace pandora
