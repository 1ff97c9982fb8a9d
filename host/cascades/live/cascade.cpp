#include "pandora/cascade.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "host/cascades/live/cascade_state.hpp"
#include "host/cascades/live/new_cascade.hpp"
#include "host/cascades/live/rules_json.hpp"
#include "host/ground/base/option.hpp"
#include "host/ground/files/output_folder.hpp"
#include "host/lanes/estimator/checks.hpp"

namespace pandora {

using Json = nlohmann::json;

LaneSpec dow_rules(bool learns_reward, double c_rho, double c_theta, int T0) {
  return weitzman_lane(T0, Learning::online, learns_reward ? RewardModel::learned : RewardModel::known, c_rho,
                       learns_reward ? c_theta : 0.0);
}

LaneSpec shrunk_rules(bool learns_reward, double c_shrunk, int T0, double c_theta) {
  return shrunk_lane(T0, learns_reward ? RewardModel::learned : RewardModel::known, c_shrunk,
                     learns_reward ? c_theta : 0.0);
}

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
  options.estimation.forgetting.half_life = settings.forget;
  options.estimation.most_samples = settings.most_samples;
  options.features = settings.features;
  options.index_features = settings.index_features;
  return options;
}

Cascade::Cascade(const CascadeOptions& options) : state_(std::make_unique<State>(options)) {}
Cascade::~Cascade() = default;
Cascade::Cascade(Cascade&&) noexcept = default;
Cascade& Cascade::operator=(Cascade&&) noexcept = default;

void Cascade::save(const std::filesystem::path& path) const {
  write_file(path, text(), "save it in another folder");
}

CascadeOptions Cascade::options() const {
  return state_->locked()->options;
}

std::vector<CascadeModel> Cascade::models() const {
  return state_->locked()->names;
}

std::string Cascade::model_name(std::size_t model) const {
  const std::lock_guard lock(state_->mutex);
  if (model >= state_->names.size()) throw refusal("there is no model {}", model);
  return state_->names[model].name;
}

// Without the lock: features do not change, and a text takes its time.
std::vector<float> Cascade::context_of(const Prompt& prompt) const {
  if (state_->options.features.empty() && state_->index_features() > 1)
    throw refusal("it has no features of prompts; a request begins with psi, {} numbers of which the first is 1",
                  state_->index_features());
  for (const auto& [name, value] : prompt.columns)
    if (!state_->columns.contains(name)) throw refusal("no feature is made of a column {}; leave it out", name);
  std::vector<std::string> missing;
  if (state_->needs_text && prompt.text.empty()) missing.push_back("the prompt's text");
  for (const std::string& name : state_->needed)
    if (!prompt.columns.contains(name)) missing.push_back("the column " + name);
  if (!missing.empty())
    throw refusal("the features are made of {}; give {}{}", fmt::join(missing, ", "),
                  missing.size() == 1 ? "it" : "them",
                  prompt.columns.size() < state_->needed.size()
                      ? fmt::format(" (a value that is not known: {})", option("", "null"))
                      : "");
  std::vector<float> psi = {1.0f};
  for (const double x : state_->features.apply(prompt)) psi.push_back(static_cast<float>(x));
  psi.resize(state_->index_features(), 0.0f);
  return psi;
}

void Cascade::calibrate(int period, std::span<const float> psi, std::size_t model, const Observation& observation,
                        std::optional<double> quality) {
  State::Alone(*state_)->calibrate(period, psi, model, observation, quality);
}

std::string Cascade::caution() const {
  const CascadeOptions given = options();
  if (given.evaluator != "quality" || calls_one_model(given)) return "";
  return "cascade: its evaluator is quality, a free and perfect judge, so that `score` in observe must be the true "
         "quality of the answer; where that is not known at run time, make it anew with a judge as evaluator";
}

std::uint64_t Cascade::begin(const Prompt& prompt) {
  const std::vector<float> psi = context_of(prompt);
  return state_->locked()->begin(psi, &prompt);
}

std::uint64_t Cascade::begin(std::span<const float> psi) {
  return state_->locked()->begin(psi, nullptr);
}

