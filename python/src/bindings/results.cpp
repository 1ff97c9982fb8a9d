// Folders of results as columns, and conclusions from them.
#include "results.hpp"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "host/report/keep.hpp"
#include "host/report/report.hpp"
#include "host/studies/results/other_tables.hpp"
#include "host/studies/results/policy_titles.hpp"
#include "host/studies/results/regret_tables.hpp"
#include "host/studies/results/result_rows.hpp"
#include "host/studies/results/table_notes.hpp"
#include "host/studies/run/find_lane.hpp"
#include "kernels/rules/checkpoints.hpp"

namespace pandora::python {

Results::Results(const std::string& path)
    : stored_(path, [this](const std::string& message) { notes_.push_back(message); }) {}

namespace {

std::string note_of(const Texts& environment, const Texts& regime, const Texts& policy, const std::vector<double>& mean,
                    const std::vector<double>& half_width, const std::vector<double>& replications) {
  std::vector<SummaryRow> rows(policy.size());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    rows[k].environment = environment[k];
    rows[k].regime = regime[k];
    rows[k].policy = policy[k];
    rows[k].regret = {mean[k], half_width[k]};
    rows[k].replications = static_cast<int>(replications[k]);
  }
  return benchmark_note(rows);
}

// The columns of a CSV file of the folder, with some that only data frames have. Curves, boxes and depth are for the
// given rows of the summary.
Dict columns(Results& results, const std::string& file, const std::vector<std::size_t>& of_rows) {
  return dict_of(results.read([&](StoredResults& stored) {
    ResultRows rows(stored.settings()[0].setting.varied, stored.settings()[0].plan, "pandora",
                    has_table(stored.settings()));
    std::size_t number = 0;
    stored.for_each_group([&](std::size_t s, const Plan& plan, const std::vector<UnitResult>& units) {
      const Setting& setting = stored.settings()[s].setting;
      const Summary summary = summarise(setting.study, plan, units);
      rows.add_summary(summary, setting.varied);
      for (const SummaryRow& row : summary.rows)
        if (std::count(of_rows.begin(), of_rows.end(), number++) > 0) rows.add_row(setting, units, row);
      if (setting.study.regret) rows.add_lanes(setting, plan, units);
    });
    return rows.files.at(file);
  }));
}

DictList settings(const Results& results) {
  nb::list out;
  for (const PlannedSetting& planned : results.stored().settings()) {
    const Study& study = planned.setting.study;
    nb::dict one;
    one["label"] = planned.setting.label();
    nb::list environments, regimes;
    for (const Environment& environment : study.environments) environments.append(environment.name);
    for (const Regime regime : study.regimes) regimes.append(regime_name(regime));
    one["environments"] = environments;
    one["regimes"] = regimes;
    one["T0"] = study.T0;
    one["replications"] = study.replications;
    one["periods"] = study.periods;
    one["boxes"] = study.dimensions.boxes;
    one["checkpoints"] = checkpoints(study.periods);
    nb::list lanes;
    for (const PlannedLane& lane : planned.plan.lanes)
      lanes.append(nb::make_tuple(lane_name(lane), lane.policy->name, lane.variant.reward, lane.variant.hyperparameter,
                                  lane.T0, lane.policy->uses_calibration));
    one["lanes"] = lanes;
    out.append(one);
  }
  return out;
}

using Compared = std::pair<Dict, DictList>;

// The columns of all rows, and the tables as they are shown.
Compared compared(const std::vector<ComparedPair>& pairs) {
  return {dict_of(comparison_columns(pairs)), dicts_of(comparison_tables(pairs))};
}

// The overview with ratios to `base`, or to the usual base.
std::vector<Table> overview(StoredResults& stored, std::string base) {
  const std::vector<SettingSummary> found = stored.summaries();
  Texts names;
  for (const SummaryRow& row : found[0].summary.rows)
    if (row.policy != "oracle" && std::find(names.begin(), names.end(), row.policy) == names.end())
      names.push_back(row.policy);
  if (base.empty()) base = usual_base(found[0]);
  if (!base.empty() && std::find(names.begin(), names.end(), base) == names.end())
    throw misuse("base \"" + base + "\" is none of the policies of the results");
  return {overview_table(found, base)};
}

// Binds the conclusions: tables, comparisons, the overview.
void bind_conclusions(nb::class_<Results>& results) {
  results
      .def(
          "tables",
          [](Results& r) {
            return dicts_of(r.read([](StoredResults& s) { return study_tables(s.summaries(), TableLayout::compact); }));
          })
      .def(
          "overview",
          [](Results& r, const std::string& base) {
            return dicts_of(r.read([&](StoredResults& s) { return overview(s, base); }));
          },
          nb::arg("base"))
      .def(
          "report_numbers",
          [](Results& r, const Texts& policies, bool differences) {
            return r.read([&](StoredResults& s) {
              return report_numbers(s, {policies, "", differences})
                  .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
            });
          },
          nb::arg("policies"), nb::arg("differences"), "The numbers of figures and reports as JSON.")
      .def(
          "compare",
          [](Results& r, const Texts& policies, const std::vector<int>& T0, const Texts& environments,
             const Texts& regimes) {
            return compared(r.read([&](StoredResults& s) {
              return compare_policies(s, {policies, T0, environments, regimes});
            }));
          },
          nb::arg("policies"), nb::arg("T0"), nb::arg("environments"), nb::arg("regimes"))
      .def(
          "keep",
          [](Results& r, const std::string& rule, const std::string& base, std::optional<double> margin,
             const std::vector<int>& T0, const Texts& environments, const Texts& regimes) {
            const KeepOptions options{rule, base, margin};
            const std::vector<ComparedPair> pairs = r.read([&](StoredResults& s) {
              return keep_pairs(s, options, {{}, T0, environments, regimes});
            });
            return Compared(dict_of(keep_columns(pairs, *options.margin)),
                            dicts_of(keep_tables(pairs, *options.margin)));
          },
          nb::arg("rule"), nb::arg("base"), nb::arg("margin").none(), nb::arg("T0"), nb::arg("environments"),
          nb::arg("regimes"))
      .def(
          "compare_with",
          [](Results& r, Results& other, const Texts& policies, const std::vector<int>& T0, const Texts& environments,
             const Texts& regimes) {
            return compared(r.read([&](StoredResults& s) {
              std::unique_lock<std::mutex> lock;
              if (&r != &other) lock = std::unique_lock(other.mutex());
              return compare_folders(s, other.stored(), {policies, T0, environments, regimes});
            }));
          },
          nb::arg("other"), nb::arg("policies"), nb::arg("T0"), nb::arg("environments"), nb::arg("regimes"));
}

}  // namespace

