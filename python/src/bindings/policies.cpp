// Policies that are code in Python: one object per lane, which holds the GIL from its making to its end; and the
// estimates of the built-in policies, for them to use.
#include <fmt/format.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>

#include "bindings.hpp"
#include "kernels/random/distributions.hpp"
#include "pandora/error.hpp"
#include "pandora/policy.hpp"
#include "pandora/weitzman.hpp"

namespace pandora::python {
namespace {

// What a policy gets are copies: it may keep them longer than the replication lives.
struct OwnRequest {
  int period = 0;
  std::shared_ptr<const std::vector<float>> psi;
  std::shared_ptr<const std::vector<double>> sigma;

  explicit OwnRequest(const Request& request)
      : period(request.period),
        psi(std::make_shared<const std::vector<float>>(request.psi.begin(), request.psi.end())),
        sigma(std::make_shared<const std::vector<double>>(request.sigma.begin(), request.sigma.end())) {}

  Request request() const { return {period, *psi, *sigma}; }
};

struct OwnOutput {
  int box = 0;
  std::vector<float> phi;
  double cost = 0.0, mu = 0.0;
  bool shows_mu = true;

  OwnOutput(const Output& output, bool shows)
      : box(output.box), phi(output.phi.begin(), output.phi.end()), cost(output.cost), mu(output.mu), shows_mu(shows) {}

  Output output() const { return {box, phi, cost, mu}; }
};

// A read-only view of an object's own numbers.
template <class T>
nb::ndarray<nb::numpy, const T, nb::ndim<1>> view_of(const std::vector<T>& values, nb::handle owner) {
  return {values.data(), {values.size()}, owner};
}

// What a lane is; valid as long as the lane is run.
struct Lane {
  const Replication* replication = nullptr;
  EstimationOptions estimation;
  int T0 = 0;
  std::string reward, hyperparameter;

  const Replication& there() const {
    if (replication == nullptr) throw Error(ExitCode::usage, "the lane has ended; make estimators while it is run");
    return *replication;
  }
};

// ---- a lane's policy -------------------------------------------------------------------------------------------

[[noreturn]] void rethrow(nb::python_error& error) {
  if (error.matches(PyExc_MemoryError)) throw std::bad_alloc();
  const nb::object own = nb::module_::import_("pandora.errors").attr("LaneFailure");
  if (error.matches(own))
    throw LaneFailure(static_cast<Failure>(nb::cast<int>(error.value().attr("failure"))),
                      nb::str(error.value()).c_str());
  throw std::runtime_error(line_of(error));
}

// What the call returns; what it raises ends the lane with one line.
template <class Call>
auto called(Call&& call) {
  try {
    return call();
  } catch (nb::python_error& error) {
    rethrow(error);
  }
}

template <class T>
T value_of(const nb::object& found, const char* what) {
  try {
    return nb::cast<T>(found);
  } catch (const std::bad_cast&) {
    throw std::runtime_error(std::string(what) + " returned " + nb::repr(found).c_str());
  }
}

class PythonPolicy : public CustomPolicy {
 public:
  PythonPolicy(nb::handle type, const Replication& replication, int T0, const EstimationOptions& options,
               const std::string& reward, const std::string& hyperparameter,
               const std::vector<std::pair<std::string, double>>& values)
      : shows_mu_(reward == "known") {
    lane_ = nb::cast(Lane{&replication, options, T0, reward, hyperparameter});
    called([&] {
      nb::dict arguments;
      for (const auto& [name, value] : values) arguments[name.c_str()] = value;
      policy_ = type(lane_, **arguments);
      const nb::object base = nb::module_::import_("pandora.policy").attr("Policy");
      const auto overrides = [&](const char* name) { return !policy_.type().attr(name).is(base.attr(name)); };
      calibrates_ = overrides("calibrate");
      ranks_ = overrides("ranking");
      scores_ = overrides("scores");
      begin_ = policy_.attr("begin");
      next_ = policy_.attr("next");
      opened_ = policy_.attr("opened");
      deploy_ = policy_.attr("deploy");
      learn_ = policy_.attr("learn");
    });
  }
  ~PythonPolicy() override { nb::cast<Lane&>(lane_).replication = nullptr; }