std::uint64_t Cascade::epoch() {
  return state_->locked()->present_epoch();
}

void Cascade::set_epoch(std::uint64_t epoch) {
  if (epoch != 0 && !(epoch >= kFirstEpoch && epoch < kEpochEnd))
    throw refusal("epoch {}: give one that epoch() has returned, or 0", epoch);
  const State::Locked state = state_->locked();
  state->epoch = epoch;
  state->forks = forks_before();
}

std::optional<std::size_t> Cascade::next(std::uint64_t request) {
  const std::lock_guard lock(state_->mutex);
  const CascadeRequest& found = state_->request(request);
  return found.next == CascadeRequest::kNothing ? std::nullopt : std::optional(found.next);
}

bool Cascade::needs_score(std::uint64_t request) const {
  const std::lock_guard lock(state_->mutex);
  return state_->needs_score(state_->request(request));
}

void Cascade::observe(std::uint64_t request, std::size_t model, const Observation& observation) {
  state_->locked()->observe(request, model, observation);
}

void Cascade::fail(std::uint64_t request, std::size_t model, double dollars, const std::string& reason) {
  state_->locked()->pass_over(request, model, dollars, reason, true);
}

void Cascade::skip(std::uint64_t request, std::size_t model, double dollars) {
  state_->locked()->pass_over(request, model, dollars, "skipped", false);
}

void Cascade::only(std::uint64_t request, std::size_t model) {
  state_->locked()->only(request, model);
}

void Cascade::cancel(std::uint64_t request) {
  state_->locked()->cancel(request);
}

std::size_t Cascade::deploy(std::uint64_t request) {
  return state_->locked()->deploy(request);
}

void Cascade::feedback(std::uint64_t request, double quality) {
  state_->locked()->feedback(request, quality);
}

CascadeExplanation Cascade::explain(std::uint64_t request) const {
  return state_->locked()->explain(request);
}

CascadeCounts Cascade::counts() const {
  const std::lock_guard lock(state_->mutex);
  CascadeCounts out = state_->counts;
  if (state_->learns()) out.unsolved_refits = state_->asked().unsolved_refits();
  return out;
}

std::vector<std::uint64_t> Cascade::open_requests() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::uint64_t> out;
  for (const auto& [id, request] : state_->requests)
    if (!request.deployed) out.push_back(request.number);
  return out;
}

void Cascade::set_explore(double explore) {
  state_->locked()->set_explore(explore);
}

void Cascade::log_to(const DecisionLogOptions& options) {
  auto log = std::make_unique<DecisionLog>(options);
  state_->locked()->decisions.swap(log);
}

void Cascade::set_learning(bool on) {
  state_->locked()->learning = on;
}

std::size_t Cascade::add_model(const std::string& name) {
  return State::Alone(*state_)->add_model(name);
}

void Cascade::remove_model(const std::string& name) {
  state_->locked()->remove_model(name);
}

void Cascade::set_price(double price) {
  State::Alone(*state_)->set_price(price);
}

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
    for (CascadeExplanation::Model& model : out.models) model.score = kNone;
  if (!learns())
    for (int k = 0; k + 1 < walk.ranked; ++k)
      out.models[static_cast<std::size_t>(walk.order[k])].score = asked.rules->threshold[k];
  std::vector<double> estimate(asked.score.size(), 0.0);
  for (const CascadeRequest::Call& call : asked.calls) {
    out.calls.push_back({call.model, call.dollars, call.quality});
    estimate[call.model] = call.quality;
  }
  if (asked.deployed) out.deployed = static_cast<std::size_t>(walk.deployed);
  if (asked.next != CascadeRequest::kNothing) out.next = asked.next;
  if (asked.calls.empty() && asked.walk.done && !out.next) {
    out.stopped = "every model that it could call has failed or was skipped; cancel it";
  } else if (asked.walk.done && asked.explored && !out.next) {
    out.stopped = "the rules had stopped, though a model that was drawn (explore) was called in place of theirs";
  } else if (asked.walk.done && !out.next) {
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
  const auto number_or_null = [](double x) { return std::isfinite(x) ? Json(x) : Json(); };
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
