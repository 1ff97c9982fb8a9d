#include "host/cli/study_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/cli/commands.hpp"
#include "host/lanes/model/trace_keys.hpp"
#include "pandora/error.hpp"
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

void StudyOptions::add_to(CLI::App& command, const std::vector<std::string>& options) {
  for (const Shortcut& shortcut : kShortcuts) {
    if (!options.empty() && std::find(options.begin(), options.end(), shortcut.option) == options.end()) continue;
    CLI::Option* option = command.add_option(shortcut.option, given_[shortcut.option],
                                             fmt::format("{} ({})", shortcut.meaning, shortcut.key));
    if (shortcut.list) option->join(',');
  }
  command.add_option("--set", sets_, "key=value of the study; may be given several times")->take_all();
}

void StudyOptions::add_file_to(CLI::App& command, const std::string& help) {
  command.add_option("study", file_, help);
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
    if (equals == std::string::npos || equals == 0)
      throw Error(ExitCode::usage, fmt::format("--set {}: give key=value", set));
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
      if (const TraceKeys* keys = trace_keys(environment)) out.insert(out.end(), {keys->table, keys->online});
  return out;
}

}  // namespace pandora::cli
