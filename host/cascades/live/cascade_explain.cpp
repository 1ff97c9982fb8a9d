#include <cmath>
#include <limits>

#include "host/cascades/live/cascade_record.hpp"
#include "host/cascades/live/cascade_state.hpp"
#include "host/lanes/estimator/why_stopped.hpp"

namespace pandora {

namespace {

using Json = nlohmann::json;

Json number_or_null(double x) {
  return std::isfinite(x) ? Json(x) : Json();
}

}  // namespace

CascadeExplanation Cascade::State::explain(std::uint64_t number) const {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const CascadeRequest& asked = request(number);
  const PeriodOutcome& walk = asked.walk.outcome;
  CascadeExplanation out;
  out.request = number;
  out.evaluator = options.evaluator;
  out.judge_usd = counted_judge_usd(record_of(options));
  for (std::size_t a = 0; a < asked.score.size(); ++a)
    out.models.push_back(asked.prediction.empty() ? CascadeExplanation::Model{kNone, kNone, kNone, kNone}
                                                  : CascadeExplanation::Model{asked.prediction[a], asked.width[a],
                                                                              asked.bonus[a], asked.score[a]});
  if (!learns())
    for (int k = 0; k + 1 < walk.ranked; ++k)
      out.models[static_cast<std::size_t>(walk.order[k])].score = asked.rules->threshold[k];
  std::vector<double> estimate(asked.score.size(), 0.0);
  for (const CascadeRequest::Call& call : asked.calls) {
    out.calls.push_back({call.model, call.dollars, call.quality});
    estimate[call.model] = call.quality;
  }
  if (asked.deployed) out.deployed = static_cast<std::size_t>(walk.deployed);
  if (!asked.deployed && !asked.walk.done) out.next = static_cast<std::size_t>(asked.walk.next());
  if (asked.walk.done) {
    PeriodRules drawn(*asked.rules);
    drawn.order = asked.order;
    drawn.stop = asked.stop;
    out.stopped = why_stopped(*asked.rules, drawn, walk, static_cast<int>(asked.score.size()), asked.score.data(),
                              estimate.data(), [&](int a) { return names[static_cast<std::size_t>(a)].name; });
  } else if (asked.deployed) {
    out.stopped = "it was deployed before the cascade had stopped";
  }
  return out;
}

std::string Cascade::explain_json(std::uint64_t request) const {
  const CascadeExplanation explained = explain(request);
  const std::vector<CascadeModel> names = models();
  const auto name = [&](std::optional<std::size_t> model) { return model ? Json(names[*model].name) : Json(); };
  Json out = {{"request", explained.request},
              {"evaluator", explained.evaluator},
              {"judge_usd", explained.judge_usd ? Json(*explained.judge_usd) : Json()},
              {"models", Json::array()},
              {"calls", Json::array()},
              {"next", name(explained.next)},
              {"deployed", name(explained.deployed)},
              {"stopped", explained.stopped}};
  for (std::size_t a = 0; a < explained.models.size(); ++a) {
    const CascadeExplanation::Model& model = explained.models[a];
    out["models"].push_back({{"model", names[a].name},
                             {"prediction", number_or_null(model.prediction)},
                             {"width", number_or_null(model.width)},
                             {"bonus", number_or_null(model.bonus)},
                             {"score", number_or_null(model.score)}});
  }
  for (const CascadeExplanation::Call& call : explained.calls)
    out["calls"].push_back({{"model", names[call.model].name}, {"dollars", call.dollars}, {"quality", call.quality}});
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace pandora
