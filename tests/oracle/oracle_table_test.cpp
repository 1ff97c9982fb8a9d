// A table holds the results of oracle_indices without the sample. oracle_indices gives the same bits as a plain version
// of the method.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numbers>

#include "oracle/oracle.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

// A plain version of E[G(s beta' |xi|)]: the polynomial through its values at the Chebyshev nodes of [least, greatest].
class TwinCost {
 public:
  TwinCost(const std::vector<float>& terms, double least, double greatest)
      : middle_(0.5 * (least + greatest)), half_(0.5 * std::max(greatest - least, 1e-6)) {
    for (int node = 0; node < 17; ++node) {
      const float scale = static_cast<float>(middle_ + half_ * std::cos((node + 0.5) * std::numbers::pi / 17));
      double sums[16] = {}, total = 0.0;
      const std::size_t whole = terms.size() / 16 * 16;
      for (std::size_t i = 0; i < terms.size(); ++i) sums[i < whole ? i % 16 : 0] += logistic(scale * terms[i]);
      for (const double sum : sums) total += sum;
      values_.push_back(terms.empty() ? 0.5 : total / static_cast<double>(terms.size()));
    }
  }
  double operator()(double scale) const {
    double above = 0.0, below = 0.0;
    for (int node = 0; node < 17; ++node) {
      const double angle = (node + 0.5) * std::numbers::pi / 17, distance = (scale - middle_) / half_ - std::cos(angle);
      if (distance == 0.0) return values_[node];
      const double weight = (node % 2 == 0 ? 1.0 : -1.0) * std::sin(angle) / distance;
      above += weight * values_[node];
      below += weight;
    }
    return above / below;
  }

 private:
  double middle_, half_;
  std::vector<double> values_;
};

// The nodes of a regular axis over the values that occur.
struct TwinAxis {
  TwinAxis(int count, double least, double greatest)
      : nodes(count), first(least), step(std::max(greatest - least, 1e-9) / (count - 1)) {}
  double node(int i) const { return first + i * step; }
  int cell(double value) const {
    return std::min(std::max(static_cast<int>(std::floor((value - first) / step)), 0), nodes - 2);
  }
  double fraction(double value) const { return (value - first) / step - cell(value); }
  int nodes;
  double first, step;
};

std::vector<double> twin_indices(const Instance& instance, const ShockSample& sample, const Contexts& contexts,
                                 const OracleOptions& options, int first_row) {
  const int A = contexts.boxes;
  const auto from = [first_row](const std::vector<double>& all, int columns) {
    return std::vector<double>(all.begin() + first_row * columns, all.end());
  };
  const std::vector<double> s = from(contexts.scale, A), context_cost = from(contexts.context_cost, A);
  std::vector<double> shift;  // one for every box
  for (std::size_t at = static_cast<std::size_t>(first_row) * A; at < contexts.scale.size(); ++at)
    shift.push_back(contexts.reward_shift[instance.environment.location == Location::own ? at : at / A]);
  const auto least = [](const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); };
  const auto greatest = [](const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); };
  std::vector<TwinCost> output_cost;
  for (int a = 0; a < A; ++a)
    output_cost.emplace_back(instance.contextual() ? sample.cost_terms[a] : std::vector<float>(), least(s),
                             greatest(s));
  std::vector<double> scale, cost;
  for (std::size_t at = 0; at < s.size(); ++at) {
    scale.push_back(s[at] * sample.projection_norm);
    cost.push_back(context_cost[at] + instance.c1[at % A] * output_cost[at % A](s[at]));
  }
  std::vector<double> sigma(static_cast<std::size_t>(first_row) * A, std::nan(""));
  const ProjectedLaw whole = empirical_law(sample.projected),
                     law = options.bins == 0 ? whole : compressed_law(sample.projected, options.bins);
  ReservationSolver exact(whole), solver(law);
  if (!instance.contextual()) {
    exact.evaluate(0.0, scale[0]);
    for (std::size_t at = 0; at < s.size(); ++at) sigma.push_back(exact.index(cost[at % A]));
    return sigma;
  }
  const TwinAxis x(options.grid.shift, least(shift), greatest(shift)),
      y(options.grid.scale, least(scale), greatest(scale)),
      z(options.grid.cost, std::sqrt(least(cost)), std::sqrt(greatest(cost)));
  std::vector<double> nodes;
  for (int i = 0; i < x.nodes; ++i)
    for (int j = 0; j < y.nodes; ++j) {
      solver.evaluate(x.node(i), y.node(j));
      for (int k = 0; k < z.nodes; ++k) nodes.push_back(solver.index(z.node(k) * z.node(k)));
    }
  for (std::size_t at = 0; at < s.size(); ++at) {
    const double root = std::sqrt(cost[at]), l = shift[at];
    double value = 0.0;
    for (int k = 0; k < 2; ++k)
      for (int j = 0; j < 2; ++j)
        for (int i = 0; i < 2; ++i)
          value += (i ? x.fraction(l) : 1 - x.fraction(l)) * (j ? y.fraction(scale[at]) : 1 - y.fraction(scale[at])) *
                   (k ? z.fraction(root) : 1 - z.fraction(root)) *
                   nodes[((x.cell(l) + i) * y.nodes + y.cell(scale[at]) + j) * z.nodes + z.cell(root) + k];
    sigma.push_back(value);
  }
  return sigma;
}

