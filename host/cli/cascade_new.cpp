// `cascade new`: a cascade that has learned nothing yet.
#include <fmt/format.h>

#include <memory>

#include "host/cascades/live/new_cascade.hpp"
#include "host/cli/commands.hpp"
#include "host/ground/files/input_file.hpp"
#include "host/ground/files/output_folder.hpp"
#include "host/studies/study/study.hpp"
#include "pandora/error.hpp"

namespace pandora::cli {
namespace {

struct CascadeNewOptions {
  NewCascade cascade;
  std::string refit = "geometric:1.5", features, out = "cascade.json";
  bool force = false;
};

void create(const CascadeNewOptions& o) {
  constexpr std::uint64_t kMostFeatures = std::uint64_t{256} << 20;  // bytes
  claim_output_file(o.out, o.force, {o.features});
  NewCascade settings = o.cascade;
  settings.refit = parse_refit(o.refit);
  if (!o.features.empty()) try {
      settings.features = read_file(o.features, kMostFeatures);
    } catch (const Unreadable& problem) {
      throw Error(ExitCode::bad_data, fmt::format("{}: {}", o.features, problem.what()));
    }
  const Cascade cascade(new_cascade(settings));
  write_file(o.out, cascade.text());
  print_text(fmt::format("{}: {} models, evaluator {}, nothing learned yet\n", o.out, settings.models.size(),
                         settings.evaluator));
  const int most = cascade.options().estimation.most_samples;
  if (settings.most_samples == 0 || most < settings.most_samples)
    print_text(fmt::format("of a model at most {} samples are kept, for which the file has room\n", most));
}

}  // namespace

void add_cascade_new(CLI::App& cascade, Command& run) {
  const auto o = std::make_shared<CascadeNewOptions>();
  CLI::App* command = cascade.add_subcommand("new", "a cascade that learns from nothing, for a service");
  command->add_option("--models", o->cascade.models, "names, 1 to 16")->delimiter(',')->required();
  command->add_option("--price", o->cascade.price, "utility per dollar")->required();
  command->add_option(
      "--evaluator", o->cascade.evaluator,
      "what is seen of an answer, which must be said: score (a judge's; what it is worth is then learned "
      "from the feedback), or quality (the truth)");
  command->add_option("--policy", o->cascade.policy, "shrunk_weitzman or dow")->capture_default_str();
  command->add_option("--c", o->cascade.width, "width of the bonus on an index: c_shrunk or c_rho")
      ->capture_default_str();
  command
      ->add_option("--c-theta", o->cascade.reward_width,
                   "width of the bonus on a learned quality: c_shrunk_theta or c_theta")
      ->capture_default_str();
  CLI::Option* const features =
      command->add_option("--features", o->features, "features of prompts, as `pandora trace features` writes them");
  command
      ->add_option("--psi", o->cascade.index_features,
                   "without them: how many numbers a request comes with, of which the first is 1")
      ->excludes(features)
      ->capture_default_str();
  command->add_option("--refit", o->refit, "when estimates are solved anew (docs/conventions.md)")
      ->capture_default_str();
  command
      ->add_option("--forget", o->cascade.forget, "half-life of a sample's weight in requests; 0: samples do not age")
      ->capture_default_str();
  command
      ->add_option("--most-samples", o->cascade.most_samples,
                   "of a model; of more, the older half is forgotten; 0: any")
      ->capture_default_str();
  command->add_option("--out", o->out, "the cascade's file")->capture_default_str();
  command->add_flag("--force", o->force, "replace the file that --out names");
  command->callback([o, &run] { run = [o] { create(*o); }; });
}

}  // namespace pandora::cli
