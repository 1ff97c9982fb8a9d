#include "host/results/results_hdf5.hpp"

#include <fmt/format.h>

#include <functional>

#include "host/files/hdf5_file.hpp"
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

void add_lanes(Hdf5File& file, const std::string& at, const Study& study, const Plan& plan,
               const std::vector<UnitResult>& results) {
  const std::size_t L = plan.lanes.size(), R = results.size(), A = static_cast<std::size_t>(study.dimensions.boxes);
  std::vector<std::string> policies, rewards, hyperparameters;
  std::vector<std::int32_t> T0;
  for (const PlannedLane& lane : plan.lanes) {
    policies.push_back(lane.policy->name);
    rewards.push_back(lane.variant.reward);
    hyperparameters.push_back(lane.variant.hyperparameter);
    T0.push_back(lane.policy->uses_calibration ? lane.T0 : -1);
  }
  file.dataset(at + "lanes/policy", policies, {L}, {"policy; lane 0 is the oracle", "", "lane"});
  file.dataset(at + "lanes/reward", rewards, {L},
               {"known, unknown or none: how the policy evaluates outputs", "", "lane"});
  file.dataset(at + "lanes/hyperparameter", hyperparameters, {L}, {"values of the hyperparameters", "", "lane"});
  file.dataset(at + "lanes/T0", T0, {L},
               {"T_0; -1: the policy does not calibrate, the lane serves every T_0", "periods", "lane"});

  const auto numbers = [&](const char* name, const char* what, const char* units, double LaneTally::*member) {
    file.dataset(at + name,
                 of_lanes(results, L, [&](const LaneTally& t, std::vector<double>& out) { out.push_back(t.*member); }),
                 {L, R}, {what, units, "lane x replication"});
  };
  numbers("utility", "sum over the periods of mu* of the deployed output minus the costs", "reward",
          &LaneTally::utility);
  numbers("utility_squares", "sum of the squares of the same per period", "reward^2", &LaneTally::utility_squares);
  numbers("realised_utility", "the sum with the Bernoulli reward in place of mu*", "reward",
          &LaneTally::realised_utility);
  file.dataset(at + "queries_of_box",
               of_lanes(results, L,
                        [&](const LaneTally& t, std::vector<double>& out) {
                          out.insert(out.end(), t.queries_of_box, t.queries_of_box + A);
                        }),
               {L, R, A}, {"periods in which the box was opened", "periods", "lane x replication x box"});
  file.dataset(
      at + "depth",
      of_lanes(results, L,
               [&](const LaneTally& t, std::vector<double>& out) { out.insert(out.end(), t.depth, t.depth + A + 1); }),
      {L, R, A + 1}, {"periods in which k boxes were opened, k = 0 .. A", "periods", "lane x replication x k"});
  const std::vector<int> at_periods = checkpoints(study.periods);
  const std::vector<std::int32_t> periods(at_periods.begin(), at_periods.end());
  file.dataset(at + "checkpoints", periods, {periods.size()},
               {"periods at which curves are recorded", "periods", "checkpoint"});
  file.dataset(at + "curve",
               of_lanes(results, L,
                        [&](const LaneTally& t, std::vector<double>& out) {
                          out.insert(out.end(), t.curve, t.curve + periods.size());
                        }),
               {L, R, periods.size()},
               {"utility summed up to the checkpoint; 0 after a failure", "reward", "lane x replication x checkpoint"});
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
}

void add_instances(Hdf5File& file, const std::string& at, const Dimensions& dim,
                   const std::vector<UnitResult>& results) {
  const std::size_t R = results.size(), A = static_cast<std::size_t>(dim.boxes),
                    d = static_cast<std::size_t>(dim.reward_features), dx = static_cast<std::size_t>(dim.context),
                    dw = static_cast<std::size_t>(dim.output);
  struct Field {
    const char *name, *what, *units, *dimensions;
    std::vector<double> Instance::*member;
    Shape shape;
  };
  const Field fields[] = {
      {"theta", "theta_*", "", "replication x d", &Instance::theta, {R, d}},
      {"D", "D of phi = Q x + D omega", "", "replication x d x d_w", &Instance::D, {R, d, dw}},
      {"Q", "Q, zero in regime A", "", "replication x d x d_x", &Instance::Q, {R, d, dx}},
      {"alpha", "alpha_a of the scales, zero in regime A", "", "replication x box x d_x", &Instance::alpha, {R, A, dx}},
      {"beta0",
       "beta_{0,a} of the context costs, zero in regime A",
       "",
       "replication x box x d_x",
       &Instance::beta0,
       {R, A, dx}},
      {"beta1",
       "beta_{1,a} of the output costs, zero in regime A",
       "",
       "replication x box x d_w",
       &Instance::beta1,
       {R, A, dw}},
      {"c0", "c_{0,a}", "reward", "replication x box", &Instance::c0, {R, A}},
      {"c1", "c_{1,a}", "reward", "replication x box", &Instance::c1, {R, A}},
  };
  for (const Field& field : fields) {
    std::vector<double> values;
    std::size_t wanted = 1;
    for (const std::size_t n : field.shape) wanted *= n;
    for (const UnitResult& unit : results)
      if (unit.instance)
        values.insert(values.end(), ((*unit.instance).*field.member).begin(), ((*unit.instance).*field.member).end());
    if (values.size() != wanted) continue;  // an environment of its own may have no such parameter
    file.dataset(at + "instances/" + field.name, values, field.shape, {field.what, field.units, field.dimensions});
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
