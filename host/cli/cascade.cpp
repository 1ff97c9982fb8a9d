// `cascade`: cascades of models, fitted on tables of outcomes, tested, drawn, shown, and begun with nothing learned.
#include "pandora/cascade.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "host/cascades/fits/fit_cascade.hpp"
#include "host/cascades/fits/frontier_metrics.hpp"
#include "host/cascades/fits/judge_cascade.hpp"
#include "host/cascades/live/new_cascade.hpp"
#include "host/cli/commands.hpp"
#include "host/cli/progress_bar.hpp"
#include "host/cli/study_options.hpp"
#include "host/ground/files/input_file.hpp"
#include "host/ground/files/output_folder.hpp"
#include "host/studies/study/study.hpp"
#include "pandora/error.hpp"

namespace pandora::cli {
namespace {

// What is fitted, the aim apart.
struct FitOptions {
  std::string kind;
  CascadeFitSettings settings;

  void add_to(CLI::App& command, const std::string& default_kind) {
    kind = default_kind;
    command.add_option("--evaluator", settings.evaluator,
                       "what is seen of an answer when its model was called, which must be said: score or score:NAME "
                       "(a judge's), quality (the truth), or none, where a router calls one model");
    command
        .add_option("--context", settings.context,
                    "what is known of a prompt before any call: text:K, length, a column, raw:NAME; a list")
        ->delimiter(',');
    command
        .add_option("--kind", kind,
                    "router (a model for each prompt, by its context), thresholds (an order of models), indices (an "
                    "order for each prompt), routed (a model or an order with thresholds for each prompt) or auto")
        ->capture_default_str();
    command.add_option("--judge-usd", settings.judge_usd,
                       "dollars of judging an answer, for each call of a cascade of several models (default: it is "
                       "taken to be free, and the verdict says so)");
  }

  CascadeFitSettings checked() const {
    CascadeFitSettings out = settings;
    out.set_kind(kind);
    return out;
  }
};

void add_openings(CLI::App& command, std::string& openings) {
  command
      .add_option(
          "--openings", openings,
          "of a log: in_order, its t-th call against the cascade's; independent, where each model was called by a toss of "
          "its own; or apart, where models' answers are taken to be independent, so that one call a decision is enough")
      ->capture_default_str();
}

// The file of a cascade, which a command writes.
struct CascadeFile {
  std::string out = "cascade.json";
  bool force = false;
  double explore = 0.0;

  void add_to(CLI::App& command) {
    command.add_option("--out", out, "the cascade's file")->capture_default_str();
    command.add_flag("--force", force, "replace the file that --out names");
    command
        .add_option(
            "--explore", explore,
            "while it runs: with this probability a drawn model is called next, or its answer deployed, so that a "
            "decision log tells what other cascades would bring; in a fit all models of the table are then in the file")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
  }
};

struct FitArguments {
  std::string table, format = "text", openings = "in_order";
  std::optional<double> price, most_usd, least_quality, most_latency;
  FitOptions fit;
  TableOptions reading;
  CascadeFile file;

