// The tables as text for a terminal and as CSV for files.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "host/results/summary.hpp"
#include "host/study/study_config.hpp"

namespace pandora {

/// Tables 1 (tab:regimeA) and 2 (tab:regimeB) with the published value in parentheses beside each entry, Table 3, and a
/// count of the entries outside the joint 95% interval.
std::string tables_text(const Study& study, const Summary& summary);
std::string order_table_text(const std::vector<OrderRow>& rows, int replications, int contexts);

/// The keys that vary in a study, with their values in one setting: the first columns of every file.
using Varied = std::vector<std::pair<std::string, std::string>>;

/// Headers and rows of the files, lines with their ends.
std::string summary_header(const Varied& keys = {});
std::string summary_rows(const Summary& summary, const Varied& varied = {});
std::string oracle_header(const Varied& keys = {});
std::string oracle_rows(const Summary& summary, const Varied& varied = {});
std::string order_header(const Varied& keys = {});
std::string order_rows(const Summary& summary, const Varied& varied = {});

/// curves.csv: cumulative regret against the oracle at the checkpoints, of the best hyperparameter of each policy.
std::string curve_header(const Varied& keys = {});
std::string curve_rows(const Study& study, const Plan& plan, const std::vector<UnitResult>& results,
                       const Summary& summary, const Varied& varied = {});

/// failures.csv: lanes that were stopped, each with the command of `program` that runs it alone, in the folder of the
/// results.
std::string failure_header(const Varied& keys = {});
std::string failure_rows(const Setting& setting, const Plan& plan, const std::vector<UnitResult>& results,
                         const std::string& program);

/// What became of a lane, for `pandora replay`.
std::string tally_text(const LaneTally& tally);

}  // namespace pandora
