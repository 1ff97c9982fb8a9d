#include "host/studies/results/results_hdf5.hpp"

#include <fmt/format.h>

#include <limits>
#include <span>

#include "host/ground/base/split.hpp"
#include "host/ground/files/hdf5_file.hpp"
#include "host/studies/results/summary.hpp"
#include "host/studies/study/hyperparameter_values.hpp"
#include "kernels/rules/checkpoints.hpp"

namespace pandora {
namespace {

using Shape = Hdf5File::Shape;

std::string titles_of(std::span<const RegretPart> parts) {
  std::string out;
  for (const RegretPart& part : parts) out += (out.empty() ? "" : ", ") + std::string(part.title);
  return out;
}

// The datasets of lanes, of one (environment, regime).
class LaneDatasets {
 public:
  LaneDatasets(Hdf5File& file, const std::string& group, const Study& study, const Plan& plan,
               const std::vector<UnitResult>& results)
      : file_(file),
        group_(group),
        study_(study),
        plan_(plan),
        results_(results),
        lanes_(plan.lanes.size()),
        replications_(results.size()),
        boxes_(static_cast<std::size_t>(study.dimensions.boxes)) {}

  void add() {
    add_names();
    add_hyperparameters();
    add_sums();
    add_curves();
    add_states();
    add_choices();
    if (study_.estimates) add_estimates();
  }

 private:
  // One value per lane.
  template <class Pick>
  void of_lane(const char* name, const char* meaning, const char* unit, Pick&& pick) {
    std::vector<std::decay_t<decltype(pick(plan_.lanes[0]))>> values;
    for (const PlannedLane& lane : plan_.lanes) values.push_back(pick(lane));
    file_.dataset(group_ + "lanes/" + name, values, {lanes_}, {meaning, unit, "lane"});
  }

  // Values of every lane and replication; `pick` gives those of one, `axes` names what they are over.
  template <class Pick>
  void of_tally(const std::string& name, Shape last, Hdf5File::Attributes about, Pick&& pick) {
    std::vector<double> values;
    for (std::size_t lane = 0; lane < lanes_; ++lane)
      for (const UnitResult& unit : results_) pick(unit.lanes[lane], values);
    last.insert(last.begin(), {lanes_, replications_});
    about.dimensions = "lane x replication" + about.dimensions;
    file_.dataset(group_ + name, values, last, about);
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
    std::vector<std::int32_t> best(lanes_);
    for (const SummaryRow& row : summarise(study_, plan_, results_).rows)
      if (row.best) best[row.lane] = 1;
    file_.dataset(group_ + "lanes/best", best, {lanes_},
                  {"1: the least mean regret among the hyperparameters of its policy, reward and T_0", "", "lane"});
  }

  void add_hyperparameters() {
    for (const std::string& name : hyperparameter_columns(plan_))
      of_lane(("hyperparameters/" + name).c_str(), "value of the hyperparameter; NaN: the lane has none of that name",
              "", [&](const PlannedLane& lane) {
                return number_of(hyperparameter_of(lane.variant.hyperparameter, name))
                    .value_or(std::numeric_limits<double>::quiet_NaN());
              });
  }

  void add_sums() {
    using Values = std::vector<double>;
    for (const LaneSum& sum : kLaneSums)
      of_tally(sum.name, {}, {sum.meaning, sum.unit, ""},
               [&](const LaneTally& t, Values& out) { out.push_back(t.*sum.member); });
    const std::size_t A = boxes_;
    of_tally("deployments_of_box", {A}, {"periods in which the box was deployed", "periods", " x box"},
             [A](const LaneTally& t, Values& out) {
               out.insert(out.end(), t.deployments_of_box, t.deployments_of_box + A);
             });
    of_tally("queries_of_box", {A}, {"periods in which the box was opened", "periods", " x box"},
             [A](const LaneTally& t, Values& out) { out.insert(out.end(), t.queries_of_box, t.queries_of_box + A); });
    of_tally("depth", {A + 1}, {"periods in which k boxes were opened, k = 0 .. A", "periods", " x k"},
             [A](const LaneTally& t, Values& out) { out.insert(out.end(), t.depth, t.depth + A + 1); });
    of_tally("regret_parts", {std::size_t{kCountOfParts}},
             {fmt::format("what the regret, the oracle's utility less the lane's, is made of, means over two paths: {}",
                          titles_of(kRegretParts)),
              "reward", " x part"},
             [](const LaneTally& t, Values& out) { append(kRegretParts, t.regret, out); });
    of_tally("regret_path_gaps", {std::size_t{kCountOfGaps}},
             {fmt::format("how parts differ between the paths: {}; NaN: the parts are those of the first path",
                          titles_of(kPathGaps)),
              "reward", " x gap"},
             [](const LaneTally& t, Values& out) { append(kPathGaps, t.regret, out); });
  }

  void add_curves() {
    using Values = std::vector<double>;
    const std::vector<int> at_periods = checkpoints(study_.periods);
    const std::vector<std::int32_t> periods(at_periods.begin(), at_periods.end());
    const std::size_t count = periods.size();
    file_.dataset(group_ + "checkpoints", periods, {count},
                  {"periods at which curves are recorded", "periods", "checkpoint"});
    of_tally("curve", {count}, {"utility summed up to the checkpoint; 0 after a failure", "reward", " x checkpoint"},
             [count](const LaneTally& t, Values& out) { out.insert(out.end(), t.curve, t.curve + count); });
    const auto of_curve = [&](const char* name, std::span<const RegretPart> which, const char* axes) {
      of_tally(name, {count, which.size()}, {"the same summed up to the checkpoint", "reward", axes},
               [count, which](const LaneTally& t, Values& out) {
                 for (std::size_t point = 0; point < count; ++point) append(which, t.regret_curve[point], out);
               });
    };
    of_curve("regret_parts_curve", kRegretParts, " x checkpoint x part");
    of_curve("regret_path_gaps_curve", kPathGaps, " x checkpoint x gap");
  }

