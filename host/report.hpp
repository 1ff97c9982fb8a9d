// The tables as text for a terminal and as CSV for files.
#pragma once

#include <string>

#include "host/summary.hpp"

namespace pandora {

/// Tables 1 (tab:regimeA) and 2 (tab:regimeB) with the published value in parentheses beside each entry, Table 3, and a
/// count of the entries outside the joint 95% interval.
std::string tables_text(const Study& study, const Summary& summary);
std::string order_table_text(const std::vector<OrderRow>& rows, int replications, int contexts);

/// Contents of summary.csv, oracle.csv and oracle_order.csv.
std::string summary_csv(const Summary& summary);
std::string oracle_csv(const Summary& summary);
std::string order_csv(const Summary& summary);

}  // namespace pandora
