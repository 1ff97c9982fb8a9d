// `pandora trace check`: what a table holds and what routing on it can pay, as tables and as JSON.
#pragma once

#include "host/cascades/fits/headroom.hpp"
#include "host/ground/tables/table.hpp"
#include "host/outcomes/routing/table_facts.hpp"

namespace pandora {

/// Of more models the most useful ones must be named: a figure of 16 is what environments take, too.
inline constexpr std::size_t kMostCheckedModels = 16;

/// Throws Error (bad_data) for more models, with the most useful ones at this price. `done`: what is not done with so
/// many, such as "checked".
void require_few_models(const TraceTable& table, double price, const char* done);

struct TraceCheck {
  std::string evaluator;
  TableFacts facts;
  std::vector<Headroom> headrooms;    ///< by price
  std::vector<std::string> verdicts;  ///< by price
};

/// Throws Error as measure_headroom() does, and Error (bad_data) for more than kMostCheckedModels models, with the most
/// useful ones.
TraceCheck check_trace(const TraceTable& table, const std::string& evaluator, const std::vector<double>& prices);

/// The models, their correlations, the judges and the headroom at each price.
std::vector<Table> trace_check_tables(const TraceCheck& check, const TraceTable& table);

/// docs/commands.md lists the members. Numbers that do not exist are null.
nlohmann::json trace_check_json(const TraceCheck& check, const TraceTable& table);

}  // namespace pandora
