// `oracle grid`: the oracle tables of a sweep ahead of time, for its cache, or as an HDF5 file with all that it takes
// to use them elsewhere.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "host/cli/commands.hpp"
#include "host/cli/study_options.hpp"
#include "host/ground/base/fail.hpp"
#include "host/ground/base/in_parallel.hpp"
#include "host/ground/files/hdf5_file.hpp"
#include "host/ground/files/output_folder.hpp"
#include "host/ground/files/temporary_file.hpp"
#include "host/lanes/model/draw_instance.hpp"
#include "host/studies/sweep/oracle_cache.hpp"

namespace pandora::cli {
namespace {

constexpr int kExportedContexts = 100;  // online contexts of a replication that the file tells with their indices
constexpr std::size_t kNodes = OutputCostTable::kNodes;

// The table of a replication with what turns a context into its arguments.
struct ExportedTable {
  Instance instance;
  OracleTable table;
  std::vector<double> context;                 // rows x d_x, of the first online periods
  std::vector<double> shift;                   // rows: l, or rows x A where each box has its own
  std::vector<double> scale, expected, sigma;  // rows x A: s_a(x), E[c_a(x)], sigma_a^*(x)

  // `contexts`: the online contexts that the table was made for.
  ExportedTable(Instance of, OracleTable made, const Contexts& contexts)
      : instance(std::move(of)), table(std::move(made)) {
    const std::size_t rows = static_cast<std::size_t>(std::min(contexts.rows, kExportedContexts)),
                      cells = rows * static_cast<std::size_t>(contexts.boxes);
    for (std::size_t row = 0; row < rows; ++row) {
      const float* const features = contexts.psi_row(static_cast<int>(row)) + 1;
      context.insert(context.end(), features, features + instance.dimensions.context);
    }
    const auto first = [](const std::vector<double>& values, std::size_t count) {
      return std::vector<double>(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
    };
    shift = first(contexts.reward_shift, contexts.location_at(rows, 0));
    scale = first(contexts.scale, cells);
    expected = first(table.inputs(instance, contexts).cost, cells);
    sigma = first(table.indices(instance, contexts), cells);
  }
};

using Tables = std::vector<std::optional<ExportedTable>>;  // all there when they have been made

// Datasets of a group, replication after replication.
class GroupWriter {
 public:
  GroupWriter(Hdf5File& file, const std::string& group, std::span<const std::optional<ExportedTable>> tables)
      : file_(file), group_(group), tables_(tables) {}

  /// `shape` is a replication's; `values` of a table are its numbers.
  template <class Values>
  void write(const char* name, Hdf5File::Shape shape, const char* description, const char* unit, std::string dimensions,
             Values&& values) {
    std::vector<double> all;
    for (const std::optional<ExportedTable>& table : tables_) {
      const auto& own = std::invoke(values, *table);
      all.insert(all.end(), own.begin(), own.end());
    }
    shape.insert(shape.begin(), tables_.size());
    dimensions = dimensions.empty() ? "replication" : "replication x " + dimensions;
    file_.dataset(group_ + "/" + name, all, shape, {description, unit, dimensions});
  }

