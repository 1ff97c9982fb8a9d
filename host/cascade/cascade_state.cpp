// What a cascade is made with, and changes of it: models, prices.
#include "host/cascade/cascade_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "host/files/sealed_file.hpp"
#include "pandora/error.hpp"

namespace pandora {

namespace {

Error refused(const std::string& message) {
  return Error(ExitCode::usage, "cascade: " + message);
}

LaneSpec thresholds_as_rules(const CascadeOptions& options) {
  LaneSpec rules;
  rules.order = Order::listed;
  rules.stop = options.order.size() == 1 ? Stop::after_first : Stop::last_reaches_threshold;
  rules.length = static_cast<int>(options.order.size());
  for (std::size_t k = 0; k < options.order.size(); ++k) rules.list[k] = static_cast<int>(options.order[k]);
  for (std::size_t k = 0; k < options.thresholds.size(); ++k) rules.threshold[k] = options.thresholds[k];
  return rules;
}

void check_calibration(const CascadeOptions& o) {
  if (!o.calibration.empty() && o.calibration.size() != o.models.size())
    throw refused(fmt::format("{} calibrations for {} models; give each model one, or none at all",
                              o.calibration.size(), o.models.size()));
  for (const ScoreCalibration& map : o.calibration) {
    bool sound = map.scores.size() == map.qualities.size();
    for (std::size_t k = 0; sound && k < map.scores.size(); ++k)
      sound = std::isfinite(map.scores[k]) && std::isfinite(map.qualities[k]) &&
              (k == 0 || (map.scores[k] > map.scores[k - 1] && map.qualities[k] >= map.qualities[k - 1]));
    if (!sound) throw refused("a calibration needs ascending scores with as many qualities that do not fall");
  }
}

void check_thresholds(const CascadeOptions& o) {
  if (o.order.empty() || o.thresholds.size() + 1 != o.order.size())
    throw refused("give rules, or an order of models with a threshold for each of them but the last");
  std::set<std::size_t> seen;
  for (const std::size_t model : o.order)
    if (model >= o.models.size() || !seen.insert(model).second)
      throw refused("the order must name positions of models, each at most once");
  for (const double threshold : o.thresholds)
    if (!std::isfinite(threshold)) throw refused("a threshold must be a finite number");
}

void check_rules(const CascadeOptions& o) {
  if (!o.order.empty() || !o.thresholds.empty()) throw refused("give rules or an order with thresholds, not both");
  if (!o.rules->learns_scores())
    throw refused("the rules must learn an index or a payoff; for a fixed order give order and thresholds");
  if (o.rules->order == Order::listed) throw refused("rules with a fixed order stand in order and thresholds");
  if (o.reward_features < 0 || o.reward_features > kMaxRewardFeatures)
    throw refused(fmt::format("reward_features must lie in 0..{}", kMaxRewardFeatures));
  if (!(o.estimation.forget >= 0.0 && std::isfinite(o.estimation.forget)) || o.estimation.most_samples < 0)
    throw refused("forget and most_samples must be finite and not negative");
  for (const double number :
       {o.estimation.ridge_slopes, o.estimation.ridge_loss, o.estimation.radius_rho, o.estimation.radius_theta})
    if (!(number >= 0.0 && std::isfinite(number)))
      throw refused(fmt::format("a ridge or radius is {:g}; give a finite number, or 0 for none", number));
  for (const double width : {o.rules->c_rho, o.rules->c_theta, o.rules->c_b})
    if (!(width >= 0.0 && width <= 1e6))
      throw refused(fmt::format("the width of a bonus is {:g}; give a number from 0 to 1e6", width));
}

}  // namespace

Cascade::State::State(const CascadeOptions& given) : options(given) {
  for (const std::string& name : options.models) names.push_back({name});
  for (const ScoreCalibration& map : options.calibration) calibration.push_back({map.scores, map.qualities});
  check();
  evaluator = *evaluator_of(options.evaluator);
  if (!options.features.empty()) try {
      const nlohmann::json json = nlohmann::json::parse(options.features);
      features = FeatureMap::from_json(json);
      for (const nlohmann::json& source : json["sources"])
        if (source.contains("column")) columns.insert(source["column"].get<std::string>());
    } catch (const nlohmann::json::exception&) {
      throw refused("the features are not JSON");
    } catch (const Damaged& damage) {
      throw refused(std::string("the features: the text ") + damage.what());
    }
  rules = std::make_shared<const LaneSpec>(options.rules ? *options.rules : thresholds_as_rules(options));
  if (options.rules) make_estimator();
}

void Cascade::State::check() const {
  const CascadeOptions& o = options;
  if (o.models.empty() || o.models.size() > static_cast<std::size_t>(kMaxBoxes))
    throw refused(fmt::format("{} models; give 1 to {}", o.models.size(), kMaxBoxes));
  std::set<std::string> seen;
  for (const std::string& name : o.models)
    if (name.empty() || !seen.insert(name).second)
      throw refused(fmt::format("model \"{}\" is empty or stands twice; give each model a name of its own", name));
  if (!(o.price >= 0.0 && o.price <= kMostPrice))
    throw refused(fmt::format("price {:g}: give utility per dollar, a number from 0 to 1e9", o.price));
  using Kind = EvaluatorSpec::Kind;
  const std::optional<EvaluatorSpec> spec = evaluator_of(o.evaluator);
  if (!spec || spec->kind == Kind::noisy || (spec->kind == Kind::column && !o.rules))
    throw refused(fmt::format("evaluator \"{}\": use quality, score or score:NAME{}", o.evaluator,
                              o.rules ? ", or column:NAME" : ""));
  if (o.features.empty() && (o.index_features < 1 || o.index_features > 16384))
    throw refused(fmt::format("index_features is {}; give 1..16384", o.index_features));
  if (o.most_requests == 0) throw refused("most_requests must be at least 1");
  check_calibration(o);
  o.rules ? check_rules(o) : check_thresholds(o);
}

std::size_t Cascade::State::index_features() const {
  // As in a study's table: a context of one number at least.
  return options.features.empty() ? static_cast<std::size_t>(options.index_features)
                                  : 1 + std::max<std::size_t>(1, features.size());
}

std::size_t Cascade::State::reward_features() const {
  return reads_phi() ? static_cast<std::size_t>(options.reward_features) : 2 * names.size();
}

void Cascade::State::make_estimator() {
  const int d = rules->learns_reward() ? static_cast<int>(reward_features()) : 0;
  if (d > kMaxRewardFeatures)
    throw refused(fmt::format("{} models make {} reward features, more than {}", names.size(), d, kMaxRewardFeatures));
  const double A = boxes(), m = static_cast<double>(index_features()), matrix = 8.0 * m * m,
               gib = A * matrix * (rules->fits_jointly() ? 1.0 + A : 2.0) / (1 << 30);
  if (gib > 1.0)
    throw refused(
        fmt::format("{} models with contexts of {} numbers take {:.1f} GiB, more than 1; give fewer numbers, "
                    "such as text:64",
                    A, m, gib));
  estimator = std::make_unique<WeitzmanEstimator>(
      EstimatorShape{boxes(), static_cast<int>(index_features()), d, options.exploration}, *rules, options.estimation);
}

std::size_t Cascade::State::add_model(const std::string& name) {
  for (std::size_t a = 0; a < names.size(); ++a)
    if (names[a].name == name) {
      if (!names[a].removed) throw refused(fmt::format("model {} is there already", name));
      names[a].removed = false;
      return a;
    }
  if (!learns())
    throw refused(fmt::format("thresholds do not say when to call {}; fit again on a table that has it", name));
  if (name.empty()) throw refused("a model needs a name");
  if (boxes() == kMaxBoxes) throw refused(fmt::format("{} models are the most; {} is one more", kMaxBoxes, name));
  if (!calibration.empty() && !rules->learns_reward())
    throw refused(
        fmt::format("how quality follows from a score is fixed for each model, and not known for {}; fit "
                    "again, or use rules that learn the reward",
                    name));
  settle();
  const std::string before = estimator->saved();
  const int more = rules->learns_reward() && !reads_phi() ? 2 : 0;
  try {
    estimator->add_box(more);
  } catch (const LaneFailure& failure) {
    make_estimator();
    estimator->restore(before);
    throw refused(fmt::format("{} cannot be taken in ({})", name, failure.what()));
  }
  for (auto& [id, request] : requests)
    for (CascadeRequest::Call& call : request.calls)
      if (more > 0) call.phi.resize(call.phi.size() + 2, 0.0f);
  names.push_back({name});
  options.models.push_back(name);
  if (!calibration.empty()) {
    calibration.emplace_back();
    options.calibration.emplace_back();
  }
  return names.size() - 1;
}

void Cascade::State::remove_model(const std::string& name) {
  const auto found = std::find_if(names.begin(), names.end(), [&](const CascadeModel& m) { return m.name == name; });
  if (found == names.end() || found->removed) throw refused(fmt::format("there is no model {}", name));
  const std::size_t box = static_cast<std::size_t>(found - names.begin());
  if (learns()) {
    if (std::count_if(names.begin(), names.end(), [](const CascadeModel& m) { return !m.removed; }) == 1)
      throw refused(fmt::format("{} is the only model that is left; add another one first", name));
  } else if (const auto at = std::find(options.order.begin(), options.order.end(), box); at != options.order.end()) {
    if (options.order.size() == 1) throw refused(fmt::format("it calls {} alone; fit again on other models", name));
    const std::ptrdiff_t place = at - options.order.begin();
    options.order.erase(at);
    options.thresholds.erase(options.thresholds.begin() +
                             std::min(place, static_cast<std::ptrdiff_t>(options.thresholds.size()) - 1));
    rules = std::make_shared<const LaneSpec>(thresholds_as_rules(options));
  }
  found->removed = true;
  for (auto& [id, request] : requests) go_on_without(request, static_cast<int>(box));
}

void Cascade::State::go_on_without(CascadeRequest& request, int box) const {
  PeriodOutcome& walk = request.walk.outcome;
  if (request.deployed || request.walk.done) return;
  int* const end = walk.order + walk.ranked;
  int* const at = std::find(walk.order + walk.queried, end, box);
  if (at == end) return;
  LaneSpec own = *request.rules;
  if (own.order == Order::listed) {
    const std::ptrdiff_t place = at - walk.order, last = walk.ranked - 2;
    std::copy(own.threshold + place + 1, own.threshold + walk.ranked, own.threshold + std::min(place, last));
  }
  std::copy(at + 1, end, at);
  --walk.ranked;
  request.rules = std::make_shared<const LaneSpec>(own);
  if (walk.queried == 0) return;  // there is another one to begin with
  const int k = walk.queried - 1;
  request.walk.done =
      walk.queried == walk.ranked || stops(own, request.stop, walk.ranked, request.score.data(), walk.order, k,
                                           request.calls.back().quality, request.walk.best);
}

void Cascade::State::set_price(double price) {
  if (!learns()) throw refused("thresholds hold for the price that they were fitted for; fit again with --price");
  if (rules->learns_payoff()) throw refused("what was learned of payoffs holds for one price; learn anew");
  if (!(price > 0.0 && price <= kMostPrice) || !(options.price > 0.0))
    throw refused(
        fmt::format("price {:g} in place of {:g}: both must be positive, and at most 1e9", price, options.price));
  settle();
  const std::string before = estimator->saved();
  try {
    estimator->scale_costs(price / options.price);
  } catch (const LaneFailure& failure) {
    make_estimator();
    estimator->restore(before);
    throw refused(fmt::format("price {:g}: what was learned cannot be made over to it ({})", price, failure.what()));
  }
  options.price = price;
}

}  // namespace pandora
