// Names of lanes and settings, the result of a lane, and a tape as lines of JSON.
#include "host/studies/run/find_lane.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "host/ground/base/fail.hpp"
#include "host/ground/base/nearest.hpp"
#include "host/lanes/model/box_changes.hpp"
#include "host/lanes/model/feedback.hpp"
#include "host/studies/results/stored_results.hpp"
#include "host/studies/study/study_keys.hpp"
#include "host/studies/sweep/sound.hpp"
#include "kernels/rules/checkpoints.hpp"

namespace pandora {
namespace {

using nlohmann::json;

template <class Numbers>
std::vector<double> numbers(const Numbers& from, std::size_t first, std::size_t count) {
  return {from.data() + first, from.data() + first + count};
}

// The table of outcomes that the environment is, or null.
std::shared_ptr<const TraceWorld> table_of(const Environment& environment) {
  const TraceKeys* const keys = trace_keys(environment);
  return keys == nullptr || laws_of(environment) != nullptr ? nullptr : TraceWorld::of(*keys, environment.name);
}

std::vector<std::string> names_of_boxes(const Unit& unit, std::size_t boxes) {
  if (const auto table = table_of(unit.environment)) return table->models();
  std::vector<std::string> out;
  for (std::size_t a = 1; a <= boxes; ++a) out.push_back(fmt::format("box{}", a));
  return out;
}

std::string line_of(const Replication& replication, std::size_t row, const std::vector<std::string>& boxes) {
  const Tape& tape = replication.tape;
  const std::size_t A = boxes.size(), d = static_cast<std::size_t>(tape.contexts.reward_features),
                    online = static_cast<std::size_t>(tape.online_row(0)),
                    T = static_cast<std::size_t>(tape.online_rows);  // openings after the first are further answers
  json line = {{"prompt_id", row == 0       ? "initial"
                             : row < online ? fmt::format("calibration {}", row)
                                            : fmt::format("online {}", (row - online) % T + 1)},
               {"part", row < online ? "calibration" : "online"},
               {"x", numbers(tape.contexts.psi, row * static_cast<std::size_t>(tape.contexts.index_stride) + 1,
                             static_cast<std::size_t>(tape.contexts.index_size) - 1)},
               {"phi", numbers(tape.phi, row * A * d, A * d)},
               {"feedback", numbers(tape.reward, row * A, A)},
               // a drawer need not give indices before the online rows
               {"index", row < online ? std::vector<double>(A) : numbers(replication.sigma, row * A, A)}};
  json& models = line["models"] = json::object();
  for (std::size_t a = 0; a < A; ++a) {
    const double mu = tape.mu[row * A + a], cost = tape.cost[row * A + a];
    if (!(mu >= 0.0 && mu <= 1.0 && cost >= 0.0 && std::isfinite(cost)))
      fail(ExitCode::usage,
           "{}: mu* = {} and cost {} of {} cannot stand in a table, whose qualities are from 0 to 1 and costs at "
           "least 0",
           line["prompt_id"].get<std::string>(), mu, cost, boxes[a]);
    models[boxes[a]] = {{"quality", mu}, {"cost", cost}};
  }
  return line.dump() + "\n";
}

}  // namespace

StudyConfig read_study_or_results(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return read_study_file(path);
  StudyConfig config = StoredResults(path, [](const std::string&) {}).config();
  if (!config.passed_over().empty())  // under other settings it would be another lane
    fail(ExitCode::mismatch,
         "{}/study.toml: this program does not know {}; run its lanes with the program that wrote it", path,
         fmt::join(config.passed_over(), ", "));
  return config;
}

std::string best_lane(const std::string& path, const std::string& setting, const LaneChoice& wanted) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error))
    fail(ExitCode::usage, "{}: uses the best hyperparameters, which only a folder of results has; name one, or a {}",
         option("policy", wanted.policy), option("lane"));
  StoredResults results(path, [](const std::string&) {});
  const PlannedSetting& planned = find_setting(results.settings(), setting, wanted.environment);
  const std::string policy = wanted.policy.substr(0, wanted.policy.find('/')),
                    reward = policy.size() < wanted.policy.size() ? wanted.policy.substr(policy.size() + 1) : "";
  const std::vector<SettingSummary> summaries = results.summaries();
  const Summary& summary = summaries[static_cast<std::size_t>(&planned - results.settings().data())].summary;
  const auto fits = [](const std::string& asked, const std::string& found) { return asked.empty() || asked == found; };
  if (wanted.replication < 0 || wanted.replication >= planned.setting.study.replications)
    fail(ExitCode::usage, "{}: the results have 0 to {}", option("replication", wanted.replication),
         planned.setting.study.replications - 1);
  for (const SummaryRow& row : summary.rows)
    if (row.best && row.policy == policy && fits(reward, row.reward) && fits(wanted.environment, row.environment) &&
        fits(wanted.regime, row.regime) && (!wanted.T0 || *wanted.T0 == row.T0))
      return fmt::format("{}/{}/{}/{}", row.environment, row.regime, wanted.replication, row.lane_name);
  std::set<std::string> names;
  for (const SummaryRow& row : summary.rows)
    if (row.best) names.insert(fmt::format("{}/{} at T0 = {}", row.policy, row.reward, row.T0));
  fail(ExitCode::usage, "{}: the results have no such lane; they have {}", option("policy", wanted.policy),
       fmt::join(names, ", "));
}

