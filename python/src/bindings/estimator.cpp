// The estimates of the built-in policies, for policies in Python.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "pandora/weitzman.hpp"
#include "policies.hpp"

namespace pandora::python {
namespace {

template <class Enum>
Enum word(const char* what, const std::string& text, std::initializer_list<const char*> names) {
  int number = 0;
  std::string list;
  for (const char* name : names) {
    if (text == name) return static_cast<Enum>(number);
    list += (number++ > 0 ? ", " : "") + std::string(name);
  }
  throw misuse(fmt::format("{} \"{}\": use one of {}", what, text, list));
}

// Keeps the request to which its questions refer.
class Estimator {
 public:
  Estimator(const Lane& lane, const LaneSpec& rules)
      : estimator_(lane.there(), rules, lane.estimation),
        boxes_(lane.there().tape.boxes()),
        features_(lane.there().tape.contexts.reward_features) {}

  void calibrate(const OwnRequest& request, const OwnOutput& output, std::optional<double> reward) {
    require(output);
    request_.emplace(request);
    estimator_.calibrate(request_->request(), output.output(), reward);
  }
  void begin(const OwnRequest& request) {
    request_.emplace(request);
    estimator_.begin(request_->request());
    has_begun_ = true;
  }
  WeitzmanEstimator& of(int box) {
    if (box < 0 || box >= boxes_)
      throw misuse(fmt::format("{} is none of the indices of boxes, 0 to {}", box, boxes_ - 1));
    if (!has_begun_) throw misuse("WeitzmanEstimator: call begin(request) first");
    return estimator_;
  }
  double reward(const OwnOutput& output) {
    require(output);
    return estimator_.reward(output.output());
  }
  double reward_width(const std::vector<float>& phi) {
    if (static_cast<int>(phi.size()) != features_)
      throw misuse(fmt::format("phi has {} numbers, not {}", features_, phi.size()));
    return estimator_.reward_width(phi);
  }
  std::span<const double> theta() const { return estimator_.theta(); }
  void learn(const std::vector<OwnOutput>& opened, int deployed, double reward) {
    (void)of(deployed);
    std::vector<Output> outputs;
    for (const OwnOutput& output : opened) {
      require(output);
      outputs.push_back(output.output());
    }
    if (std::none_of(outputs.begin(), outputs.end(), [&](const Output& o) { return o.box == deployed; }))
      throw misuse(fmt::format("learn: {} is the index of a box that is not among the opened ones", deployed));
    estimator_.learn(outputs, deployed, reward);
  }

 private:
  void require(const OwnOutput& output) const {
    if (output.box < 0 || output.box >= boxes_ || static_cast<int>(output.phi.size()) != features_)
      throw misuse("an output of another lane");
  }