void expect_same_bits(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t at = 0; at < actual.size(); ++at) {
    if (std::isnan(expected[at])) {
      ASSERT_TRUE(std::isnan(actual[at])) << at;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint64_t>(actual[at]), std::bit_cast<std::uint64_t>(expected[at])) << at;
    }
  }
}

struct Problem {
  Instance instance;
  ShockSample sample;
  Contexts contexts;
};

Problem problem(int environment, Regime regime, int samples = 3001, Location location = Location::common) {
  Problem p;
  Environment with_location = paper_environments()[environment];
  with_location.location = location;
  p.instance = draw_instance(test::small_dimensions(4, 7, 5), with_location, regime, 2, 11);
  p.sample = draw_shock_sample(p.instance, samples);
  p.contexts = draw_contexts(p.instance, {{Purpose::initial_context, 0, 6}, {Purpose::online_context, 0, 300}});
  return p;
}

TEST(OracleIndices, AreTheMethodWrittenOutInEveryBit) {
  for (int environment = 0; environment < 3; ++environment)
    for (const Regime regime : {Regime::A, Regime::B})
      for (const int bins : {0, 200})
        for (const int first_row : {0, 6}) {
          const Problem p = problem(environment, regime);
          OracleOptions options = test::small_oracle();
          options.bins = bins;
          SCOPED_TRACE(p.instance.environment.name + " " + regime_name(regime) + " " + std::to_string(bins));
          expect_same_bits(oracle_indices(p.instance, p.sample, p.contexts, options, first_row),
                           twin_indices(p.instance, p.sample, p.contexts, options, first_row));
        }
}

TEST(OracleIndices, KnowTheLocationOfABox) {
  for (const Location location : {Location::none, Location::own})
    for (const Regime regime : {Regime::A, Regime::B}) {
      const Problem p = problem(1, regime, 3001, location);
      expect_same_bits(oracle_indices(p.instance, p.sample, p.contexts, test::small_oracle(), 6),
                       twin_indices(p.instance, p.sample, p.contexts, test::small_oracle(), 6));
    }
}

TEST(OracleTable, GivesTheIndicesWithoutTheSample) {
  for (const Regime regime : {Regime::A, Regime::B}) {
    Problem p = problem(1, regime);
    const std::vector<double> expected = oracle_indices(p.instance, p.sample, p.contexts, test::small_oracle(), 6);
    const IndexInputs inputs = index_inputs(p.instance, p.sample, p.contexts, 6);
    const OracleTable table = oracle_table(p.instance, p.sample, p.contexts, test::small_oracle(), 6);
    p.sample = {};
    expect_same_bits(table.indices(p.instance, p.contexts, 6), expected);
    expect_same_bits(table.inputs(p.instance, p.contexts, 6).cost, inputs.cost);
    expect_same_bits(table.inputs(p.instance, p.contexts, 6).scale, inputs.scale);
    EXPECT_EQ(table.grid.has_value(), regime == Regime::B);
    EXPECT_EQ(table.sigma.size(), regime == Regime::A ? 4u : 0u);
    // The later contexts can be drawn alone, because earlier rows had no influence on the table.
    const Contexts online = draw_contexts(p.instance, {{Purpose::online_context, 0, 300}});
    expect_same_bits(table.indices(p.instance, online), std::vector<double>(expected.begin() + 6 * 4, expected.end()));
  }
}

// A table can be rebuilt from the numbers that a file holds.
TEST(OracleTable, IsWhatItsDataSay) {
  const Problem p = problem(2, Regime::B);
  const OracleTable table = oracle_table(p.instance, p.sample, p.contexts, test::small_oracle());
  const OracleTable again{
      table.projection_norm,
      OutputCostTable(table.output_cost.least(), table.output_cost.greatest(), table.output_cost.values()), table.sigma,
      IndexGrid(table.grid->axes(), table.grid->values())};
  expect_same_bits(again.indices(p.instance, p.contexts), table.indices(p.instance, p.contexts));
}

}  // namespace
}  // namespace pandora
