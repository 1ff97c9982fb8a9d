// pandora oracle grid: the oracle tables of a sweep ahead of time, for its cache or as an HDF5 file.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "host/cli/commands.hpp"
#include "host/cli/oracle_grid_file.hpp"
#include "host/cli/study_options.hpp"
#include "host/ground/base/in_parallel.hpp"
#include "host/ground/files/hdf5_file.hpp"
#include "host/ground/files/output_folder.hpp"
#include "host/ground/files/system_limits.hpp"
#include "host/lanes/model/draw_instance.hpp"
#include "host/studies/study/study.hpp"
#include "host/studies/sweep/oracle_cache.hpp"
#include "pandora/error.hpp"

namespace pandora::cli {
namespace {

struct GridOptions {
  StudyOptions study;
  int threads = 0;
  std::string cache, out;
  bool force = false;
};

// The table that a sweep makes for this unit (prepare_replication): only the online contexts count.
ExportedTable table_of(const Study& study, const Unit& unit, OracleCache* cache) {
  const Instance instance =
      draw_instance(study.dimensions, unit.environment, unit.regime, unit.replication, study.seed);
  const Contexts contexts =
      draw_contexts(instance, {{Purpose::online_context, 0, static_cast<std::uint32_t>(study.periods)}});
  const auto build = [&] {
    return oracle_table(instance, draw_shock_sample(instance, study.oracle.samples), contexts, study.oracle);
  };
  return exported(instance, cache == nullptr ? build() : cache->get(instance, contexts, study.oracle, 0, build),
                  contexts);
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
  for (const Setting& setting : settings)
    for (const Environment& environment : setting.study.environments)
      if (environment.indices == Indices::linear)
        throw Error(ExitCode::usage, fmt::format("environment {}: draws its indices, tanh(rho_a' psi(x)), and has no "
                                                 "tables; leave it out by --environment",
                                                 environment.name));
  for (const Environment& environment : settings[0].study.environments)
    if (environment.law == Law::custom && !o.cache.empty())
      throw Error(ExitCode::usage, fmt::format("--cache {}: no key can hold the code of environment {}'s law; leave it "
                                               "out by --environment",
                                               o.cache, environment.name));
}

// The tables of one setting, in the order of its units; none where there is no file to write them to.
std::vector<ExportedTable> tables_of(const GridOptions& o, const Study& study, OracleCache* cache,
                                     const Session& session) {
  const Units units = make_plan(study).units;
  std::vector<std::optional<ExportedTable>> made(o.out.empty() ? 0 : units.size());
  in_parallel(static_cast<std::size_t>(o.threads), units.size(), [&](std::size_t i) {
    if (session.interrupted)
      throw Error(ExitCode::interrupted,
                  cache ? fmt::format("interrupted; the tables in {} stay and the next run starts from them", o.cache)
                        : "interrupted; nothing was written");
    ExportedTable table = table_of(study, units[i], cache);
    if (!made.empty())
      made[i] = std::move(table);
    else
      end_if_full(o, cache);
  });
  std::vector<ExportedTable> tables;
  for (std::optional<ExportedTable>& table : made) tables.push_back(std::move(*table));
  return tables;
}

std::string file_of(const StudyConfig& config, const std::vector<Setting>& settings,
                    const std::vector<std::vector<ExportedTable>>& tables) {
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
      for (std::size_t first = 0; first < units.size(); first += R) {
        const Unit unit = units[first];
        write_tables(file, fmt::format("{}/{}/{}", at, unit.environment.name, regime_name(unit.regime)), study, unit,
                     std::span(tables[s]).subspan(first, R));
      }
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
  if (!o.out.empty()) {
    claim_output_file(o.out, o.force, o.study.inputs(config));
    require_hdf5_target(o.out);
  }
  std::optional<OracleCache> cache;
  if (!o.cache.empty()) cache.emplace(o.cache, cpu_numerics(), print_error);
  std::size_t made = 0;
  std::vector<std::vector<ExportedTable>> tables;
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
  command->add_flag("--force", o->force, "replace the file that --out names");
  command->callback([o, &session, &run] { run = [o, &session] { make_tables(*o, session); }; });
}

}  // namespace pandora::cli
