// The sums of a lane in a fixed order, and its notes.
#include "host/studies/results/lane_contents.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "host/ground/files/sealed_file.hpp"
#include "kernels/rules/checkpoints.hpp"

namespace pandora {
namespace {

using nlohmann::json;

void require_count(double value, double most) {
  if (!(value >= 0.0 && value <= most && value == std::floor(value))) throw Damaged("holds a count that cannot be");
}

int whole(double value, int most) {
  require_count(value, most);
  return static_cast<int>(value);
}

// Checks counts of boxes in a lane's periods.
void require_counts(const LaneTally& tally, int boxes, double openings) {
  for (int a = 0; a < boxes; ++a) {
    for (const double count : {tally.deployments_of_box[a], tally.depth[a + 1]}) require_count(count, tally.periods);
    require_count(tally.queries_of_box[a], openings * tally.periods);
  }
  require_count(tally.depth[0], tally.periods);
}

// Throws Damaged where a period opens a box that does not exist or too often, deploys nothing or more than one thing, or
// does what the study does not allow.
LaneDecisions decisions_in(const Study& study, const json& in) {
  using D = LaneDecisions;
  const std::size_t T = static_cast<std::size_t>(study.periods), entries = entries_of_period(study);
  const unsigned A = static_cast<unsigned>(study.dimensions.boxes);
  LaneDecisions out;
  if (!in.is_object() || !in.contains("order") || !in.contains("reward") || !in.contains("cost"))
    throw Damaged("is not laid out as a part");
  out.order = unpack<std::uint8_t>(in["order"], T * entries);
  out.reward = unpack<float>(in["reward"], T);
  out.cost = unpack<float>(in["cost"], T);
  for (std::size_t period = 0; period < T; ++period) {
    int opened[kMaxBoxes] = {};
    unsigned deployed = 0;
    bool ended = false;
    for (std::size_t k = 0; k < entries; ++k) {
      const unsigned at = out.order[period * entries + k], box = at % D::kDeployed;
      if (at == D::kNone) {
        ended = true;
        continue;
      }
      const bool unopened = at >= D::kUnopened;
      const bool can_be = !unopened                          ? box < A && ++opened[box] <= study.actions.openings
                          : at < D::kUnopened + D::kDeployed ? false
                          : box == A                         ? study.actions.has_outside()
                                     : box < A && study.actions.uninspected && opened[box] < study.actions.openings;
      if (ended || at >= D::kUnopened + 2 * D::kDeployed || !can_be) throw Damaged("holds a period that cannot be");
      ended = unopened;
      deployed += at / D::kDeployed % 2;
    }
    if (deployed != 1) throw Damaged("holds a period that cannot be");
    if (!std::isfinite(out.reward[period]) || !std::isfinite(out.cost[period]))
      throw Damaged("holds a reward or a cost that is not finite");
  }
  return out;
}

}  // namespace

std::size_t tally_size(const Study& study) {
  std::vector<double> any;
  append_tally(study, {}, any);
  return any.size();
}

void append_tally(const Study& study, const LaneTally& tally, std::vector<double>& out) {
  for (const int value : {tally.periods, static_cast<int>(tally.failure), tally.failed_period})
    out.push_back(static_cast<double>(value));
  for_each_number(tally, study.dimensions.boxes, static_cast<int>(checkpoints(study.periods).size()),
                  [&out](double number) { out.push_back(number); });
}

void add_names_of_sums(json& content) {
  content["sums"] = content["path_gaps"] = json::array();
  for (const LaneSum& sum : kLaneSums) content["sums"].push_back(sum.name);
  for (const RegretPart& gap : kPathGaps) content["path_gaps"].push_back(gap.name);
}

void require_own_sums(const json& content) {
  json own = json::object();
  add_names_of_sums(own);
  for (const auto& [name, sums] : own.items())
    if (!content.contains(name) || content[name] != sums)
      throw Damaged("was written by another version of the program; run the study again");
}

LaneTally tally_of(const Study& study, const double* at) {
  LaneTally tally;
  tally.periods = whole(*at++, study.periods);
  tally.failure = static_cast<Failure>(whole(*at++, static_cast<int>(Failure::policy)));
  tally.failed_period = whole(*at++, study.periods);
  if (tally.failure == Failure::none && tally.periods != study.periods)
    throw Damaged("holds a lane that ended early without a failure");
  const std::vector<int> periods = checkpoints(study.periods);
  for_each_number(tally, study.dimensions.boxes, static_cast<int>(periods.size()), [&](double& number) {
    number = *at++;
    if (tally.failure == Failure::none && !is_sum(number)) throw Damaged("holds a sum that is not finite");
  });
  if (tally.failure == Failure::none) require_counts(tally, study.dimensions.boxes, study.actions.openings);
  tally.horizon = study.periods;
  tally.next = next_checkpoint(tally.periods, study.periods);
  tally.recorded = static_cast<int>(std::upper_bound(periods.begin(), periods.end(), tally.periods) - periods.begin());
  return tally;
}

json notes_json(const LaneNotes& notes) {
  json out = json::object();
  if (!notes.list.empty()) {
    out["list"] = notes.list;
    out["thresholds"] = pack(notes.thresholds);
  }
  if (!notes.rho.empty()) out["rho"] = pack(notes.rho);
  if (!notes.theta.empty()) out["theta"] = pack(notes.theta);
  if (!notes.message.empty()) out["message"] = notes.message;
  if (!notes.outcomes.empty()) out["outcomes"] = pack<std::uint32_t>(notes.outcomes);
  if (const LaneDecisions& decisions = notes.decisions; !decisions.order.empty())
    out["decisions"] = {{"order", pack<std::uint8_t>(decisions.order)},
                        {"reward", pack<float>(decisions.reward)},
                        {"cost", pack<float>(decisions.cost)}};
  return out;
}

LaneNotes notes_of(const Study& study, const json& in) {
  const Dimensions& dim = study.dimensions;
  LaneNotes notes;
  if (!in.is_object()) throw Damaged("is not laid out as a part");
  if (const auto list = in.find("list"); list != in.end()) {
    if (!list->is_array() || list->empty() || list->size() > openings_of_period(study) || !in.contains("thresholds"))
      throw Damaged("holds a list of boxes that cannot be");
    for (const json& box : *list) {
      if (!box.is_number_integer()) throw Damaged("holds a list of boxes that cannot be");
      notes.list.push_back(whole(box.get<double>(), dim.boxes - 1));
    }
    notes.thresholds = unpack(in["thresholds"]);
    if (!notes.thresholds.empty() && notes.thresholds.size() + 1 != notes.list.size())
      throw Damaged("holds a list of boxes that cannot be");
    if (!std::ranges::all_of(notes.thresholds, [](double x) { return std::isfinite(x); }))
      throw Damaged("holds a threshold that is not finite");
  }
  if (in.contains("rho"))
    notes.rho = unpack(in["rho"], static_cast<std::size_t>(dim.boxes) * static_cast<std::size_t>(dim.index_size()));
  if (in.contains("theta")) notes.theta = unpack(in["theta"], static_cast<std::size_t>(dim.reward_features));
  if (const auto message = in.find("message"); message != in.end()) {
    if (!message->is_string()) throw Damaged("is not laid out as a part");
    notes.message = message->get<std::string>();
  }
  if (const auto outcomes = in.find("outcomes"); outcomes != in.end()) {
    notes.outcomes = unpack<std::uint32_t>(*outcomes, static_cast<std::size_t>(study.periods));
    const int arms = study.actions.arms(dim.boxes);
    for (const std::uint32_t outcome : notes.outcomes) {
      const std::uint32_t opened = opened_bits(outcome), deployed = deployed_box(outcome);
      const bool exist = deployed < static_cast<std::uint32_t>(arms) && opened >> arms == 0;
      if (!exist || (opened >> deployed & 1) == 0) throw Damaged("holds a period that cannot be");
    }
  }
  if (const auto decisions = in.find("decisions"); decisions != in.end() && study.decisions)
    notes.decisions = decisions_in(study, *decisions);
  return notes;
}

}  // namespace pandora