  WeitzmanEstimator estimator_;
  std::optional<OwnRequest> request_;
  const int boxes_, features_;
  bool has_begun_ = false;
};

void make_estimator(Estimator* self, const Lane& lane, const std::optional<std::string>& reward,
                    const std::string& learning, double c_rho, double c_theta, double c_b, const std::string& score,
                    const std::string& loss, const std::string& fit, const std::string& bonus, bool thompson,
                    int forced) {
  LaneSpec rules;
  rules.T0 = lane.T0;
  rules.score = score == "payoff" ? Score::learned_payoff : Score::learned_index;
  if (score != "payoff" && score != "index") throw misuse("score \"" + score + "\": use index or payoff");
  rules.reward = reward.value_or(lane.reward) == "unknown" ? RewardModel::learned : RewardModel::known;
  if (rules.reward == RewardModel::known && lane.reward != "known" && score == "index")
    throw misuse("the estimator would learn from mu*, which this lane (reward \"" + lane.reward +
                 "\") does not show; use reward=\"unknown\"");
  rules.learning = word<Learning>("learning", learning, {"none", "calibration", "online"});
  rules.c_rho = c_rho;
  rules.c_theta = c_theta;
  rules.c_b = c_b;
  rules.loss = word<Loss>("loss", loss, {"reservation", "linear_quadratic"});
  rules.fit = word<Fit>("fit", fit, {"separate", "shrunk"});
  rules.bonus.kind = word<Bonus>("bonus", bonus, {"constant", "inverse_sqrt", "log", "log_ratio", "count", "theory"});
  rules.thompson = thompson;
  rules.forced = forced;
  const Tape& tape = lane.there().tape;
  rules = with_estimation(rules, lane.estimation, tape.boxes(), tape.contexts.index_size, tape.contexts.reward_features,
                          tape.online_rows);
  new (self) Estimator(lane, rules);
}

}  // namespace

void bind_estimator(nb::module_& module) {
  nb::class_<Estimator>(
      module, "WeitzmanEstimator",
      "The estimator with which the built-in policies learn: rho_hat, V^-1 and theta_hat, Phi^-1 with their "
      "widths.\n\nMake one in the policy's __init__ from the lane that it gets. Call calibrate for every calibration "
      "period.\nThen, in each period, call begin, ask any questions, and call learn. A policy that asks the same "
      "questions\nas a built-in one gets the same numbers in every digit (engine.kind = \"reference\").")
      .def("__init__", &make_estimator, nb::arg("lane"), nb::kw_only(), nb::arg("reward").none() = nb::none(),
           nb::arg("learning") = "online", nb::arg("c_rho") = 0.0, nb::arg("c_theta") = 0.0, nb::arg("c_b") = 0.0,
           nb::arg("score") = "index", nb::arg("loss") = "reservation", nb::arg("fit") = "separate",
           nb::arg("bonus") = "constant", nb::arg("thompson") = false, nb::arg("forced") = 0)
      .def("calibrate", &Estimator::calibrate, nb::arg("request"), nb::arg("output"), nb::arg("reward").none(),
           "Takes a calibration period, with the arguments of Policy.calibrate.")
      .def("begin", &Estimator::begin, nb::arg("request"), "A period begins.")
      .def(
          "linear", [](Estimator& e, int box) { return e.of(box).linear(box); }, nb::arg("box"),
          "rho_hat_a' psi(x_t); with score=\"payoff\" eta_hat_a' psi.")
      .def(
          "width", [](Estimator& e, int box) { return e.of(box).width(box); }, nb::arg("box"),
          "||psi(x_t)||_{V_a^-1}; 0 without a bonus.")
      .def(
          "bonus", [](Estimator& e, int box) { return e.of(box).bonus(box); }, nb::arg("box"),
          "The factor on the width: c_rho (or c_b) times its schedule.")
      .def(
          "index",
          [](Estimator& e, int box, std::optional<double> bonus) {
            return bonus ? e.of(box).index(box, *bonus) : e.of(box).index(box);
          },
          nb::arg("box"), nb::arg("bonus").none() = nb::none(),
          "Lambda(linear + bonus * width), the optimistic index; `bonus` in place of the rules' own.")
      .def("reward", &Estimator::reward, nb::arg("output"),
           "mu of an opened output: mu*, or G(theta_hat' phi + c_theta ||phi||_{Phi^-1}).")
      .def("reward_width", &Estimator::reward_width, nb::arg("phi"), "||phi||_{Phi^-1}")
      .def(
          "samples", [](Estimator& e, int box) { return e.of(box).samples(box); }, nb::arg("box"),
          "n_a, the number of the box's outputs that were learned.")
      .def(
          "rho", [](Estimator& e, int box) { return array_of(e.of(box).rho(box)); }, nb::arg("box"),
          "rho_hat_a, m numbers.")
      .def(
          "theta", [](const Estimator& e) { return array_of(e.theta()); },
          "theta_hat, d numbers; none where mu* is known.")
      .def("learn", &Estimator::learn, nb::arg("opened"), nb::arg("deployed"), nb::arg("reward"),
           "Ends the period. Takes the opened outputs in order, and the reward of box `deployed`.");
}

}  // namespace pandora::python
