// The list of general keys, and how a key is found by its name.
#include "host/studies/study/study_keys.hpp"

#include <mutex>

#include "host/lanes/model/feedback.hpp"
#include "host/lanes/model/ties.hpp"
#include "host/studies/study/environment_keys.hpp"
#include "host/studies/study/hyperparameter_keys.hpp"

namespace pandora {
namespace {

using Kind = StudyValue::Kind;
using Role = KeyText::Role;
using Keys = KeyList<Study>;

constexpr int kMostPeriods = 1000000000;  // rows of a tape are counted in int

void add_lists(Keys& keys) {
  keys.add({"title", Kind::text, "text", "", "What the study is about."}, "\"\"", [](Study&, const StudyValue&) {})
      .role = Role::file;
  keys.add({"seed", Kind::seed, "integer from 0 to 2^64 - 1 (above 2^63 - 1 in quotes)", "", "Seed of all draws."}, "1",
           [](Study& s, const StudyValue& v) { s.seed = v.seed; });
  keys.integer("replications", "", "R, replications of every cell.", 1, 100000000, &Study::replications);
  keys.integer("periods", "periods", "T, the horizon.", 1, kMostPeriods, &Study::periods);
  keys.add({"T0", Kind::integers, "list of different integers, at least 0", "periods",
            "T_0, calibration periods before the horizon; a cell for each value."},
           "[0, 50, 100, 1000]", [](Study& s, const StudyValue& v) {
             require_distinct(v, v.integers);
             s.T0.clear();
             for (const std::int64_t T0 : v.integers) s.T0.push_back(require_range(v, T0, 0, kMostPeriods));
           });
  keys.add({"regimes", Kind::texts, "list of A, B", "", "A: context-invariant, B: contextual (Section 6)."},
           R"(["A", "B"])", [](Study& s, const StudyValue& v) {
             require_distinct(v, v.texts);
             s.regimes.clear();
             for (std::size_t k = 0; k < v.texts.size(); ++k)
               s.regimes.push_back(static_cast<Regime>(choice(v, {"A", "B"}, k)));
           });
  keys.add({"environments", Kind::texts, "list of names", "",
            "Laws of the output shocks: uniform, gaussian, student_t5, or the name of an [environment.NAME] below."},
           R"(["uniform", "gaussian", "student_t5"])",
           [](Study&, const StudyValue& v) { require_distinct(v, v.texts); });  // with their tables, in study_of
  keys.add(
      {"policies", Kind::texts, "list of names", "",
       "Policies, see `pandora policies`; the empty list means the paper's, its yardsticks and registered ones. The "
       "oracle always runs, because it is the benchmark."},
      "[]", [](Study& s, const StudyValue& v) {
        if (!v.texts.empty()) require_distinct(v, v.texts);
        for (const std::string& name : v.texts) require_policy(name, v.where);
        s.policies = v.texts;
      });
}

void add_dimensions(Keys& keys) {
  const auto size = [&keys](const char* name, const char* unit, const char* meaning, int most,
                            int Dimensions::*member) {
    keys.integer(name, unit, meaning, 1, most, path(&Study::dimensions, member));
  };
  size("dimensions.boxes", "boxes", "A.", kMaxBoxes, &Dimensions::boxes);
  size("dimensions.context", "", "d_x, length of the context x.", 10000, &Dimensions::context);
  size("dimensions.output", "", "d_w, length of an output omega. Other than 100 it needs truncation radii of its own.",
       131072, &Dimensions::output);
  size("dimensions.reward_features", "", "d, length of the reward features phi.", kMaxRewardFeatures,
       &Dimensions::reward_features);
  size("dimensions.radius_draws", "",
       "Pooled draws of v' phi(x, omega_a), v the direction of theta_*, whose median is the radius of theta_* "
       "(docs/conventions.md).",
       1 << 24, &Dimensions::radius_draws);
  keys.word("dimensions.index_features", "psi(x) = (1, x), so m = d_x + 1; or (1, x, x^2), so m = 2 d_x + 1.",
            {"affine", "affine_and_squares"}, path(&Study::dimensions, &Dimensions::index_features));
}

void add_actions(Keys& keys) {
  keys.words(
      "model.ties", "list of lists of boxes, such as [[1, 2], [3]]", "",
      "Boxes, counted from 1, that share the slopes of their index parameters (docs/wider.md#tied-boxes); empty: none.",
      {"boxes"}, [](const Study& s) { return ties_text(s.ties); },
      [](Study& s, const std::string& text) { s.ties = parse_ties(text); });
  keys.integer(
      "actions.openings", "openings",
      "N, how often a box may be opened in a period (docs/wider.md); each opening costs and shows a fresh output.", 1,
      kMaxBoxes, path(&Study::actions, &Actions::openings));
  keys.flag("actions.uninspected", "Whether a box may be deployed unopened, at no cost.",
            path(&Study::actions, &Actions::uninspected));
  keys.number("actions.outside", "reward",
              "The value of ending a period without a box; it need not open one. -inf: it must.",
              {"number from 0 to 1, or -inf", [](double x) { return x == kNoOutside || (x >= 0.0 && x <= 1.0); }},
              path(&Study::actions, &Actions::outside));
}

void add_feedback(Keys& keys) {
  keys.words(
      "feedback.delay", "periods, geometric:MEAN or lognormal:MEAN:SIGMA", "periods",
      "Periods until the reward of a deployed output is told (docs/scenarios.md#feedback).", {"law", "mean", "sigma"},
      [](const Study& s) { return delay_text(s.feedback.delay); },
      [](Study& s, const std::string& text) { s.feedback.delay = parse_delay(text); });
  const auto probability = [&keys](const char* name, const char* meaning, double FeedbackRules::*member) {
    keys.number(name, "", meaning, from_to(0, 1), path(&Study::feedback, member));
  };
  probability("feedback.share", "Probability that the reward of a period's deployed output is ever told.",
              &FeedbackRules::share);
  probability("feedback.flip", "Probability that a reward r is told as 1 - r.", &FeedbackRules::flip);
  keys.words(
      "feedback.poison", "FIRST:LAST", "periods",
      "Online periods in which 1 - r is told in place of the reward r; empty: none.", {"from", "to"},
      [](const Study& s) { return poison_text(s.feedback); },
      [](Study& s, const std::string& text) { parse_poison(text, s.feedback); });
  keys.words(
      "feedback.restart", "AT:LOST", "periods",
      "After period AT a policy starts again without what it learned in the last LOST periods; empty: it does not.",
      {"at", "lost"}, [](const Study& s) { return restart_text(s.feedback); },
      [](Study& s, const std::string& text) {
        parse_restart(text, s.feedback);
        s.estimation.forgetting.restart_at = s.feedback.restart_at;
        s.estimation.forgetting.lost = s.feedback.lost;
      });
}

void add_budget(Keys& keys) {
  const auto budget = [&keys](const char* name, const char* type, const char* unit, const char* meaning, Pacing::Of of,
                              double least) {
    keys.add({name, Kind::number, type, unit, meaning}, "0",
             [=, range = from_to(least, 1e6)](Study& s, const StudyValue& v) {
               if (v.numbers[0] == 0.0) return;
               if (s.budget.of != Pacing::Of::nothing)
                 refuse(v.where, "is a second budget; give budget.queries or budget.cost");
               if (!range.has(v.numbers[0])) refuse(v.where, "out of range; give " + range.wanted);
               s.budget.of = of;
               s.budget.budget = v.numbers[0];
             });
  };
  budget("budget.queries", "0, or number from 1 on", "boxes",
         "Boxes that may be opened per period on average (docs/scenarios.md#budget); 0: any number.",
         Pacing::Of::queries, 1.0);
  budget("budget.cost", "0, or number from 1e-06 on", "reward",
         "The cost of opened boxes per period that is allowed on average; 0: any.", Pacing::Of::costs, 1e-6);
  keys.number("budget.step", "", "Step of the multiplier by which a policy paces itself.", from_to(1e-6, 10),
              path(&Study::budget, &Pacing::step));
  keys.number("budget.start", "", "The multiplier in the first period.", from_to(0, 100),
              path(&Study::budget, &Pacing::start));
}

// Keys that restrict the estimates of rho_a and theta_*: ridges, and the balls over which the paper minimises.
void add_ridges(Keys& keys) {
  const auto ridge = [&keys](const char* name, const char* meaning, const NumberRange& range,
                             double EstimationOptions::*member) {
    keys.number(name, "", meaning, range, path(&Study::estimation, member));
  };
  const NumberRange usual = from_to(1e-3, 1e8), low = from_to(1e-6, 1e8),
                    or_none = zero_or(low, "0, or number from 1e-06 to 1e+08");
  ridge("estimation.eta_index", "eta_1, ridge of the index fit and of V.", low, &EstimationOptions::ridge_index);
  ridge("estimation.eta_slopes",
        "Ridge on the slopes of every rho_a, in the fit and in V; eta_1 is then for the intercepts only "
        "(docs/conventions.md); 0: eta_1.",
        or_none, &EstimationOptions::ridge_slopes);
  ridge("estimation.eta_payoff", "Ridge of LinUCB's regression.", usual, &EstimationOptions::ridge_payoff);
  ridge("estimation.eta_reward", "eta_0, ridge of the reward fit and of Phi.", usual, &EstimationOptions::ridge_reward);
  ridge("estimation.eta_loss",
        "Ridge of the index fit only, while V keeps eta_1 and eta_slopes, for engine.kind = \"reference\" "
        "(docs/conventions.md); 0: that of V.",
        or_none, &EstimationOptions::ridge_loss);
  ridge("estimation.radius_rho",
        "Radius of the ball around 0 over which rho_hat is minimised, for engine.kind = \"reference\"; 0: over all "
        "rho.",
        or_none, &EstimationOptions::radius_rho);
  ridge("estimation.radius_theta", "The same for theta_hat.", or_none, &EstimationOptions::radius_theta);
}

void add_estimation(Keys& keys) {
  const auto of = [](auto member) { return path(&Study::estimation, member); };
  keys.words(
      "estimation.refit", "every_period, every:k, geometric:g or tracking", "",
      "When index estimates are solved (docs/conventions.md).", {},
      [](const Study& s) { return refit_text(s.estimation.refit); },
      [](Study& s, const std::string& text) { s.estimation.refit = parse_refit(text); });
  keys.words(
      "estimation.refit_reward", "tracking or geometric:g", "", "When theta_hat is solved (docs/conventions.md).", {},
      [](const Study&) { return "tracking"; },
      [](Study& s, const std::string& text) { s.estimation.refit_reward = parse_reward_refit(text); });
  add_ridges(keys);
  keys.word("estimation.bonus",
            "How the bonus on an index or payoff changes with time (docs/rules.md); policy: as each policy has "
            "it.",
            {"policy", "constant", "inverse_sqrt", "log", "log_ratio", "count", "theory"},
            of(&EstimationOptions::bonus));
  keys.integer("estimation.forced_openings", "samples",
               "Samples of a box until which policies with learned indices open it first; -1: as each policy has it.",
               -1, 1000000, of(&EstimationOptions::forced));
  keys.word(
      "estimation.shrinkage",
      "Which ridges shrunk_weitzman learns (docs/shrinkage.md): those of the mean slope and of deviations from it, one "
      "ridge, or none.",
      {"policy", "two_level", "one_level", "fixed"}, of(&EstimationOptions::shrinkage));
  keys.number(
      "estimation.ridge_mean", "",
      "lambda_m, ridge of the mean slope if ridges are fixed; times v (docs/shrinkage.md) the start of every ridge "
      "that is learned. No effect where estimation.shrinkage is policy.",
      from_to(1e-2, 1e12), of(&EstimationOptions::ridge_mean));
  keys.number("estimation.ridge_own", "",
              "lambda_d, ridge of a box's deviation from the mean slope; only where estimation.shrinkage is fixed.",
              from_to(1e-2, 1e12), of(&EstimationOptions::ridge_own));
  keys.integer("estimation.joint_steps", "",
               "Newton steps of a refit of shrunk_weitzman, at most; 0: as each policy has it, 50.", 0, 100,
               of(&EstimationOptions::joint_steps));
  keys.number(
      "estimation.joint_tolerance", "",
      "Such a refit also ends with a step whose squared decrement is at most this (docs/shrinkage.md); 0: as each "
      "policy has it, 1.",
      zero_or(kPositive, "number from 0 on"), of(&EstimationOptions::joint_tolerance));
  const auto of_forgetting = path(&Study::estimation, &EstimationOptions::forgetting);
  keys.number("estimation.forget", "periods",
              "Half-life of a sample's weight (docs/scenarios.md#forgetting); 0: samples do not age.", from_to(0, 1e9),
              path(of_forgetting, &Forgetting::half_life))
      .type = "number from 0 on";
  keys.integer("estimation.window", "periods",
               "Latest periods whose samples are used for estimates (docs/scenarios.md#forgetting); 0: all.", 0,
               kMostPeriods, path(of_forgetting, &Forgetting::window));
}

void add_theory(Keys& keys) {
  const auto constant = [&keys](const char* name, const char* meaning, double TheoryConstants::*member,
                                const NumberRange& range = kPositive) {
    keys.number(name, "", meaning, range, path(path(&Study::estimation, &EstimationOptions::theory), member));
  };
  constant(
      "theory.delta",
      "Probability with which the bounds by B_at and beta_t may fail; [theory] is for estimation.bonus = \"theory\".",
      &TheoryConstants::delta, kBetween0And1);
  constant("theory.C_1", "C_1 of B_at* (known reward).", &TheoryConstants::C_1);
  constant("theory.C_2", "C_2 of B_at (learned reward).", &TheoryConstants::C_2);
  constant("theory.d_B", "Diameter d_B of the set of index parameters, of B_at*.", &TheoryConstants::d_B);
  constant("theory.C_phi", "Bound of ||phi||, of beta_t.", &TheoryConstants::C_phi);
  constant("theory.gamma_0", "gamma_0 of beta_t.", &TheoryConstants::gamma_0);
  constant("theory.mu_min", "Least slope of G, of beta_t; with the logistic G less than 1/4 (docs/theory.md).",
           &TheoryConstants::mu_min);
  constant("theory.alpha_bar", "Bound of ||theta_*||, of beta_t.", &TheoryConstants::alpha_bar);
}

void add_oracle_and_engine(Keys& keys) {
  keys.integer("oracle.samples", "shocks", "M, Monte Carlo shocks behind the oracle's indices.", 1000, kAnyInteger,
               path(&Study::oracle, &OracleOptions::samples));
  keys.add({"oracle.grid", Kind::integers, "three integers from 2 to 2001", "nodes",
            "Nodes of the index grid in l, s and the square root of the cost."},
           "[61, 21, 61]", [](Study& s, const StudyValue& v) {
             if (v.integers.size() != 3) refuse(v.where, "is not a grid; give three integers, nodes in l, s and cost");
             const auto nodes = [&v](std::size_t axis) { return require_range(v, v.integers[axis], 2, 2001); };
             s.oracle.grid = {nodes(0), nodes(1), nodes(2)};
           });
  keys.integer("oracle.bins", "bins", "Quantile bins of the sample behind the grid; 0 is the whole sample.", 0,
               kAnyInteger, path(&Study::oracle, &OracleOptions::bins));
  keys.integer("oracle.order_contexts", "contexts", "Contexts per replication in Table 3.", 1, kMostPeriods,
               &Study::order_contexts);
  keys.word("engine.kind", "blocked: the fast engine; reference: the plain recursion in double.",
            {"blocked", "reference"}, path(&Study::engine, &EngineSettings::kind));
  keys.word("engine.precision", "Of the blocked engine.", {"single", "double"},
            path(&Study::engine, &EngineSettings::precision));
  keys.integer("engine.block", "periods", "B, periods per block.", 1, 1024,
               path(&Study::engine, &EngineSettings::block));
  keys.integer("engine.chunk", "lanes", "Lanes that a thread advances together; changes no number.", 1, 1000000,
               path(&Study::engine, &EngineSettings::chunk))
      .role = Role::neither;
}

void add_output(Keys& keys) {
  keys.flag("output.regret", "Simulate the policies (Tables 1 and 2).", &Study::regret);
  keys.flag("output.order", "The frequencies of the oracle's orders (Table 3).", &Study::order);
  keys.flag("output.instances", "Keep every replication's parameters (theta, D, costs, ...) in results.h5.",
            &Study::instances);
  keys.flag("output.estimates", "Keep rho_hat and theta_hat of every lane at the end of its horizon in results.h5.",
            &Study::estimates);
  keys.flag("output.decisions",
            "Keep every period of every lane: the boxes that it opened in their order, which it deployed, cost and "
            "reward. A + 8 bytes a period, in the folder decisions.",
            &Study::decisions);
  keys.flag("output.hdf5", "Write results.h5. It is put together in memory (`--plan` says how much).", &Study::hdf5)
      .role = Role::file;
}

std::vector<StudyKey> make_general_keys() {
  std::vector<StudyKey> out;
  const auto take = [&out](std::initializer_list<void (*)(Keys&)> groups) {
    Keys keys;
    for (const auto group : groups) group(keys);
    for (KeyOf<Study>& key : keys.keys) out.push_back({static_cast<const KeyText&>(key), key.text(Study{}), key.set});
  };
  take({add_lists, add_dimensions});
  for (StudyKey& key : hyperparameter_keys()) out.push_back(std::move(key));
  take({add_actions, add_feedback, add_budget, add_estimation, add_theory, add_oracle_and_engine, add_output});
  return out;
}

[[noreturn]] void refuse_key(const std::vector<StudyKey>& keys, const std::string& name, const std::string& where) {
  const auto word_of = [](const std::string& key) { return key.substr(key.rfind('.') + 1); };
  std::vector<std::string> words, found;
  for (const StudyKey& key : keys) words.push_back(word_of(key.name));
  // The table's name is ignored: a right word may stand in a wrong table, and a right table makes no word near.
  for (const std::string& word : nearest(word_of(name), words))
    for (const StudyKey& key : keys)
      if (word_of(key.name) == word) found.push_back(key.name);
  refuse(where, "unknown key {}{}", name,
         found.empty() ? "; `pandora run --print-defaults` lists the keys" : nearest_text(found));
}

// The keys among which a key of that name would be.
std::vector<StudyKey> keys_around(const std::string& name) {
  if (const std::string policy = policy_in(name); !policy.empty()) return hyperparameter_keys_of(policy);
  const std::string environment = environment_in(name);
  return is_plain_name(environment) ? environment_keys(environment) : general_keys();
}

}  // namespace

const std::vector<StudyKey>& general_keys() {
  static std::mutex guard;
  static std::map<std::uint64_t, std::vector<StudyKey>> made;  // lists that were returned stay valid
  const std::lock_guard lock(guard);
  const std::uint64_t registrations = registrations_of_policies();
  if (const auto known = made.find(registrations); known != made.end()) return known->second;
  return made[registrations] = make_general_keys();
}

std::vector<StudyKey> study_keys(const StudyValues& values) {
  std::vector<StudyKey> keys = general_keys();
  const auto is_general = [](const StudyKey& key) { return key.name.starts_with(kHyperparameters); };
  const auto behind = std::find_if(keys.rbegin(), keys.rend(), is_general).base();
  const std::vector<StudyKey> own = own_hyperparameter_keys(values);
  keys.insert(behind, own.begin(), own.end());
  for (const std::string& name : names_of_environments(values, values.empty()))
    for (StudyKey& key : environment_keys(name)) keys.push_back(std::move(key));
  return keys;
}

bool is_key(const std::string& name) {
  return std::ranges::count(keys_around(name), name, &StudyKey::name) > 0;
}

StudyKey key_named(const std::string& name, const std::string& where) {
  const std::vector<StudyKey> keys = keys_around(name);
  const auto at = std::ranges::find(keys, name, &StudyKey::name);
  if (at == keys.end() && !policy_in(name).empty()) refuse_hyperparameter(name, where);
  if (at == keys.end()) refuse_key(keys, name, where);
  return *at;
}

}  // namespace pandora
