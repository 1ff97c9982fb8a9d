// `cascade frontier`: quality against dollars.
#include <fmt/format.h>

#include <memory>

#include "host/cascades/fits/frontier.hpp"
#include "host/cli/cascade_options.hpp"
#include "host/cli/commands.hpp"
#include "host/cli/table_options.hpp"
#include "host/ground/files/output_folder.hpp"

namespace pandora::cli {
namespace {

struct FrontierArguments {
  std::string table, test, out;
  std::vector<double> prices;
  std::vector<std::string> figures = RenderOptions().formats;
  CascadeFitOptions fit;
  TableOptions reading;
  bool force = false;
};

void frontier_command(const FrontierArguments& o) {
  o.reading.check();
  RenderOptions rendering;
  rendering.formats = parse_figure_formats(o.figures);
  CascadeFitSettings settings = o.fit.checked();
  if (settings.thresholds && settings.indices) settings.indices = false;
  require_sound(settings);
  const std::filesystem::path folder = claim_output_folder(o.out, o.force);
  for (const char* name : {"frontier.csv", "report.json", "report.html", "report.tex"})
    claim_output_file((folder / name).string(), true, {o.table, o.test});
  const TraceTable table = o.reading.read(o.table), test = o.reading.read(o.test);
  const Frontier frontier = find_frontier(table, test, settings, o.prices);
  write_file(folder / "frontier.csv", frontier_columns(frontier).csv());
  const RenderResult drawn = write_document(folder, frontier_document(frontier), rendering);
  print_table(frontier_steps(frontier));
  if (!drawn.message.empty()) print_error(drawn.message);
  print_text(fmt::format("{} cascades, {} models and {} points of mixtures in {}\n", frontier.cascades.size(),
                         frontier.singles.size(), frontier.mixtures.size(), (folder / "frontier.csv").string()));
}

}  // namespace

void add_cascade_frontier(CLI::App& cascade, Command& run) {
  const auto o = std::make_shared<FrontierArguments>();
  CLI::App* command = cascade.add_subcommand(
      "frontier", "quality against dollars: cascades over a range of prices, models alone, mixtures of models");
  command->add_option("table", o->table, "what is fitted on: CSV or JSON lines")->required();
  command->add_option("--test", o->test, "what is judged on: another table of the same models")->required();
  command->add_option("--price", o->prices, "utility per dollar; a list (default: from little to much, doubling)")
      ->delimiter(',');
  o->fit.add_to(*command, "thresholds");
  o->reading.add_to(*command);
  command->add_option("--out", o->out, "folder for frontier.csv and a page with the figure")->required();
  command->add_option("--figures", o->figures, "formats of figure files: svg, pdf, png (report.tex needs pdf)")
      ->delimiter(',')
      ->capture_default_str();
  command->add_flag("--force", o->force, "accept a folder that is not empty");
  command->callback([o, &run] { run = [o] { frontier_command(*o); }; });
}

}  // namespace pandora::cli
