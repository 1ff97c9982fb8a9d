#include "host/report/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "host/ground/base/split.hpp"
#include "host/ground/figures/document.hpp"
#include "host/ground/figures/write_figures.hpp"
#include "host/ground/files/folder_lock.hpp"
#include "host/ground/files/input_file.hpp"
#include "host/ground/files/output_folder.hpp"
#include "host/ground/files/system_limits.hpp"
#include "host/ground/files/temporary_file.hpp"
#include "host/report/figure_parts.hpp"
#include "host/studies/results/overview_table.hpp"
#include "host/studies/results/result_rows.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool is_own(const fs::path& name, std::initializer_list<const char*> extensions) {
  const fs::path target = target_of_temporary(name.string()).value_or(name.string());
  return target.empty() || std::find(extensions.begin(), extensions.end(), target.extension()) != extensions.end();
}

// Whether there is nothing but what a report begins with, such as one that was killed.
bool holds_unfinished(const fs::path& out) {
  const auto all = [](const fs::path& folder, auto&& belongs) {
    const std::vector<fs::path> entries = entries_of(folder);
    return std::all_of(entries.begin(), entries.end(), [&](const fs::path& path) { return belongs(path.filename()); });
  };
  try {
    return all(out,
               [](const fs::path& name) {
                 return name == "figures" || name == "report.tex" ||
                        (target_of_temporary(name.string()) && is_own(name, {".tex", ".html"}));
               }) &&
           all(out / "figures", [](const fs::path& name) {
             return is_own(name, {".dat", ".gp", ".pdf", ".svg", ".png"});
           });
  } catch (const Unreadable&) {
    return false;  // then it is not replaced
  }
}

// The folder, made and locked: two reports there at once would remove each other's figures.
FolderLock claim(const fs::path& out) {
  std::error_code error;
  if (fs::exists(out, error) && !(fs::is_directory(out, error) && (holds_report(out) || holds_unfinished(out))))
    throw Error(ExitCode::usage,
                fmt::format("--out {}: is not empty and holds no report; name another folder", out.string()));
  fs::create_directories(out / "figures", error);
  require_resources(error.value(), fmt::format("--out {}", out.string()));
  if (error)
    throw Error(ExitCode::usage,
                fmt::format("--out {}: cannot be created ({}); name a writable folder", out.string(), error.message()));
  std::optional<FolderLock> lock = FolderLock::take(out);
  if (!lock)
    throw Error(ExitCode::usage,
                fmt::format("--out {}: another process is making a report there; wait for it, or name another folder",
                            out.string()));
  for (const fs::path& folder : {out, out / "figures"})
    remove_leftovers(folder, Others::may_write, [](const std::string& target) {
      return is_own(target, {".html", ".tex", ".dat", ".gp"});
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
      if (lane.policy->group != PolicyGroup::yardstick &&
          std::find(names.begin(), names.end(), lane.policy->name) == names.end())
        names.push_back(lane.policy->name);
  const std::string base = base_of(settings, options);
  std::erase(names, base);
  if (!base.empty()) names.insert(names.begin(), base);
  return names;
}

ReportSection comparisons(const std::vector<ComparedPair>& pairs, TableLayout layout) {
  ReportSection section{"Comparisons"};
  if (!pairs.empty())
    for (const Table& table : comparison_tables(pairs)) {
      const auto pieces = in_pieces(table, layout == TableLayout::paper ? kMostLatexColumns : table.columns.size());
      section.tables.insert(section.tables.end(), pieces.begin(), pieces.end());
    }
  section.paragraphs = {
      "All policies of a replication face the same draws: differences are paired over replications, which makes their "
      "intervals narrower than those of the tables suggest: where intervals of single policies overlap, the difference "
      "may "
      "still be clear."};
  section.paragraphs.push_back(
      pairs.empty() ? "There is one policy, and nothing to compare it with."
                    : "Each policy is compared with one of them, the base: `pandora report --base NAME --policy "
                      "NAME,...` names others; yardsticks compete with nobody.");
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
  return out;
}

ReportDocument document_of(StoredResults& results, const std::vector<SettingSummary>& settings,
                           const std::vector<ComparedPair>& pairs, const std::vector<FigureGroup>& groups,
                           const ReportOptions& options, TableLayout layout) {
  const std::string unfinished = results.unfinished();
  const Study& study = results.settings()[0].setting.study;
  const std::string title = results.config().values().at("title").texts[0];
  ReportDocument document;
  document.title = title.empty() ? "Online Pandora's box: results" : title;
  document.subtitle = fmt::format(
      "{} replications of {} periods, seed {}, {}; pandora {}{}{}", study.replications, study.periods, study.seed,
      study.engine.text(), of_manifest(results.manifest(), "version"), unfinished.empty() ? "" : "; ", unfinished);
  ReportSection tables{"Tables"};
  tables.paragraphs = {
      "Regret is the oracle's utility minus the policy's, per period and times 1000; utility is the deployed output's "
      "μ* minus the costs of the queried boxes. The T₀ calibration periods come before the horizon and are not charged "
      "to it. Hyperparameters are the ones with the least mean regret on the same replications, as in the paper; the "
      "section Comparisons says how much that flatters."};
  tables.tables = study_tables(settings, layout);
  if (study.regret) {
    const Table overview = overview_table(settings, pairs.empty() ? "" : split(base_of(settings, options), '/')[0]);
    const auto pieces = in_pieces(overview, layout == TableLayout::paper ? kMostLatexColumns : overview.columns.size());
    tables.tables.insert(tables.tables.end(), pieces.begin(), pieces.end());
  }
  document.sections.push_back(std::move(tables));
  if (study.regret) document.sections.push_back(comparisons(pairs, layout));
  ReportSection figures{"Figures"};
  for (const FigureGroup& group : groups) {
    ReportSection part{group.heading};
    for (const Figure& figure : group.figures) part.figures.push_back(report_figure(figure));
    figures.sections.push_back(std::move(part));
  }
  if (!groups.empty()) document.sections.push_back(std::move(figures));
  ReportSection again{"How to make this again"};
  again.paragraphs = {
      "With the study below as `study.toml`, the same build and the same arithmetic, these commands give "
      "the same bytes. Figures are drawn from `figures/*.dat` by `gnuplot NAME.gp` in that folder."};
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
  ReportOutcome outcome{out / "report.html", 0, ""};
  std::vector<Figure> figures;
  for (const FigureGroup& group : groups) figures.insert(figures.end(), group.figures.begin(), group.figures.end());
  outcome.figures = figures.size();
  FigureOptions how;
  how.threads = options.threads;
  const FigureResult drawn = write_figures(out / "figures", figures, how);
  outcome.message = drawn.message;
  write_file(out / "report.tex",
             report_tex(document_of(results, settings, pairs, groups, options, TableLayout::paper), "figures"));
  write_file(outcome.html, report_html(document_of(results, settings, pairs, groups, options, TableLayout::compact),
                                       svg_in((out / "figures").string()), "figures"));
  return outcome;
}

}  // namespace pandora
