// The datasets of lanes and of instances.
#include "host/studies/results/results_hdf5.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "host/ground/base/printable.hpp"
#include "host/studies/results/summary.hpp"
#include "kernels/rules/checkpoints.hpp"

namespace pandora {
namespace {

using Shape = Hdf5File::Shape;
constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

std::string titles_of(std::span<const RegretPart> parts) {
  std::string out;
  for (const RegretPart& part : parts) out += (out.empty() ? "" : ", ") + std::string(part.title);
  return out;
}

// The values, and then `filler` up to the size.
template <class T>
std::vector<T> filled(std::vector<T> values, std::size_t size, T filler) {
  values.resize(size, filler);
  return values;
}

// The datasets of lanes, of one (environment, regime).
struct LaneDatasets {
  Hdf5File& file;
  const std::string& group;
  const Study& study;
  const Plan& plan;
  const std::vector<UnitResult>& results;
  const std::size_t lanes = plan.lanes.size(), A = static_cast<std::size_t>(study.dimensions.boxes);

  void add() {
    add_names();
    add_sums();
    add_curves();
    add_states();
    add_choices();
    if (study.estimates) add_estimates();
  }

  // One value per lane.
  template <class Pick>
  void of_lane(const std::string& name, const char* meaning, const char* unit, Pick&& pick) {
    std::vector<std::decay_t<decltype(pick(plan.lanes[0]))>> values;
    for (const PlannedLane& lane : plan.lanes) values.push_back(pick(lane));
    file.dataset(group + "lanes/" + name, values, {lanes}, {meaning, unit, "lane"});
  }

  // Values for every lane and replication; `pick` returns those of one, `axes` names their axes.
  template <class Pick>
  void of_run(const std::string& name, Shape last, Hdf5File::Attributes about, Pick&& pick) {
    std::vector<std::decay_t<decltype(*pick(results[0].lanes[0], results[0].notes[0]).begin())>> values;
    for (std::size_t lane = 0; lane < lanes; ++lane)
      for (const UnitResult& unit : results) {
        const auto own = pick(unit.lanes[lane], unit.notes[lane]);
        values.insert(values.end(), own.begin(), own.end());
      }
    last.insert(last.begin(), {lanes, results.size()});
    about.dimensions = "lane x replication" + about.dimensions;
    file.dataset(group + name, values, last, about);
  }

  static std::vector<double> parts_of(std::span<const RegretPart> which, std::span<const RegretParts> sums) {
    std::vector<double> out;
    for (const RegretParts& parts : sums)
      for (const RegretPart& part : which) out.push_back(parts.*part.member);
    return out;
  }

  void add_names() {
    of_lane("policy", "policy; lane 0 is the oracle", "", [](const PlannedLane& l) { return l.policy->name; });
    of_lane("reward", "known, unknown or none: how the policy evaluates outputs", "",
            [](const PlannedLane& l) { return l.variant.reward; });
    of_lane("hyperparameter", "values of the hyperparameters", "",
            [](const PlannedLane& l) { return l.variant.hyperparameter; });
    of_lane("T0", "T_0; 0 also where the policy ignores the calibration", "periods",
            [](const PlannedLane& l) { return std::int32_t{l.T0}; });
    of_lane("calibrates", "1; 0: the policy ignores the calibration, the lane serves every T_0", "",
            [](const PlannedLane& l) { return std::int32_t{l.policy->uses_calibration ? 1 : 0}; });
    of_lane("name", "name, as `pandora explain --lane` takes it behind ENVIRONMENT/REGIME/REPLICATION/", "", lane_name);
    std::vector<std::int32_t> best(lanes);
    for (const SummaryRow& row : summarise(study, plan, results).rows)
      if (row.best) best[row.lane] = 1;
    file.dataset(group + "lanes/best", best, {lanes},
                 {"1: the least mean regret among the hyperparameters of its policy, reward and T_0", "", "lane"});
    for (const std::string& name : hyperparameter_columns(plan))
      of_lane("hyperparameters/" + name, "value of the hyperparameter; NaN: the lane has none of that name", "",
              [&](const PlannedLane& lane) {
                return number_of(hyperparameter_of(lane.variant.hyperparameter, name)).value_or(kAbsent);
              });
  }