  void calibrate(const Request& request, const Output& output, std::optional<double> reward) override {
    if (!calibrates_) return;
    called([&] {
      policy_.attr("calibrate")(OwnRequest(request), OwnOutput(output, shows_mu_),
                                reward ? nb::cast(*reward) : nb::none());
    });
  }
  void begin(const Request& request) override {
    called([&] { begin_(OwnRequest(request)); });
  }
  int next() override {
    return called([&] {
      const nb::object found = next_();
      return found.is_none() ? kStop : value_of<int>(found, "next()");
    });
  }
  void opened(const Output& output) override {
    called([&] { opened_(OwnOutput(output, shows_mu_)); });
  }
  int deploy() override {
    return called([&] { return value_of<int>(deploy_(), "deploy()"); });
  }
  std::vector<int> ranking() const override {
    if (!ranks_) return {};
    return called([&] { return value_of<std::vector<int>>(policy_.attr("ranking")(), "ranking()"); });
  }
  std::vector<double> scores() const override {
    if (!scores_) return {};
    return called([&] { return value_of<std::vector<double>>(policy_.attr("scores")(), "scores()"); });
  }
  void learn(double reward) override {
    called([&] { learn_(reward); });
  }

 private:
  const nb::gil_scoped_acquire acquire_;  // first, and so the last to go
  const bool shows_mu_;
  bool calibrates_ = false, ranks_ = false, scores_ = false;
  nb::object lane_, policy_, begin_, next_, opened_, deploy_, learn_;
};

// All combinations of values, the last name fastest, with the texts that lanes are named by.
struct Combination {
  std::vector<std::pair<std::string, double>> values;
  std::string text;
};
std::vector<Combination> combinations(const std::vector<Hyperparameter>& hyperparameters, const Grids& grids) {
  std::vector<Combination> out(1);
  for (const Hyperparameter& h : hyperparameters) {
    std::vector<Combination> longer;
    for (const Combination& one : out)
      for (const double value : grids.of(h.name)) {
        Combination next = one;
        next.values.emplace_back(h.name, value);
        next.text += fmt::format("{}{}={}", next.text.empty() ? "" : ";", h.name, value);
        longer.push_back(std::move(next));
      }
    out = std::move(longer);
  }
  return out;
}

void register_python_policy(
    nb::object type, const std::string& name, const std::string& title, const std::string& summary,
    const std::string& code, const std::vector<std::string>& rewards,
    const std::vector<std::tuple<std::string, std::string, std::vector<double>>>& hyperparameters,
    bool needs_calibration, bool uses_calibration) {
  PyObject* const kept = type.release().ptr();  // to the end of the process: a run may still make objects of it
  Policy policy;
  policy.name = name;
  policy.title = title;
  policy.summary = summary;
  policy.code = code;
  policy.needs_calibration = needs_calibration;
  policy.uses_calibration = uses_calibration;
  policy.by_name_only = true;
  for (const auto& [own, meaning, grid] : hyperparameters) policy.hyperparameters.push_back({own, meaning, grid});
  policy.variants = [kept, rewards, own = policy.hyperparameters](const Grids& grids) {
    std::vector<PolicyVariant> variants;
    for (const std::string& reward : rewards)
      for (const Combination& values : combinations(own, grids)) {
        PolicyVariant variant;
        variant.reward = reward;
        variant.hyperparameter = values.text;
        variant.custom = [kept, reward, values](const Replication& replication, int T0,
                                                const EstimationOptions& options) -> std::unique_ptr<CustomPolicy> {
          return std::make_unique<PythonPolicy>(kept, replication, T0, options, reward, values.text, values.values);
        };
        variants.push_back(std::move(variant));
      }
    return variants;
  };
  register_policy(std::move(policy));
}

// ---- estimates ---------------------------------------------------------------------------------------------------

template <class Enum>
Enum word(const char* what, const std::string& text, std::initializer_list<const char*> names) {
  int number = 0;
  std::string list;
  for (const char* name : names) {
    if (text == name) return static_cast<Enum>(number);
    list += (number++ > 0 ? ", " : "") + std::string(name);
  }
  throw Error(ExitCode::usage, std::string(what) + " \"" + text + "\": use one of " + list);
}

// Keeps the request that its questions are about.
class Estimator {
 public:
  Estimator(const Lane& lane, const LaneSpec& rules)
      : estimator_(lane.there(), rules, lane.estimation),
        boxes_(lane.there().tape.boxes()),
        features_(lane.there().tape.contexts.reward_features) {}