  static void append(std::span<const RegretPart> which, const RegretParts& parts, std::vector<double>& out) {
    for (const RegretPart& part : which) out.push_back(parts.*part.member);
  }

  void add_states() {
    const auto counts = [&](const char* name, const char* meaning, const char* units, auto&& pick) {
      std::vector<std::int32_t> values;
      for (std::size_t lane = 0; lane < lanes_; ++lane)
        for (const UnitResult& unit : results_) values.push_back(pick(unit.lanes[lane]));
      file_.dataset(group_ + name, values, {lanes_, replications_}, {meaning, units, "lane x replication"});
    };
    counts("periods", "periods completed: T, fewer if the lane failed", "periods",
           [](const LaneTally& t) { return t.periods; });
    counts("failure",
           "0: none; 1: a number was not finite; 2, 3: the index or reward fit did not converge; 4: a matrix was "
           "not positive definite; 5: the policy failed",
           "", [](const LaneTally& t) { return static_cast<std::int32_t>(t.failure); });
    counts("failed_period", "period of the failure; 0: while calibrating, or none", "periods",
           [](const LaneTally& t) { return t.failed_period; });
  }

  // What policies chose beforehand.
  void add_choices() {
    const std::size_t L = lanes_, R = replications_, A = boxes_;
    std::vector<std::int32_t> length, boxes;
    std::vector<double> thresholds;
    for (std::size_t lane = 0; lane < L; ++lane)
      for (const UnitResult& unit : results_) {
        const LaneNotes& notes = unit.notes[lane];
        length.push_back(static_cast<std::int32_t>(notes.list.size()));
        for (std::size_t k = 0; k < A; ++k) {
          boxes.push_back(k < notes.list.size() ? notes.list[k] : 0);
          thresholds.push_back(k < notes.thresholds.size() ? notes.thresholds[k]
                                                           : std::numeric_limits<double>::quiet_NaN());
        }
      }
    file_.dataset(
        group_ + "choices/length", length, {L, R},
        {"boxes of the order that the policy fixed beforehand; 0: it fixed none", "boxes", "lane x replication"});
    file_.dataset(group_ + "choices/box", boxes, {L, R, A},
                  {"the boxes of that order, from 0; 0 beyond its length", "", "lane x replication x position"});
    file_.dataset(group_ + "choices/threshold", thresholds, {L, R, A},
                  {"FrugalGPT: a response of at least so much is accepted; NaN: none", "reward",
                   "lane x replication x position"});
  }

  // What lanes had learned in the end.
  void add_estimates() {
    const Dimensions& dim = study_.dimensions;
    const std::size_t m = static_cast<std::size_t>(dim.index_size()), d = static_cast<std::size_t>(dim.reward_features);
    const auto of = [&](std::vector<double> LaneNotes::*member, std::size_t size) {
      std::vector<double> values;
      for (std::size_t lane = 0; lane < lanes_; ++lane)
        for (const UnitResult& unit : results_) {
          const std::vector<double>& own = unit.notes[lane].*member;
          if (own.size() == size)
            values.insert(values.end(), own.begin(), own.end());
          else
            values.insert(values.end(), size, std::numeric_limits<double>::quiet_NaN());
        }
      return values;
    };
    file_.dataset(group_ + "estimates/rho", of(&LaneNotes::rho, boxes_ * m), {lanes_, replications_, boxes_, m},
                  {"rho_hat after the last period, LinUCB's eta_hat; NaN: the lane learns none", "",
                   "lane x replication x box x feature"});
    file_.dataset(group_ + "estimates/theta", of(&LaneNotes::theta, d), {lanes_, replications_, d},
                  {"theta_hat after the last period; NaN: the lane learns none", "", "lane x replication x feature"});
  }

  Hdf5File& file_;
  const std::string& group_;
  const Study& study_;
  const Plan& plan_;
  const std::vector<UnitResult>& results_;
  const std::size_t lanes_, replications_, boxes_;
};

void add_instances(Hdf5File& file, const std::string& at, const Dimensions& dim, const Environment& environment,
                   const std::vector<UnitResult>& results) {
  for (const InstanceField& field : kInstanceFields) {
    std::vector<double> values;
    for (const UnitResult& unit : results)
      if (unit.instance)
        values.insert(values.end(), ((*unit.instance).*field.member).begin(), ((*unit.instance).*field.member).end());
    const std::size_t size = size_of(field, dim, environment);
    // an environment of its own may have none
    if (size == 0 || values.size() != results.size() * size) continue;
    Shape shape = {results.size(), static_cast<std::size_t>(field.rows(dim, environment))};
    if (field.columns != nullptr) shape.push_back(static_cast<std::size_t>(field.columns(dim, environment)));
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
  if (study.regret) LaneDatasets(file, at, study, group, results).add();
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

std::string ResultsHdf5::bytes() {
  return state_->file.bytes();
}

}  // namespace pandora
