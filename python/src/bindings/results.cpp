// Folders of results as columns.
#include "results.hpp"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "beside.hpp"
#include "host/ground/base/split.hpp"
#include "host/studies/results/benchmark_note.hpp"
#include "host/studies/results/policy_titles.hpp"
#include "host/studies/run/find_lane.hpp"
#include "host/studies/study/hyperparameter_values.hpp"
#include "kernels/rules/checkpoints.hpp"

namespace pandora::python {

Results::Results(const std::string& path)
    : stored_(path, [this](const std::string& message) { notes_.push_back(message); }) {}

namespace {

std::string note_of(const std::vector<std::string>& environment, const std::vector<std::string>& regime,
                    const std::vector<std::string>& policy, const std::vector<double>& mean,
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

// What all rows about a lane begin with.
class LaneColumns {
 public:
  LaneColumns(Columns& columns, const std::vector<PlannedSetting>& settings) : columns_(columns) {
    for (const PlannedSetting& planned : settings) {
      for (const auto& [key, value] : planned.setting.varied) keys_.push_back(key);
      for (const PlannedLane& lane : planned.plan.lanes)
        for (const auto& [name, value] : hyperparameter_values(lane.variant.hyperparameter)) names_.push_back(name);
    }
    for (std::vector<std::string>* list : {&keys_, &names_}) {
      std::vector<std::string> once;
      for (const std::string& name : *list)
        if (std::find(once.begin(), once.end(), name) == once.end()) once.push_back(name);
      *list = std::move(once);
    }
  }

  void add_setting(const Setting& setting) {
    if (!keys_.empty()) columns_.texts("setting").push_back(setting.label());
    for (const std::string& key : keys_) {
      std::string text;
      for (const auto& [own, value] : setting.varied) text = own == key ? value : text;
      columns_.texts(key).push_back(text);
    }
  }

  void add_policy(const std::string& policy, const std::string& reward, const std::string& hyperparameter) {
    columns_.texts("policy").push_back(policy);
    columns_.texts("reward").push_back(reward);
    columns_.texts("hyperparameter").push_back(hyperparameter);
    for (const std::string& name : names_) {
      const std::string text = hyperparameter_of(hyperparameter, name);
      columns_.numbers(name).push_back(number_of(text).value_or(kUnknown));
    }
  }

 private:
  Columns& columns_;
  std::vector<std::string> keys_, names_;
};

// The columns that `fill(StoredResults&, Columns&)` gathers without the GIL.
template <class Fill>
Dict gathered(Results& results, Fill&& fill) {
  Columns found = beside([&](Beside&) {
    const std::lock_guard lock(results.mutex());
    Columns out;
    fill(results.stored(), out);
    return out;
  });
  return std::move(found).to_dict();
}

Dict summary(Results& results) {
  return gathered(results, [](StoredResults& stored, Columns& out) {
    LaneColumns lead(out, stored.settings());
    const bool tables = has_table(stored.settings());
    for (const SettingSummary& s : stored.summaries())
      for (const SummaryRow& row : s.summary.rows) {
        lead.add_setting(s.setting);
        out.texts("regime").push_back(row.regime);
        out.texts("environment").push_back(row.environment);
        out.integers("T0").push_back(row.T0);
        lead.add_policy(row.policy, row.reward, row.hyperparameter);
        out.integers("replications").push_back(row.replications);
        out.integers("failed").push_back(row.failed);
        out.integers("periods").push_back(row.periods);
        out.flags("best").push_back(row.best ? 1 : 0);
        for (const RowStatistic& statistic : row_statistics()) {
          const Estimate& e = statistic.of_row(row);
          out.numbers(statistic.column).push_back(e.mean);
          out.numbers(statistic.half_width).push_back(e.half_width_95);
        }
        out.numbers("published_x1000").push_back(row.published ? row.published->value : kUnknown);
        out.numbers("published_half_width_95_x1000").push_back(row.published ? row.published->half_width_95 : kUnknown);
        out.numbers("inside_joint_95").push_back(row.inside_joint_95 ? (*row.inside_joint_95 ? 1.0 : 0.0) : kUnknown);
        if (tables)
          for (const PromptStatistic& statistic : kPromptStatistics) {
            const Estimate e = row.prompts ? (*row.prompts).*statistic.member : Estimate{kUnknown, kUnknown};
            out.numbers(statistic.column).push_back(e.mean);
            out.numbers(std::string(statistic.column) + "_half_width_95").push_back(e.half_width_95);
          }
        if (tables) out.numbers("told").push_back(row.prompts ? (row.told ? 1.0 : 0.0) : kUnknown);
        out.texts("lane").push_back(row.lane_name);
        out.integers("lane_number").push_back(static_cast<std::int64_t>(row.lane));
      }
  });
}

Dict oracle(Results& results) {
  return gathered(results, [](StoredResults& stored, Columns& out) {
    LaneColumns lead(out, stored.settings());
    for (const SettingSummary& s : stored.summaries())
      for (const OracleRow& row : s.summary.oracle) {
        lead.add_setting(s.setting);
        out.texts("regime").push_back(row.regime);
        out.texts("environment").push_back(row.environment);
        out.numbers("u").push_back(row.u);
        out.numbers("oracle_utility_x1000").push_back(row.utility_x1000.mean);
        out.numbers("half_width_95_x1000").push_back(row.utility_x1000.half_width_95);
        out.numbers("boxes_queried").push_back(row.boxes_queried.mean);
        out.numbers("boxes_queried_half_width_95").push_back(row.boxes_queried.half_width_95);
        out.numbers("published_u").push_back(row.published ? row.published->u : kUnknown);
        out.numbers("published_oracle_utility_x1000")
            .push_back(row.published ? row.published->utility_x1000.value : kUnknown);
        out.numbers("published_boxes_queried").push_back(row.published ? row.published->boxes_queried.value : kUnknown);
      }
  });
}

Dict oracle_order(Results& results) {
  return gathered(results, [](StoredResults& stored, Columns& out) {
    LaneColumns lead(out, stored.settings());
    for (const SettingSummary& s : stored.summaries())
      for (const OrderRow& row : s.summary.order) {
        lead.add_setting(s.setting);
        out.texts("environment").push_back(row.environment);
        out.texts("regime").push_back(row.regime);
        const std::pair<const char*, const Estimate*> estimates[] = {
            {"permutations", &row.permutations}, {"max_mass", &row.max_mass}, {"min_mass", &row.min_mass}};
        for (const auto& [name, e] : estimates) {
          out.numbers(name).push_back(e->mean);
          out.numbers(std::string(name) + "_half_width_95").push_back(e->half_width_95);
        }
      }
  });
}

// What rows about a lane in one replication begin with.
void add_single(Columns& out, LaneColumns& lead, const Setting& setting, const Unit& unit, std::size_t replication,
                const PlannedLane& lane) {
  lead.add_setting(setting);
  out.texts("regime").push_back(regime_name(unit.regime));
  out.texts("environment").push_back(unit.environment.name);
  out.integers("replication").push_back(static_cast<std::int64_t>(replication));
  out.numbers("T0").push_back(lane.policy->uses_calibration ? lane.T0 : kUnknown);
  lead.add_policy(lane.policy->name, lane.variant.reward, lane.variant.hyperparameter);
}

// Goes over all lanes of all replications, a part in memory at a time.
template <class Body>
void for_each_lane(StoredResults& stored, Body&& body) {
  stored.for_each_part([](std::size_t, const Unit&) { return true; },
                       [&](std::size_t s, const Unit& first, const std::vector<UnitResult>& units) {
                         const PlannedSetting& planned = stored.settings()[s];
                         for (std::size_t u = 0; u < units.size(); ++u)
                           for (std::size_t lane = 0; lane < units[u].lanes.size(); ++lane)
                             body(planned, first, first.replication + u, lane, units[u]);
                       });
}

Dict choices(Results& results) {
  return gathered(results, [](StoredResults& stored, Columns& out) {
    LaneColumns lead(out, stored.settings());
    for_each_lane(stored, [&](const PlannedSetting& planned, const Unit& unit, std::size_t replication,
                              std::size_t lane, const UnitResult& result) {
      const LaneNotes& notes = result.notes[lane];
      for (std::size_t k = 0; k < notes.list.size(); ++k) {
        add_single(out, lead, planned.setting, unit, replication, planned.plan.lanes[lane]);
        out.integers("position").push_back(static_cast<std::int64_t>(k + 1));
        out.integers("box").push_back(notes.list[k] + 1);
        out.numbers("threshold").push_back(k < notes.thresholds.size() ? notes.thresholds[k] : kUnknown);
      }
    });
  });
}

Dict failures(Results& results) {
  return gathered(results, [](StoredResults& stored, Columns& out) {
    LaneColumns lead(out, stored.settings());
    for_each_lane(stored, [&](const PlannedSetting& planned, const Unit& unit, std::size_t replication,
                              std::size_t lane, const UnitResult& result) {
      const LaneTally& tally = result.lanes[lane];
      if (tally.failure == Failure::none) return;
      add_single(out, lead, planned.setting, unit, replication, planned.plan.lanes[lane]);
      out.integers("period").push_back(tally.failed_period);
      out.texts("failure").push_back(failure_message(tally, result.notes[lane]));
      Unit own = unit;
      own.replication = static_cast<std::uint32_t>(replication);
      out.texts("lane").push_back(unit_name(own) + "/" + lane_name(planned.plan.lanes[lane]));
    });
  });
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

}  // namespace

void bind_results(nb::module_& module) {
  nb::class_<Results> results(module, "Results", "A folder of results, finished or not.");
  results
      .def(
          "__init__",
          [](Results* self, const std::string& path) {
            const WithoutGil release;
            new (self) Results(path);
          },
          nb::arg("path"))
      .def_prop_ro("path", [](const Results& r) { return r.stored().path(); })
      .def_prop_ro("notes", &Results::notes, "What was found damaged, or is not known here.")
      .def_prop_ro("study", [](const Results& r) { return StudyConfig(r.stored().config()); })
      .def_prop_ro(
          "manifest", [](const Results& r) { return r.stored().manifest().dump(); }, "As JSON.")
      .def("settings", &settings)
      .def("unfinished",
           [](Results& r) {
             return beside([&](Beside&) {
               const std::lock_guard lock(r.mutex());
               return r.stored().unfinished();
             });
           })
      .def("summary", &summary)
      .def("oracle", &oracle)
      .def("oracle_order", &oracle_order)
      .def("choices", &choices)
      .def("failures", &failures)
      .def("numbers_of_lanes", &numbers_of_lanes, nb::arg("setting"), nb::arg("environment"), nb::arg("regime"),
           nb::arg("lanes"), nb::arg("fields"))
      .def(
          "titles",
          [](Results& r) {
            const std::vector<PolicyTitle> found = beside([&](Beside&) {
              const std::lock_guard lock(r.mutex());
              Summary all;
              for (SettingSummary& s : r.stored().summaries()) append(std::move(s.summary), all);
              return policy_titles(all);
            });
            std::vector<std::tuple<std::string, std::string, std::string>> out;
            for (const PolicyTitle& title : found) out.emplace_back(title.policy, title.reward, title.brief);
            return out;
          },
          "Policy, reward and title in figures.");
  bind_tables(results);
  module.def("benchmark_note", &note_of, nb::arg("environment"), nb::arg("regime"), nb::arg("policy"), nb::arg("mean"),
             nb::arg("half_width_95"), nb::arg("replications"), "What stands below a table with negative regrets.");
  module.def(
      "estimate",
      [](const nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>& values)
          -> nb::typed<nb::tuple, Array<double>, Array<double>> {
        const std::size_t n = values.shape(0), k = values.shape(1);
        std::vector<double> mean, half;
        for (std::size_t c = 0; c < k; ++c) {
          std::vector<double> column;
          for (std::size_t r = 0; r < n; ++r)
            if (const double v = values(r, c); v == v) column.push_back(v);
          const Estimate e = estimate(column);
          mean.push_back(e.mean);
          half.push_back(e.half_width_95);
        }
        return nb::make_tuple(array_of(std::move(mean), {k}), array_of(std::move(half), {k}));
      },
      nb::arg("values"), "Mean and 1.96 standard errors of every column of an array, over the rows that are not NaN.");
}

}  // namespace pandora::python
