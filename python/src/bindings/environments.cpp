// Environments that are Python code.
#include <stdexcept>

#include "beside.hpp"
#include "bindings.hpp"
#include "kernels/base/aligned.hpp"
#include "pandora/custom_policy.hpp"
#include "pandora/environment.hpp"
#include "pandora/error.hpp"
#include "pandora/paper_setting.hpp"
#include "requests.hpp"

namespace pandora::python {
namespace {

using Values = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

// The numbers that the drawer returned under that name.
Values numbers(const nb::dict& drawn, const char* name, const std::vector<std::size_t>& shape) {
  std::string wanted;
  for (const std::size_t n : shape) wanted += (wanted.empty() ? "" : " x ") + std::to_string(n);
  const auto refuse = [&](const std::string& what) { throw misuse(std::string(name) + what); };
  if (!drawn.contains(name)) throw misuse(std::string("draw() returned no ") + name);
  Values out;
  if (!nb::try_cast(drawn[name], out)) refuse(": give an array of numbers, " + wanted);
  std::string found;
  for (std::size_t k = 0; k < out.ndim(); ++k) found += (k ? " x " : "") + std::to_string(out.shape(k));
  if (found != wanted) refuse(": give an array of " + wanted + ", not " + (found.empty() ? "one number" : found));
  return out;
}

// The tape from arrays. Rows are x_0, the calibration periods, the online periods.
Replication replication_of(const ReplicationRequest& request, const nb::dict& drawn) {
  const Dimensions& dim = request.dimensions;
  const std::size_t rows = rows_of(request), A = static_cast<std::size_t>(dim.boxes),
                    m = static_cast<std::size_t>(dim.index_size()), d = static_cast<std::size_t>(dim.reward_features);
  Replication out;
  out.instance.dimensions = dim;
  out.instance.environment = request.environment;
  out.instance.regime = request.regime;
  out.instance.replication = request.replication;
  out.instance.seed = request.seed;
  Tape& tape = out.tape;
  tape.calibration_rows = request.calibration_periods;
  tape.online_rows = request.periods;
  Contexts& contexts = tape.contexts;
  contexts.rows = static_cast<int>(rows);
  contexts.boxes = dim.boxes;
  contexts.index_size = dim.index_size();
  contexts.index_stride = padded_to_vector<float>(dim.index_size());
  contexts.reward_features = dim.reward_features;
  contexts.psi.assign(rows * static_cast<std::size_t>(contexts.index_stride), 0.0f);
  const Values psi = numbers(drawn, "psi", {rows, m}), phi = numbers(drawn, "phi", {rows, A, d}),
               mu = numbers(drawn, "mu", {rows, A}), cost = numbers(drawn, "cost", {rows, A}),
               reward = numbers(drawn, "reward", {rows, A}), sigma = numbers(drawn, "sigma", {rows, A});
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t j = 0; j < m; ++j)
      contexts.psi[row * static_cast<std::size_t>(contexts.index_stride) + j] =
          static_cast<float>(psi.data()[row * m + j]);
  tape.phi.assign(phi.data(), phi.data() + rows * A * d);
  tape.mu.assign(mu.data(), mu.data() + rows * A);
  tape.cost.assign(cost.data(), cost.data() + rows * A);
  tape.reward.assign(reward.data(), reward.data() + rows * A);
  out.sigma.assign(sigma.data(), sigma.data() + rows * A);
  return out;
}

// The name of the draw in messages of the library.
std::string drawn_name(const ReplicationRequest& request) {
  return request.environment.name + "/" + regime_name(request.regime) + "/" + std::to_string(request.replication) +
         ": ";
}

void register_python_environment(nb::object environment, const std::string& name, int stream, double u,
                                 const std::string& law, const std::string& code) {
  if (stream < 0 || stream > 255)
    throw misuse("environment " + name + ": stream " + std::to_string(stream) + ": give 3 to 255");
  Environment own;
  own.name = name;
  if (const Environment* const base = find_environment(law); base != nullptr && !law.empty()) own = *base;
  own.name = name;
  own.id = static_cast<std::uint8_t>(stream);
  own.cost_level = u;
  PyObject* const kept = environment.release().ptr();  // kept to the end of the process
  register_environment(
      own,
      [kept](const ReplicationRequest& request) {
        const nb::gil_scoped_acquire acquire;
        const InPython in_python;
        try {
          const nb::object drawn = nb::handle(kept).attr("_drawn")(ModelRequest(request));
          Replication out = replication_of(request, nb::cast<nb::dict>(drawn));
          out.sigma_is_meant = nb::cast<bool>(nb::handle(kept).attr("sigma_is_meant"));
          return out;
        } catch (const Error& error) {
          throw Error(error.code(), drawn_name(request) + error.marked());
        } catch (nb::python_error& error) {
          if (error.matches(PyExc_KeyboardInterrupt)) end_lane_if_interrupted();
          if (error.matches(nb::module_::import_("pandora.errors").attr("UsageError")))
            throw misuse(drawn_name(request) + nb::str(error.value()).c_str());
          throw std::runtime_error(line_of(error));
        }
      },
      code);
}

}  // namespace

void bind_environments(nb::module_& module) {
  bind_request(module);
  module.def("register_environment", &register_python_environment, nb::kw_only(), nb::arg("environment"),
             nb::arg("name"), nb::arg("stream"), nb::arg("u"), nb::arg("law"), nb::arg("code"));
  module.def(
      "environments",
      [] {
        Texts out;
        for (const Environment& environment : known_environments()) out.push_back(environment.name);
        return out;
      },
      "Names of all environments.");
}

}  // namespace pandora::python
