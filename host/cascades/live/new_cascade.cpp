#include "host/cascades/live/new_cascade.hpp"

#include <algorithm>

#include "host/outcomes/tables/evaluator_spec.hpp"
#include "pandora/error.hpp"

namespace pandora {

CascadeOptions new_cascade(const NewCascade& settings) {
  if (settings.evaluator.empty()) throw no_evaluator("score and score:NAME are judges'", "score");
  CascadeOptions options;
  options.models = settings.models;
  options.price = settings.price;
  options.evaluator = settings.evaluator;
  const bool learns_reward = settings.evaluator != "quality";
  if (settings.policy == "dow")
    options.rules = dow_rules(learns_reward, settings.width, settings.reward_width);
  else if (settings.policy == "shrunk_weitzman")
    options.rules = shrunk_rules(learns_reward, settings.width, 0, settings.reward_width);
  else
    throw Error(ExitCode::usage, "policy " + settings.policy + ": unknown; use shrunk_weitzman or dow");
  options.rules->forced = std::max(options.rules->forced, 1);  // alg:DOW begins with a query of every box
  options.estimation.refit = settings.refit;
  options.estimation.forget = settings.forget;
  options.estimation.most_samples = settings.most_samples;
  options.features = settings.features;
  options.index_features = settings.index_features;
  return options;
}

}  // namespace pandora
