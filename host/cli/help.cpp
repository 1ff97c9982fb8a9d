// What `--help` says of each command, in one place: sentences, and examples with what they leave or print. The page of
// all commands is made of it (scripts/help-pages.py), and CI runs the examples.

#include <algorithm>

#include "host/cli/commands.hpp"
#include "host/ground/base/printable.hpp"
#include "host/ground/tables/table.hpp"

namespace pandora::cli {
namespace {

struct Example {
  const char *commands, *meaning;
};

struct Help {
  const char *command, *sentences;
  Example examples[2] = {};
};

constexpr Help kHelps[] = {
    {"run",
     "Runs a study from its TOML file and writes a folder of results. It prints the regret of each policy against "
     "the oracle, with 95% intervals over replications.",
     {{"pandora run experiments/quick.toml --out quick",
       "runs three policies and leaves CSV tables, every replication in results.h5 and a manifest in quick/. In the "
       "table it prints, lower regret is better; the number after ± is the half-width of the interval."},
      {"pandora run experiments/quick.toml --policy dow --replications 8 --set hyperparameters.c_rho=0.1 --plan",
       "changes keys of the study and prints what the run would need: lanes, memory, an estimate of its time. "
       "Without --plan it would run."}}},
    {"reproduce",
     "Runs the paper's study and prints Tables 1 to 3 beside the published numbers. By default it runs everything: 50 "
     "replications of 24 cells with 30,000 periods each.",
     {{"pandora reproduce --table 1 --environment uniform --t0 0 --replications 10 --out uniform",
       "prints one environment of Table 1. The published value stands in parentheses, and a star marks an entry "
       "that lies outside the joint 95% interval of the two."}}},
    {"merge",
     "Puts the folders of a study's shards together into one folder of results. The merged results have the bytes of "
     "a run on one machine.",
     {{"pandora run experiments/quick.toml --shard 0/2 --out part0\n"
       "pandora run experiments/quick.toml --shard 1/2 --out part1\n"
       "pandora merge part0 part1 --out whole",
       "runs a study in two halves, which may be done on two machines, and prints its table from whole/."}}},
    {"show",
     "Prints the tables of a folder of results, also while a run writes to it. They can be narrowed down and printed "
     "as Markdown, LaTeX or CSV.",
     {{"pandora run experiments/quick.toml --out quick\n"
       "pandora show quick --t0 0\n"
       "pandora show quick --overview --base dow",
       "prints the regrets at T0 = 0; then one row per policy, with its quality, cost and openings and the ratio of "
       "its regret to that of dow."}}},
    {"compare",
     "Compares policies in pairs, or two folders of results. All policies of a study meet the same requests, so "
     "their differences are known better than each regret alone.",
     {{"pandora run experiments/quick.toml --out quick\n"
       "pandora compare quick --policy dow,online_plugin,linucb_online",
       "prints the regret of dow less that of each other policy, with a 95% interval and p-values adjusted for the "
       "number of comparisons (Holm). A negative difference with a small p-value means that dow is better."}}},
    {"verdict", "Says which program sets results against the paper. That is experiments/verdict, in Python."},
    {"report",
     "Writes figures, tables and comparisons of a folder of results as report.html and report.tex. It needs Python "
     "with matplotlib and jinja2; without them it leaves the numbers alone.",
     {{"pandora run experiments/quick.toml --out quick\n"
       "pandora report quick --figures svg",
       "leaves quick/report/report.html, to be opened in a browser, and the figures beside it."}}},
    {"tune",
     "Chooses hyperparameters by successive halving and judges the choice on fresh replications. Lists in the "
     "study's hyperparameters are the candidates.",
     {{"pandora tune experiments/quick.toml --policy dow --set \"hyperparameters.c_rho=[0.1,0.3,1]\" --budget 100",
       "prints the chosen c_rho for each cell and its regret on replications that the choice did not see, beside "
       "the regret of the default."}}},
    {"lanes",
     "Prints the names of all lanes of a study, one line each. A lane is one policy with its hyperparameters in one "
     "replication of one cell.",
     {{"pandora lanes experiments/quick.toml",
       "prints names such as uniform/A/0/0/dow/known/c_rho=0.1, which `pandora replay` and `pandora explain` take."}}},
    {"replay",
     "Runs one lane of a study alone and prints its sums, its regret and its curve. The numbers are those that the "
     "whole study has for this lane.",
     {{"pandora run experiments/quick.toml --out quick\n"
       "pandora replay quick --policy dow/known --t0 0 --replication 1",
       "prints what the best hyperparameters of dow earned and paid in the second replication."}}},
    {"explain",
     "Says for periods of one lane what it saw, which boxes it opened in which order and why, and what the oracle did. "
     "It is meant for looking into a policy's decisions.",
     {{"pandora run experiments/quick.toml --out quick\n"
       "pandora explain quick --policy dow/known --t0 0 --period 100:102",
       "prints three periods: the index of each box, the outputs that were seen, the deployed one and the oracle's "
       "choice."}}},
    {"oracle",
     "Computes Weitzman's reservation indices. They depend on three numbers, so they are tabulated on a grid."},
    {"oracle index",
     "Prints the reservation index sigma that solves E[(G(ell + scale w) - sigma)^+] = cost. Here w is a shock of the "
     "environment, projected on a drawn unit vector.",
     {{"pandora oracle index --environment uniform --ell 0 --scale 1 --cost 0.1",
       "prints sigma and its standard error over the Monte Carlo samples. A box with this index is opened while the "
       "best output so far is worth less than sigma."}}},
    {"oracle order",
     "Prints Table 3: how much the order in which the oracle opens boxes varies with the context. It needs no policy.",
     {{"pandora oracle order --environment uniform",
       "prints for each regime how many orders (permutations of the boxes) occur, and the shares of the contexts "
       "with the most and the least frequent one."}}},
    {"oracle check",
     "Measures the errors of the tabulated indices against exact solves. Use it when you change --grid, --samples or "
     "--bins.",
     {{"pandora oracle check --environment uniform --solves 100",
       "prints the largest error and the root mean square error of the grid and of the quantile bins, beside the Monte "
       "Carlo standard error: they should be well below it."}}},
    {"oracle grid",
     "Computes the oracle tables of a study ahead of time, into a cache or an HDF5 file. Runs that name the cache do "
     "not compute them again.",
     {{"pandora oracle grid experiments/quick.toml --cache tables\n"
       "pandora run experiments/quick.toml --oracle-cache tables --out quick",
       "leaves one file for each replication in tables/, which the run reads."}}},
    {"oracle exact",
     "Solves a problem with finite laws by dynamic programming, up to about six boxes with eight values each. Boxes may "
     "also be deployed unopened, opened again, or left for an outside option.",
     {{"pandora oracle exact examples/finite/three-boxes.toml",
       "prints what the optimal policy earns beside Weitzman's rule, and the policy as a table: for each state that "
       "it reaches, what it does next and what it can still expect."}}},
    {"calibrate",
     "Searches for u, the upper end of the cost levels, at which the oracle opens a wanted number of boxes per period. "
     "It takes 100 replications of 200 contexts unless you give --replications and --contexts.",
     {{"pandora calibrate --environment uniform --boxes 1.5",
       "prints u, the boxes per period at this u with a 95% interval, and the u of the study."}}},
    {"policies",
     "Lists the policies with one line on each. These are the names that --policy and the key `policies` take.",
     {{"pandora policies", "prints the paper's policies, its benchmarks, and those that were added."}}},
    {"devices",
     "Lists the GPUs that this build can use, or says why there are none. `--backend auto` takes them if there are "
     "any.",
     {{"pandora devices", "prints one line for each GPU with its memory, or the reason why it cannot be used."}}},
    {"trace",
     "Works on tables of outcomes: the quality and cost of models' answers to prompts. `pandora cascade` makes cascades "
     "of such tables."},
    {"trace check", "Reads a table of outcomes, says what it holds and estimates what calling several models can pay."},
    {"trace export",
     "Writes one replication of a study's environment as a table of outcomes. The table can be read by `trace check`, "
     "by `cascade fit` and by studies; the keys that a study needs are printed.",
     {{"pandora trace export experiments/quick.toml --out exported.jsonl",
       "leaves a table with a line per period: the context, and each box's quality and cost."}}},
    {"trace features",
     "Writes the features of a study's prompts as JSON, fitted on the calibration table. Other programs can then "
     "compute the same features from a prompt.",
     {{"pandora trace features experiments/traces/exported.toml --out features.json",
       "leaves the words, weights and scales that turn a prompt into numbers."}}},
    {"import", "Makes a table of outcomes from the export of another program, and says what was left out."},
    {"serve", "Starts LiteLLM's proxy with cascades, feedback and a page that shows what they do."},
    {"cascade",
     "Fits cascades of models on a table of outcomes, tests them on another, and puts them into words. These commands "
     "run in pandora's Python package."},
    {"cascade fit",
     "Fits the cascade that is best at a price, or within a bound on dollars or quality, and says what it promises."},
    {"cascade test", "Judges a cascade on a table that it was not fitted on, beside one model alone, with intervals."},
    {"cascade frontier",
     "Draws quality against dollars for cascades over a range of prices, for models alone and for mixtures of two."},
    {"cascade show", "Puts a cascade's file into words."},
    {"cascade new", "Makes a cascade that has learned nothing yet and learns while it runs."},
};

std::string indented(const std::string& text, std::size_t by) {
  std::string out;
  for (const std::string& line : split(wrapped(text, 80 - by), '\n'))
    if (!line.empty()) out += std::string(by, ' ') + line + "\n";
  return out;
}

std::string examples_text(const Help& help) {
  std::string out;
  for (const Example& example : help.examples) {
    if (example.commands == nullptr) continue;
    if (out.empty()) out = "Examples:\n";
    for (const std::string& command : split(example.commands, '\n')) out += "  " + command + "\n";
    out += indented(example.meaning, 6);
  }
  return out.substr(0, out.find_last_not_of('\n') + 1);
}

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(28); }