  void add_sums() {
    for (const LaneSum& sum : kLaneSums)
      of_run(sum.name, {}, {sum.meaning, sum.unit, ""},
             [&](const LaneTally& t, auto&) { return std::array{t.*sum.member}; });
    of_run("deployments_of_box", {A}, {"periods in which the box was deployed", "periods", " x box"},
           [this](const LaneTally& t, auto&) { return std::span(t.deployments_of_box, A); });
    of_run("queries_of_box", {A}, {"how often the box was opened", "openings", " x box"},
           [this](const LaneTally& t, auto&) { return std::span(t.queries_of_box, A); });
    of_run("depth", {A + 1}, {"periods in which k boxes were opened, k = 0 .. A", "periods", " x k"},
           [this](const LaneTally& t, auto&) { return std::span(t.depth, A + 1); });
    of_run("regret_parts", {std::size_t{kCountOfParts}},
           {fmt::format("what the regret, the oracle's utility less the lane's, is made of, means over two paths: {}",
                        titles_of(kRegretParts)),
            "reward", " x part"},
           [](const LaneTally& t, auto&) {
             return parts_of(kRegretParts, {&t.regret, 1});
           });
    of_run("regret_path_gaps", {std::size_t{kCountOfGaps}},
           {fmt::format("how parts differ between the paths: {}; NaN: the parts are those of the first path",
                        titles_of(kPathGaps)),
            "reward", " x gap"},
           [](const LaneTally& t, auto&) {
             return parts_of(kPathGaps, {&t.regret, 1});
           });
  }

  void add_curves() {
    const std::vector<int> periods = checkpoints(study.periods);
    const std::size_t count = periods.size();
    file.dataset(group + "checkpoints", periods, {count},
                 {"periods at which curves are recorded", "periods", "checkpoint"});
    of_run("curve", {count}, {"utility summed up to the checkpoint; 0 after a failure", "reward", " x checkpoint"},
           [count](const LaneTally& t, auto&) { return std::span(t.curve, count); });
    const auto of_curve = [&](const char* name, std::span<const RegretPart> which, const char* axes) {
      of_run(name, {count, which.size()}, {"the same summed up to the checkpoint", "reward", axes},
             [count, which](const LaneTally& t, auto&) {
               return parts_of(which, {t.regret_curve, count});
             });
    };
    of_curve("regret_parts_curve", kRegretParts, " x checkpoint x part");
    of_curve("regret_path_gaps_curve", kPathGaps, " x checkpoint x gap");
  }

  void add_states() {
    of_run("periods", {}, {"periods completed: T, fewer if the lane failed", "periods", ""},
           [](const LaneTally& t, auto&) { return std::array{t.periods}; });
    of_run("failure", {},
           {"0: none; 1: a number was not finite; 2, 3: the index or reward fit did not converge; 4: a matrix was not "
            "positive definite; 5: the policy failed",
            "", ""},
           [](const LaneTally& t, auto&) { return std::array{static_cast<std::int32_t>(t.failure)}; });
    of_run("failed_period", {}, {"period of the failure; 0: while calibrating, or none", "periods", ""},
           [](const LaneTally& t, auto&) { return std::array{t.failed_period}; });
  }

  // The boxes and thresholds that policies chose beforehand.
  void add_choices() {
    of_run("choices/length", {}, {"boxes of the order that the policy fixed beforehand; 0: it fixed none", "boxes", ""},
           [](auto&, const LaneNotes& notes) { return std::array{static_cast<std::int32_t>(notes.list.size())}; });
    of_run("choices/box_number", {A}, {"the boxes of that order, from 1; 0 beyond its length", "", " x position"},
           [this](auto&, const LaneNotes& notes) {
             std::vector<std::int32_t> numbers;
             for (const int box : notes.list) numbers.push_back(box + 1);
             return filled(numbers, A, 0);
           });
    of_run("choices/threshold", {A},
           {"FrugalGPT: a response of at least so much is accepted; NaN: none", "reward", " x position"},
           [this](auto&, const LaneNotes& notes) { return filled(notes.thresholds, A, kAbsent); });
  }

