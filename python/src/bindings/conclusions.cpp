// What is concluded from a folder: its tables, comparisons, the overview.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "beside.hpp"
#include "host/report/keep.hpp"
#include "host/report/report.hpp"
#include "host/studies/results/other_tables.hpp"
#include "host/studies/results/regret_tables.hpp"
#include "pandora/error.hpp"
#include "results.hpp"

namespace pandora::python {
namespace {

// The tables that `make(StoredResults&)` gives.
template <class Make>
DictList tables(Results& results, Make&& make) {
  const std::vector<Table> found = beside([&](Beside&) {
    const std::lock_guard lock(results.mutex());
    return make(results.stored());
  });
  return dicts_of(found);
}

using Compared = std::pair<Dict, DictList>;

// The pairs that `compare(StoredResults&)` gives.
template <class Compare>
std::vector<ComparedPair> pairs_of(Results& results, Compare&& compare) {
  return beside([&](Beside&) {
    const std::lock_guard lock(results.mutex());
    return compare(results.stored());
  });
}

// The columns of all rows, and the tables as they are shown.
template <class Compare>
Compared compared(Results& results, Compare&& compare) {
  const std::vector<ComparedPair> pairs = pairs_of(results, compare);
  return {dict_of(comparison_columns(pairs)), dicts_of(comparison_tables(pairs))};
}

Compared kept(Results& results, const KeepOptions& options, const CompareOptions& cells) {
  const std::vector<ComparedPair> pairs =
      pairs_of(results, [&](StoredResults& s) { return keep_pairs(s, options, cells); });
  return {dict_of(keep_columns(pairs, *options.margin)), dicts_of(keep_tables(pairs, *options.margin))};
}

// Ratios are to `base`, or to the usual one.
std::vector<Table> overview(StoredResults& stored, std::string base) {
  const std::vector<SettingSummary> found = stored.summaries();
  std::vector<std::string> names;
  for (const SummaryRow& row : found[0].summary.rows)
    if (row.policy != "oracle" && std::find(names.begin(), names.end(), row.policy) == names.end())
      names.push_back(row.policy);
  if (base.empty()) base = usual_base(found[0]);
  if (!base.empty() && std::find(names.begin(), names.end(), base) == names.end())
    throw Error(ExitCode::usage, "base \"" + base + "\" is none of the policies of the results");
  return {overview_table(found, base)};
}

}  // namespace

void bind_tables(nb::class_<Results>& results) {
  results
      .def("tables",
           [](Results& r) {
             return tables(r, [](StoredResults& s) { return study_tables(s.summaries(), TableLayout::compact); });
           })
      .def(
          "overview",
          [](Results& r, const std::string& base) {
            return tables(r, [&](StoredResults& s) { return overview(s, base); });
          },
          nb::arg("base"))
      .def(
          "report_numbers",
          [](Results& r, const std::vector<std::string>& policies, bool differences) {
            return beside([&](Beside&) {
              const std::lock_guard lock(r.mutex());
              return report_numbers(r.stored(), {policies, "", differences})
                  .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
            });
          },
          nb::arg("policies"), nb::arg("differences"), "JSON of what figures and reports are made of.")
      .def(
          "compare",
          [](Results& r, const std::vector<std::string>& policies, const std::vector<int>& T0,
             const std::vector<std::string>& environments, const std::vector<std::string>& regimes) {
            return compared(r, [&](StoredResults& s) {
              return compare_policies(s, {policies, T0, environments, regimes});
            });
          },
          nb::arg("policies"), nb::arg("T0"), nb::arg("environments"), nb::arg("regimes"))
      .def(
          "keep",
          [](Results& r, const std::string& rule, const std::string& base, std::optional<double> margin,
             const std::vector<int>& T0, const std::vector<std::string>& environments,
             const std::vector<std::string>& regimes) {
            return kept(r, {rule, base, margin}, {{}, T0, environments, regimes});
          },
          nb::arg("rule"), nb::arg("base"), nb::arg("margin").none(), nb::arg("T0"), nb::arg("environments"),
          nb::arg("regimes"))
      .def(
          "compare_with",
          [](Results& r, Results& other, const std::vector<std::string>& policies, const std::vector<int>& T0,
             const std::vector<std::string>& environments, const std::vector<std::string>& regimes) {
            return compared(r, [&](StoredResults& s) {
              std::unique_lock<std::mutex> lock;
              if (&r != &other) lock = std::unique_lock(other.mutex());
              return compare_folders(s, other.stored(), {policies, T0, environments, regimes});
            });
          },
          nb::arg("other"), nb::arg("policies"), nb::arg("T0"), nb::arg("environments"), nb::arg("regimes"));
}

}  // namespace pandora::python
