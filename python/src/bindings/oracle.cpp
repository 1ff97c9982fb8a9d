// Reservation indices: for a law, and in a replication for any context.
#include "oracle/oracle.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <tuple>

#include "beside.hpp"
#include "bindings.hpp"
#include "host/studies/run/oracle_alone.hpp"
#include "host/studies/study/finite_problem.hpp"
#include "host/studies/study/study_config.hpp"
#include "pandora/environment.hpp"
#include "requests.hpp"

namespace pandora::python {

void require_model(const Environment& environment) {
  if (find_drawer(environment.name) || environment.trace != nullptr)
    throw misuse("environment " + environment.name + ": has no oracle of the paper's model");
}

namespace {

nb::typed<nb::tuple, Array<double>, Array<double>> oracle_index(const StudyConfig& config, const Numbers& shift,
                                                                const Numbers& scale, const Numbers& cost) {
  const std::size_t n = shift.shape(0);
  for (std::size_t i = 0; i < n; ++i)
    if (!std::isfinite(shift(i)) || !(scale(i) > 0.0) || !(cost(i) > 0.0) || !std::isfinite(scale(i)))
      throw misuse("oracle_index: give finite shifts, and scales and costs above 0");
  std::vector<OracleIndex::Found> found = beside([&](Beside& work) {
    const std::vector<Setting> settings = config.settings();
    const Study& study = settings[0].study;
    if (settings.size() != 1 || study.environments.size() != 1)
      throw misuse("oracle_index: an index is of one environment and one setting; name one");
    require_model(study.environments[0]);
    OracleIndex index(study);
    std::vector<OracleIndex::Found> out;
    for (std::size_t i = 0; i < n; ++i) {
      if (work.interrupted) throw Error(ExitCode::interrupted, "interrupted");
      out.push_back(index(shift(i), scale(i), cost(i)));
    }
    return out;
  });
  std::vector<double> sigma, error;
  for (const OracleIndex::Found& one : found) {
    sigma.push_back(one.sigma);
    error.push_back(one.standard_error);
  }
  return nb::make_tuple(array_of(std::move(sigma)), array_of(std::move(error)));
}

// The oracle of one replication, as a sweep makes it.
class Grid {
 public:
  Grid(const StudyConfig& config, const std::string& environment, const std::string& regime, int replication) {
    const std::vector<Setting> settings = config.settings();
    const Study& study = settings[0].study;
    const Environment* found = nullptr;
    for (const Environment& e : study.environments)
      if (environment.empty() || e.name == environment) found = found == nullptr ? &e : found;
    if (settings.size() != 1) throw misuse("OracleGrid: keys of the study vary; give them one value");
    if (found == nullptr) throw misuse("OracleGrid: the study has no environment " + environment);
    if (replication < 0) throw misuse("OracleGrid: replications are counted from 0");
    require_model(*found);
    Regime of = study.regimes[0];
    if (regime == "A" || regime == "B")
      of = regime == "A" ? Regime::A : Regime::B;
    else if (!regime.empty())
      throw misuse("OracleGrid: regime " + regime + ": use A or B");
    instance_ = draw_instance(study.dimensions, *found, of, static_cast<std::uint32_t>(replication), study.seed);
    const Contexts contexts =
        draw_contexts(instance_, {{Purpose::online_context, 0, static_cast<std::uint32_t>(study.periods)}});
    table_.emplace(oracle_table(instance_, draw_shock_sample(instance_, study.oracle.samples), contexts, study.oracle));
  }

  const Instance& instance() const { return instance_; }
  const OracleTable& table() const { return *table_; }

  /// x: rows x d_x. Returns sigma, rows x A.
  std::vector<double> sigma(const double* x, std::size_t rows) const {
    const Dimensions& dim = instance_.dimensions;
    const std::size_t A = static_cast<std::size_t>(dim.boxes), n = static_cast<std::size_t>(dim.context),
                      d = static_cast<std::size_t>(dim.reward_features);
    Contexts contexts;
    contexts.rows = static_cast<int>(rows);
    contexts.boxes = dim.boxes;
    contexts.locations = location_count(dim, instance_.environment);
    const std::size_t L = static_cast<std::size_t>(contexts.locations), m = static_cast<std::size_t>(dim.index_size());
    const bool contextual = instance_.contextual();
    const auto dot = [n](const std::vector<double>& rows_of, std::size_t row, const double* at) {
      double sum = 0.0;
      for (std::size_t j = 0; j < n; ++j) sum += rows_of[row * n + j] * at[j];
      return sum;
    };
    for (std::size_t i = 0; i < rows; ++i) {
      const double* const at = x + i * n;
      for (std::size_t location = 0; location < L; ++location) {
        double shift = 0.0;
        for (std::size_t k = 0; k < d && contextual; ++k)
          shift += instance_.theta[k] * dot(instance_.Q, location * d + k, at);
        contexts.reward_shift.push_back(shift);
      }
      for (std::size_t a = 0; a < A; ++a) {
        const auto mapped = [&](const std::vector<double>& of) {
          return contextual ? static_cast<float>(dot(of, a, at)) : 0.0f;
        };
        contexts.scale.push_back(shock_scale_of(mapped(instance_.alpha), contextual));
        contexts.context_cost.push_back(context_cost_of(instance_.c0[a], mapped(instance_.beta0), contextual));
        if (!instance_.linear_indices()) continue;
        double slope = 0.0;
        for (std::size_t j = 0; j < n; ++j) slope += instance_.rho[a * m + 1 + j] * at[j];
        contexts.index.push_back(index_link(instance_.rho[a * m] + slope));
      }
    }
    return table_->indices(instance_, contexts);
  }