  void calibrate(const OwnRequest& request, const OwnOutput& output, std::optional<double> reward) {
    require(output);
    keep(request);
    estimator_.calibrate(request_->request(), output.output(), reward);
  }
  void begin(const OwnRequest& request) {
    keep(request);
    estimator_.begin(request_->request());
    has_begun_ = true;
  }
  WeitzmanEstimator& of(int box) {
    if (box < 0 || box >= boxes_)
      throw Error(ExitCode::usage, fmt::format("box {} is none of 0 to {}", box, boxes_ - 1));
    if (!has_begun_) throw Error(ExitCode::usage, "WeitzmanEstimator: call begin(request) first");
    return estimator_;
  }
  double reward(const OwnOutput& output) {
    require(output);
    return estimator_.reward(output.output());
  }
  double reward_width(const std::vector<float>& phi) {
    if (static_cast<int>(phi.size()) != features_)
      throw Error(ExitCode::usage, fmt::format("phi has {} numbers, not {}", features_, phi.size()));
    return estimator_.reward_width(phi);
  }
  std::vector<double> theta() const { return {estimator_.theta().begin(), estimator_.theta().end()}; }
  void learn(const std::vector<OwnOutput>& opened, int deployed, double reward) {
    (void)of(deployed);
    std::vector<Output> outputs;
    for (const OwnOutput& output : opened) {
      require(output);
      outputs.push_back(output.output());
    }
    if (std::none_of(outputs.begin(), outputs.end(), [&](const Output& o) { return o.box == deployed; }))
      throw Error(ExitCode::usage,
                  fmt::format("learn: box {} was deployed and is not among the opened ones", deployed));
    estimator_.learn(outputs, deployed, reward);
  }

 private:
  void keep(const OwnRequest& request) { request_ = std::make_unique<OwnRequest>(request); }
  void require(const OwnOutput& output) const {
    if (output.box < 0 || output.box >= boxes_ || static_cast<int>(output.phi.size()) != features_)
      throw Error(ExitCode::usage, "an output of another lane");
  }

