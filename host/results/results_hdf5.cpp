#include "host/results/results_hdf5.hpp"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <limits>

#include "host/files/hdf5_file.hpp"
#include "host/results/summary.hpp"
#include "host/study/hyperparameter_values.hpp"
#include "kernels/rules/checkpoints.hpp"

namespace pandora {
namespace {

using Shape = Hdf5File::Shape;

// Values of every lane and replication; `fill` appends those of one.
std::vector<double> of_lanes(const std::vector<UnitResult>& results, std::size_t lanes,
                             const std::function<void(const LaneTally&, std::vector<double>&)>& fill) {
  std::vector<double> out;
  for (std::size_t lane = 0; lane < lanes; ++lane)
    for (const UnitResult& unit : results) fill(unit.lanes[lane], out);
  return out;
}

double number_of(const std::string& text) {
  double value = std::numeric_limits<double>::quiet_NaN();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : std::numeric_limits<double>::quiet_NaN();
}

std::string titles_of_parts() {
  std::string out;
  for (const RegretPart& part : kRegretParts) out += (out.empty() ? "" : ", ") + std::string(part.title);
  return out;
}

// What policies chose beforehand.
void add_choices(Hdf5File& file, const std::string& at, std::size_t L, std::size_t A,
                 const std::vector<UnitResult>& results) {
  std::vector<std::int32_t> length, boxes;
  std::vector<double> thresholds;
  for (std::size_t lane = 0; lane < L; ++lane)
    for (const UnitResult& unit : results) {
      const LaneNotes& notes = unit.notes[lane];
      length.push_back(static_cast<std::int32_t>(notes.list.size()));
      for (std::size_t k = 0; k < A; ++k) {
        boxes.push_back(k < notes.list.size() ? notes.list[k] : 0);
        thresholds.push_back(k < notes.thresholds.size() ? notes.thresholds[k]
                                                         : std::numeric_limits<double>::quiet_NaN());
      }
    }
  const std::size_t R = results.size();
  file.dataset(
      at + "choices/length", length, {L, R},
      {"boxes of the order that the policy fixed beforehand; 0: it fixed none", "boxes", "lane x replication"});
  file.dataset(at + "choices/box", boxes, {L, R, A},
               {"the boxes of that order, from 0; 0 beyond its length", "", "lane x replication x position"});
  file.dataset(
      at + "choices/threshold", thresholds, {L, R, A},
      {"FrugalGPT: a response of at least so much is accepted; NaN: none", "reward", "lane x replication x position"});
}

// What lanes had learned in the end.
void add_estimates(Hdf5File& file, const std::string& at, const Dimensions& dim, std::size_t L,
                   const std::vector<UnitResult>& results) {
  const std::size_t R = results.size(), A = static_cast<std::size_t>(dim.boxes),
                    m = static_cast<std::size_t>(dim.index_size()), d = static_cast<std::size_t>(dim.reward_features);
  const auto of = [&](std::vector<double> LaneNotes::*member, std::size_t size) {
    std::vector<double> values;
    for (std::size_t lane = 0; lane < L; ++lane)
      for (const UnitResult& unit : results) {
        const std::vector<double>& own = unit.notes[lane].*member;
        if (own.size() == size)
          values.insert(values.end(), own.begin(), own.end());
        else
          values.insert(values.end(), size, std::numeric_limits<double>::quiet_NaN());
      }
    return values;
  };
  file.dataset(at + "estimates/rho", of(&LaneNotes::rho, A * m), {L, R, A, m},
               {"rho_hat after the last period, LinUCB's eta_hat; NaN: the lane learns none", "",
                "lane x replication x box x feature"});
  file.dataset(at + "estimates/theta", of(&LaneNotes::theta, d), {L, R, d},
               {"theta_hat after the last period; NaN: the lane learns none", "", "lane x replication x feature"});
}

void add_lanes(Hdf5File& file, const std::string& at, const Study& study, const Plan& plan,
               const std::vector<UnitResult>& results) {
  const std::size_t L = plan.lanes.size(), R = results.size(), A = static_cast<std::size_t>(study.dimensions.boxes);
  std::vector<std::string> policies, rewards, hyperparameters;
  std::vector<std::int32_t> T0, calibrates;
  for (const PlannedLane& lane : plan.lanes) {
    policies.push_back(lane.policy->name);
    rewards.push_back(lane.variant.reward);
    hyperparameters.push_back(lane.variant.hyperparameter);
    T0.push_back(lane.T0);
    calibrates.push_back(lane.policy->uses_calibration ? 1 : 0);
  }
  file.dataset(at + "lanes/policy", policies, {L}, {"policy; lane 0 is the oracle", "", "lane"});
  file.dataset(at + "lanes/reward", rewards, {L},
               {"known, unknown or none: how the policy evaluates outputs", "", "lane"});
  file.dataset(at + "lanes/hyperparameter", hyperparameters, {L}, {"values of the hyperparameters", "", "lane"});
  file.dataset(at + "lanes/T0", T0, {L}, {"T_0; 0 also where the policy ignores the calibration", "periods", "lane"});
  file.dataset(at + "lanes/calibrates", calibrates, {L},
               {"1; 0: the policy ignores the calibration, the lane serves every T_0", "", "lane"});
  std::vector<std::string> names;
  std::vector<std::int32_t> best(L);
  for (const PlannedLane& lane : plan.lanes) names.push_back(lane_name(lane));
  for (const SummaryRow& row : summarise(study, plan, results).rows)
    if (row.best) best[row.lane] = 1;
  file.dataset(at + "lanes/name", names, {L},
               {"name, as `pandora explain --lane` takes it behind ENVIRONMENT/REGIME/REPLICATION/", "", "lane"});
  file.dataset(at + "lanes/best", best, {L},
               {"1: the least mean regret among the hyperparameters of its policy, reward and T_0", "", "lane"});
  for (const std::string& name : hyperparameter_columns(plan)) {
    std::vector<double> values;
    for (const PlannedLane& lane : plan.lanes)
      values.push_back(number_of(hyperparameter_of(lane.variant.hyperparameter, name)));
    file.dataset(at + "lanes/hyperparameters/" + name, values, {L},
                 {"value of the hyperparameter; NaN: the lane has none of that name", "", "lane"});
  }

  const auto lane_numbers = [&](const std::string& name, const Shape& last, const Hdf5File::Attributes& meaning,
                                const std::function<void(const LaneTally&, std::vector<double>&)>& fill) {
    Shape shape = {L, R};
    shape.insert(shape.end(), last.begin(), last.end());
    file.dataset(at + name, of_lanes(results, L, fill), shape, meaning);
  };
  for (const LaneSum& sum : kLaneSums)
    lane_numbers(sum.name, {}, {sum.meaning, sum.unit, "lane x replication"},
                 [&](const LaneTally& t, std::vector<double>& out) { out.push_back(t.*sum.member); });
  const auto of_boxes = [&](const char* name, const char* meaning, auto member) {
    lane_numbers(
        name, {A}, {meaning, "periods", "lane x replication x box"},
        [&](const LaneTally& t, std::vector<double>& out) { out.insert(out.end(), t.*member, t.*member + A); });
  };
  of_boxes("deployments_of_box", "periods in which the box was deployed", &LaneTally::deployments_of_box);
  of_boxes("queries_of_box", "periods in which the box was opened", &LaneTally::queries_of_box);
  lane_numbers("depth", {A + 1},
               {"periods in which k boxes were opened, k = 0 .. A", "periods", "lane x replication x k"},
               [&](const LaneTally& t, std::vector<double>& out) { out.insert(out.end(), t.depth, t.depth + A + 1); });
  const std::vector<int> at_periods = checkpoints(study.periods);
  const std::vector<std::int32_t> periods(at_periods.begin(), at_periods.end());
  file.dataset(at + "checkpoints", periods, {periods.size()},
               {"periods at which curves are recorded", "periods", "checkpoint"});
  lane_numbers(
      "curve", {periods.size()},
      {"utility summed up to the checkpoint; 0 after a failure", "reward", "lane x replication x checkpoint"},
      [&](const LaneTally& t, std::vector<double>& out) { out.insert(out.end(), t.curve, t.curve + periods.size()); });
  const auto parts_of = [](const RegretParts& parts, std::vector<double>& out) {
    for (const RegretPart& part : kRegretParts) out.push_back(parts.*part.member);
  };
  lane_numbers("regret_parts", {std::size_t{kCountOfParts}},
               {fmt::format("what the regret, the oracle's utility less the lane's, is made of: {}", titles_of_parts()),
                "reward", "lane x replication x part"},
               [&](const LaneTally& t, std::vector<double>& out) { parts_of(t.regret, out); });
  lane_numbers("regret_parts_curve", {periods.size(), std::size_t{kCountOfParts}},
               {"the same summed up to the checkpoint", "reward", "lane x replication x checkpoint x part"},
               [&](const LaneTally& t, std::vector<double>& out) {
                 for (std::size_t point = 0; point < periods.size(); ++point) parts_of(t.regret_curve[point], out);
               });
  const auto counts = [&](const char* name, const char* what, const char* units,
                          const std::function<std::int32_t(const LaneTally&)>& pick) {
    std::vector<std::int32_t> values;
    for (std::size_t lane = 0; lane < L; ++lane)
      for (const UnitResult& unit : results) values.push_back(pick(unit.lanes[lane]));
    file.dataset(at + name, values, {L, R}, {what, units, "lane x replication"});
  };
  counts("periods", "periods completed: T, fewer if the lane failed", "periods",
         [](const LaneTally& t) { return t.periods; });
  counts("failure",
         "0: none; 1: a number was not finite; 2, 3: the index or reward fit did not converge; 4: a matrix was "
         "not positive definite; 5: the policy broke the protocol",
         "", [](const LaneTally& t) { return static_cast<std::int32_t>(t.failure); });
  counts("failed_period", "period of the failure; 0: while calibrating, or none", "periods",
         [](const LaneTally& t) { return t.failed_period; });
  add_choices(file, at, L, A, results);
  if (study.estimates) add_estimates(file, at, study.dimensions, L, results);
}

void add_instances(Hdf5File& file, const std::string& at, const Dimensions& dim,
                   const std::vector<UnitResult>& results) {
  for (const InstanceField& field : kInstanceFields) {
    std::vector<double> values;
    for (const UnitResult& unit : results)
      if (unit.instance)
        values.insert(values.end(), ((*unit.instance).*field.member).begin(), ((*unit.instance).*field.member).end());
    if (values.size() != results.size() * size_of(field, dim)) continue;  // an environment of its own may have none
    Shape shape = {results.size(), static_cast<std::size_t>(dim.*field.rows)};
    if (field.columns != nullptr) shape.push_back(static_cast<std::size_t>(dim.*field.columns));
    file.dataset(at + "instances/" + field.name, values, shape,
                 {field.meaning, field.unit, fmt::format("replication x {}", field.axes)});
  }
}

}  // namespace

struct ResultsHdf5::State {
  Hdf5File file;
  bool varies;
};

ResultsHdf5::ResultsHdf5(const StudyConfig& config, const Identity& identity)
    : state_(new State{{}, !config.varying().empty()}) {
  Hdf5File& file = state_->file;
  file.attribute("/", "study", config.toml());
  for (const auto& [name, value] : identity)
    if (!name.starts_with("study.")) file.attribute("/", name, value);
}

ResultsHdf5::~ResultsHdf5() = default;

void ResultsHdf5::add(const Setting& setting, std::size_t number, const Plan& group,
                      const std::vector<UnitResult>& results) {
  Hdf5File& file = state_->file;
  const Study& study = setting.study;
  const Unit& unit = group.units[0];
  std::string at = state_->varies ? fmt::format("/{:03}", number) : "";
  at += fmt::format("/{}_{}", unit.environment.name, regime_name(unit.regime));
  file.group(at);
  file.attribute(at, "environment", unit.environment.name);
  file.attribute(at, "regime", std::string(regime_name(unit.regime)));
  file.attribute(at, "u", unit.environment.cost_level);
  file.attribute(at, "periods", std::int64_t{study.periods});
  file.attribute(at, "replications", std::int64_t{study.replications});
  for (const auto& [key, value] : setting.varied) file.attribute(at, "vary." + key, value);
  at += "/";
  if (study.regret) add_lanes(file, at, study, group, results);
  if (study.order) {
    std::vector<double> order;
    for (const UnitResult& r : results)
      order.insert(order.end(), {r.order.permutations, r.order.max_mass, r.order.min_mass});
    file.dataset(at + "order", order, {results.size(), 3},
                 {"distinct orders of the boxes by the oracle's indices, the greatest and the least share of one", "",
                  "replication x statistic"});
  }
  if (study.instances) add_instances(file, at, study.dimensions, results);
}

std::string ResultsHdf5::bytes() {
  return state_->file.bytes();
}

}  // namespace pandora