 private:
  Instance instance_;
  std::optional<OracleTable> table_;
};

Dict instance_dict(const Grid& grid) {
  const Instance& instance = grid.instance();
  nb::dict out;
  for (const InstanceField& field : kInstanceFields)
    if (is_part_of(field, instance))
      out[field.name] = nb::cast(array_of(instance.*field.member, shape_of(field, instance)));
  return out;
}

using BoxTuple = std::tuple<double, std::vector<double>, std::vector<double>, int>;  // as FiniteBox has them

Dict exact_programme(const std::vector<BoxTuple>& boxes, bool uninspected, std::optional<double> outside) {
  FiniteProblem problem{{}, uninspected, outside};
  for (const auto& [cost, values, probabilities, openings] : boxes)
    problem.boxes.push_back({cost, values, probabilities, openings});
  require_sound(problem, "solve_exactly");
  const auto [programme, committed, weitzman, bound] = without_gil([&] {
    return std::tuple(solve_exactly(problem), commit_or_search(problem), weitzman_value(problem),
                      relaxation_bound(problem));
  });
  std::vector<int> opened, box;
  std::vector<double> best, probability, value;
  nb::list action;
  constexpr const char* kActions[] = {"deploy", "outside", "uninspected", "open"};
  for (const FiniteState& state : programme.states) {
    opened.insert(opened.end(), state.opened.begin(), state.opened.end());
    best.push_back(state.best.value_or(kUnknown));
    probability.push_back(state.probability);
    action.append(kActions[static_cast<int>(state.action)]);
    box.push_back(state.box);
    value.push_back(state.value);
  }
  nb::dict out;
  out["value"] = programme.value;
  out["weitzman"] = weitzman;
  out["commit_or_search"] = committed.value;
  out["committed"] = committed.box;
  out["relaxation"] = bound;
  out["opened"] = array_of(std::move(opened), {programme.states.size(), boxes.size()});
  out["best"] = array_of(std::move(best));
  out["probability"] = array_of(std::move(probability));
  out["action"] = action;
  out["box"] = array_of(std::move(box));
  out["state_value"] = array_of(std::move(value));
  return out;
}

}  // namespace

void bind_oracle(nb::module_& module) {
  module.def("exact_programme", &exact_programme, nb::arg("boxes"), nb::arg("uninspected"), nb::arg("outside").none());
  module.def("oracle_index", &oracle_index, nb::arg("study"), nb::arg("shift"), nb::arg("scale"), nb::arg("cost"));
  nb::class_<Grid>(module, "Grid", "The oracle of one replication.")
      .def(nb::init<const StudyConfig&, const std::string&, const std::string&, int>(), nb::arg("study"),
           nb::arg("environment"), nb::arg("regime"), nb::arg("replication"), nb::call_guard<WithoutGil>())
      .def_prop_ro("boxes", [](const Grid& grid) { return grid.instance().dimensions.boxes; })
      .def_prop_ro("context", [](const Grid& grid) { return grid.instance().dimensions.context; })
      .def_prop_ro("environment", [](const Grid& grid) { return grid.instance().environment.name; })
      .def_prop_ro("regime", [](const Grid& grid) { return std::string(regime_name(grid.instance().regime)); })
      .def_prop_ro("replication", [](const Grid& grid) { return grid.instance().replication; })
      .def("instance", &instance_dict)
      .def(
          "contexts",
          [](const Grid& grid, int periods) {
            const Contexts drawn = draw_contexts(
                grid.instance(), {{Purpose::online_context, 0, static_cast<std::uint32_t>(std::max(periods, 0))}});
            const std::size_t n = static_cast<std::size_t>(grid.instance().dimensions.context);
            std::vector<double> out;
            for (int row = 0; row < drawn.rows; ++row)
              out.insert(out.end(), drawn.psi_row(row) + 1, drawn.psi_row(row) + 1 + n);
            return array_of(std::move(out), {static_cast<std::size_t>(drawn.rows), n});
          },
          nb::arg("periods"))
      .def(
          "sigma",
          [](const Grid& grid, const Cells& x) {
            const std::size_t rows = x.shape(0), A = static_cast<std::size_t>(grid.instance().dimensions.boxes);
            const int context = grid.instance().dimensions.context;
            if (x.shape(1) != static_cast<std::size_t>(context))
              throw misuse(fmt::format("OracleGrid.sigma: a context has {} numbers, not {}", context, x.shape(1)));
            return array_of(without_gil([&] { return grid.sigma(x.data(), rows); }), {rows, A});
          },
          nb::arg("x"));
}

}  // namespace pandora::python
