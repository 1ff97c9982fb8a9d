#include "requests.hpp"

#include <algorithm>
#include <functional>

namespace pandora::python {
namespace {

using View = nb::ndarray<nb::numpy, const double>;

// A read-only view of numbers that live as long as the request.
View view_of(const std::vector<double>& values, const std::vector<std::size_t>& shape, nb::handle owner) {
  return View(values.data(), shape.size(), shape.data(), owner);
}

std::vector<std::size_t> cells_of(const ReplicationRequest& request) {
  return {rows_of(request), static_cast<std::size_t>(request.dimensions.boxes)};
}

// The paper's model under the environment's law, as arrays.
Dict model_of(const ModelRequest& self) {
  const ReplicationRequest& request = self.asked;
  const IndexProblem& problem = self.problem();
  Tape tape;
  const std::vector<double> sigma = without_gil([&] {
    tape = draw_tape(problem.instance, request.calibration_periods, request.periods);
    return oracle_indices(problem.instance, problem.sample, tape.contexts, request.oracle, tape.online_row(0));
  });
  const std::size_t rows = rows_of(request), A = static_cast<std::size_t>(request.dimensions.boxes),
                    m = static_cast<std::size_t>(request.dimensions.index_size()),
                    d = static_cast<std::size_t>(request.dimensions.reward_features);
  std::vector<double> psi;
  for (int row = 0; row < tape.contexts.rows; ++row)
    psi.insert(psi.end(), tape.contexts.psi_row(row), tape.contexts.psi_row(row) + m);
  nb::dict out;
  out["psi"] = nb::cast(array_of(std::move(psi), {rows, m}));
  out["phi"] = nb::cast(array_of(std::vector<double>(tape.phi.begin(), tape.phi.end()), {rows, A, d}));
  out["mu"] = nb::cast(array_of(tape.mu, {rows, A}));
  out["cost"] = nb::cast(array_of(tape.cost, {rows, A}));
  out["reward"] = nb::cast(array_of(std::vector<double>(tape.reward.begin(), tape.reward.end()), {rows, A}));
  out["sigma"] = nb::cast(array_of(sigma, {rows, A}));
  return out;
}

// Returns `of(problem)` of the model or, if it is given, of the model with another theta_*. Runs without the GIL.
template <class Of>
auto of_problem(const ModelRequest& self, const std::optional<Numbers>& theta, Of&& of) {
  const IndexProblem& model = self.problem();
  return without_gil([&] {
    if (!theta) return of(model);
    Instance instance = model.instance;
    instance.theta.assign(theta->data(), theta->data() + theta->shape(0));
    return of(IndexProblem(self.asked, std::move(instance)));
  });
}

// sigma of every cell of the online rows, NaN before. NaN in an argument means the model's value under theta.
Array<double> indices(const ModelRequest& self, const Cells& ell, const Cells& scale, const Cells& cost,
                      const std::optional<Numbers>& theta) {
  const std::vector<std::size_t> shape = cells_of(self.asked);
  std::vector<double> found = of_problem(self, theta, [&](const IndexProblem& problem) {
    IndexInputs inputs = problem.inputs;
    const std::size_t A = shape[1], first = A * (1 + static_cast<std::size_t>(self.asked.calibration_periods));
    std::fill_n(inputs.cost.begin(), first, kUnknown);
    for (std::size_t at = first; at < inputs.cost.size(); ++at) {
      if (ell.data()[at] == ell.data()[at]) inputs.shift[at] = ell.data()[at];
      if (scale.data()[at] == scale.data()[at]) inputs.scale[at] = scale.data()[at] * problem.sample.projection_norm;
      if (cost.data()[at] == cost.data()[at]) inputs.cost[at] = cost.data()[at];
    }
    return indices_of(problem.sample, inputs, self.asked.oracle);
  });
  return array_of(std::move(found), shape);
}

nb::typed<nb::tuple, Array<double>, Array<double>> law_of(const ModelRequest& self, int n,
                                                          const std::optional<Numbers>& theta) {
  auto [points, shift] = of_problem(self, theta, [n](const IndexProblem& problem) {
    std::vector<double> values = compressed_law(problem.sample.projected, n).points;
    for (double& w : values) w *= problem.sample.projection_norm;
    return std::pair(values, problem.inputs.shift);
  });
  return nb::make_tuple(array_of(std::move(points)), array_of(std::move(shift), cells_of(self.asked)));
}

// The means of n quantile bins of each row of values.
std::vector<double> quantiles(std::vector<std::vector<float>> rows, int n) {
  std::vector<double> out;
  for (std::vector<float>& row : rows) {
    std::sort(row.begin(), row.end(), std::greater<>());
    const std::vector<double> points = compressed_law(row, n).points;
    out.insert(out.end(), points.begin(), points.end());
  }
  return out;
}

template <class Of>
auto per_cell(Of of) {
  return [of](nb::handle self) {
    const ModelRequest& request = nb::cast<const ModelRequest&>(self);
    return view_of(of(request), cells_of(request.asked), self);
  };
}

}  // namespace

std::size_t rows_of(const ReplicationRequest& request) {
  return 1 + static_cast<std::size_t>(request.calibration_periods) + static_cast<std::size_t>(request.periods);
}

std::vector<std::size_t> shape_of(const InstanceField& field, const Instance& instance) {
  std::vector<std::size_t> out;
  for (const InstanceField::Length of : {field.rows, field.columns})
    if (of != nullptr) out.push_back(static_cast<std::size_t>(of(instance.dimensions, instance.environment)));
  return out;
}

IndexProblem::IndexProblem(const ReplicationRequest& asked, Instance of)
    : instance(std::move(of)), sample(draw_shock_sample(instance, asked.oracle.samples)) {
  const std::uint32_t before = static_cast<std::uint32_t>(asked.calibration_periods);
  const Contexts contexts =
      draw_contexts(instance, {{Purpose::initial_context, 0, 1},
                               {Purpose::calibration_context, 0, before},
                               {Purpose::online_context, 0, static_cast<std::uint32_t>(asked.periods)}});
  // Only online rows: their numbers must not depend on how many rows come before.
  inputs = index_inputs(instance, sample, contexts, 1 + asked.calibration_periods);
  const IndexInputs all = index_inputs(instance, sample, contexts);
  inputs.shift = all.shift;
  inputs.scale = all.scale;
  std::copy_n(all.cost.begin(), (1 + before) * static_cast<std::size_t>(contexts.boxes), inputs.cost.begin());
  scale = contexts.scale;
  context_cost = contexts.context_cost;
}

const Instance& ModelRequest::instance() const {
  const WithoutGil release;
  const std::lock_guard lock(drawn_->mutex);
  if (!drawn_->instance)
    drawn_->instance = std::make_unique<const Instance>(
        draw_instance(asked.dimensions, asked.environment, asked.regime, asked.replication, asked.seed));
  return *drawn_->instance;
}

const IndexProblem& ModelRequest::problem() const {
  const Instance& of = instance();
  const WithoutGil release;
  const std::lock_guard lock(drawn_->mutex);
  if (!drawn_->problem) drawn_->problem = std::make_unique<const IndexProblem>(asked, of);
  return *drawn_->problem;
}

void bind_request(nb::module_& module) {
  nb::class_<ModelRequest> request(module, "ReplicationRequest", "The replication that an environment is to draw.");
  const auto number = [&](const char* name, const char* meaning, auto of) {
    request.def_prop_ro(
        name, [of](const ModelRequest& r) { return of(r.asked); }, meaning);
  };
  using Asked = const ReplicationRequest&;
  request.def(nb::init<const ModelRequest&>());
  number("boxes", "A", [](Asked r) { return r.dimensions.boxes; });
  number("context", "d_x", [](Asked r) { return r.dimensions.context; });
  number("index_features", "m", [](Asked r) { return r.dimensions.index_size(); });
  number("reward_features", "d", [](Asked r) { return r.dimensions.reward_features; });
  number("regime", "A or B", [](Asked r) { return std::string(regime_name(r.regime)); });
  number("replication", "from 0", [](Asked r) { return r.replication; });
  number("seed", "of the study", [](Asked r) { return r.seed; });
  number("stream", "of the environment", [](Asked r) { return static_cast<int>(r.environment.id); });
  number("u", "the upper bound of c0 and c1, in the unit of mu", [](Asked r) { return r.environment.cost_level; });
  number("calibration_periods", "C, the largest T0 of the study", [](Asked r) { return r.calibration_periods; });
  number("periods", "T", [](Asked r) { return r.periods; });
  number("rows", "1 + C + T: x_0, the calibration periods, the online periods", &rows_of);
  for (const InstanceField& field : kInstanceFields) {
    if (field.rows == &length::linear_boxes || field.rows == &length::quantiles) continue;  // laws in Python lack these
    const std::string meaning = std::string(field.symbol) + " of the model: " + field.meaning + "; " + field.axes +
                                (field.unit[0] == '\0' ? "" : ", in the unit of mu");
    request.def_prop_ro(
        field.name,
        [field](nb::handle self) {
          const Instance& instance = nb::cast<const ModelRequest&>(self).instance();
          return view_of(instance.*field.member, shape_of(field, instance), self);
        },
        meaning.c_str());
  }
  request
      .def_prop_ro("ell", per_cell([](const ModelRequest& r) -> auto& { return r.problem().inputs.shift; }),
                   "l(x) = theta_*' Q x of the model, rows x A: mu* = G(ell + scale theta_*' D xi)")
      .def_prop_ro("expected_cost", per_cell([](const ModelRequest& r) -> auto& { return r.problem().inputs.cost; }),
                   "cbar_a(x) = E[c_a(x, omega_a) | x] of the model, rows x A, in the unit of mu")
      .def_prop_ro("context_cost", per_cell([](const ModelRequest& r) -> auto& { return r.problem().context_cost; }),
                   "c_{0,a} G(beta_{0,a}' x) of the model, rows x A: the part of the cost that the request decides")
      .def_prop_ro("scale", per_cell([](const ModelRequest& r) -> auto& { return r.problem().scale; }),
                   "s_a(x) = 0.5 + G(alpha_a' x) of the model, rows x A")
      .def("model", &model_of, "The paper's model, drawn under the environment's law: a dict of arrays to be changed.");
  module.def("indices_of_request", &indices, nb::arg("request"), nb::arg("ell"), nb::arg("scale"), nb::arg("cost"),
             nb::arg("theta").none(), "sigma of a changed problem; NaN in an argument: as in the model.");
  module.def("law_of_request", &law_of, nb::arg("request"), nb::arg("n"), nb::arg("theta").none(),
             "n equally likely values of theta_*' D xi, and ell, rows x A.");
  module.def(
      "magnitudes_of_request",
      [](const ModelRequest& request, int n) {
        return of_problem(request, {}, [n](const IndexProblem& of) { return quantiles(of.sample.cost_terms, n); });
      },
      nb::arg("request"), nb::arg("n"), "A x n equally likely values of beta_{1,a}' |xi|; none in regime A.");
  module.def(
      "reservation_index",
      [](const Cells& values, const Numbers& cost, const std::optional<Cells>& weights) {
        const std::size_t n = values.shape(1);
        return array_of(without_gil([&] {
          std::vector<double> out;
          for (std::size_t row = 0; row < values.shape(0); ++row)
            out.push_back(
                index_of_values({values.data() + row * n, n}, cost(row),
                                weights ? std::span(weights->data() + row * n, n) : std::span<const double>()));
          return out;
        }));
      },
      nb::arg("values"), nb::arg("cost"), nb::arg("weights").none(), "sigma of each row of values.");
}

}  // namespace pandora::python
