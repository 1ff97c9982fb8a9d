#include "host/cascades/fits/other_fits.hpp"

#include <fmt/format.h>

#include "host/cascades/fits/headroom.hpp"

namespace pandora {
namespace {

// The kind that was chosen among the cascades and the best single model, at a price, both on other prompts.
struct Refit {
  PromptGroups groups;
  std::vector<WorthByRow> cascade, single;  // one of each

  Refit(const TraceTable& table, CascadeFitSettings settings, CascadeKind kind, double price) {
    settings.indices = kind == CascadeKind::indices;
    settings.thresholds = !settings.indices;
    const CrossValidation validation(table, settings);
    groups = validation.groups();
    cascade = validation.run({{kind, price}}, false).all.routed;
    const std::vector<std::size_t> rows = all_rows(table.rows());
    const Outcomes outcomes{table.models.size(), table.quality, table.quality, table.cost};
    const auto best = [&](const std::vector<std::size_t>& seen) {
      return evaluate(outcomes, FixedCascade{{best_single_model(outcomes, price, seen)}, {}}, rows);
    };
    std::vector<Routed> by_fold;
    for (std::size_t f = 0; f < kCascadeFolds; ++f) by_fold.push_back(best(validation.rows_outside(f)));
    std::vector<const Routed*> fits;
    for (const Routed& fit : by_fold) fits.push_back(&fit);
    single.push_back(corrected(best(rows), fits, groups));
  }
  CascadeWorth worth(double price) const { return worth_of(cascade[0], single[0], price, groups, kCascadeFolds); }
};

void add_without(CascadeFit& fit, const TraceTable& table, const WorthByRow& judged) {
  for (const ModelShare& share : fit.shares) {
    std::vector<std::string> others;
    for (const std::string& model : fit.models)
      if (model != share.model) others.push_back(model);
    const Refit refit(select_models(table, others), fit.settings, fit.choice.kind, fit.price);
    OtherFit& out = fit.without.emplace_back(OtherFit{"without " + share.model, refit.worth(fit.price), {}, true});
    out.change = cross_fitted(
        difference_over_prompts(refit.cascade[0].utility(fit.price), judged.utility(fit.price), refit.groups),
        kCascadeFolds);
  }
}

// Judging costs as much for each judged call, so the claim goes down in a line: a gain in utility by the price, a
// saving by the dollars themselves, what is left under a bound on dollars likewise.
double break_even_judge(const CascadeFit& fit) {
  const CascadeChoice& choice = fit.choice;
  if (choice.kind == CascadeKind::single || !choice.chosen().met || !(choice.judged_calls > 0.0)) return 0.0;
  switch (fit.settings.aim.kind) {
    case CascadeAim::Kind::price:
      return fit.price > 0.0 ? choice.gain.value / (fit.price * choice.judged_calls) : 0.0;
    case CascadeAim::Kind::most_usd:
      return (fit.settings.aim.value - choice.chosen().bound) / choice.judged_calls;
    case CascadeAim::Kind::least_quality:
      return choice.single->met ? choice.gain.value / 1000.0 / choice.judged_calls : 0.0;
  }
  return 0.0;
}

void add_elsewhere(CascadeFit& fit, const TraceTable& table) {
  if (!(fit.price > 0.0)) return;
  for (const double price : {fit.price / 2.0, 2.0 * fit.price}) {
    const Refit refit(table, fit.settings, fit.choice.cascade, price);
    fit.elsewhere.push_back({fmt::format("price {:g}", price), refit.worth(price), {}, false});
  }
  // Under a bound the model that a cascade is held against is not the best one at the price.
  if (fit.settings.aim.is_bound() || !(fit.break_even_judge > 0.0)) return;
  for (const double share : {0.25, 0.5}) {
    CascadeFitSettings settings = fit.settings;
    settings.judge_usd = settings.judge() + share * fit.break_even_judge;
    const Refit refit(table, settings, fit.choice.cascade, fit.price);
    fit.elsewhere.push_back(
        {fmt::format("a judge at ${:.2g}", *settings.judge_usd), refit.worth(fit.price), {}, false});
  }
}

}  // namespace

void add_other_fits(CascadeFit& fit, const TraceTable& table, const WorthByRow& judged) {
  if (table.models.size() > 1 && fit.choice.kind != CascadeKind::single) add_without(fit, table, judged);
  fit.break_even_judge = break_even_judge(fit);
  add_elsewhere(fit, table);
}

}  // namespace pandora
