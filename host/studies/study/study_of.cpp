// Checks which values of an environment contradict each other, and then which values of a study do.
#include "host/studies/study/study_of.hpp"

#include "host/ground/base/fail.hpp"
#include "host/lanes/model/box_changes.hpp"
#include "host/lanes/model/ties.hpp"
#include "host/lanes/model/trace_world.hpp"
#include "host/lanes/model/wider_actions.hpp"
#include "host/outcomes/tables/text_hash.hpp"
#include "host/studies/study/environment_keys.hpp"
#include "host/studies/study/finite_problem.hpp"
#include "host/studies/study/hyperparameter_keys.hpp"
#include "pandora/environment.hpp"

namespace pandora {
namespace {

// Reads the laws that an environment has in place of a table. They stand in the study of a folder of results.
void take_laws(const std::string& name, const StudyValue& laws, const StudyValue* stored, TraceKeys& keys) {
  if (keys.laws_text.empty() && keys.laws.empty()) refuse(laws.where, "names no file");
  const std::string& where = stored != nullptr ? stored->where : keys.laws;
  const FiniteProblem read = [&] {
    try {
      return keys.laws_text.empty() ? read_finite_problem(keys.laws) : finite_problem_of(keys.laws_text, where);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("environment.{}.laws: {}", name, error.what()));
    }
  }();
  if (read.boxes.size() > static_cast<std::size_t>(kMaxBoxes))
    fail(ExitCode::usage, "environment {}: {} has {} boxes; give at most {}", name, where, read.boxes.size(),
         kMaxBoxes);
  for (std::size_t i = 0; i < read.boxes.size(); ++i)
    for (const double value : read.boxes[i].values)
      if (!(value >= 0.0 && value <= 1.0))
        fail(ExitCode::usage, "environment {}: {}, box {}: value {} is not from 0 to 1; scale values and costs", name,
             where, i + 1, value);
  for (const FiniteBox& box : read.boxes) keys.finite.boxes.push_back({box.cost, box.values, box.probabilities});
  keys.laws_text = laws_text(keys.finite);
  keys.price = 1.0;
  keys.sizes = sizes_of_laws(keys.finite).list();
  keys.models.clear();
}

// For a table of outcomes, or laws. They share no random stream unless they are told to.
template <class Find>
Environment table_of(const std::string& name, Find&& find, const StudyValue& environments) {
  Environment environment;
  environment.name = name;
  constexpr std::uint64_t kFirst = 64;  // the streams below are for environments to which people give numbers
  environment.id = static_cast<std::uint8_t>(kFirst + stable_hash(name) % (256 - kFirst));
  environment.trace = std::make_shared<TraceKeys>();
  const StudyValue* const laws = find("laws");
  for (const EnvironmentOption& option : environment_options()) {
    const StudyValue* value = find(option.name);
    if (value == nullptr) continue;
    if (!option.is_for(environment))
      refuse(value->where, "is for the paper's model, but environment.{}.{}; leave one out", name,
             laws != nullptr ? "laws is for finite laws" : "table is for a table of outcomes");
    constexpr const char* kOfLaws[] = {"laws", "laws_text", "stream", "regime", "feedback", "arrives", "leaves"};
    if (laws != nullptr && std::ranges::count(kOfLaws, option.name) == 0)
      refuse(value->where, "is for a table of outcomes, but environment.{}.laws has none; leave one out", name);
    option.set(environment, *value);
  }
  if (laws != nullptr) {
    TraceKeys keys = *trace_keys(environment);
    if (keys.feedback.starts_with("column:")) refuse(find("feedback")->where, "needs a table; use graded or bernoulli");
    take_laws(name, *laws, find("laws_text"), keys);
    environment.trace = std::make_shared<TraceKeys>(std::move(keys));
    return environment;
  }
  if (find("price") == nullptr)
    refuse(environments.where, "environment {} has no price, utility per dollar; set environment.{}.price", name, name);
  const TraceKeys& keys = *trace_keys(environment);
  for (const char* key : {"online", "part"})
    if (find("split") != nullptr && find(key) != nullptr && !find(key)->texts[0].empty())
      refuse(find("split")->where, "has no effect beside {}; leave one out", key);
  if (keys.table.empty()) refuse(find("table")->where, "names no file");
  if (keys.resample == Resample::independent && !keys.context.empty())
    refuse(find("context")->where,
           "describes one prompt, but resample = \"independent\" takes every model's answer from another prompt; "
           "leave out environment.{}.context, or use resample = \"permute\"",
           name);
  return environment;
}

// Refuses output costs that are centred if there is nothing from which they could be drawn.
void refuse_output_costs(const Environment& environment, const StudyValue* given, const StudyValue& output,
                         const Dimensions& dimensions) {
  if (environment.output_costs != OutputCostLaw::centred) return;
  const int least = environment.slopes == Slopes::unrelated ? 2 * dimensions.boxes : 2;
  if (given != nullptr && environment.indices == Indices::linear)
    refuse(given->where,
           "sets no cost if indices are linear, because costs then follow from them; leave out "
           "environment.{}.output_costs",
           environment.name);
  if (dimensions.output < least)
    refuse(output.where, "is too short for environment.{}.output_costs, two coordinates of a box; give at least {}",
           environment.name, least);
}

// Refuses settings that contradict drift and correlation.
void refuse_changes(const Environment& environment, const StudyValue& environments, const StudyValue* drift,
                    const StudyValue* correlation) {
  const std::string& name = environment.name;
  if (moves(environment) && environment.indices == Indices::linear)
    refuse((drift != nullptr ? *drift : environments).where,
           "moves costs, but with linear indices costs follow from the indices; leave out environment.{}.indices or "
           "environment.{}.drift",
           name, name);
  if ((moves(environment) || environment.correlation > 0.0) && find_drawer(name))
    refuse(environments.where,
           "environment {} has code of its own, to which drift and correlation do not apply; leave out "
           "environment.{}.drift and .correlation",
           name, name);
  if (environment.correlation > 0.0 && environment.law == Law::custom)
    refuse(
        (correlation != nullptr ? *correlation : environments).where,
        "needs the normals behind a shock, which your own law does not have; use uniform, gaussian or student_t5, or "
        "leave it out");
}

Environment environment_of(const std::string& name, const StudyValues& values, const Study& study,
                           const StudyValue& environments, bool foreign) {
  const Environment* known = find_environment(name);
  const auto find = [&](const std::string& key) -> const StudyValue* {
    const auto at = values.find("environment." + name + "." + key);
    return at == values.end() ? nullptr : &at->second;
  };
  Environment environment = known != nullptr ? *known : Environment{};
  if (known == nullptr && foreign) environment.cost_level = std::nan("");  // unknown if the study does not set it
  environment.name = name;
  if (find("table") != nullptr || find("laws") != nullptr) return table_of(name, find, environments);
  const StudyValue* const indices = find("indices");
  const bool drawn_indices = indices != nullptr && indices->texts[0] == "linear";
  for (const EnvironmentOption& option : environment_options()) {
    const StudyValue* value = find(option.name);
    if (option.of_tables) {
      if (value != nullptr)
        refuse(value->where, "is for a table of outcomes; give environment.{}.table, or leave it out", name);
      continue;
    }
    if (foreign && value != nullptr && option.name == "law" && value->texts[0] == "custom")
      environment.law = Law::custom;
    else if (value != nullptr)
      option.set(environment, *value);
    else if (option.required && known == nullptr && !foreign && !(option.name == "u" && drawn_indices))
      refuse(environments.where, "environment {} has no {}; set environment.{}.{}", name, option.name, name,
             option.name);
  }
  if (find("truncation_radius") == nullptr && study.dimensions.output != Dimensions{}.output &&
      std::isfinite(environment.truncation_radius))
    refuse(values.at("dimensions.output").where,
           "the truncation radius {} of {} belongs to 100 coordinates; set environment.{}.truncation_radius for {}",
           environment.truncation_radius, name, name, study.dimensions.output);
  if (const StudyValue* u = find("u"); u != nullptr && environment.indices == Indices::linear)
    refuse(u->where,
           "sets no cost if indices are linear, because costs then follow from them; leave out "
           "environment.{}.u",
           name);
  require_box_changes(environment, study.dimensions.boxes);
  refuse_changes(environment, environments, find("drift"), find("correlation"));
  refuse_output_costs(environment, find("output_costs"), values.at("dimensions.output"), study.dimensions);
  const StudyValue* slopes = find("slopes");
  if (environment.slopes == Slopes::unrelated &&
      std::min(study.dimensions.context, study.dimensions.output) < study.dimensions.boxes)
    refuse(
        slopes != nullptr ? slopes->where : environments.where,
        "unrelated slopes need a coordinate of x and of omega per box; give dimensions.context and dimensions.output "
        "of at least {}",
        study.dimensions.boxes);
  return environment;
}

// Refuses more arms than a period can have, and unopened deployment where its benchmark would take too long.
// `arms`, `unopened`: the places of the values to change.
void refuse_arms(const Actions& actions, int boxes, const std::string& arms, const char* remedy,
                 const std::string& unopened) {
  if (actions.wide() && actions.arms(boxes) > kMaxBoxes)
    refuse(arms, "makes {} things to open in a period (boxes times openings{}), and {} are the most; {}",
           actions.arms(boxes), actions.has_outside() ? ", and the outside option" : "", kMaxBoxes, remedy);
  if (actions.uninspected && boxes * actions.openings > kMostUnopenedArms)
    refuse(
        unopened,
        "uninspected needs a benchmark, a dynamic programme over {} openings in a period (boxes times openings), and "
        "{} are the most; use fewer boxes or openings, or leave uninspected out",
        boxes * actions.openings, kMostUnopenedArms);
}

// Refuses wider actions ([actions], docs/wider.md) where they have no meaning or no benchmark.
void refuse_actions(const Study& study, const StudyValues& values) {
  const Actions& actions = study.actions;
  if (!actions.wide()) return;
  const StudyValue &openings = values.at("actions.openings"), &uninspected = values.at("actions.uninspected"),
                   &any = actions.uninspected    ? uninspected
                          : actions.openings > 1 ? openings
                                                 : values.at("actions.outside");
  if (!std::ranges::all_of(study.environments, [](const Environment& e) { return e.trace != nullptr; }))
    refuse_arms(actions, study.dimensions.boxes, (actions.openings > 1 ? openings : any).where, "give fewer",
                uninspected.where);
  if (study.engine.block < actions.openings)
    refuse(openings.where, "needs blocks of at least {} periods; give engine.block at least that", actions.openings);
  if (study.budget.of != Pacing::Of::nothing)
    refuse(any.where, "has no benchmark under a budget; leave out [budget] or [actions]");
  for (const Environment& environment : study.environments) {
    const auto leave_out = [&](const StudyValue& value, const std::string& why) {
      refuse(value.where, "{}; leave out one", why);
    };
    const std::string& name = environment.name;
    const TraceKeys* const table = trace_keys(environment);
    if (find_drawer(name)) leave_out(any, "needs the paper's model, but environment " + name + " has code of its own");
    if (table != nullptr && laws_of(environment) == nullptr && actions.uninspected)
      leave_out(uninspected,
                "needs the law of every box for its benchmark, but environment " + name + " is a table of outcomes");
    if (table != nullptr && actions.openings > 1 && table->resample == Resample::independent)
      leave_out(openings, "shows several answers to one prompt, but environment " + name +
                              " takes every model's answers from other prompts (resample = \"independent\")");
    if (actions.openings > 1 && (moves(environment) || (table != nullptr && !table->drift.empty())))
      leave_out(openings, "needs outputs whose law stays, but environment " + name + " drifts");
    if ((actions.openings > 1 || actions.uninspected) && environment.correlation > 0.0)
      leave_out(any, "needs boxes that are independent, but environment " + name + " has a correlation");
    if (actions.uninspected && environment.indices == Indices::linear)
      leave_out(uninspected, "needs the law of every box, but environment " + name + " draws linear indices");
  }
}

}  // namespace