  CascadeAim aim() const {
    using Kind = CascadeAim::Kind;
    if (price.has_value() + most_usd.has_value() + least_quality.has_value() != 1)
      throw Error(ExitCode::usage,
                  "cascade fit: say what it is for by exactly one of --price (utility per dollar), --max-usd (dollars "
                  "per prompt) and --min-quality");
    return price      ? CascadeAim{Kind::price, *price, most_latency}
           : most_usd ? CascadeAim{Kind::most_usd, *most_usd, most_latency}
                      : CascadeAim{Kind::least_quality, *least_quality, most_latency};
  }
};

// A bar, where somebody looks.
std::shared_ptr<FitProgress> shown_progress() {
  const auto bar = std::make_shared<ProgressBar>(!is_terminal(STDERR_FILENO), "fits");
  return std::make_shared<FitProgress>([bar](std::size_t done, std::size_t total) { bar->update(done, total); });
}

void print_cascade(const Cascade& cascade, const std::string& file) {
  for (const Table& part : show_tables(cascade.options(), cascade.counts(), file)) print_table(part);
}

void fit_command(const FitArguments& o) {
  require_format(o.format);
  o.reading.check();
  CascadeFitSettings settings = o.fit.checked();
  settings.aim = o.aim();
  settings.openings = parse_openings(o.openings);
  settings.progress = shown_progress();
  settings.explore = o.file.explore;
  require_sound(settings);
  claim_output_file(o.file.out, o.file.force, {o.table});
  const TraceTable table = o.reading.read(o.table);
  const CascadeFit fitted = fit_cascade(table, settings);
  fitted.cascade->set_explore(o.file.explore);
  // A nightly fit to the log of what runs is not to put something worse in its place.
  const bool stays = fitted.keeps_running() && std::filesystem::exists(o.file.out);
  if (!stays) write_file(o.file.out, fitted.cascade->text());
  if (o.format == "json") return print_json(fit_record(fitted));
  print_cascade(*fitted.cascade, o.file.out);
  print_text(stays ? o.file.out + " stays as it is; for what comes nearest name another file\n"
                   : fmt::format("cascade in {}\n", o.file.out));
}

void add_cascade_fit(CLI::App& cascade, Session& session) {
  const auto o = std::make_shared<FitArguments>();
  CLI::App* command = cascade.add_subcommand(
      "fit", "the cascade that is best at a price, or keeps a bound on dollars or quality, and what it promises");
  command->add_option("table", o->table, "CSV or JSON lines, recognised by their header")->required();
  command->add_option("--price", o->price, "utility per dollar");
  command->add_option("--max-usd", o->most_usd, "dollars per prompt at the most, on average");
  command->add_option("--min-quality", o->least_quality, "mean quality at the least");
  command->add_option("--max-latency", o->most_latency,
                      "beside one of these: seconds that the calls of a prompt in series take at the most, for 95% of "
                      "the table's prompts, by fits that did not see them (column latency); at a price thresholds are "
                      "also fitted for it, cascades of other kinds are held against it as they are");
  command->add_option("--forget", o->fit.settings.forget,
                      "of --kind indices: the half-life, in requests, of what is learned, the fit's samples included");
  command->add_option("--c", o->fit.settings.width,
                      "of --kind indices: width of the bonus by which models are called to learn of them, such as 0.2");
  o->fit.add_to(*command, "auto");
  add_openings(*command, o->openings);
  o->reading.add_to(*command);
  o->file.add_to(*command);
  command->add_option("--format", o->format, "of what is printed: text or json")->capture_default_str();
  session.on_call(command, [o] { fit_command(*o); });
}

struct TestArguments {
  std::string cascade, table, against, evaluator, format = "text", estimator, openings = "in_order";
  TableOptions reading;
  std::optional<double> judge_usd;
};

void test_command(const TestArguments& o) {
  require_format(o.format);
  o.reading.check();
  Cascade cascade = Cascade::load(o.cascade);
  const JudgedCascade judged = judge_cascade(cascade, o.cascade, o.reading.read(o.table), o.against, o.evaluator,
                                             o.judge_usd, parse_estimator(o.estimator), parse_openings(o.openings));
  if (o.format == "json")
    print_json(judged_json(judged));
  else
    print_table(judged_table(judged));
}

void add_cascade_test(CLI::App& cascade, Session& session) {
  const auto o = std::make_shared<TestArguments>();
  CLI::App* command =
      cascade.add_subcommand("test", "what a cascade does on another table, beside one model alone, with intervals");
  command->add_option("cascade", o->cascade, "what cascade fit wrote")->required();
  command->add_option("table", o->table, "CSV or JSON lines, with all models of the cascade")->required();
  command->add_option("--against", o->against, "the model alone (default: the best single one of the fit)");
  command->add_option("--evaluator", o->evaluator,
                      "what it sees here: quality, score or score:NAME (default: what it was made to see)");
  command->add_option("--judge-usd", o->judge_usd, "dollars of judging an answer (default: as the fit counted)");
  command->add_option("--estimator", o->estimator,
                      "plugin, ips, snips or dr (default: plugin of a full table, else dr)");
  add_openings(*command, o->openings);
  o->reading.add_missing_to(*command);
  command->add_option("--format", o->format, "text or json")->capture_default_str();
  session.on_call(command, [o] { test_command(*o); });
}

struct FrontierArguments {
  std::string table, test, out, format = "text";
  std::vector<double> prices;
  std::vector<std::string> figures = RenderOptions().formats;
  FitOptions fit;
  TableOptions reading;
  bool force = false, rows = false;
};

void frontier_command(const FrontierArguments& o) {
  require_format(o.format);
  o.reading.check();
  RenderOptions rendering;
  rendering.formats = parse_figure_formats(o.figures);
  CascadeFitSettings settings = o.fit.checked();
  settings.progress = shown_progress();
  require_sound(settings);
  const std::filesystem::path folder = claim_output_folder(o.out, o.force);
  for (const char* name : {"frontier.csv", "rows.csv", "numbers.json", "report.json", "report.html", "report.tex"})
    claim_output_file((folder / name).string(), true, {o.table, o.test});
  const TraceTable table = o.reading.read(o.table), test = o.reading.read(o.test);
  const Frontier frontier = find_frontier(table, test, settings, o.prices);
  write_file(folder / "frontier.csv", frontier_columns(frontier).csv());
  if (o.rows) write_file(folder / "rows.csv", frontier_rows(frontier, test).csv());
  const RenderResult drawn = render(folder, "frontier", frontier_numbers(frontier), rendering);
  if (o.format == "json") return print_json(frontier_json(frontier));
  print_table(frontier_steps(frontier));
  print_table(metrics_table(frontier, false));
  if (!drawn.message.empty()) print_error(drawn.message);
  print_text(fmt::format("{} cascades, {} models and {} points of mixtures in {}\n", frontier.cascades.size(),
                         frontier.singles.size(), frontier.mixtures.size(), (folder / "frontier.csv").string()));
}

void add_cascade_frontier(CLI::App& cascade, Session& session) {
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
  add_figure_formats(*command, o->figures);
  command->add_flag("--rows", o->rows, "also rows.csv: what becomes of each prompt by each cascade and model alone");
  command->add_flag("--force", o->force, "accept a folder that is not empty");
  command->add_option("--format", o->format, "of what is printed: text or json")->capture_default_str();
  session.on_call(command, [o] { frontier_command(*o); });
}

void add_cascade_show(CLI::App& cascade, Session& session) {
  const auto file = std::make_shared<std::string>();
  CLI::App* command = cascade.add_subcommand("show", "a cascade's file in words");
  command->add_option("cascade", *file, "what cascade fit or a service wrote")->required();
  session.on_call(command, [file] { print_cascade(Cascade::load(*file), *file); });
}

struct NewArguments {
  NewCascade cascade;
  std::string refit = "geometric:1.5", features;
  CascadeFile file;
};

void new_command(const NewArguments& o) {
  constexpr std::uint64_t kMostFeatures = std::uint64_t{256} << 20;  // bytes
  claim_output_file(o.file.out, o.file.force, {o.features});
  NewCascade settings = o.cascade;
  settings.refit = parse_refit(o.refit);
  if (!o.features.empty()) try {
      settings.features = read_file(o.features, kMostFeatures);
    } catch (const Unreadable& problem) {
      throw Error(ExitCode::bad_data, fmt::format("{}: {}", o.features, problem.what()));
    }
  CascadeOptions options = new_cascade(settings);
  options.explore = o.file.explore;
  const Cascade cascade(options);
  write_file(o.file.out, cascade.text());
  print_text(fmt::format("{}: {} models, evaluator {}, nothing learned yet\n", o.file.out, settings.models.size(),
                         settings.evaluator));
  const int most = cascade.options().estimation.most_samples;
  if (settings.most_samples == 0 || most < settings.most_samples)
    print_text(fmt::format("of a model at most {} samples are kept, for which the file has room\n", most));
}

void add_cascade_new(CLI::App& cascade, Session& session) {
  const auto o = std::make_shared<NewArguments>();
  CLI::App* command = cascade.add_subcommand("new", "a cascade that learns from nothing, for a service");
  const auto usual = [command](const char* name, auto& value, const char* meaning) {
    command->add_option(name, value, meaning)->capture_default_str();
  };
  command->add_option("--models", o->cascade.models, "names, 1 to 16")->delimiter(',')->required();
  command->add_option("--price", o->cascade.price, "utility per dollar")->required();
  command->add_option("--evaluator", o->cascade.evaluator,
                      "what is seen of an answer, which must be said: score (a judge's; what it is worth is then "
                      "learned from the feedback), or quality (the truth)");
  usual("--policy", o->cascade.policy, "shrunk_weitzman or dow");
  usual("--c", o->cascade.width, "width of the bonus on an index: c_shrunk or c_rho");
  usual("--c-theta", o->cascade.reward_width, "width of the bonus on a learned quality: c_shrunk_theta or c_theta");
  command->add_option("--features", o->features, "features of prompts, as `pandora trace features` writes them");
  usual("--psi", o->cascade.index_features,
        "without them: how many numbers a request comes with, of which the first is 1");
  command->get_option("--psi")->excludes(command->get_option("--features"));
  usual("--refit", o->refit, "when estimates are solved anew (docs/conventions.md)");
  usual("--forget", o->cascade.forget, "half-life of a sample's weight in requests; 0: samples do not age");
  usual("--most-samples", o->cascade.most_samples, "of a model; of more, the older half is forgotten; 0: any");
  o->file.add_to(*command);
  session.on_call(command, [o] { new_command(*o); });
}

}  // namespace

void add_cascade(CLI::App& program, Session& session) {
  CLI::App* cascade = program.add_subcommand(
      "cascade", "cascades of models: fitted on a table of outcomes, tested on another, and put into words");
  cascade->require_subcommand(1);
  for (const auto add : {add_cascade_fit, add_cascade_test, add_cascade_frontier, add_cascade_show, add_cascade_new})
    add(*cascade, session);
}

}  // namespace pandora::cli
