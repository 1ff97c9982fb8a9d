// Runs, tunes and calibrates studies.
#include <nanobind/stl/tuple.h>

#include <nlohmann/json.hpp>

#include "beside.hpp"
#include "bindings.hpp"
#include "host/cli/progress_bar.hpp"
#include "host/studies/run/oracle_alone.hpp"
#include "host/studies/run/run_study.hpp"
#include "host/studies/run/tune_tables.hpp"
#include "requests.hpp"
#include "studies.hpp"

namespace pandora::python {
namespace {

// The processes of one mpirun; they last until this process ends.
const Ranks& ranks() {
  static const Ranks all;
  return all;
}

ResultFolder::Mode mode_named(const std::string& name) {
  using Mode = ResultFolder::Mode;
  if (name == "fresh") return Mode::fresh;
  if (name == "resume") return Mode::resume;
  if (name == "extend") return Mode::extend;
  if (name == "replace") return Mode::replace;
  throw misuse("mode \"" + name + "\": use fresh, resume, extend or replace");
}

Dict run(StudyConfig config, const std::string& out_folder, const std::string& mode, const std::string& study_file,
         const std::string& shard, const std::string& oracle_cache, const std::string& backend,
         const std::string& devices, int threads, const std::string& command, const nb::object& on_progress,
         const nb::object& on_message) {
  if (threads < 0) throw misuse("threads " + std::to_string(threads) + ": give 0 or more");
  const RunOutcome outcome = beside(
      [&](Beside& work) {
        read_tables(config, work);
        const std::vector<PlannedSetting> settings = make_plans(config);
        RunOptions options;
        options.out = out_folder;
        options.mode = mode_named(mode);
        options.study_file = study_file;
        if (!shard.empty()) options.shard = Shard::parse(shard);
        options.oracle_cache = oracle_cache;
        options.backend = backend_for(backend, devices, settings);
        options.threads = threads > 0 ? threads : ranks().cores();
        options.command = command;
        options.interrupted = &work.interrupted;
        options.progress = [&work](std::size_t done, std::size_t total) { work.progress(done, total); };
        options.failed = options.note = [&work](const std::string& message) { work.say(message); };
        return run_study(config, options, ranks());
      },
      on_progress, on_message);
  nb::dict out;
  out["folder"] = outcome.folder.string();
  out["complete"] = outcome.complete;
  out["parts"] = outcome.parts;
  out["parts_there"] = outcome.parts_there;
  out["failed_lanes"] = outcome.findings.failed_lanes;
  return out;
}

Dict tuned(const StudyConfig& config, std::int64_t budget, int threads, const std::string& backend,
           const std::string& devices, const nb::object& on_progress) {
  if (budget < 1)
    throw misuse("budget " + std::to_string(budget) + ": give the lanes that the choice may take, 1 or more");
  struct Found {
    std::string json;
    Columns candidates;
    std::vector<Table> tables;
    std::vector<std::tuple<std::string, std::string, std::string, std::string>> winners;
  };
  const Found found = beside(
      [&](Beside& work) {
        const std::vector<PlannedSetting> settings = make_plans(config);
        TuneOptions options;
        options.budget = static_cast<std::uint64_t>(budget);
        options.sweep.threads = threads;
        options.sweep.devices = backend_for(backend, devices, settings).devices;
        options.sweep.interrupted = &work.interrupted;
        options.sweep.progress = [&work](std::size_t done, std::size_t total) { work.progress(done, total); };
        const Tuning tuning = tune(settings, options);
        using nlohmann::json;
        Found out{tune_json(tuning, config).dump(-1, ' ', false, json::error_handler_t::replace),
                  tune_columns(tuning),
                  tune_tables(tuning),
                  {}};
        for (const TuneRace& race : tuning.races) {
          const TuneCandidate& winner = race.candidates[race.winner];
          out.winners.emplace_back(race.policy, race.reward, winner.hyperparameter, winner.varied);
        }
        return out;
      },
      on_progress);
  nb::dict out;
  out["json"] = found.json;
  out["winners"] = nb::cast(found.winners);
  out["candidates"] = dict_of(found.candidates);
  out["tables"] = dicts_of(found.tables);
  return out;
}

Dict calibrated(const StudyConfig& config, double boxes, int replications, int contexts, int threads,
                const nb::object& on_progress) {
  if (!(boxes > 0.0)) throw misuse("boxes: give a number above 0");
  const Columns found = beside(
      [&](Beside& work) {
        Columns out;
        for (const Setting& setting : config.settings()) {
          const Study& study = setting.study;
          CostSearch search;
          search.dimensions = study.dimensions;
          search.regimes = study.regimes;
          search.wanted_boxes = boxes;
          search.replications = replications;
          search.contexts = contexts;
          search.seed = study.seed;
          search.oracle = study.oracle;
          search.threads = threads;
          search.interrupted = &work.interrupted;
          search.progress = [&work](std::size_t done, std::size_t total) { work.progress(done, total); };
          for (const Environment& environment : study.environments) {
            require_model(environment);
            const CostSearchResult u = calibrate_cost(environment, search);
            Fields row;
            if (!setting.varied.empty()) row.emplace_back("setting", setting.label());
            append(row, {{"environment", environment.name},
                         {"u", u.u},
                         {"boxes_per_period", u.boxes},
                         {"boxes_per_period_half_width_95", u.half_width_95},
                         {"u_of_study", environment.cost_level}});
            out.add(row);
          }
        }
        return out;
      },
      on_progress);
  return dict_of(found);
}

}  // namespace

void bind_runs(nb::module_& module) {
  module.def("run", &run, nb::kw_only(), nb::arg("study"), nb::arg("out"), nb::arg("mode"), nb::arg("study_file"),
             nb::arg("shard"), nb::arg("oracle_cache"), nb::arg("backend"), nb::arg("devices"), nb::arg("threads"),
             nb::arg("command"), nb::arg("on_progress").none(), nb::arg("on_message").none(),
             "Runs the part of a study that a folder still lacks.");
  module.def("tune", &tuned, nb::arg("study"), nb::arg("budget"), nb::arg("threads"), nb::arg("backend"),
             nb::arg("devices"), nb::arg("on_progress").none());
  module.def("calibrate", &calibrated, nb::arg("study"), nb::arg("boxes"), nb::arg("replications"), nb::arg("contexts"),
             nb::arg("threads"), nb::arg("on_progress").none());
  module.def("progress_line", &cli::progress_line, nb::arg("done"), nb::arg("total"), nb::arg("seconds"),
             nb::arg("width"), nb::arg("what") = "lanes", "The line of the program's progress bar.");
}

}  // namespace pandora::python