  std::string make_description(const CLI::App* app) const override {
    return wrapped(app->get_description(), 80) + "\n";
  }
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    return CLI::detail::find_and_replace(CLI::Formatter::make_help(app, std::move(name), mode), "\n\n\n", "\n\n");
  }
  std::string make_subcommand(const CLI::App* app) const override {
    const std::string text = app->get_description();
    const std::string out = indented(text.substr(0, std::min(text.find(". "), text.size() - 1)), get_column_width());
    const std::string name = "  " + app->get_display_name(true);
    return name + out.substr(name.size());
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    const std::string text = wrapped(option->get_description(), 80 - get_column_width());
    return text.substr(0, text.find_last_not_of('\n') + 1);  // CLI11 indents the lines
  }
};

}  // namespace

CLI::App* add_command(CLI::App& group, const std::string& name) {
  const std::string words = group.get_parent() == nullptr ? name : group.get_name() + " " + name;
  const Help& help = *std::ranges::find_if(kHelps, [&words](const Help& one) { return words == one.command; });
  CLI::App* command = group.add_subcommand(name, help.sentences);
  command->footer(examples_text(help));
  const bool of_tables = words == "trace" || words == "import" || words == "cascade" || words == "serve";
  command->group(of_tables ? "Tables and cascades" : "Subcommands");  // else a command has the group of its parent
  return command;
}

std::shared_ptr<CLI::FormatterBase> help_formatter() {
  return std::make_shared<HelpFormatter>();
}

}  // namespace pandora::cli
