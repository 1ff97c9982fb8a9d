#include "host/cascades/fits/run_prompts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "host/ground/base/nearest.hpp"
#include "host/ground/files/sealed_file.hpp"
#include "host/outcomes/routing/calibrated_evaluator.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

std::vector<std::size_t> columns_of(const std::vector<std::string>& models, const TraceTable& table) {
  std::vector<std::size_t> out;
  for (const std::string& name : models) {
    const auto found = std::find(table.models.begin(), table.models.end(), name);
    if (found == table.models.end())
      table.refuse("has no model {} of the cascade{}; give a table with all of {}", name,
                   nearest_text(nearest(name, table.models)), fmt::join(models, ", "));
    out.push_back(static_cast<std::size_t>(found - table.models.begin()));
  }
  return out;
}

}  // namespace

std::vector<float> psi_of(const FeatureMap& map, const TraceTable& table, std::size_t m) {
  const std::vector<double> numbers = map.apply(table);
  const std::size_t d = map.size();
  std::vector<float> psi(table.rows() * m);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    psi[row * m] = 1.0f;
    for (std::size_t j = 0; j < d; ++j) psi[row * m + 1 + j] = static_cast<float>(numbers[row * d + j]);
  }
  return psi;
}

CascadeInput cascade_input(const CascadeOptions& cascade, const TraceTable& table, double judge_usd) {
  CascadeInput out;
  out.table = &table;
  out.columns = columns_of(cascade.models, table);
  out.shown = CalibratedEvaluator(table, cascade.evaluator).shown();
  out.judge_usd = judge_usd;
  if (!cascade.features.empty()) try {
      const FeatureMap map = FeatureMap::from_json(nlohmann::json::parse(cascade.features));
      out.index_features = 1 + std::max<std::size_t>(1, map.size());  // as Cascade::context_of
      out.psi = psi_of(map, table, out.index_features);
    } catch (const Damaged& damaged) {
      throw Error(ExitCode::bad_data, fmt::format("the cascade's features: {}", damaged.what()));
    }
  else if (cascade.rules && cascade.index_features != 1)
    throw Error(ExitCode::usage,
                fmt::format("the cascade is given {} numbers for each prompt, and not the features that they are; a "
                            "table cannot test it",
                            cascade.index_features));
  return out;
}

Routed run_prompts(Cascade& cascade, const CascadeInput& input, std::span<const std::size_t> rows,
                   ModelCounts* counts) {
  const std::size_t models = input.table->models.size();
  cascade.set_learning(false);
  if (counts != nullptr) counts->called = counts->deployed = std::vector<std::uint64_t>(input.columns.size());
  Routed out;
  for (const std::size_t row : rows) {
    const std::uint64_t request = cascade.begin(input.psi_of_row(row));
    double dollars = 0.0, calls = 0.0;
    while (const std::optional<std::size_t> model = cascade.next(request)) {
      const std::size_t at = row * models + input.columns[*model];
      const double usd = input.table->cost[at] + input.judge_usd;
      cascade.observe(request, *model, {usd, {input.shown[at]}});
      dollars += usd;
      ++calls;
      if (counts != nullptr) ++counts->called[*model];
    }
    const std::size_t deployed = cascade.deploy(request);
    if (counts != nullptr) ++counts->deployed[deployed];
    out.quality.push_back(input.table->quality[row * models + input.columns[deployed]]);
    out.dollars.push_back(dollars);
    out.calls.push_back(calls);
  }
  return out;
}

}  // namespace pandora
