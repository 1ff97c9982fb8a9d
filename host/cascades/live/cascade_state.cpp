// What a cascade is made with, and what it may hold.
#include "host/cascades/live/cascade_state.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "host/cascades/live/rules_json.hpp"
#include "host/ground/files/sealed_file.hpp"

namespace pandora {

LaneSpec thresholds_as_rules(const CascadePlan& plan) {
  LaneSpec rules;
  rules.order = Order::listed;
  rules.stop = plan.order.size() == 1 ? Stop::after_first : Stop::last_reaches_threshold;
  rules.length = static_cast<int>(plan.order.size());
  for (std::size_t k = 0; k < plan.order.size(); ++k) rules.list[k] = static_cast<int>(plan.order[k]);
  for (std::size_t k = 0; k < plan.thresholds.size(); ++k) rules.threshold[k] = plan.thresholds[k];
  return rules;
}

void leave_out(CascadePlan& plan, std::size_t model) {
  const auto at = std::find(plan.order.begin(), plan.order.end(), model);
  if (at == plan.order.end()) return;
  const std::ptrdiff_t place = at - plan.order.begin(), last = static_cast<std::ptrdiff_t>(plan.thresholds.size()) - 1;
  plan.order.erase(at);
  if (last >= 0) plan.thresholds.erase(plan.thresholds.begin() + std::min(place, last));
}

namespace {

struct Registry {
  std::mutex mutex;
  std::set<ForkSafeMutex*> all;
  std::atomic<std::uint64_t> forks = 0;  // read by threads that hold a lock, which a fork may wait for
};

Registry& registry() {
  static Registry& made = *[] {
    auto* const out = new Registry;  // lives on: threads may outlast what is destroyed at exit
    ::pthread_atfork(
        [] {
          registry().mutex.lock();
          for (ForkSafeMutex* const one : registry().all) one->begin_fork();
        },
        [] {
          for (ForkSafeMutex* const one : registry().all) one->end_fork();
          registry().mutex.unlock();
        },
        [] {
          for (ForkSafeMutex* const one : registry().all) one->end_fork();
          ++registry().forks;
          registry().mutex.unlock();
        });
    return out;
  }();
  return made;
}

void check_calibration(const CascadeOptions& o) {
  if (!o.calibration.empty() && o.calibration.size() != o.models.size())
    throw refusal("{} calibrations for {} models; give each model one, or none at all", o.calibration.size(),
                  o.models.size());
  for (const ScoreCalibration& map : o.calibration) {
    bool sound = map.scores.size() == map.qualities.size();
    for (std::size_t k = 0; sound && k < map.scores.size(); ++k)
      sound = std::isfinite(map.scores[k]) && std::isfinite(map.qualities[k]) &&
              (k == 0 || (map.scores[k] > map.scores[k - 1] && map.qualities[k] >= map.qualities[k - 1]));
    if (!sound) throw refusal("a calibration needs ascending scores with as many qualities that do not fall");
  }
}

void check_thresholds(const CascadePlan& plan, std::size_t models) {
  if (plan.order.empty() || plan.thresholds.size() + 1 != plan.order.size())
    throw refusal("give rules, or an order of models with a threshold for each of them but the last");
  std::set<std::size_t> seen;
  for (const std::size_t model : plan.order)
    if (model >= models || !seen.insert(model).second)
      throw refusal("the order must name positions of models, each at most once");
  for (const double threshold : plan.thresholds)
    if (!std::isfinite(threshold)) throw refusal("a threshold must be a finite number");
}

void check_plans(const CascadeOptions& o) {
  if (o.rules || !o.order.empty() || !o.thresholds.empty())
    throw refusal("give plans, rules, or an order with thresholds, one of them alone");
  const auto is_empty = [](const CascadePlan& plan) { return plan.order.empty() && plan.thresholds.empty(); };
  if (o.plans.size() > kMostPlans || std::all_of(o.plans.begin(), o.plans.end(), is_empty))
    throw refusal("give 1 to {} plans, one of which calls a model", kMostPlans);
  for (const CascadePlan& plan : o.plans)
    if (!is_empty(plan)) check_thresholds(plan, o.models.size());
}

void check_rules(const CascadeOptions& o) {
  if (!o.order.empty() || !o.thresholds.empty()) throw refusal("give rules or an order with thresholds, not both");
  if (!o.rules->learns_scores())
    throw refusal("the rules must learn an index or a payoff; for a fixed order give order and thresholds");
  if (o.rules->order == Order::listed) throw refusal("rules with a fixed order stand in order and thresholds");
  if (o.reward_features < 0 || o.reward_features > kMaxRewardFeatures)
    throw refusal("reward_features must lie in 0..{}", kMaxRewardFeatures);
  if (!(o.estimation.forgetting.half_life >= 0.0 && std::isfinite(o.estimation.forgetting.half_life)) ||
      o.estimation.most_samples < 0)
    throw refusal("forget and most_samples must be finite and not negative");
  for (const double number :
       {o.estimation.ridge_slopes, o.estimation.ridge_loss, o.estimation.radius_rho, o.estimation.radius_theta})
    if (!(number >= 0.0 && std::isfinite(number)))
      throw refusal("a ridge or radius is {:g}; give a finite number, or 0 for none", number);
  for (const double width : {o.rules->c_rho, o.rules->c_theta, o.rules->c_b})
    if (!(width >= 0.0 && width <= 1e6))
      throw refusal("the width of a bonus is {:g}; give a number from 0 to 1e6", width);
}

}  // namespace

ForkSafeMutex::ForkSafeMutex() {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  known.all.insert(this);
}

ForkSafeMutex::~ForkSafeMutex() {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  known.all.erase(this);
}

std::uint64_t forks_before() {
  return registry().forks;
}

Cascade::State::State(const CascadeOptions& given) : options(given) {
  for (const std::string& name : options.models) names.push_back({name});
  for (const ScoreCalibration& map : options.calibration) calibration.push_back({map.scores, map.qualities});
  check();
  evaluator = evaluator_of(options.evaluator).value_or(EvaluatorSpec{});
  take_features();
  // Of plans those of a request are its own.
  rules = std::make_shared<const LaneSpec>(options.rules ? *options.rules
                                                         : thresholds_as_rules({options.order, options.thresholds}));
  check_range();
  if (options.rules) {
    require_memory();
    const int m = static_cast<int>(index_features()),
              d = rules->learns_reward() ? static_cast<int>(reward_features()) : 0;
    estimator = std::make_unique<WeitzmanEstimator>(EstimatorShape{boxes(), m, d, options.exploration}, *rules,
                                                    options.estimation);
  }
  bound_memory();
}

// What a request's psi is made of, and what is predicted from it.
void Cascade::State::take_features() {
  if (!options.features.empty()) features_digest = sha256(options.features);
  if (!options.features.empty()) try {
      const nlohmann::json json = nlohmann::json::parse(options.features);
      features = FeatureMap::from_json(json);
      for (const nlohmann::json& source : json["sources"])
        if (source.contains("column")) columns.insert(source["column"].get<std::string>());
      for (const nlohmann::json& column : json["columns"]) {
        const nlohmann::json& source = json["sources"][column["source"].get<std::size_t>()];
        if (source.contains("column"))
          needed.insert(source["column"].get<std::string>());
        else
          needs_text = true;
      }
    } catch (const nlohmann::json::exception&) {
      throw refusal("the features are not JSON");
    } catch (const Damaged& damage) {
      throw refusal("the features: the text {}", damage.what());
    }
  if (!options.plans.empty()) try {
      router = Router::from_json(nlohmann::json::parse(options.router), options.plans.size(), index_features());
    } catch (const nlohmann::json::exception&) {
      throw refusal("the router is not JSON");
    } catch (const Damaged& damage) {
      throw refusal("the router: the text {}", damage.what());
    }
}

void Cascade::State::check_range() const {
  const std::vector<std::pair<float, float>>& range = options.psi_range;
  if (!range.empty() && ((!options.rules && options.plans.empty()) || range.size() != index_features()))
    throw refusal("{} ranges for contexts of {} numbers; give rules, and each number one, or none at all", range.size(),
                  index_features());
  for (const auto& [least, most] : range)
    if (!(std::isfinite(least) && std::isfinite(most) && least <= most))
      throw refusal("a range of psi is two finite numbers, the lesser one first");
}

void Cascade::State::check() const {
  const CascadeOptions& o = options;
  if (o.models.empty() || o.models.size() > static_cast<std::size_t>(kMaxBoxes))
    throw refusal("{} models; give 1 to {}", o.models.size(), kMaxBoxes);
  std::set<std::string> seen;
  for (const std::string& name : o.models)
    if (name.empty() || !seen.insert(name).second)
      throw refusal("model \"{}\" is empty or stands twice; give each model a name of its own", name);
  if (!(o.price >= 0.0 && o.price <= kMostPrice))
    throw refusal("price {:g}: give utility per dollar, a number from 0 to 1e9", o.price);
  using Kind = EvaluatorSpec::Kind;
  const std::optional<EvaluatorSpec> spec = evaluator_of(o.evaluator);
  const bool none = o.evaluator == kNoEvaluator && calls_one_model(o);
  if (!none && (!spec || spec->kind == Kind::noisy || (spec->kind == Kind::column && !o.rules)))
    throw refusal("evaluator \"{}\": use quality, score or score:NAME{}", o.evaluator,
                  o.rules ? ", or column:NAME" : "");
  if (o.features.empty() && (o.index_features < 1 || o.index_features > 16384))
    throw refusal("index_features is {}; give 1..16384", o.index_features);
  if (!(o.explore >= 0.0 && o.explore <= 1.0))
    throw refusal("explore {:g}: give a probability, from 0 to 1", o.explore);
  if (o.failures_until_rest < 0 || o.trial_calls < 0)
    throw refusal("failures_until_rest is {} and trial_calls {}; give 0 or more", o.failures_until_rest, o.trial_calls);
  if (o.most_requests == 0) throw refusal("most_requests must be at least 1");
  check_calibration(o);
  if (!o.plans.empty())
    check_plans(o);
  else
    o.rules ? check_rules(o) : check_thresholds({o.order, o.thresholds}, o.models.size());
}

void Cascade::State::require_memory() const {
  const int d = rules->learns_reward() ? static_cast<int>(reward_features()) : 0;
  if (d > kMaxRewardFeatures)
    throw refusal("{} models make {} reward features, more than {}", names.size(), d, kMaxRewardFeatures);
  const double A = boxes(), m = static_cast<double>(index_features()), matrix = 8.0 * m * m,
               gib = A * matrix * (rules->fits_jointly() ? 1.0 + A : 2.0) / (1 << 30);
  if (gib > 1.0)
    throw refusal(
        "{} models with contexts of {} numbers take {:.1f} GiB, more than 1; give fewer numbers, such as text:64", A, m,
        gib);
}

// Of a request that has called every model, in a saved cascade: keys and small numbers, and what it has of psi, models
// and calls (request_json).
std::size_t Cascade::State::bytes_of_a_request() const {
  const std::size_t A = names.size(), phi = rules->learns_reward() ? 4 * reward_features() : 0;
  return 512 + 4 * index_features() + A * (34 + 160 + phi + 16 * (reads_phi() ? reward_features() : 1));
}

// What is held must fit into a file: of more samples the older half is forgotten, of more requests the oldest.
void Cascade::State::bound_memory() {
  const std::size_t room = kMostState - (std::size_t{1} << 20), share = learns() ? room / 4 : room;
  options.most_requests = std::min(options.most_requests, share / bytes_of_a_request());
  if (!learns()) return;
  most_held = estimator->most_samples_within(room - options.most_requests * bytes_of_a_request());
  int& most = options.estimation.most_samples;
  if (most_held < kLeastSamples && (most == 0 || most > most_held))
    throw refusal(
        "a saved cascade has {} MiB, which {} models with contexts of {} numbers fill with {} samples of "
        "each; give fewer numbers, such as text:64",
        kMostState >> 20, boxes(), index_features(), most_held);
  if (most > 0 && most <= most_held) return;
  estimator->keep_at_most(most_held);
  most = most_held;
}

}  // namespace pandora
