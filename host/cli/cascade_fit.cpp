// `cascade fit`: from a table of outcomes to a cascade that can be deployed.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "host/cascades/fits/fit_cascade.hpp"
#include "host/cascades/fits/judge_cascade.hpp"
#include "host/cli/cascade_options.hpp"
#include "host/cli/commands.hpp"
#include "host/cli/table_options.hpp"
#include "host/ground/files/output_folder.hpp"
#include "pandora/error.hpp"

namespace pandora::cli {
namespace {

struct FitArguments {
  std::string table, out = "cascade.json", format = "text";
  std::optional<double> price, most_usd, least_quality;
  CascadeFitOptions fit;
  TableOptions reading;
  bool force = false;

  CascadeAim aim() const {
    using Kind = CascadeAim::Kind;
    if (price.has_value() + most_usd.has_value() + least_quality.has_value() != 1)
      throw Error(ExitCode::usage,
                  "cascade fit: say what it is for by exactly one of --price (utility per dollar), --max-usd (dollars "
                  "per prompt) and --min-quality");
    return price      ? CascadeAim{Kind::price, *price}
           : most_usd ? CascadeAim{Kind::most_usd, *most_usd}
                      : CascadeAim{Kind::least_quality, *least_quality};
  }
};

void fit_command(const FitArguments& o) {
  require_format(o.format);
  o.reading.check();
  CascadeFitSettings settings = o.fit.checked();
  settings.aim = o.aim();
  require_sound(settings);
  claim_output_file(o.out, o.force, {o.table});
  const TraceTable table = o.reading.read(o.table);
  const CascadeFit fitted = fit_cascade(table, settings);
  write_file(o.out, fitted.cascade->text());
  if (o.format == "json") {
    print_json(fit_record(fitted));
    return;
  }
  for (const Table& part : show_tables(fitted.cascade->options(), fitted.cascade->counts(), o.out)) print_table(part);
  print_text(fmt::format("cascade in {}\n", o.out));
}

}  // namespace

void add_cascade(CLI::App& program, Command& run) {
  CLI::App* cascade = program.add_subcommand(
      "cascade", "cascades of models: fitted on a table of outcomes, tested on another, and put into words");
  cascade->require_subcommand(1);
  add_cascade_fit(*cascade, run);
  add_cascade_test(*cascade, run);
  add_cascade_frontier(*cascade, run);
  add_cascade_show(*cascade, run);
  add_cascade_new(*cascade, run);
}

void add_cascade_fit(CLI::App& cascade, Command& run) {
  const auto o = std::make_shared<FitArguments>();
  CLI::App* command = cascade.add_subcommand(
      "fit", "the cascade that is best at a price, or keeps a bound on dollars or quality, and what it promises");
  command->add_option("table", o->table, "CSV or JSON lines, recognised by their header")->required();
  command->add_option("--price", o->price, "utility per dollar");
  command->add_option("--max-usd", o->most_usd, "dollars per prompt at the most, on average");
  command->add_option("--min-quality", o->least_quality, "mean quality at the least");
  o->fit.add_to(*command, "auto");
  o->reading.add_to(*command);
  command->add_option("--out", o->out, "the cascade's file")->capture_default_str();
  command->add_flag("--force", o->force, "replace the file that --out names");
  command->add_option("--format", o->format, "of what is printed: text or json")->capture_default_str();
  command->callback([o, &run] { run = [o] { fit_command(*o); }; });
}

}  // namespace pandora::cli