  // The estimates of lanes in the end.
  void add_estimates() {
    const std::size_t m = static_cast<std::size_t>(study.dimensions.index_size()),
                      d = static_cast<std::size_t>(study.dimensions.reward_features);
    of_run("estimates/rho", {A, m},
           {"rho_hat after the last period, LinUCB's eta_hat; NaN: the lane learns none", "", " x box x feature"},
           [&](auto&, const LaneNotes& notes) { return filled(notes.rho, A * m, kAbsent); });
    of_run("estimates/theta", {d}, {"theta_hat after the last period; NaN: the lane learns none", "", " x feature"},
           [&](auto&, const LaneNotes& notes) { return filled(notes.theta, d, kAbsent); });
  }
};

void add_instances(Hdf5File& file, const std::string& at, const Dimensions& dim, const Environment& environment,
                   const std::vector<UnitResult>& results) {
  for (const InstanceField& field : kInstanceFields) {
    std::vector<double> values;
    for (const UnitResult& unit : results)
      if (unit.instance)
        values.insert(values.end(), ((*unit.instance).*field.member).begin(), ((*unit.instance).*field.member).end());
    const std::size_t size = size_of(field, dim, environment);
    // an environment that is code may have none
    if (size == 0 || values.size() != results.size() * size) continue;
    Shape shape = {results.size(), static_cast<std::size_t>(field.rows(dim, environment))};
    if (field.columns != nullptr) shape.push_back(static_cast<std::size_t>(field.columns(dim, environment)));
    file.dataset(at + "instances/" + field.name, values, shape,
                 {field.meaning, field.unit, fmt::format("replication x {}", field.axes)});
  }
}

}  // namespace

void begin_hdf5(Hdf5File& file, const StudyConfig& config, const Identity& identity) {
  file.attribute("/", "study", config.toml());
  for (const auto& [name, value] : identity)
    if (!name.starts_with("study.")) file.attribute("/", name, value);
}

void add_decisions(Hdf5File& file, const PlannedSetting& planned, const Unit& unit, const UnitResult& result) {
  const Study& study = planned.setting.study;
  const std::size_t lanes = result.notes.size(), T = static_cast<std::size_t>(study.periods),
                    entries = entries_of_period(study);
  std::vector<std::string> names;
  std::vector<std::uint8_t> order;
  std::vector<float> reward, cost;
  const auto append = [](auto& to, const auto& own, std::size_t size, auto filler) {
    to.insert(to.end(), own.begin(), own.end());
    to.resize(to.size() - own.size() + size, filler);
  };
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const LaneDecisions& own = result.notes[lane].decisions;
    names.push_back(lane_name(planned.plan.lanes[lane]));
    append(order, own.order, T * entries, LaneDecisions::kNone);
    append(reward, own.reward, T, std::numeric_limits<float>::quiet_NaN());
    append(cost, own.cost, T, std::numeric_limits<float>::quiet_NaN());
  }
  file.attribute("/", "environment", unit.environment.name);
  file.attribute("/", "regime", std::string(regime_name(unit.regime)));
  file.attribute("/", "replication", std::int64_t{unit.replication});
  for (const auto& [key, value] : planned.setting.varied) file.attribute("/", "vary." + key, value);
  file.dataset("/lane", names, {lanes}, {"name, as in results.h5", "", "lane"});
  file.dataset(
      "/order", order, {lanes, T, entries},
      {study.actions.wide()
           ? "the boxes that were opened, from 0, in their order; 16 more for what was deployed, and 32 more "
             "if it was not opened, where A is the outside option; 255: none"
           : "the boxes that were opened, from 0, in their order; 16 more for the one that was deployed; 255: none",
       "", "lane x period x position"});
  file.dataset("/reward", reward, {lanes, T}, {"reward of the deployed box", "reward", "lane x period"});
  file.dataset("/cost", cost, {lanes, T}, {"sum of the costs of the opened boxes", "reward", "lane x period"});
}

void add_to_hdf5(Hdf5File& file, const PlannedSetting& planned, const Plan& group,
                 const std::vector<UnitResult>& results) {
  const Study& study = planned.setting.study;
  const Unit& unit = group.units[0];
  std::string at = planned.setting.varied.empty() ? "" : fmt::format("/{:03}", planned.number);
  at += fmt::format("/{}_{}", unit.environment.name, regime_name(unit.regime));
  file.group(at);
  file.attribute(at, "environment", unit.environment.name);
  file.attribute(at, "regime", std::string(regime_name(unit.regime)));
  file.attribute(at, "u", unit.environment.cost_level);
  file.attribute(at, "periods", std::int64_t{study.periods});
  file.attribute(at, "replications", std::int64_t{study.replications});
  for (const auto& [key, value] : planned.setting.varied) file.attribute(at, "vary." + key, value);
  at += "/";
  if (study.regret) LaneDatasets{file, at, study, group, results}.add();
  if (study.order) {
    std::vector<double> order;
    for (const UnitResult& r : results)
      order.insert(order.end(), {r.order.permutations, r.order.max_mass, r.order.min_mass});
    file.dataset(at + "order", order, {results.size(), 3},
                 {"distinct orders of the boxes by the oracle's indices, the greatest and the least share of one", "",
                  "replication x statistic"});
  }
  if (study.instances) add_instances(file, at, study.dimensions, unit.environment, results);
}

}  // namespace pandora
