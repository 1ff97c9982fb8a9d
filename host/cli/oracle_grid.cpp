// pandora oracle grid: the oracle tables of a sweep ahead of time, for its cache or as an HDF5 file.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "host/cli/commands.hpp"
#include "host/cli/study_options.hpp"
#include "host/files/hdf5_file.hpp"
#include "host/files/output_folder.hpp"
#include "host/files/system_limits.hpp"
#include "host/model/draw_instance.hpp"
#include "host/study/study.hpp"
#include "host/sweep/in_parallel.hpp"
#include "host/sweep/oracle_cache.hpp"
#include "pandora/error.hpp"

namespace pandora::cli {
namespace {

struct GridOptions {
  StudyOptions study;
  int threads = 0;
  std::string cache, out;
};

// The table that a sweep makes for this unit (prepare_replication): only the online contexts count.
OracleTable table_of(const Study& study, const Unit& unit, OracleCache* cache) {
  const Instance instance =
      draw_instance(study.dimensions, unit.environment, unit.regime, unit.replication, study.seed);
  const Contexts contexts =
      draw_contexts(instance, {{Purpose::online_context, 0, static_cast<std::uint32_t>(study.periods)}});
  const auto build = [&] {
    return oracle_table(instance, draw_shock_sample(instance, study.oracle.samples), contexts, study.oracle);
  };
  return cache == nullptr ? build() : cache->get(instance, contexts, study.oracle, 0, build);
}

// One environment and regime: all replications side by side.
void write_tables(Hdf5File& file, const std::string& at, const Study& study, const Unit& unit,
                  std::span<const OracleTable> tables) {
  const std::string group = fmt::format("{}/{}/{}", at, unit.environment.name, regime_name(unit.regime));
  const std::size_t replications = tables.size(), boxes = static_cast<std::size_t>(study.dimensions.boxes);
  file.group(group);
  file.attribute(group, "cost_level", unit.environment.cost_level);
  file.attribute(group, "shock_scale", static_cast<double>(unit.environment.shock_scale));
  file.attribute(group, "truncation_radius", static_cast<double>(unit.environment.truncation_radius));

  const auto write = [&](const char* name, Hdf5File::Shape shape, const char* description, const char* dimensions,
                         auto&& append) {
    std::vector<double> values;
    for (const OracleTable& table : tables) append(table, values);
    shape.insert(shape.begin(), replications);
    file.dataset(group + "/" + name, values, shape, {description, "1", dimensions});
  };
  const auto add = [](std::vector<double>& to, const std::vector<double>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  constexpr std::size_t kNodes = OutputCostTable::kNodes;
  write("projection_norm", {}, "Euclidean norm of D' theta, which the scale s of a box is multiplied with",
        "replication", [](const OracleTable& t, auto& out) { out.push_back(t.projection_norm); });
  write("output_cost_scale", {kNodes}, "Chebyshev nodes in the output scale s_a(x) of output_cost",
        "replication x node", [](const OracleTable& t, auto& out) {
          for (int node = 0; node < OutputCostTable::kNodes; ++node) out.push_back(t.output_cost.node(node));
        });
  write("output_cost", {boxes, kNodes},
        "E[G(s beta_1a' |xi|)] at the nodes; the expected cost is c_0a G(beta_0a' x) + c_1a times it",
        "replication x box x node", [&](const OracleTable& t, auto& out) { add(out, t.output_cost.values()); });
  if (unit.regime == Regime::A) {
    write("sigma", {boxes}, "oracle reservation index of the box, the same for every context", "replication x box",
          [&](const OracleTable& t, auto& out) { add(out, t.sigma); });
    return;
  }
  const GridShape& grid = study.oracle.grid;
  const std::size_t shape[] = {static_cast<std::size_t>(grid.shift), static_cast<std::size_t>(grid.scale),
                               static_cast<std::size_t>(grid.cost)};
  const auto nodes = [](int axis, auto&& of_node) {
    return [axis, of_node](const OracleTable& t, std::vector<double>& out) {
      const GridAxis& a = t.grid->axes()[static_cast<std::size_t>(axis)];
      for (int i = 0; i < a.nodes; ++i) out.push_back(of_node(a.node(i)));
    };
  };
  const auto itself = [](double node) { return node; };
  write("shift", {shape[0]}, "nodes in l = theta' Q x", "replication x shift", nodes(0, itself));
  write("scale", {shape[1]}, "nodes in s_a(x) times projection_norm", "replication x scale", nodes(1, itself));
  write("cost", {shape[2]}, "nodes in the expected cost, at equal distances in its square root", "replication x cost",
        nodes(2, [](double root) { return root * root; }));
  write("sigma", {shape[0], shape[1], shape[2]},
        "oracle reservation index at the nodes; between them linear in shift, scale and the square root of cost",
        "replication x shift x scale x cost", [&](const OracleTable& t, auto& out) { add(out, t.grid->values()); });
}

void write_setting(Hdf5File& file, const std::string& group, const Setting& setting) {
  const Study& study = setting.study;
  file.attribute(group, "seed", std::to_string(study.seed));  // up to 2^64 - 1
  file.attribute(group, "periods", std::int64_t{study.periods});
  file.attribute(group, "samples", std::int64_t{study.oracle.samples});
  file.attribute(group, "quantile_bins", std::int64_t{study.oracle.bins});
  file.attribute(group, "replications", std::int64_t{study.replications});
  for (const auto& [key, value] : setting.varied) file.attribute(group, "vary." + key, value);
}

void end_if_full(const GridOptions& o, const OracleCache* cache) {
  if (cache != nullptr && !cache->storing())
    throw Error(ExitCode::output_lost,
                fmt::format("--cache {}: not all tables could be stored; free some space and run again", o.cache));
}

void require_sense(const GridOptions& o, const std::vector<Setting>& settings) {
  for (const Environment& environment : settings[0].study.environments)
    if (environment.law == Law::custom && !o.cache.empty())
      throw Error(ExitCode::usage, fmt::format("--cache {}: no key can hold the code of environment {}'s law; leave it "
                                               "out by --environment",
                                               o.cache, environment.name));
  if (std::error_code none;
      !o.out.empty() && !o.study.file().empty() && std::filesystem::equivalent(o.study.file(), o.out, none))
    throw Error(ExitCode::usage, fmt::format("--out {}: is the study itself; name another file", o.out));
  if (!o.out.empty()) require_hdf5_target(o.out);
}

// The tables of one setting, in the order of its units; none where there is no file to write them to.
std::vector<OracleTable> tables_of(const GridOptions& o, const Study& study, OracleCache* cache,
                                   const Session& session) {
  const Units units = make_plan(study).units;
  std::vector<std::optional<OracleTable>> made(o.out.empty() ? 0 : units.size());
  in_parallel(o.threads, units.size(), [&](std::size_t i) {
    if (session.interrupted)
      throw Error(ExitCode::interrupted,
                  cache ? fmt::format("interrupted; the tables in {} stay and the next run starts from them", o.cache)
                        : "interrupted; nothing was written");
    OracleTable table = table_of(study, units[i], cache);
    if (!made.empty())
      made[i] = std::move(table);
    else
      end_if_full(o, cache);
  });
  std::vector<OracleTable> tables;
  for (std::optional<OracleTable>& table : made) tables.push_back(std::move(*table));
  return tables;
}

std::string file_of(const StudyConfig& config, const std::vector<Setting>& settings,
                    const std::vector<std::vector<OracleTable>>& tables) {
  return hdf5_bytes([&](Hdf5File& file) {
    file.attribute("/", "content", std::string("oracle tables of pandora, one group per environment and regime"));
    file.attribute("/", "numerics", cpu_numerics());
    file.attribute("/", "study", config.toml());
    for (std::size_t s = 0; s < settings.size(); ++s) {
      const Study& study = settings[s].study;
      const Units units = make_plan(study).units;
      const std::string at = settings.size() > 1 ? fmt::format("/{:03}", s) : "";
      if (!at.empty()) file.group(at);
      write_setting(file, at.empty() ? "/" : at, settings[s]);
      const std::size_t R = static_cast<std::size_t>(study.replications);  // the units' innermost order
      for (std::size_t first = 0; first < units.size(); first += R)
        write_tables(file, at, study, units[first], std::span(tables[s]).subspan(first, R));
    }
  });
}

void make_tables(const GridOptions& o, Session& session) {
  session.listen();
  if (o.cache.empty() && o.out.empty())
    throw Error(ExitCode::usage, "oracle grid: nowhere to put the tables; give --cache DIR, --out FILE.h5 or both");
  require_count("--threads", o.threads, 0);
  const StudyConfig config = o.study.config();
  const std::vector<Setting> settings = oracle_settings(config);
  require_sense(o, settings);
  std::optional<OracleCache> cache;
  if (!o.cache.empty()) cache.emplace(o.cache, cpu_numerics(), print_error);
  std::size_t made = 0;
  std::vector<std::vector<OracleTable>> tables;
  for (const Setting& setting : settings) {
    made += make_plan(setting.study).units.size();
    tables.push_back(tables_of(o, setting.study, cache ? &*cache : nullptr, session));
  }
  if (!o.out.empty()) write_file(o.out, file_of(config, settings, tables));
  end_if_full(o, cache ? &*cache : nullptr);
  if (cache)
    print_text(fmt::format("{} tables: {} were in {}, {} are new\n", made, cache->hits(), o.cache, cache->misses()));
  if (!o.out.empty()) print_text(fmt::format("{} tables in {}\n", made, o.out));
}

}  // namespace

void add_oracle_grid(CLI::App& oracle, Session& session, Command& run) {
  CLI::App* command = oracle.add_subcommand("grid", "the oracle tables of a sweep, into its cache or an HDF5 file");
  const auto o = std::make_shared<GridOptions>();
  o->study.add_file_to(*command);
  o->study.add_to(*command, {"--environment", "--regime", "--replications", "--periods", "--seed", "--samples",
                             "--grid", "--bins"});
  command->add_option("--threads", o->threads, "worker threads; 0 is all cores")->capture_default_str();
  command->add_option("--cache", o->cache, "folder of tables, as --oracle-cache of `run` wants them");
  command->add_option("--out", o->out, "HDF5 file with all tables");
  command->callback([o, &session, &run] { run = [o, &session] { make_tables(*o, session); }; });
}

}  // namespace pandora::cli
