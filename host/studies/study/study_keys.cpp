#include "host/studies/study/study_keys.hpp"

#include <limits>
#include <mutex>

#include "pandora/environment.hpp"

namespace pandora {
namespace {

using Kind = StudyValue::Kind;
using Key = StudyKey;

constexpr int kMostPeriods = 1000000000;  // rows of a tape are counted in int
constexpr int kAny = std::numeric_limits<int>::max();

std::vector<Key> make_general_keys() {
  std::vector<Key> keys;
  const auto dim = &Study::dimensions;
  const auto add = [&keys](Key key) { keys.push_back(std::move(key)); };
  // An integer at the end of a path of members from the study on.
  const auto counter = [&add](const char* name, const char* unit, const char* meaning, int least, int most,
                              auto... path) {
    const std::string type =
        most == kAny ? fmt::format("integer, at least {}", least) : fmt::format("integer from {} to {}", least, most);
    const Study standard;
    add({name, Kind::integer, type, unit, meaning, fmt::format("{}", (standard.*....*path)),
         [=](Study& s, const StudyValue& v) { (s.*....*path) = count(v, least, most); }});
  };
  add({"title", Kind::text, "text", "", "What the study is about.", "\"\"", [](Study&, const StudyValue&) {},
       Key::Role::file});
  add({"seed", Kind::seed, "integer from 0 to 2^64 - 1 (above 2^63 - 1 in quotes)", "", "Seed of all draws.", "1",
       [](Study& s, const StudyValue& v) { s.seed = v.seed; }});
  counter("replications", "", "R, replications of every cell.", 1, 100000000, &Study::replications);
  counter("periods", "periods", "T, the horizon.", 1, kMostPeriods, &Study::periods);
  add({"T0", Kind::integers, "list of different integers, at least 0", "periods",
       "T_0, calibration periods before the horizon; a cell for each value.", "[0, 50, 100, 1000]",
       [](Study& s, const StudyValue& v) {
         require_distinct(v, v.integers);
         for (const std::int64_t T0 : v.integers) require_range<std::int64_t>(v, T0, 0, kMostPeriods);
         s.T0.assign(v.integers.begin(), v.integers.end());
       }});
  add({"regimes", Kind::texts, "list of A, B", "", "A: context-invariant, B: contextual (Section 6).", "[\"A\", \"B\"]",
       [](Study& s, const StudyValue& v) {
         require_distinct(v, v.texts);
         s.regimes.clear();
         for (std::size_t k = 0; k < v.texts.size(); ++k)
           s.regimes.push_back(static_cast<Regime>(choice(v, {"A", "B"}, k)));
       }});
  add({"environments", Kind::texts, "list of names", "",
       "Laws of the output shocks: uniform, gaussian, student_t5, or the name of an [environment.NAME] below.",
       "[\"uniform\", \"gaussian\", \"student_t5\"]",
       [](Study&, const StudyValue& v) { require_distinct(v, v.texts); }});  // resolved with their tables, in study_of
  add({"policies", Kind::texts, "list of names", "",
       "Policies, see `pandora policies`; the empty list means the paper's, its yardsticks and registered ones. The "
       "oracle always runs, it is the benchmark.",
       "[]", [](Study& s, const StudyValue& v) {
         if (!v.texts.empty()) require_distinct(v, v.texts);
         std::vector<std::string> names;
         for (const Policy& policy : all_policies()) names.push_back(policy.name);
         for (const std::string& name : v.texts)
           if (find_policy(name) == nullptr)
             refuse(v.where, fmt::format("\"{}\" is unknown{}; `pandora policies` lists the policies", name,
                                         nearest_text(nearest(name, names))));
         s.policies = v.texts;
       }});

  counter("dimensions.boxes", "boxes", "A.", 1, kMaxBoxes, dim, &Dimensions::boxes);
  counter("dimensions.context", "", "d_x, length of the context x.", 1, 10000, dim, &Dimensions::context);
  counter("dimensions.output", "",
          "d_w, length of an output omega. Other than 100 it needs truncation radii of its own.", 1, 131072, dim,
          &Dimensions::output);
  counter("dimensions.reward_features", "", "d, length of the reward features phi.", 1, kMaxRewardFeatures, dim,
          &Dimensions::reward_features);
  counter("dimensions.radius_draws", "",
          "Pooled draws of u' phi(x, omega_a) whose median is the radius of theta_* (docs/conventions.md).", 1, 1 << 24,
          dim, &Dimensions::radius_draws);
  add({"dimensions.index_features", Kind::text, "affine or affine_and_squares", "",
       "psi(x) = (1, x), so m = d_x + 1; or (1, x, x^2), so m = 2 d_x + 1.", "\"affine\"",
       [](Study& s, const StudyValue& v) {
         s.dimensions.index_features = static_cast<IndexFeatures>(choice(v, {"affine", "affine_and_squares"}));
       }});

  for (Key& key : hyperparameter_keys()) add(std::move(key));
  for (Key& key : feedback_keys()) add(std::move(key));
  for (Key& key : budget_keys()) add(std::move(key));

  add({"estimation.refit", Kind::text, "every_period, every:k, geometric:g or tracking", "",
       "When index estimates are solved (docs/conventions.md).", "\"geometric:1.5\"",
       [](Study& s, const StudyValue& v) { s.estimation.refit = parsed(v, parse_refit); }});
  add({"estimation.refit_reward", Kind::text, "tracking or geometric:g", "",
       "When theta_hat is solved (docs/conventions.md).", "\"tracking\"",
       [](Study& s, const StudyValue& v) { s.estimation.refit_reward = parsed(v, parse_reward_refit); }});
  const auto number = [&add](const char* name, const char* meaning, double least, double most,
                             double EstimationOptions::*member) {
    add({name, Kind::number, fmt::format("number from {:g} to {:g}", least, most), "", meaning,
         fmt::format("{}", EstimationOptions{}.*member),
         [=](Study& s, const StudyValue& v) { s.estimation.*member = number_within(v, least, most); }});
  };
  const auto unless_zero = [&add](const char* name, const char* type, const char* unit, const char* meaning,
                                  auto member, auto check) {
    add({name, Kind::number, type, unit, meaning, "0", [=](Study& s, const StudyValue& v) {
           if (v.numbers[0] != 0.0) s.estimation.*member = check(v);
         }});
  };
  // Of what holds the estimates of rho_a and theta_* back: ridges, and the balls that the paper minimises over.
  const auto ridge = [&](const char* name, const char* meaning, double EstimationOptions::*member) {
    unless_zero(name, "0, or number from 1e-06 to 1e+08", "", meaning, member,
                [](const StudyValue& v) { return number_within(v, 1e-6, 1e8); });
  };
  number("estimation.eta_index", "eta_1, ridge of the index fit and of V.", 1e-6, 1e8, &EstimationOptions::ridge_index);
  ridge("estimation.eta_slopes",
        "Its part on the slopes of every rho_a, in the fit and in V; eta_1 is then the intercepts' alone "
        "(docs/conventions.md); 0: eta_1.",
        &EstimationOptions::ridge_slopes);
  number("estimation.eta_payoff", "Ridge of LinUCB's regression.", 1e-3, 1e8, &EstimationOptions::ridge_payoff);
  number("estimation.eta_reward", "eta_0, ridge of the reward fit and of Phi.", 1e-3, 1e8,
         &EstimationOptions::ridge_reward);
  ridge("estimation.eta_loss",
        "Ridge of the index fit alone, where V keeps eta_1 and eta_slopes, for engine.kind = \"reference\" "
        "(docs/conventions.md); 0: that of V.",
        &EstimationOptions::ridge_loss);
  ridge("estimation.radius_rho",
        "Radius of the ball around 0 that rho_hat is minimised over, for engine.kind = \"reference\"; 0: over all rho.",
        &EstimationOptions::radius_rho);
  ridge("estimation.radius_theta", "The same for theta_hat.", &EstimationOptions::radius_theta);

  add({"estimation.bonus", Kind::text, "policy, constant, inverse_sqrt, log, log_ratio, count or theory", "",
       "How the bonus on an index or payoff goes with time (docs/extending.md); policy: as each policy has it.",
       "\"policy\"", [](Study& s, const StudyValue& v) {
         const std::size_t chosen =
             choice(v, {"policy", "constant", "inverse_sqrt", "log", "log_ratio", "count", "theory"});
         if (chosen > 0) s.estimation.bonus = static_cast<Bonus>(chosen - 1);
       }});
  add({"estimation.forced_openings", Kind::integer, "integer from -1 to 1000000", "samples",
       "Policies with learned indices open a box first until it has so many; -1: as each policy has it.", "-1",
       [](Study& s, const StudyValue& v) {
         if (const int n = count(v, -1, 1000000); n >= 0) s.estimation.forced = n;
       }});
  add({"estimation.shrinkage", Kind::text, "policy, two_level, one_level or fixed", "",
       "Which ridges shrunk_weitzman learns (docs/beyond.md): of the mean slope and of the boxes' own, one, or none.",
       "\"policy\"", [](Study& s, const StudyValue& v) {
         if (const std::size_t chosen = choice(v, {"policy", "two_level", "one_level", "fixed"}); chosen > 0)
           s.estimation.shrinkage = static_cast<Shrinkage>(chosen - 1);
       }});
  number("estimation.ridge_mean",
         "lambda_m, ridge of the mean slope: fixed, or the start of a learned one; needs estimation.shrinkage.", 1e-2,
         1e12, &EstimationOptions::ridge_mean);
  number("estimation.ridge_own", "lambda_d, ridge of a box's deviation from the mean slope, where ridges are fixed.",
         1e-2, 1e12, &EstimationOptions::ridge_own);
  add({"estimation.joint_steps", Kind::integer, "integer from 0 to 100", "",
       "Newton steps of a refit of shrunk_weitzman, at the most; 0: as each policy has it, 50.", "0",
       [](Study& s, const StudyValue& v) {
         if (const int n = count(v, 0, 100); n > 0) s.estimation.joint_steps = n;
       }});
  unless_zero("estimation.joint_tolerance", "number from 0 on", "",
              "Such a refit also ends with a step whose squared decrement is at most this (docs/beyond.md); 0: as each "
              "policy has it, 1.",
              &EstimationOptions::joint_tolerance, positive);
  add({"estimation.forget", Kind::number, "number from 0 on", "periods",
       "Half-life of a sample's weight (docs/scenarios.md#forgetting); 0: samples do not age.", "0",
       [](Study& s, const StudyValue& v) { s.estimation.forgetting.half_life = number_within(v, 0.0, 1e9); }});
  add({"estimation.window", Kind::integer, "integer from 0 to 1000000000", "periods",
       "Estimates are those of the samples of so many periods (docs/scenarios.md#forgetting); 0: of all.", "0",
       [](Study& s, const StudyValue& v) { s.estimation.forgetting.window = count(v, 0, 1000000000); }});
  const auto constant = [&add](const char* name, const char* meaning, double TheoryConstants::*member) {
    add({std::string("theory.") + name, Kind::number, "number above 0", "", meaning,
         fmt::format("{}", TheoryConstants{}.*member),
         [member](Study& s, const StudyValue& v) { s.estimation.theory.*member = positive(v); }});
  };
  add({"theory.delta", Kind::number, "number between 0 and 1", "",
       "Confidence of B_at and beta_t, for estimation.bonus = \"theory\" like all of [theory].",
       fmt::format("{}", TheoryConstants{}.delta), [](Study& s, const StudyValue& v) {
         s.estimation.theory.delta = positive(v);
         if (!(s.estimation.theory.delta < 1.0)) refuse(v.where, "out of range; give a number between 0 and 1");
       }});
  constant("C_1", "C_1 of B_at* (known reward).", &TheoryConstants::C_1);
  constant("C_2", "C_2 of B_at (learned reward).", &TheoryConstants::C_2);
  constant("d_B", "Radius d_B of the index parameters, of B_at*.", &TheoryConstants::d_B);
  constant("C_phi", "Bound of ||phi||, of beta_t.", &TheoryConstants::C_phi);
  constant("gamma_0", "gamma_0 of beta_t.", &TheoryConstants::gamma_0);
  constant("mu_min", "Least slope of G, of beta_t; with the logistic G less than 1/4 (docs/theory.md).",
           &TheoryConstants::mu_min);
  constant("alpha_bar", "Bound of ||theta_*||, of beta_t.", &TheoryConstants::alpha_bar);

  counter("oracle.samples", "shocks", "M, Monte Carlo shocks behind the oracle's indices.", 1000, kAny, &Study::oracle,
          &OracleOptions::samples);
  add({"oracle.grid", Kind::integers, "three integers from 2 to 2001", "nodes",
       "Nodes of the index grid in l, s and cost.", "[61, 21, 61]", [](Study& s, const StudyValue& v) {
         if (v.integers.size() != 3) refuse(v.where, "is not a grid; give three integers, nodes in l, s and cost");
         for (const std::int64_t n : v.integers) require_range<std::int64_t>(v, n, 2, 2001);
         s.oracle.grid = {static_cast<int>(v.integers[0]), static_cast<int>(v.integers[1]),
                          static_cast<int>(v.integers[2])};
       }});
  counter("oracle.bins", "bins", "Quantile bins of the sample behind the grid; 0 is the whole sample.", 0, kAny,
          &Study::oracle, &OracleOptions::bins);
  counter("oracle.order_contexts", "contexts", "Contexts per replication in Table 3.", 1, kMostPeriods,
          &Study::order_contexts);

  add({"engine.kind", Kind::text, "blocked or reference", "",
       "blocked: the fast engine; reference: the plain recursion in double.", "\"blocked\"",
       [](Study& s, const StudyValue& v) {
         s.engine.kind = static_cast<EngineSettings::Kind>(choice(v, {"blocked", "reference"}));
       }});
  add({"engine.precision", Kind::text, "single or double", "", "Of the blocked engine.", "\"single\"",
       [](Study& s, const StudyValue& v) {
         s.engine.precision = static_cast<EngineSettings::Precision>(choice(v, {"single", "double"}));
       }});
  counter("engine.block", "periods", "B, periods per block.", 1, 1024, &Study::engine, &EngineSettings::block);
  counter("engine.chunk", "lanes", "Lanes that a thread advances together; changes no number.", 1, 1000000,
          &Study::engine, &EngineSettings::chunk);
  keys.back().role = Key::Role::neither;

  const auto flag = [&add](const char* name, const char* meaning, bool Study::*member,
                           Key::Role role = Key::Role::identity) {
    add({name, Kind::boolean, "true or false", "", meaning, Study{}.*member ? "true" : "false",
         [member](Study& s, const StudyValue& v) { s.*member = v.boolean; }, role});
  };
  flag("output.regret", "Simulate the policies (Tables 1 and 2).", &Study::regret);
  flag("output.order", "The frequencies of the oracle's orders (Table 3).", &Study::order);
  flag("output.instances", "Keep every replication's parameters (theta, D, costs, ...) in results.h5.",
       &Study::instances);
  flag("output.estimates", "Keep rho_hat and theta_hat of every lane at the end of its horizon in results.h5.",
       &Study::estimates);
  flag("output.hdf5", "Write results.h5. It is put together in memory (`--plan` says how much).", &Study::hdf5,
       Key::Role::file);
  return keys;
}

// The keys of [environment.NAME]; study_of() puts their values together.
std::vector<Key> environment_keys(const std::string& name) {
  const Environment* known = find_environment(name);
  const Environment standard = known != nullptr ? *known : Environment{};
  std::vector<Key> keys;
  for (const EnvironmentOption& option : environment_options())
    if (known == nullptr || option.is_for(*known))
      keys.push_back({"environment." + name + "." + option.name, option.kind, option.type, option.unit, option.meaning,
                      option.text(standard), [](Study&, const StudyValue&) {},
                      option.is_path ? Key::Role::file : Key::Role::identity, option.varies, option.is_path,
                      option.fields});
  return keys;
}

[[noreturn]] void refuse_key(const std::vector<Key>& keys, const std::string& name, const std::string& where) {
  const auto word_of = [](const std::string& key) { return key.substr(key.rfind('.') + 1); };
  std::vector<std::string> words, found;
  for (const Key& key : keys) words.push_back(word_of(key.name));
  // Tables are left aside: a right word may stand in the wrong one, and a right one makes no word near.
  for (const std::string& word : nearest(word_of(name), words))
    for (const Key& key : keys)
      if (word_of(key.name) == word) found.push_back(key.name);
  refuse(where, fmt::format("unknown key {}{}", name,
                            found.empty() ? "; `pandora run --print-defaults` lists the keys" : nearest_text(found)));
}

}  // namespace

std::vector<std::string> names_of_environments(const StudyValues& defined, bool with_known) {
  std::vector<std::string> names;
  for (const Environment& environment : known_environments())
    if (with_known) names.push_back(environment.name);
  for (const auto& [key, value] : defined)
    if (const std::string name = environment_in(key); !name.empty() && std::ranges::count(names, name) == 0)
      names.push_back(name);
  return names;
}

void refuse(const std::string& where, const std::string& problem) {
  const std::string what = fmt::format("{}: {}", where, problem);
  throw Error(ExitCode::usage, printable(what, what.size()));  // U+0000 in a key would end what()
}

std::string environment_in(const std::string& key) {
  constexpr std::string_view kPrefix = "environment.";
  const std::size_t dot = key.rfind('.');
  return key.starts_with(kPrefix) && dot > kPrefix.size() ? key.substr(kPrefix.size(), dot - kPrefix.size()) : "";
}

const std::vector<Key>& general_keys() {
  static std::mutex guard;
  static std::map<std::uint64_t, std::vector<Key>> made;  // those that were handed out stay
  const std::lock_guard lock(guard);
  const std::uint64_t registrations = registrations_of_policies();
  if (const auto known = made.find(registrations); known != made.end()) return known->second;
  return made[registrations] = make_general_keys();
}

std::vector<Key> study_keys(const StudyValues& values) {
  std::vector<Key> keys = general_keys();
  const auto is_general = [](const Key& key) { return key.name.starts_with(kHyperparameters); };
  const auto behind = std::find_if(keys.rbegin(), keys.rend(), is_general).base();
  const std::vector<Key> own = own_hyperparameter_keys(values);
  keys.insert(behind, own.begin(), own.end());
  for (const std::string& name : names_of_environments(values, values.empty()))
    for (Key& key : environment_keys(name)) keys.push_back(std::move(key));
  return keys;
}

namespace {

// The keys among which one of that name would be.
std::vector<Key> keys_around(const std::string& name) {
  if (const std::string policy = policy_in(name); !policy.empty()) return hyperparameter_keys_of(policy);
  const std::string environment = environment_in(name);
  return is_plain_name(environment) ? environment_keys(environment) : general_keys();
}

}  // namespace

bool is_key(const std::string& name) {
  return std::ranges::count(keys_around(name), name, &Key::name) > 0;
}

Key key_named(const std::string& name, const std::string& where) {
  const std::vector<Key> keys = keys_around(name);
  const auto at = std::ranges::find(keys, name, &Key::name);
  if (at == keys.end() && !policy_in(name).empty()) refuse_hyperparameter(name, where);
  if (at == keys.end()) refuse_key(keys, name, where);
  return *at;
}

}  // namespace pandora
