#include "host/report/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "host/ground/base/lists.hpp"
#include "host/ground/base/printable.hpp"
#include "host/ground/files/input_file.hpp"
#include "host/ground/files/output_folder.hpp"
#include "host/ground/files/system_limits.hpp"
#include "host/ground/files/temporary_file.hpp"
#include "host/lanes/model/trace_keys.hpp"
#include "host/studies/results/regret_tables.hpp"
#include "host/studies/results/result_rows.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool is_own(const fs::path& name, const std::vector<fs::path>& extensions) {
  const fs::path target = target_of_temporary(name.string()).value_or(name.string());
  return target.empty() || has(extensions, target.extension());
}

bool is_figure(const fs::path& name) {  // scripts and their data are of versions before
  return is_own(name, {".csv", ".svg", ".pdf", ".png", ".dat", ".gp"});
}

// Whether there is nothing but what a report begins with, such as one that was killed.
bool holds_unfinished(const fs::path& out) {
  const auto all = [](const fs::path& folder, auto&& belongs) {
    std::error_code error;
    if (!fs::exists(folder, error)) return true;
    const std::vector<fs::path> entries = entries_of(folder);
    return std::all_of(entries.begin(), entries.end(), [&](const fs::path& path) { return belongs(path.filename()); });
  };
  try {
    return all(out,
               [](const fs::path& name) {
                 return name == "figures" || name == "tables" || name == "report.tex" ||
                        (target_of_temporary(name.string()) && is_own(name, {".tex", ".html", ".json"}));
               }) &&
           all(out / "figures", is_figure) &&
           all(out / "tables", [](const fs::path& name) { return is_own(name, {".csv"}); });
  } catch (const Unreadable&) {
    return false;  // then it is not replaced
  }
}

// The folder, made and locked: two reports there at once would remove each other's figures.
FolderLock claim(const fs::path& out) {
  std::error_code error;
  if (fs::exists(out, error) && !(fs::is_directory(out, error) && (holds_document(out) || holds_unfinished(out))))
    throw Error(ExitCode::usage,
                fmt::format("--out {}: is not empty and holds no report; name another folder", out.string()));
  fs::create_directories(out, error);
  require_resources(error.value(), fmt::format("--out {}", out.string()));
  if (error)
    throw Error(ExitCode::usage,
                fmt::format("--out {}: cannot be created ({}); name a writable folder", out.string(), error.message()));
  std::optional<FolderLock> lock = FolderLock::take(out);
  if (!lock)
    throw Error(ExitCode::usage,
                fmt::format("--out {}: another process is making a report there; wait for it, or name another folder",
                            out.string()));
  for (const fs::path& folder : {out, out / "figures", out / "tables"})
    remove_leftovers(folder, Others::may_write, [](const std::string& target) {
      return is_own(target, {".html", ".tex", ".json"}) || is_figure(target);
    });
  return std::move(*lock);
}

std::string base_of(const std::vector<SettingSummary>& settings, const ReportOptions& options) {
  return !options.base.empty()       ? options.base
         : !options.policies.empty() ? options.policies[0]
                                     : usual_base(settings[0]);
}

// The base, then the others. Yardsticks compete with nobody.
std::vector<std::string> compared_policies(const StoredResults& results, const std::vector<SettingSummary>& settings,
                                           const ReportOptions& options) {
  std::vector<std::string> names = options.policies;
  if (names.empty())
    for (const PlannedLane& lane : results.settings()[0].plan.lanes)
      if (lane.policy->group != PolicyGroup::yardstick) add_new(names, lane.policy->name);
  const std::string base = base_of(settings, options);
  std::erase(names, base);
  if (!base.empty()) names.insert(names.begin(), base);
  return names;
}

ReportSection comparisons(const std::vector<ComparedPair>& pairs, const Study& study) {
  ReportSection section{"Comparisons"};
  if (!pairs.empty()) section.tables.push_back(rivals_table(pairs));
  section.paragraphs = {
      "All policies of a replication face the same draws: differences are paired over replications, which makes their "
      "intervals narrower than those of the tables suggest: where intervals of single policies overlap, the difference "
      "may still be clear."};
  section.paragraphs.push_back(
      pairs.empty() ? "There is one policy, and nothing to compare it with."
                    : "Each policy is compared with one of them, the base: `pandora report --base NAME --policy "
                      "NAME,...` names others; yardsticks compete with nobody.");
  if (of_table(study) && periods_are_prompts(study.environments[0]))
    section.paragraphs.push_back(
        "Replications are orders of the same prompts. What other prompts of the same kind would change is wider: "
        "`pandora "
        "compare` has it as ± over prompts.");
  return section;
}

std::string of_manifest(const json& manifest, const char* name) {
  const auto program = manifest.find("program");
  if (program == manifest.end() || !program->is_object()) return "unknown";
  const auto value = program->find(name);
  return value == program->end() ? "unknown" : value->is_string() ? value->get<std::string>() : value->dump();
}