Study study_of(const StudyValues& values, const std::vector<std::string>& known, bool foreign) {
  Study study;
  for (const StudyKey& key : general_keys()) {
    const auto given = values.find(key.name);
    if (given == values.end()) continue;  // for a policy that the study does not name
    StudyValue value = given->second;
    if (foreign && key.name == "policies" && !value.texts.empty()) {
      std::erase_if(value.texts, [](const std::string& name) { return find_policy(name) == nullptr; });
      if (value.texts.empty()) value.texts = {"oracle"};  // an empty list means all
    }
    key.apply(study, value);
  }
  apply_hyperparameters(values, study);
  const StudyValue& environments = values.at("environments");
  const std::vector<std::string> there = names_of_environments(values);
  for (const std::string& name : environments.texts)  // first: an unnamed table is often the right spelling
    if (!foreign && std::ranges::count(there, name) == 0)
      refuse(environments.where, "\"{}\" is unknown{}; use {}, or define it under [environment.{}]", name,
             nearest_text(nearest(name, known)), fmt::join(known, ", "), is_plain_name(name) ? name : "NAME");
  for (const auto& [key, value] : values) {
    const std::string name = environment_in(key);
    if (!name.empty() && find_environment(name) == nullptr && std::ranges::count(environments.texts, name) == 0)
      refuse(value.where, "environment {} is none of {} and not named by environments{}; correct the name", name,
             fmt::join(names_of_environments(), ", "), nearest_text(nearest(name, environments.texts)));
  }
  for (const std::string& name : environments.texts) {
    study.environments.push_back(environment_of(name, values, study, environments, foreign));
    study.environments.back().ties = study.ties;
  }
  for (const Environment& environment : study.environments)
    if (study.budget.of != Pacing::Of::nothing && (environment.trace != nullptr || find_drawer(environment.name)))
      refuse(values.at(study.budget.of == Pacing::Of::queries ? "budget.queries" : "budget.cost").where,
             "needs the paper's model for its benchmark, but environment {} is not from the model; leave out one",
             environment.name);
  refuse_actions(study, values);
  if (const std::string fault = fault_of_ties(study.ties, study.dimensions.boxes); !fault.empty())
    refuse(values.at("model.ties").where, fault);
  for (const Environment& environment : study.environments)
    if (!study.ties.empty() && moves(environment))
      refuse(values.at("model.ties").where, "ties boxes that environment {} moves apart; leave out its drift",
             environment.name);
  if (!study.regret && !study.order)
    refuse(values.at("output.regret").where, "output.regret and output.order are both false; nothing is left to do");
  for (const char* key : {"estimation.eta_loss", "estimation.radius_rho", "estimation.radius_theta"})
    if (values.at(key).numbers[0] != 0.0 && study.engine.kind != EngineSettings::Kind::reference)
      refuse(values.at(key).where, "works only with the reference engine; set engine.kind to \"reference\"");
  for (const Environment& environment : study.environments)
    if (study.order && find_drawer(environment.name))
      refuse(environments.where,
             "Table 3 needs the paper's oracle, but environment {} has code of its own; set output.order to false",
             environment.name);
  return study;
}

Study study_of_table(const Study& all, const Environment& environment) {
  const TraceSizes sizes = trace_sizes(environment);
  const TraceKeys& keys = *trace_keys(environment);
  Study study = all;
  study.environments = {environment};
  study.dimensions = sizes.dimensions();
  study.regimes = {keys.regime == "A" ? Regime::A : Regime::B};
  study.order = false;
  study.instances = false;
  const int T0 = *std::ranges::max_element(all.T0), openings = all.actions.openings;
  if (T0 >= sizes.calibration)
    fail(ExitCode::usage,
         "environment {}: T0 = {} periods, but its table has {} prompts for calibration, one of them for x_0; give a "
         "smaller T0, or a larger environment.{}.split",
         environment.name, T0, sizes.calibration, environment.name);
  const std::string where = fmt::format("environment {}: [actions]", environment.name);
  refuse_arms(all.actions, sizes.boxes, where, "lower actions.openings, leave actions.outside out, or use fewer boxes",
              where);
  if (openings > 1 && keys.sizes.empty())
    TraceWorld::of(keys, environment.name)->require_answers(openings, environment.name);
  if (!keys.repeat) study.periods = std::min(all.periods, sizes.periods(openings));
  return study;
}

}  // namespace pandora