void bind_results(nb::module_& module) {
  nb::class_<Results> results(module, "Results", "A folder of results, finished or not.");
  results.def(nb::init<const std::string&>(), nb::arg("path"), nb::call_guard<WithoutGil>())
      .def_prop_ro("path", [](const Results& r) { return r.stored().path(); })
      .def_prop_ro("notes", &Results::notes, "Notes on damaged parts, and on names that are unknown here.")
      .def_prop_ro("study", [](const Results& r) { return StudyConfig(r.stored().config()); })
      .def_prop_ro(
          "manifest", [](const Results& r) { return r.stored().manifest().dump(); }, "As JSON.")
      .def("settings", &settings)
      .def("unfinished", [](Results& r) { return r.read([](StoredResults& s) { return s.unfinished(); }); })
      .def("columns", &columns, nb::arg("file"), nb::arg("of_rows"))
      .def("numbers_of_lanes", &numbers_of_lanes, nb::arg("setting"), nb::arg("environment"), nb::arg("regime"),
           nb::arg("lanes"), nb::arg("fields"))
      .def("decisions_of_lane", &decisions_of_lane, nb::arg("setting"), nb::arg("environment"), nb::arg("regime"),
           nb::arg("lane"), nb::arg("replication"))
      .def(
          "titles",
          [](Results& r) {
            return r.read([](StoredResults& stored) {
              Summary all;
              for (SettingSummary& s : stored.summaries()) append(std::move(s.summary), all);
              std::vector<std::tuple<std::string, std::string, std::string>> out;
              for (const PolicyTitle& title : policy_titles(all))
                out.emplace_back(title.policy, title.reward, title.brief);
              return out;
            });
          },
          "Policy, reward and title in figures.");
  bind_conclusions(results);
  module.def("benchmark_note", &note_of, nb::arg("environment"), nb::arg("regime"), nb::arg("policy"), nb::arg("mean"),
             nb::arg("half_width_95"), nb::arg("replications"), "The note below a table with negative regrets.");
}

}  // namespace pandora::python
