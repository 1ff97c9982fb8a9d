// Policies that are Python code: one object per lane, which holds the GIL from its construction to its destruction.
#include "policies.hpp"

#include <fmt/format.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <stdexcept>
#include <variant>

#include "beside.hpp"
#include "kernels/random/distributions.hpp"

namespace pandora::python {
namespace {

// A read-only view of an object's own numbers.
template <class T>
nb::ndarray<nb::numpy, const T, nb::ndim<1>> view_of(const std::vector<T>& values, nb::handle owner) {
  return {values.data(), {values.size()}, owner};
}

// ---- a lane's policy -------------------------------------------------------------------------------------------

[[noreturn]] void rethrow(nb::python_error& error) {
  if (error.matches(PyExc_MemoryError)) throw std::bad_alloc();
  if (error.matches(PyExc_KeyboardInterrupt)) end_lane_if_interrupted();
  const nb::object own = nb::module_::import_("pandora.errors").attr("LaneFailure");
  if (error.matches(own))
    throw LaneFailure(static_cast<Failure>(nb::cast<int>(error.value().attr("failure"))),
                      nb::str(error.value()).c_str());
  throw std::runtime_error(line_of(error));
}

// Returns the result of the call. If the call raises, the lane ends with one line about it.
template <class Call>
auto called(Call&& call) {
  try {
    return call();
  } catch (nb::python_error& error) {
    rethrow(error);
  }
}

template <class T>
T value_of(const nb::object& found, const char* what, const char* wanted) {
  try {
    return nb::cast<T>(found);
  } catch (const std::bad_cast&) {
    throw std::runtime_error(std::string(what) + " returned " + nb::repr(found).c_str() + "; give " + wanted);
  }
}

using Value = std::variant<double, std::string>;  // of a hyperparameter

class PythonPolicy : public CustomPolicy {
 public:
  PythonPolicy(nb::handle type, const Replication& replication, int T0, const EstimationOptions& options,
               const std::string& reward, const std::string& hyperparameter,
               const std::vector<std::pair<std::string, Value>>& values)
      : shows_mu_(reward == "known") {
    lane_ = nb::cast(Lane{&replication, options, T0, reward, hyperparameter});
    called([&] {
      nb::dict arguments;
      for (const auto& [name, value] : values)
        std::visit([&, key = name.c_str()](const auto& x) { arguments[key] = nb::cast(x); }, value);
      policy_ = type(lane_, **arguments);
      const nb::object base = nb::module_::import_("pandora.policy").attr("Policy");
      const auto overrides = [&](const char* name) { return !policy_.type().attr(name).is(base.attr(name)); };
      calibrates_ = overrides("calibrate");
      ranks_ = overrides("ranking");
      scores_ = overrides("scores");
      opens_of_ = overrides("opens_of");
      waits_ = overrides("learn_late");
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
      return found.is_none() ? kStop
                             : value_of<int>(found, "next()", "the index of a box, from 0 to A - 1, or None to stop");
    });
  }
  void opened(const Output& output) override {
    called([&] { opened_(OwnOutput(output, shows_mu_)); });
  }
  int deploy() override {
    return called([&] {
      const nb::object found = deploy_();
      return found.is_none() ? kOutside
                             : value_of<int>(found, "deploy()",
                                             "the index of a box that was opened, or None for the outside option");
    });
  }
  std::vector<int> ranking() const override {
    if (!ranks_) return {};
    return called([&] {
      return value_of<std::vector<int>>(policy_.attr("ranking")(), "ranking()", "a list of indices of boxes");
    });
  }
  std::optional<int> opens_of(std::span<const Output> outputs, std::span<const double> worth) override {
    if (!opens_of_) return {};
    return called([&]() -> std::optional<int> {
      nb::list shown;
      for (const Output& output : outputs) shown.append(OwnOutput(output, shows_mu_));
      const nb::object found =
          policy_.attr("opens_of")(shown, nb::cast(std::vector<double>(worth.begin(), worth.end())));
      if (found.is_none()) return {};
      return value_of<int>(found, "opens_of()", "a number of outputs, or None");
    });
  }
  std::vector<double> scores() const override {
    if (!scores_) return {};
    return called(
        [&] { return value_of<std::vector<double>>(policy_.attr("scores")(), "scores()", "a list of A numbers"); });
  }
  void learn(double reward) override {
    called([&] { learn_(std::isnan(reward) ? nb::none() : nb::cast(reward)); });
  }
  bool waits_for_rewards() const override { return waits_; }
  void learn_late(int period, double reward) override {
    called([&] { policy_.attr("learn_late")(period, reward); });
  }