  WeitzmanEstimator estimator_;
  std::unique_ptr<OwnRequest> request_;
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
  if (score != "payoff" && score != "index")
    throw Error(ExitCode::usage, "score \"" + score + "\": use index or payoff");
  rules.reward = reward.value_or(lane.reward) == "unknown" ? RewardModel::learned : RewardModel::known;
  if (rules.reward == RewardModel::known && lane.reward != "known" && score == "index")
    throw Error(ExitCode::usage, "the estimator would learn from mu*, which this lane (reward \"" + lane.reward +
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

void bind_estimator(nb::module_& module) {
  nb::class_<Estimator>(
      module, "WeitzmanEstimator",
      "What the built-in policies learn with: rho_hat, V^-1 and theta_hat, Phi^-1 with their widths.\n\n"
      "Make one in the policy's __init__ from the lane that it gets. In a period: begin, any "
      "questions, then\nlearn; before the first, calibrate for every calibration period. A policy "
      "that asks what a built-in one\nasks has its numbers in every digit (engine.kind = "
      "\"reference\").")
      .def("__init__", &make_estimator, nb::arg("lane"), nb::kw_only(), nb::arg("reward").none() = nb::none(),
           nb::arg("learning") = "online", nb::arg("c_rho") = 0.0, nb::arg("c_theta") = 0.0, nb::arg("c_b") = 0.0,
           nb::arg("score") = "index", nb::arg("loss") = "reservation", nb::arg("fit") = "separate",
           nb::arg("bonus") = "constant", nb::arg("thompson") = false, nb::arg("forced") = 0)
      .def("calibrate", &Estimator::calibrate, nb::arg("request"), nb::arg("output"), nb::arg("reward").none(),
           "A calibration period, as Policy.calibrate is told of it.")
      .def("begin", &Estimator::begin, nb::arg("request"), "A period begins.")
      .def(
          "linear", [](Estimator& e, int box) { return e.of(box).linear(box); }, nb::arg("box"),
          "rho_hat_a' psi(x_t); with score=\"payoff\" eta_hat_a' psi.")
      .def(
          "width", [](Estimator& e, int box) { return e.of(box).width(box); }, nb::arg("box"),
          "||psi(x_t)||_{V_a^-1}; 0 without a bonus.")
      .def(
          "bonus", [](Estimator& e, int box) { return e.of(box).bonus(box); }, nb::arg("box"),
          "What the rules put on the width: c_rho (or c_b) times its schedule.")
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
          "n_a, outputs of the box that were learned from.")
      .def(
          "rho",
          [](Estimator& e, int box) {
            const std::span<const double> rho = e.of(box).rho(box);
            return array_of(std::vector<double>(rho.begin(), rho.end()), {rho.size()});
          },
          nb::arg("box"), "rho_hat_a, m numbers.")
      .def(
          "theta",
          [](const Estimator& e) {
            std::vector<double> theta = e.theta();
            const std::size_t n = theta.size();
            return array_of(std::move(theta), {n});
          },
          "theta_hat, d numbers; none where mu* is known.")
      .def(
          "learn", &Estimator::learn, nb::arg("opened"), nb::arg("deployed"), nb::arg("reward"),
          "Ends the period: the outputs that were opened, in order, of which that of box `deployed` brought `reward`.");
}

void bind_lane(nb::module_& module) {
  nb::class_<Lane>(module, "LaneSetup", "What a policy is made for: one lane of a study.")
      .def_prop_ro(
          "boxes", [](const Lane& l) { return l.there().tape.boxes(); }, "A")
      .def_prop_ro(
          "index_features", [](const Lane& l) { return l.there().tape.contexts.index_size; }, "m, the length of psi(x)")
      .def_prop_ro(
          "reward_features", [](const Lane& l) { return l.there().tape.contexts.reward_features; },
          "d, the length of phi")
      .def_prop_ro(
          "periods", [](const Lane& l) { return l.there().tape.online_rows; }, "T")
      .def_ro("T0", &Lane::T0, "calibration periods")
      .def_ro("reward", &Lane::reward, "known, unknown or none: whether outputs show mu")
      .def_ro("hyperparameter", &Lane::hyperparameter, "the values of the hyperparameters, as the lane's name has them")
      .def_prop_ro("environment", [](const Lane& l) { return l.there().instance.environment.name; })
      .def_prop_ro("regime", [](const Lane& l) { return std::string(regime_name(l.there().instance.regime)); })
      .def_prop_ro("replication", [](const Lane& l) { return l.there().instance.replication; })
      .def_prop_ro(
          "random_words",
          [](const Lane& l) {
            const Stream stream = l.there().instance.stream(Purpose::custom_policy);
            std::uint32_t words[4][1];
            philox<1>(stream, {0}, {0}, {0}, words);
            return std::vector<std::uint32_t>{words[0][0], words[1][0], words[2][0], words[3][0]};
          },
          "Four words for the seed of a policy's own draws: those of the replication, the same for all its lanes.");
}

}  // namespace

void bind_policies(nb::module_& module) {
  nb::class_<OwnRequest>(module, "Request", "A request: what is known before anything is queried.")
      .def_ro("period", &OwnRequest::period, "1..T; 1..T0 while calibrating, 0 for x_0")
      .def_prop_ro(
          "psi", [](nb::handle self) { return view_of(*nb::cast<OwnRequest&>(self).psi, self); },
          "psi(x_t), m numbers, psi[0] = 1")
      .def_prop_ro(
          "sigma", [](nb::handle self) { return view_of(*nb::cast<OwnRequest&>(self).sigma, self); },
          "the oracle's indices, for yardsticks alone; empty while calibrating");
  nb::class_<OwnOutput>(module, "Output", "What opening a box reveals.")
      .def_ro("box", &OwnOutput::box, "0..A-1")
      .def_prop_ro(
          "phi", [](nb::handle self) { return view_of(nb::cast<OwnOutput&>(self).phi, self); },
          "phi(x_t, omega_ta), d numbers")
      .def_ro("cost", &OwnOutput::cost, "c_a(x_t, omega_ta)")
      .def_prop_ro(
          "mu", [](const OwnOutput& o) { return o.shows_mu ? o.mu : std::numeric_limits<double>::quiet_NaN(); },
          "mu*(x_t, omega_ta); NaN unless the lane's reward is known");
  bind_lane(module);
  bind_estimator(module);
  module.def("register_policy", &register_python_policy, nb::kw_only(), nb::arg("type"), nb::arg("name"),
             nb::arg("title"), nb::arg("summary"), nb::arg("code"), nb::arg("rewards"), nb::arg("hyperparameters"),
             nb::arg("needs_calibration"), nb::arg("uses_calibration"));
  module.def(
      "policies",
      [] {
        std::vector<std::tuple<std::string, std::string, std::string, bool>> out;
        for (const Policy& policy : all_policies())
          out.emplace_back(policy.name, policy.title.empty() ? policy.name : policy.title, policy.summary,
                           policy.by_name_only);
        return out;
      },
      "Name, title, summary and whether it runs only where a study names it, of every policy.");
  module.def(
      "code_of_policy",
      [](const std::string& name) {
        const Policy* const policy = find_policy(name);
        return policy == nullptr ? std::string() : policy->code;
      },
      nb::arg("name"));
}

}  // namespace pandora::python
