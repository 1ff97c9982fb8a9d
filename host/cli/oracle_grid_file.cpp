#include "host/cli/oracle_grid_file.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pandora::cli {
namespace {

constexpr std::size_t kNodes = OutputCostTable::kNodes;

// Datasets of a group, replication after replication.
class GroupWriter {
 public:
  GroupWriter(Hdf5File& file, const std::string& group, std::span<const ExportedTable> tables)
      : file_(file), group_(group), tables_(tables) {}

  /// `shape` is a replication's; `append(table, values)` adds its values.
  template <class Append>
  void write(const char* name, Hdf5File::Shape shape, const char* description, const char* unit, std::string dimensions,
             Append&& append) {
    std::vector<double> values;
    for (const ExportedTable& table : tables_) append(table, values);
    shape.insert(shape.begin(), tables_.size());
    dimensions = dimensions.empty() ? "replication" : "replication x " + dimensions;
    file_.dataset(group_ + "/" + name, values, shape, {description, unit, dimensions});
  }

  /// One of the vectors that a table has.
  void write(const char* name, Hdf5File::Shape shape, const char* description, const char* unit, std::string dimensions,
             std::vector<double> ExportedTable::*values) {
    write(name, std::move(shape), description, unit, std::move(dimensions),
          [values](const ExportedTable& t, std::vector<double>& out) { add(t.*values, out); });
  }

  static void add(const std::vector<double>& from, std::vector<double>& to) {
    to.insert(to.end(), from.begin(), from.end());
  }

 private:
  Hdf5File& file_;
  const std::string& group_;
  std::span<const ExportedTable> tables_;
};

// c_j of f = sum_j c_j T_j, from f at the Chebyshev nodes.
void add_chebyshev_coefficients(const double* values, std::vector<double>& out) {
  constexpr double kPi = 3.141592653589793238462643383279502884;
  for (std::size_t j = 0; j < kNodes; ++j) {
    double sum = 0.0;
    for (std::size_t k = 0; k < kNodes; ++k)
      sum += values[k] * std::cos(static_cast<double>(j) * (static_cast<double>(k) + 0.5) * kPi / kNodes);
    out.push_back((j == 0 ? 1.0 : 2.0) * sum / kNodes);
  }
}

// theta_*' Q of each location: l = theta_*' Q x.
void add_shift_directions(const Instance& instance, std::vector<double>& out) {
  const std::size_t n = static_cast<std::size_t>(instance.dimensions.context), d = instance.theta.size();
  for (std::size_t first = 0; first < instance.Q.size(); first += d * n)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0.0;
      for (std::size_t k = 0; k < d; ++k) sum += instance.theta[k] * instance.Q[first + k * n + j];
      out.push_back(sum);
    }
}

// A shape of one row where boxes have Q in common, of a row for each where they have their own.
Hdf5File::Shape located(bool own, std::size_t boxes, Hdf5File::Shape shape) {
  if (own) shape.push_back(boxes);
  return shape;
}

void write_parameters(GroupWriter& group, const Dimensions& dim, bool own) {
  const std::size_t A = static_cast<std::size_t>(dim.boxes), n = static_cast<std::size_t>(dim.context);
  Hdf5File::Shape directions = located(own, A, {});
  directions.push_back(n);
  group.write("theta_Q", directions, "theta_*' Q: the shift of a context is l = theta_Q' x", "1",
              own ? "box x d_x" : "d_x",
              [](const ExportedTable& t, auto& out) { add_shift_directions(t.instance, out); });
  group.write("alpha", {A, n}, "the scale of a box is s_a(x) = 0.5 + 1 / (1 + exp(-alpha_a' x))", "1", "box x d_x",
              [](const ExportedTable& t, auto& out) { GroupWriter::add(t.instance.alpha, out); });
  group.write("beta0", {A, n},
              "the expected cost of a box is c_0a / (1 + exp(-beta_0a' x)) + c_1a times the polynomial of output_cost",
              "1", "box x d_x", [](const ExportedTable& t, auto& out) { GroupWriter::add(t.instance.beta0, out); });
  group.write("c0", {A}, "c_0a of the expected cost", "reward", "box",
              [](const ExportedTable& t, auto& out) { GroupWriter::add(t.instance.c0, out); });
  group.write("c1", {A}, "c_1a of the expected cost", "reward", "box",
              [](const ExportedTable& t, auto& out) { GroupWriter::add(t.instance.c1, out); });
}

void write_output_cost(GroupWriter& group, std::size_t A) {
  group.write("output_cost_scale", {kNodes}, "Chebyshev nodes in the output scale s_a(x) of output_cost", "1", "node",
              [](const ExportedTable& t, auto& out) {
                for (int node = 0; node < OutputCostTable::kNodes; ++node)
                  out.push_back(t.table.output_cost.node(node));
              });
  group.write("output_cost", {A, kNodes},
              "E[G(s beta_1a' |xi|)] at the nodes, G logistic; the expected cost is c_0a G(beta_0a' x) + c_1a times it",
              "1", "box x node",
              [](const ExportedTable& t, auto& out) { GroupWriter::add(t.table.output_cost.values(), out); });
  group.write("output_cost_coefficients", {A, kNodes},
              "the same as coefficients of Chebyshev polynomials in s over output_cost_domain: "
              "numpy.polynomial.Chebyshev(coefficients, domain)(s)",
              "1", "box x degree", [A](const ExportedTable& t, auto& out) {
                for (std::size_t a = 0; a < A; ++a)
                  add_chebyshev_coefficients(t.table.output_cost.values().data() + a * kNodes, out);
              });
  group.write("output_cost_domain", {2}, "the least and the greatest s of these polynomials", "1", "end",
              [](const ExportedTable& t, auto& out) {
                const ChebyshevNodes nodes =
                    ChebyshevNodes::over(t.table.output_cost.least(), t.table.output_cost.greatest());
                out.push_back(nodes.middle - nodes.half);
                out.push_back(nodes.middle + nodes.half);
              });
}