std::vector<std::string> lane_names(const PlannedSetting& planned) {
  std::vector<std::string> names;
  for (const Unit& unit : planned.plan.units)
    for (const PlannedLane& lane : planned.plan.lanes) names.push_back(unit_name(unit) + "/" + lane_name(lane));
  return names;
}

const PlannedSetting& find_setting(const std::vector<PlannedSetting>& settings, const std::string& label,
                                   const std::string& environment) {
  const PlannedSetting* found = nullptr;
  std::vector<std::string> labels;
  for (const PlannedSetting& planned : settings) {
    if (std::string own = planned.setting.label(); labels.empty() || labels.back() != own)
      labels.push_back(std::move(own));
    const bool has = std::ranges::count(planned.setting.study.environments, environment, &Environment::name) > 0;
    if (labels.back() == label && (found == nullptr || has)) found = &planned;
  }
  if (label.empty() && labels.size() > 1)
    fail(ExitCode::usage, "{}: keys of the study vary; name one setting, such as '{}'", option("setting"),
         settings[0].setting.label());
  if (found != nullptr) return *found;
  throw Error(ExitCode::usage, labels.size() == 1 && labels[0].empty()
                                   ? option("setting", label) + ": nothing varies in this study; leave it out"
                                   : fmt::format("{}: the study has no such setting{}", option("setting", label),
                                                 nearest_text(nearest(label, labels))));
}

FoundLane::FoundLane(const PlannedSetting& planned, const std::string& name) : planned_(&planned), name_(name) {
  for (; unit_ < planned.plan.units.size(); ++unit_) {
    const std::string lead = unit_name(unit()) + "/";
    if (!name.starts_with(lead)) continue;
    for (lane_ = 0; lane_ < planned.plan.lanes.size(); ++lane_)
      if (lead + lane_name(lane()) == name) return;
  }
  // A name without a valid replication is near to the lanes of all replications; the first stands for them.
  fail(ExitCode::usage, "{}: the study has no such lane{}; `pandora lanes` lists them", option("lane", name),
       nearest_text(nearest(name, lane_names(planned))));
}

FoundLane find_lane(const std::vector<PlannedSetting>& settings, const std::string& label, const std::string& name) {
  return {find_setting(settings, label, name.substr(0, name.find('/'))), name};
}

std::shared_ptr<const TraceWorld> FoundLane::table() const {
  return table_of(unit().environment);
}

std::size_t FoundLane::prompt(int t) const {
  UnitResult rows;
  keep_prompts(study(), planned_->plan, unit(), rows);
  return rows.prompts[static_cast<std::size_t>(t - 1)];
}

UnitResult FoundLane::run(const Replication& replication) const {
  Plan plan = planned_->plan;
  plan.lanes = {planned_->plan.lanes[0], lane()};
  UnitResult result;
  result.resize(2);
  if (fail_all_if_not_finite(replication, 2, result)) return result;
  run_planned_lanes(study(), plan, replication, 0, 2, result);
  return result;
}