 private:
  Hdf5File& file_;
  const std::string& group_;
  std::span<const std::optional<ExportedTable>> tables_;
};

// c_j of f = sum_j c_j T_j of each box, from f at the Chebyshev nodes.
std::vector<double> chebyshev_coefficients(const std::vector<double>& values) {
  constexpr double kPi = 3.141592653589793238462643383279502884;
  std::vector<double> out;
  for (std::size_t first = 0; first < values.size(); first += kNodes)
    for (std::size_t j = 0; j < kNodes; ++j) {
      double sum = 0.0;
      for (std::size_t k = 0; k < kNodes; ++k)
        sum += values[first + k] * std::cos(static_cast<double>(j) * (static_cast<double>(k) + 0.5) * kPi / kNodes);
      out.push_back((j == 0 ? 1.0 : 2.0) * sum / kNodes);
    }
  return out;
}

// theta_*' Q of each location: l = theta_*' Q x.
std::vector<double> shift_directions(const ExportedTable& t) {
  const Instance& instance = t.instance;
  const std::size_t n = static_cast<std::size_t>(instance.dimensions.context), d = instance.theta.size();
  std::vector<double> out;
  for (std::size_t first = 0; first < instance.Q.size(); first += d * n)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0.0;
      for (std::size_t k = 0; k < d; ++k) sum += instance.theta[k] * instance.Q[first + k * n + j];
      out.push_back(sum);
    }
  return out;
}

void write_parameters(GroupWriter& group, const Dimensions& dim, bool own) {
  const std::size_t A = static_cast<std::size_t>(dim.boxes), n = static_cast<std::size_t>(dim.context);
  const auto parameter = [](std::vector<double> Instance::*which) {
    return [which](const ExportedTable& t) -> const auto& {
      return t.instance.*which;
    };
  };
  group.write("theta_Q", own ? Hdf5File::Shape{A, n} : Hdf5File::Shape{n},
              "theta_*' Q: the shift of a context is l = theta_Q' x", "1", own ? "box x d_x" : "d_x", shift_directions);
  group.write("alpha", {A, n}, "the scale of a box is s_a(x) = 0.5 + 1 / (1 + exp(-alpha_a' x))", "1", "box x d_x",
              parameter(&Instance::alpha));
  group.write("beta0", {A, n},
              "the expected cost of a box is c_0a / (1 + exp(-beta_0a' x)) + c_1a times the polynomial of output_cost",
              "1", "box x d_x", parameter(&Instance::beta0));
  group.write("c0", {A}, "c_0a of the expected cost", "reward", "box", parameter(&Instance::c0));
  group.write("c1", {A}, "c_1a of the expected cost", "reward", "box", parameter(&Instance::c1));
}

void write_output_cost(GroupWriter& group, std::size_t A) {
  group.write("output_cost_scale", {kNodes}, "Chebyshev nodes in the output scale s_a(x) of output_cost", "1", "node",
              [](const ExportedTable& t) {
                std::vector<double> nodes;
                for (int k = 0; k < OutputCostTable::kNodes; ++k) nodes.push_back(t.table.output_cost.node(k));
                return nodes;
              });
  group.write(
      "output_cost", {A, kNodes},
      "E[G(s beta_1a' |xi|)] at the nodes, G logistic; the expected cost is c_0a G(beta_0a' x) + c_1a times it", "1",
      "box x node", [](const ExportedTable& t) -> const auto& { return t.table.output_cost.values(); });
  group.write("output_cost_coefficients", {A, kNodes},
              "the same as coefficients of Chebyshev polynomials in s over output_cost_domain: "
              "numpy.polynomial.Chebyshev(coefficients, domain)(s)",
              "1", "box x degree",
              [](const ExportedTable& t) { return chebyshev_coefficients(t.table.output_cost.values()); });
  group.write("output_cost_domain", {2}, "the least and the greatest s of these polynomials", "1", "end",
              [](const ExportedTable& t) {
                const ChebyshevNodes nodes =
                    ChebyshevNodes::over(t.table.output_cost.least(), t.table.output_cost.greatest());
                return std::array{nodes.middle - nodes.half, nodes.middle + nodes.half};
              });
}

void write_grid(GroupWriter& group, const GridShape& grid) {
  const std::size_t shift = static_cast<std::size_t>(grid.shift), scale = static_cast<std::size_t>(grid.scale),
                    cost = static_cast<std::size_t>(grid.cost);
  const auto nodes = [](std::size_t axis, auto&& of_node) {
    return [axis, of_node](const ExportedTable& t) {
      const GridAxis& a = t.table.grid->axes()[axis];
      std::vector<double> out;
      for (int i = 0; i < a.nodes; ++i) out.push_back(of_node(a.node(i)));
      return out;
    };
  };
  const auto itself = [](double node) { return node; };
  group.write("shift", {shift}, "nodes in l = theta' Q x, at equal distances", "1", "shift", nodes(0, itself));
  group.write("scale", {scale}, "nodes in s_a(x) times projection_norm, at equal distances", "1", "scale",
              nodes(1, itself));
  group.write("cost", {cost}, "nodes in the expected cost, at equal distances in its square root", "reward", "cost",
              nodes(2, [](double root) { return root * root; }));
  group.write("root_cost", {cost}, "square roots of cost, at equal distances", "1", "cost", nodes(2, itself));
  group.write(
      "sigma", {shift, scale, cost},
      "oracle reservation index at the nodes; between them linear in shift, scale and root_cost", "reward",
      "shift x scale x cost", [](const ExportedTable& t) -> const auto& { return t.table.grid->values(); });
}

void write_contexts(GroupWriter& group, const Dimensions& dim, std::size_t rows, bool own) {
  const std::size_t A = static_cast<std::size_t>(dim.boxes), n = static_cast<std::size_t>(dim.context);
  group.write("contexts/x", {rows, n}, "contexts of the first online periods", "1", "period x d_x",
              &ExportedTable::context);
  group.write("contexts/shift", own ? Hdf5File::Shape{rows, A} : Hdf5File::Shape{rows}, "their l", "1",
              own ? "period x box" : "period", &ExportedTable::shift);
  group.write("contexts/scale", {rows, A}, "their s_a(x)", "1", "period x box", &ExportedTable::scale);
  group.write("contexts/expected_cost", {rows, A}, "their E[c_a(x)]", "reward", "period x box",
              &ExportedTable::expected);
  group.write("contexts/sigma", {rows, A}, "their oracle reservation index", "reward", "period x box",
              &ExportedTable::sigma);
}

// The group of one environment and regime: all replications side by side.
void write_tables(Hdf5File& file, const std::string& group, const Study& study, const Unit& unit,
                  std::span<const std::optional<ExportedTable>> tables) {
  const Environment& environment = unit.environment;
  const std::size_t A = static_cast<std::size_t>(study.dimensions.boxes),
                    link = static_cast<std::size_t>(environment.reward_link);
  const bool own = environment.location == Location::own;
  const auto about = [&](const char* name, const Hdf5File::Value& value) { file.attribute(group, name, value); };
  file.group(group);
  about("cost_level", environment.cost_level);
  about("shock_scale", static_cast<double>(environment.shock_scale));
  about("truncation_radius", static_cast<double>(environment.truncation_radius));
  about("reward_link", std::array{"logistic", "algebraic", "linear"}[link]);
  about("G", std::array{"1 / (1 + exp(-z))", "1/2 + z / (2 (2 + |z|))", "min(max(1/2 + z / 10, 0), 1)"}[link]);
  about("equation", "E[(G(shift + scale w) - sigma)^+] = cost, w the shock projected on the unit vector of D' theta");
  GroupWriter writer(file, group, tables);
  writer.write("projection_norm", {}, "Euclidean norm of D' theta, which the scale s of a box is multiplied with", "1",
               "", [](const ExportedTable& t) { return std::array{t.table.projection_norm}; });
  write_parameters(writer, study.dimensions, own);
  write_output_cost(writer, A);
  write_contexts(writer, study.dimensions,
                 tables[0]->context.size() / static_cast<std::size_t>(study.dimensions.context), own);
  if (unit.regime == Regime::B) return write_grid(writer, study.oracle.grid);
  writer.write(
      "sigma", {A}, "oracle reservation index of the box, the same for every context", "reward", "box",
      [](const ExportedTable& t) -> const auto& { return t.table.sigma; });
}

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
  return {instance, cache == nullptr ? build() : cache->get(instance, contexts, study.oracle, 0, build), contexts};
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
    fail(ExitCode::output_lost, "--cache {}: not all tables could be stored; free some space and run again", o.cache);
}

void require_sense(const GridOptions& o, const std::vector<Setting>& settings) {
  for (const Setting& setting : settings)
    for (const Environment& environment : setting.study.environments)
      if (environment.indices == Indices::linear)
        fail(ExitCode::usage,
             "environment {}: draws its indices, tanh(rho_a' psi(x)), and has no tables; leave it out by --environment",
             environment.name);
  for (const Environment& environment : settings[0].study.environments)
    if (environment.law == Law::custom && !o.cache.empty())
      fail(ExitCode::usage,
           "--cache {}: no key can hold the code of environment {}'s law; leave it out by --environment", o.cache,
           environment.name);
}

// The tables of one setting, in the order of its units; none where there is no file to write them to.
Tables tables_of(const GridOptions& o, const Study& study, OracleCache* cache, const Session& session) {
  const Units units = make_plan(study).units;
  Tables made(o.out.empty() ? 0 : units.size());
  in_parallel(static_cast<std::size_t>(o.threads), units.size(), [&](std::size_t i) {
    if (session.interrupted)
      throw Error(ExitCode::interrupted,
                  cache ? fmt::format("interrupted; the tables in {} stay and the next run starts from them", o.cache)
                        : "interrupted; nothing was written");
    ExportedTable table = table_of(study, units[i], cache);
    if (made.empty()) return end_if_full(o, cache);
    made[i] = std::move(table);
  });
  return made;
}

std::string file_of(const StudyConfig& config, const std::vector<Setting>& settings,
                    const std::vector<Tables>& tables) {
  Hdf5File file;
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
  return file.bytes();
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
    start_hdf5();
    claim_output_file(o.out, o.force, o.study.inputs(config));
    const std::filesystem::path file(o.out);
    remove_leftovers(file.parent_path().empty() ? "." : file.parent_path(), Others::may_write,
                     [&](const std::string& target) { return target == file.filename(); });
  }
  std::optional<OracleCache> cache;
  if (!o.cache.empty()) cache.emplace(o.cache, cpu_numerics(), print_error);
  std::size_t made = 0;
  std::vector<Tables> tables;
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

void add_oracle_grid(CLI::App& oracle, Session& session) {
  CLI::App* command = add_command(oracle, "grid");
  const auto o = std::make_shared<GridOptions>();
  o->study.add_to(*command, {"--environment", "--regime", "--replications", "--periods", "--seed", "--samples",
                             "--grid", "--bins"});
  add_threads(*command, o->threads);
  command->add_option("--cache", o->cache, "folder of tables, as --oracle-cache of `run` wants them");
  command->add_option("--out", o->out, "HDF5 file with all tables");
  command->add_flag("--force", o->force, "replace the file that --out names");
  session.on_call(command, [o, &session] { make_tables(*o, session); });
}

}  // namespace pandora::cli