void write_grid(GroupWriter& group, const GridShape& grid) {
  const std::size_t shape[] = {static_cast<std::size_t>(grid.shift), static_cast<std::size_t>(grid.scale),
                               static_cast<std::size_t>(grid.cost)};
  const auto nodes = [](int axis, auto&& of_node) {
    return [axis, of_node](const ExportedTable& t, std::vector<double>& out) {
      const GridAxis& a = t.table.grid->axes()[static_cast<std::size_t>(axis)];
      for (int i = 0; i < a.nodes; ++i) out.push_back(of_node(a.node(i)));
    };
  };
  const auto itself = [](double node) { return node; };
  group.write("shift", {shape[0]}, "nodes in l = theta' Q x, at equal distances", "1", "shift", nodes(0, itself));
  group.write("scale", {shape[1]}, "nodes in s_a(x) times projection_norm, at equal distances", "1", "scale",
              nodes(1, itself));
  group.write("cost", {shape[2]}, "nodes in the expected cost, at equal distances in its square root", "reward", "cost",
              nodes(2, [](double root) { return root * root; }));
  group.write("root_cost", {shape[2]}, "square roots of cost, at equal distances", "1", "cost", nodes(2, itself));
  group.write("sigma", {shape[0], shape[1], shape[2]},
              "oracle reservation index at the nodes; between them linear in shift, scale and root_cost", "reward",
              "shift x scale x cost",
              [](const ExportedTable& t, auto& out) { GroupWriter::add(t.table.grid->values(), out); });
}

void write_contexts(GroupWriter& group, const Dimensions& dim, std::size_t rows, bool own) {
  const std::size_t A = static_cast<std::size_t>(dim.boxes), n = static_cast<std::size_t>(dim.context);
  group.write("contexts/x", {rows, n}, "contexts of the first online periods", "1", "period x d_x",
              &ExportedTable::context);
  group.write("contexts/shift", located(own, A, {rows}), "their l", "1", own ? "period x box" : "period",
              &ExportedTable::shift);
  group.write("contexts/scale", {rows, A}, "their s_a(x)", "1", "period x box", &ExportedTable::scale);
  group.write("contexts/expected_cost", {rows, A}, "their E[c_a(x)]", "reward", "period x box",
              &ExportedTable::expected);
  group.write("contexts/sigma", {rows, A}, "their oracle reservation index", "reward", "period x box",
              &ExportedTable::sigma);
}

}  // namespace

ExportedTable exported(Instance instance, OracleTable table, const Contexts& contexts) {
  const std::size_t rows = static_cast<std::size_t>(std::min(contexts.rows, kExportedContexts)),
                    cells = rows * static_cast<std::size_t>(contexts.boxes);
  const auto first = [](const std::vector<double>& values, std::size_t count) {
    return std::vector<double>(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
  };
  std::vector<double> x;
  for (std::size_t row = 0; row < rows; ++row) {
    const float* const features = contexts.psi_row(static_cast<int>(row)) + 1;
    x.insert(x.end(), features, features + instance.dimensions.context);
  }
  std::vector<double> expected = first(table.inputs(instance, contexts).cost, cells),
                      sigma = first(table.indices(instance, contexts), cells);
  return {std::move(instance),
          std::move(table),
          std::move(x),
          first(contexts.reward_shift, contexts.location_at(rows, 0)),
          first(contexts.scale, cells),
          std::move(expected),
          std::move(sigma)};
}

void write_tables(Hdf5File& file, const std::string& group, const Study& study, const Unit& unit,
                  std::span<const ExportedTable> tables) {
  const Environment& environment = unit.environment;
  const std::size_t A = static_cast<std::size_t>(study.dimensions.boxes);
  file.group(group);
  file.attribute(group, "cost_level", environment.cost_level);
  file.attribute(group, "shock_scale", static_cast<double>(environment.shock_scale));
  file.attribute(group, "truncation_radius", static_cast<double>(environment.truncation_radius));
  const bool logistic = environment.reward_link == RewardLink::logistic;
  file.attribute(group, "reward_link", std::string(logistic ? "logistic" : "algebraic"));
  file.attribute(group, "G", std::string(logistic ? "1 / (1 + exp(-z))" : "1/2 + z / (2 (2 + |z|))"));
  file.attribute(group, "equation",
                 std::string("E[(G(shift + scale w) - sigma)^+] = cost, w the shock projected on the "
                             "unit vector of D' theta"));
  GroupWriter writer(file, group, tables);
  writer.write("projection_norm", {}, "Euclidean norm of D' theta, which the scale s of a box is multiplied with", "1",
               "", [](const ExportedTable& t, auto& out) { out.push_back(t.table.projection_norm); });
  const bool own = environment.location == Location::own;
  write_parameters(writer, study.dimensions, own);
  write_output_cost(writer, A);
  write_contexts(writer, study.dimensions,
                 tables[0].context.size() / static_cast<std::size_t>(study.dimensions.context), own);
  if (unit.regime == Regime::B) return write_grid(writer, study.oracle.grid);
  writer.write("sigma", {A}, "oracle reservation index of the box, the same for every context", "reward", "box",
               [](const ExportedTable& t, auto& out) { GroupWriter::add(t.table.sigma, out); });
}

}  // namespace pandora::cli
