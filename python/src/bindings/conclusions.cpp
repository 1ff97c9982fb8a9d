// What is concluded from a folder: its tables, comparisons, the overview.
#include <algorithm>
#include <memory>

#include "beside.hpp"
#include "host/report/compare.hpp"
#include "host/studies/results/overview_table.hpp"
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
  nb::list out;
  for (const Table& table : found) out.append(table_dict(table));
  return out;
}

CompareOptions compare_options(std::vector<std::string> policies, std::vector<int> T0,
                               std::vector<std::string> environments, std::vector<std::string> regimes) {
  return {std::move(policies), std::move(T0), std::move(environments), std::move(regimes)};
}

// The columns of all rows, and the tables as they are shown.
std::vector<Table> with_columns_first(const std::vector<ComparedPair>& pairs) {
  std::vector<Table> out = {comparison_csv(pairs)};
  out[0].title = "paired comparisons";
  for (Table& table : comparison_tables(pairs)) out.push_back(std::move(table));
  return out;
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
          "compare",
          [](Results& r, std::vector<std::string> policies, std::vector<int> T0, std::vector<std::string> environments,
             std::vector<std::string> regimes) {
            const CompareOptions options =
                compare_options(std::move(policies), std::move(T0), std::move(environments), std::move(regimes));
            return tables(r, [&](StoredResults& s) { return with_columns_first(compare_policies(s, options)); });
          },
          nb::arg("policies"), nb::arg("T0"), nb::arg("environments"), nb::arg("regimes"))
      .def(
          "compare_with",
          [](Results& r, Results& other, std::vector<std::string> policies, std::vector<int> T0,
             std::vector<std::string> environments, std::vector<std::string> regimes) {
            const CompareOptions options =
                compare_options(std::move(policies), std::move(T0), std::move(environments), std::move(regimes));
            return tables(r, [&](StoredResults& s) {
              std::unique_lock<std::mutex> lock;
              if (&r != &other) lock = std::unique_lock(other.mutex());
              return with_columns_first(compare_folders(s, other.stored(), options));
            });
          },
          nb::arg("other"), nb::arg("policies"), nb::arg("T0"), nb::arg("environments"), nb::arg("regimes"));
}

}  // namespace pandora::python