 private:
  const nb::gil_scoped_acquire acquire_;  // the first member, so the last to be destroyed
  const InPython in_python_;
  const bool shows_mu_;
  bool calibrates_ = false, ranks_ = false, scores_ = false, opens_of_ = false, waits_ = false;
  nb::object lane_, policy_, begin_, next_, opened_, deploy_, learn_;
};

// All combinations of values (the last name changes fastest), with the texts by which lanes are named.
struct Combination {
  std::vector<std::pair<std::string, Value>> values;
  std::string text;
};
std::vector<Value> values_of(const Hyperparameter& h, const Grids& grids) {
  const auto as_values = [](const auto& list) { return std::vector<Value>(list.begin(), list.end()); };
  return h.texts.empty() ? as_values(grids.values(h.name)) : as_values(grids.texts(h));
}

std::vector<Combination> combinations(const std::vector<Hyperparameter>& hyperparameters, const Grids& grids) {
  std::vector<Combination> out(1);
  for (const Hyperparameter& h : hyperparameters) {
    std::vector<Combination> longer;
    for (const Combination& one : out)
      for (const Value& value : values_of(h, grids)) {
        Combination next = one;
        next.values.emplace_back(h.name, value);
        const std::string text = std::visit([](const auto& x) { return fmt::format("{}", x); }, value);
        next.text += fmt::format("{}{}={}", next.text.empty() ? "" : ";", h.name, text);
        longer.push_back(std::move(next));
      }
    out = std::move(longer);
  }
  return out;
}

void register_python_policy(
    nb::object type, const std::string& name, const std::string& title, const std::string& summary,
    const std::string& code, const Texts& rewards,
    const std::vector<std::tuple<std::string, std::string, std::vector<double>, Texts>>& hyperparameters,
    bool needs_calibration, bool uses_calibration, bool yardstick) {
  PyObject* const kept = type.release().ptr();  // to the process's end: a run may still make objects of it
  Policy policy;
  policy.name = name;
  policy.title = title;
  policy.summary = summary;
  policy.code = code;
  policy.needs_calibration = needs_calibration;
  policy.uses_calibration = uses_calibration;
  policy.by_name_only = true;
  if (yardstick) policy.group = PolicyGroup::yardstick;
  for (const auto& [own, meaning, grid, texts] : hyperparameters)
    policy.hyperparameters.push_back({.name = own, .meaning = meaning, .grid = grid, .texts = texts});
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

void bind_lane(nb::module_& module) {
  nb::class_<Lane>(module, "LaneSetup", "The lane of a study for which a policy is made.")
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
  nb::class_<OwnRequest>(module, "Request", "A request: everything that is known before a box is opened.")
      .def_ro("period", &OwnRequest::period, "1..T; 1..T0 while calibrating, 0 for x_0")
      .def(
          "is_there", [](const OwnRequest& request, int box) { return box >= 0 && holds(request.there, box); },
          nb::arg("box"), "Whether the box can be opened: others have not come yet, or have gone")
      .def_prop_ro(
          "psi", [](nb::handle self) { return view_of(*nb::cast<OwnRequest&>(self).psi, self); },
          "psi(x_t), m numbers, psi[0] = 1")
      .def_prop_ro(
          "sigma", [](nb::handle self) { return view_of(*nb::cast<OwnRequest&>(self).sigma, self); },
          "the oracle's indices; NaN unless the policy is a yardstick, empty while calibrating");
  nb::class_<OwnOutput>(module, "Output", "What opening a box reveals.")
      .def_ro("box", &OwnOutput::box, "Its index, 0..A-1.")
      .def_prop_ro(
          "phi", [](nb::handle self) { return view_of(nb::cast<OwnOutput&>(self).phi, self); },
          "phi(x_t, omega_ta), d numbers")
      .def_ro("cost", &OwnOutput::cost, "c_a(x_t, omega_ta)")
      .def_prop_ro(
          "mu", [](const OwnOutput& o) { return o.shows_mu ? o.mu : kUnknown; },
          "mu*(x_t, omega_ta); NaN unless the lane's reward is known");
  bind_lane(module);
  bind_estimator(module);
  module.def("register_policy", &register_python_policy, nb::kw_only(), nb::arg("type"), nb::arg("name"),
             nb::arg("title"), nb::arg("summary"), nb::arg("code"), nb::arg("rewards"), nb::arg("hyperparameters"),
             nb::arg("needs_calibration"), nb::arg("uses_calibration"), nb::arg("yardstick"));
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