std::string replay_text(const FoundLane& found, const UnitResult& result) {
  const LaneTally &oracle = result.lanes[0], &tally = result.lanes[1];
  const LaneNotes& notes = result.notes[1];
  std::string out =
      fmt::format("lane               {}\nperiods            {} of {}\n", found.name(), tally.periods, tally.horizon);
  if (tally.periods > 0) {
    const double T = tally.periods;
    out += fmt::format(
        "utility            {:.9f} per period, {:.9f} with realised rewards\n"
        "quality            {:.9f} per period (mu* of the deployed output)\n"
        "cost               {:.9f} per period\nboxes queried      {:.6f} per period\n",
        tally.utility / T, tally.realised_utility / T, tally.quality / T, tally.cost / T, tally.queries() / T);
  }
  if (!notes.list.empty()) {
    std::vector<int> boxes;
    for (const int box : notes.list) boxes.push_back(box + 1);
    out += fmt::format("chosen beforehand  boxes {}", fmt::join(boxes, ", "));
    out += notes.thresholds.empty() ? "\n" : fmt::format(", thresholds {:g}\n", fmt::join(notes.thresholds, ", "));
  }
  if (tally.failure != Failure::none)
    out +=
        fmt::format("failed             {}, {}\n",
                    tally.failed_period == 0 ? "while calibrating" : fmt::format("in period {}", tally.failed_period),
                    failure_message(tally, notes));
  else if (oracle.failure == Failure::none)
    out += fmt::format("regret x 1000      {:.6f} per period against the oracle\n",
                       1000.0 * (oracle.utility - tally.utility) / tally.periods);
  out += "\n    period   utility so far   the oracle's   regret so far\n";
  const std::vector<int> periods = checkpoints(tally.horizon);
  for (int k = 0; k < tally.recorded; ++k)
    out += fmt::format("{:>10}{:>17.6f}{:>15.6f}{:>16.6f}\n", periods[static_cast<std::size_t>(k)], tally.curve[k],
                       oracle.curve[k], oracle.curve[k] - tally.curve[k]);
  return out;
}

ExportedTrace export_trace(const PlannedSetting& planned, const Unit& unit, const std::string& name,
                           const std::string& path) {
  const Replication replication = prepare_replication(planned.setting.study, planned.plan, unit, nullptr);
  const std::vector<std::string> boxes = names_of_boxes(unit, static_cast<std::size_t>(replication.tape.boxes()));
  ExportedTrace out;
  for (std::size_t row = 0; row < static_cast<std::size_t>(replication.tape.contexts.rows); ++row)
    out.jsonl += line_of(replication, row, boxes);
  out.toml = fmt::format(
      "[environment.{}]\ntable = {}\npart = \"part\"\nmodels = {}\ncontext = [\"raw:x\"]\nevaluator = \"column:phi\"\n"
      "feedback = \"column:feedback\"\nindex = \"index\"\nprice = 1\nresample = \"in_order\"\nregime = \"{}\"\nstream "
      "= {}\n",
      name, toml_of(path), toml_of(boxes), regime_name(unit.regime), static_cast<int>(unit.environment.id));
  const Actions& actions = replication.actions;
  if (actions.openings > 1) out.toml += "repeats = true\n";
  for (const auto& [key, changes] :
       {std::pair{"arrives", &unit.environment.arrives}, {"leaves", &unit.environment.leaves}})
    if (!changes->empty()) out.toml += fmt::format("{} = {}\n", key, toml_of(box_changes_text(*changes)));
  if (const FeedbackRules& told = planned.setting.study.feedback; !told.plain())
    out.toml += fmt::format("\n[feedback]\ndelay = {}\nshare = {}\nflip = {}\npoison = {}\nrestart = {}\n",
                            toml_of(delay_text(told.delay)), told.share, told.flip, toml_of(poison_text(told)),
                            toml_of(restart_text(told)));
  if (actions.openings > 1 || actions.has_outside())
    out.toml += fmt::format("\n[actions]\nopenings = {}\noutside = {}\n", actions.openings, actions.outside);
  if (actions.uninspected)
    out.toml += "# The study has actions.uninspected = true, which is left out: studies of tables refuse it.\n";
  return out;
}

}  // namespace pandora