// The command that makes this report.
std::string report_command(const ReportOptions& options) {
  std::string out = "pandora report results";
  if (options.T0) out += fmt::format(" --t0 {}", *options.T0);
  if (!options.policies.empty()) out += fmt::format(" --policy {}", fmt::join(options.policies, ","));
  if (!options.base.empty()) out += " --base " + options.base;
  if (options.formats != RenderOptions().formats) out += fmt::format(" --figures {}", fmt::join(options.formats, ","));
  return out;
}

ReportDocument document_of(StoredResults& results, const std::vector<SettingSummary>& settings,
                           const std::vector<ComparedPair>& pairs, const std::vector<FigureGroup>& groups,
                           const ReportOptions& options) {
  const std::string unfinished = results.unfinished();
  const Study& study = results.settings()[0].setting.study;
  const std::string title = results.config().values().at("title").texts[0];
  ReportDocument document;
  document.title = title.empty() ? "Online Pandora's box: results" : title;
  document.subtitle = fmt::format(
      "{} replications of {} periods, seed {}, {}; pandora {}{}{}", study.replications, study.periods, study.seed,
      study.engine.text(), of_manifest(results.manifest(), "version"), unfinished.empty() ? "" : "; ", unfinished);
  ReportSection tables{"Tables"};
  const char* const what =
      of_table(study)
          ? "Utility is the quality of the deployed answer minus the price of all models that were called; the gap is "
            "the "
            "utility of the benchmark, hindsight or an index that the study names, minus the policy's."
          : "Regret is the oracle's utility minus the policy's, per period and times 1000; utility is the deployed "
            "output's μ* minus the costs of the queried boxes.";
  tables.paragraphs = {fmt::format(
      "{} The T₀ calibration periods come before the horizon and are not charged to it. Hyperparameters are "
      "the ones with the least mean regret on the same replications, as in the paper; the section "
      "Comparisons says how much that flatters.",
      what)};
  tables.tables = study_tables(settings, TableLayout::compact);
  if (study.regret)
    tables.tables.push_back(overview_table(settings, pairs.empty() ? "" : split(base_of(settings, options), '/')[0]));
  document.sections.push_back(std::move(tables));
  if (study.regret) document.sections.push_back(comparisons(pairs, study));
  ReportSection figures{"Figures"};
  for (const FigureGroup& group : groups)
    figures.sections.push_back({.heading = group.heading, .figures = group.figures});
  if (!groups.empty()) document.sections.push_back(std::move(figures));
  ReportSection again{"How to make this again"};
  again.paragraphs = {
      "With the study below as `study.toml`, the same build and the same arithmetic, these commands give "
      "the same numbers. The numbers of tables and figures are in `tables` and `figures` as CSV files."};
  again.commands = {"pandora run study.toml --out results", report_command(options)};
  again.preformatted = results.config().toml();
  document.sections.push_back(std::move(again));
  ReportSection manifest{"Manifest"};
  manifest.preformatted = results.manifest().dump(2, ' ', false, json::error_handler_t::replace);
  manifest.folded = true;
  document.sections.push_back(std::move(manifest));
  return document;
}

}  // namespace

std::vector<ComparedPair> compared_pairs(StoredResults& results, const std::vector<SettingSummary>& settings,
                                         const ReportOptions& options) {
  CompareOptions compare;
  compare.policies = compared_policies(results, settings, options);
  if (!results.settings()[0].setting.study.regret || compare.policies.size() < 2) return {};
  return compare_policies(results, compare);
}

std::vector<FigureGroup> report_figures(StoredResults& results, const std::vector<SettingSummary>& settings,
                                        const std::vector<ComparedPair>& pairs, std::optional<int> T0) {
  std::vector<FigureGroup> groups = study_figures(results, T0);
  Summary all;
  for (const SettingSummary& s : settings)
    all.rows.insert(all.rows.end(), s.summary.rows.begin(), s.summary.rows.end());
  if (FigureGroup differences = difference_figures(pairs, titles_shown(all)); !differences.figures.empty())
    groups.push_back(std::move(differences));
  return groups;
}

ReportOutcome write_report(StoredResults& results, const ReportOptions& options) {
  const std::vector<SettingSummary> settings = results.summaries();
  const std::vector<ComparedPair> pairs = compared_pairs(results, settings, options);
  const std::vector<FigureGroup> groups = report_figures(results, settings, pairs, options.T0);
  const fs::path out = options.out.empty() ? fs::path(results.path()) / "report" : options.out;
  const FolderLock lock = claim(out);
  ReportOutcome outcome;
  for (const FigureGroup& group : groups) outcome.figures += group.figures.size();
  RenderOptions how;
  how.formats = options.formats;
  how.processes = options.threads;
  outcome.message = write_document(out, document_of(results, settings, pairs, groups, options), how).message;
  std::error_code error;
  outcome.file = out / (fs::exists(out / "report.html", error) ? "report.html" : "report.json");
  return outcome;
}

}  // namespace pandora
