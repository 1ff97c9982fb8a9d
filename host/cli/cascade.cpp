// `cascade`: cascades of models. One that has learned nothing is begun here; what fits, tests and shows them is in the
// package.
#include "pandora/cascade.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "host/cascades/live/new_cascade.hpp"
#include "host/cli/commands.hpp"
#include "host/cli/package.hpp"
#include "host/cli/study_options.hpp"
#include "host/ground/base/fail.hpp"
#include "host/ground/files/input_file.hpp"
#include "host/ground/files/output_folder.hpp"
#include "host/studies/study/study.hpp"

namespace pandora::cli {
namespace {

struct NewArguments {
  NewCascade cascade;
  std::string refit = "geometric:1.5", features, out = "cascade.json";
  bool force = false;
  double explore = 0.0;
};

void new_command(const NewArguments& o) {
  constexpr std::uint64_t kMostFeatures = std::uint64_t{256} << 20;  // bytes
  claim_output_file(o.out, o.force, {o.features});
  NewCascade settings = o.cascade;
  settings.refit = parse_refit(o.refit);
  if (!o.features.empty()) try {
      settings.features = read_file(o.features, kMostFeatures);
    } catch (const Unreadable& problem) {
      fail(ExitCode::bad_data, "{}: {}", o.features, problem.what());
    }
  CascadeOptions options = new_cascade(settings);
  options.explore = o.explore;
  const Cascade cascade(options);
  write_file(o.out, cascade.text());
  print_text(fmt::format("{}: {} models, evaluator {}, nothing learned yet\n", o.out, settings.models.size(),
                         settings.evaluator));
  const int most = cascade.options().estimation.most_samples;
  if (settings.most_samples == 0 || most < settings.most_samples)
    print_text(fmt::format("of a model at most {} samples are kept, for which the file has room\n", most));
}

void add_cascade_new(CLI::App& cascade, Session& session) {
  const auto o = std::make_shared<NewArguments>();
  CLI::App* command = cascade.add_subcommand("new", "a cascade that learns from nothing, for a service");
  const auto usual = [command](const char* name, auto& value, const char* meaning) {
    return command->add_option(name, value, meaning)->capture_default_str();
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
  usual("--out", o->out, "the cascade's file");
  command->add_flag("--force", o->force, "replace the file that --out names");
  usual("--explore", o->explore,
        "while it runs: with this probability a drawn model is called next, or its answer deployed, so that a decision "
        "log tells what other cascades would bring; in a fit all models of the table are then in the file")
      ->check(CLI::Range(0.0, 1.0));
  session.on_call(command, [o] { new_command(*o); });
}

}  // namespace

void add_cascade(CLI::App& program, Session& session) {
  CLI::App* cascade = program.add_subcommand(
      "cascade", "cascades of models: fitted on a table of outcomes, tested on another, and put into words");
  cascade->require_subcommand(1);
  const auto packaged = [&](const char* name, const char* meaning) {
    add_package_command(*cascade, name, meaning, session);
  };
  packaged("fit", "the cascade that is best at a price, or keeps a bound on dollars or quality, and what it promises");
  packaged("test", "what a cascade does on another table, beside one model alone, with intervals");
  packaged("frontier", "quality against dollars: cascades over a range of prices, models alone, mixtures of models");
  packaged("show", "a cascade's file in words");
  add_cascade_new(*cascade, session);
}

}  // namespace pandora::cli
