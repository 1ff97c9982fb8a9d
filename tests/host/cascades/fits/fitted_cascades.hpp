// Cascades that were fitted on tables of a known law, and what they are worth under it.
#pragma once

#include "host/cascades/fits/fit_cascade.hpp"
#include "host/cascades/fits/trained_table.hpp"
#include "tests/host/outcomes/tables/made_up_traces.hpp"

namespace pandora::test {

/// Expectations under the law.
struct LawWorth {
  double quality = 0.0, dollars = 0.0, utility = 0.0;
};

inline LawWorth worth_under(const TraceLaw& law, const Routed& routed, double price) {
  return {law.expected(routed.quality), law.expected(routed.dollars), law.expected(routed.utility(price))};
}

/// Of the cascade as it is: every atom of the law goes through a copy, which is left with thousands of open requests.
inline LawWorth worth_under(const TraceLaw& law, const Cascade& cascade, double judge_usd = 0.0) {
  Cascade copy = Cascade::parse(cascade.text(), "cascade.json");
  const CascadeInput input = cascade_input(copy.options(), law.atoms(), judge_usd);
  return worth_under(law, run_prompts(copy, input, all_rows(law.atoms().rows())), copy.options().price);
}

/// Of one model alone.
inline LawWorth worth_alone(const TraceLaw& law, std::size_t model, double price) {
  const TraceTable& atoms = law.atoms();
  const Outcomes outcomes{TraceLaw::kModels, atoms.quality, atoms.quality, atoms.cost};
  return worth_under(law, evaluate(outcomes, FixedCascade{{model}, {}}, all_rows(atoms.rows())), price);
}

/// Mean utility of a table's prompts that go through a cascade as in a service, with feedback, by what is shown of each
/// answer (rows x models). Without features.
inline double live_utility(Cascade& cascade, const TraceTable& table, std::span<const double> shown) {
  const std::vector<CascadeModel> models = cascade.models();
  const double price = cascade.options().price;
  const std::vector<float> one = {1.0f};
  double sum = 0.0;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto at = [&](std::size_t model) {
      const auto found = std::find(table.models.begin(), table.models.end(), models[model].name);
      return row * table.models.size() + static_cast<std::size_t>(found - table.models.begin());
    };
    const std::uint64_t request = cascade.begin(one);
    while (const auto model = cascade.next(request)) {
      cascade.observe(request, *model, {table.cost[at(*model)], {shown[at(*model)]}});
      sum -= price * table.cost[at(*model)];
    }
    const double quality = table.quality[at(cascade.deploy(request))];
    cascade.feedback(request, quality);
    sum += quality;
  }
  return sum / static_cast<double>(table.rows());
}

inline CascadeFitSettings settings_at(double price, const std::string& evaluator = "quality") {
  CascadeFitSettings settings;
  settings.aim.value = price;
  settings.evaluator = evaluator;
  settings.indices = false;
  settings.threads = 1;
  return settings;
}

inline TraceTable drawn_table(const TraceLaw& law, std::size_t rows, std::uint64_t seed) {
  Random random(seed);
  return law.draw(rows, random);
}

}  // namespace pandora::test
