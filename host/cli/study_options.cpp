#include "host/cli/study_options.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "host/cli/commands.hpp"
#include "host/ground/base/fail.hpp"
#include "host/ground/base/printable.hpp"
#include "host/lanes/model/trace_keys.hpp"
#include "host/studies/run/run_study.hpp"
#include "paper_study.hpp"

namespace pandora::cli {
namespace {

// An option that sets one key of the study.
struct Shortcut {
  const char* option;
  const char* key;
  const char* meaning;
  bool list = false;  // of names or numbers; given twice they add up
};
constexpr Shortcut kShortcuts[] = {
    {"--environment", "environments", "environments, such as uniform,gaussian", true},
    {"--regime", "regimes", "A,B", true},
    {"--t0", "T0", "calibration periods T_0, such as 0,50", true},
    {"--policy", "policies", "policies; see `pandora policies`", true},
    {"--replications", "replications", "replications R per cell"},
    {"--periods", "periods", "online periods T"},
    {"--seed", "seed", "seed of all draws"},
    {"--refit", "estimation.refit", "every_period, every:k, geometric:g or tracking"},
    {"--eta-index", "estimation.eta_index", "ridge eta_1 of the index fit and of V"},
    {"--eta-reward", "estimation.eta_reward", "ridge eta_0 of the reward fit and of Phi"},
    {"--grid", "oracle.grid", "nodes of the oracle grid in l, s and cost, such as 61x21x61"},
    {"--samples", "oracle.samples", "Monte Carlo shocks M of the oracle"},
    {"--bins", "oracle.bins", "quantile bins behind the grid; 0 is the whole sample"},
    {"--contexts", "oracle.order_contexts", "contexts per replication in Table 3"},
    {"--engine", "engine.kind", "blocked, or reference: the plain recursion in double"},
    {"--precision", "engine.precision", "single or double, of the blocked engine"},
    {"--block", "engine.block", "periods per block"},
    {"--chunk", "engine.chunk", "lanes that a thread advances together"},
};

}  // namespace

void StudyOptions::add_to(CLI::App& command, const std::vector<std::string>& options, const char* file) {
  if (file != nullptr) command.add_option("study", file_, file);
  for (const Shortcut& shortcut : kShortcuts) {
    if (!options.empty() && std::ranges::find(options, shortcut.option) == options.end()) continue;
    CLI::Option* option = command.add_option(shortcut.option, given_[shortcut.option],
                                             fmt::format("{} ({})", shortcut.meaning, shortcut.key));
    option->group(kStudyKeys);
    if (shortcut.list) option->join(',');
  }
  command.add_option("--set", sets_, "KEY=VALUE: any key of the study; may be given several times")
      ->take_all()
      ->group(kStudyKeys);
}

StudyConfig StudyOptions::config(const std::vector<Implied>& implied) const {
  if (file_ && file_->empty())
    throw Error(ExitCode::usage, "the study's file has an empty name; name a file or leave it out");
  StudyConfig config = file_ ? read_study_file(*file_) : StudyConfig::parse(kPaperStudy, "paper.toml");
  for (const Shortcut& shortcut : kShortcuts) {
    const auto at = given_.find(shortcut.option);
    if (at == given_.end() || !at->second) continue;
    std::string value = *at->second;
    const std::string where = fmt::format("{} {}", shortcut.option, value);
    if (shortcut.key == std::string("oracle.grid")) {
      const GridShape grid = parse_grid(value);
      value = fmt::format("[{},{},{}]", grid.shift, grid.scale, grid.cost);
    }
    config.set(shortcut.key, value, where);
  }
  for (const Implied& one : implied) config.set(one.key, one.value, one.where);
  for (const std::string& set : sets_) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos || equals == 0) fail(ExitCode::usage, "--set {}: give key=value", set);
    config.set(set.substr(0, equals), set.substr(equals + 1), "--set " + set);
  }
  (void)config.settings();  // values in range, and together
  return config;
}

std::vector<std::filesystem::path> StudyOptions::inputs(const StudyConfig& config) const {
  std::vector<std::filesystem::path> out;
  if (file_) out.emplace_back(*file_);
  for (const Setting& setting : config.settings())
    for (const Environment& environment : setting.study.environments)
      if (const TraceKeys* keys = trace_keys(environment))
        out.insert(out.end(), {keys->table, keys->online, keys->laws});
  return out;
}

void BackendOptions::add_to(CLI::App& command) {
  command.add_option("--backend", backend, "auto (a GPU if there is one), cpu or cuda")
      ->capture_default_str()
      ->group(kMachine);
  command.add_option("--devices", devices, "GPUs, such as 0,1, or all")->capture_default_str()->group(kMachine);
  add_threads(command, threads);
}

BackendChoice BackendOptions::choose(const std::vector<PlannedSetting>& settings) const {
  return backend_for(backend, devices, settings);
}

void add_threads(CLI::App& command, int& threads) {
  command.add_option("--threads", threads, "worker threads; 0 is all cores")->capture_default_str()->group(kMachine);
}

GridShape parse_grid(const std::string& text) {
  GridShape shape;
  char rest;
  if (std::sscanf(text.c_str(), "%dx%dx%d%c", &shape.shift, &shape.scale, &shape.cost, &rest) != 3 || shape.shift < 2 ||
      shape.scale < 2 || shape.cost < 2 || shape.shift > 2001 || shape.scale > 2001 || shape.cost > 2001)
    fail(ExitCode::usage, "--grid {}: not a grid; give nodes in l, s and cost as LxSxC, each from 2 to 2001", text);
  return shape;
}

void require_count(const char* option, int value, int least, int most) {
  if (value > most)
    fail(ExitCode::usage, "{} {}: out of range; give an integer from {} to {}", option, value, least, most);
  if (value < least) fail(ExitCode::usage, "{} {}: out of range; give an integer of at least {}", option, value, least);
}

void require_positive(const char* option, double value) {
  if (!(value > 0.0 && std::isfinite(value)))
    fail(ExitCode::usage, "{} {:g}: out of range; give a finite number above 0", option, value);
}

std::string folder_of(const char* option, const std::optional<std::string>& path) {
  if (path && path->empty()) fail(ExitCode::usage, "{}: names no folder; give one or leave it out", option);
  return path.value_or("");
}

}  // namespace pandora::cli
