#include "host/cascades/fits/fit_cascade.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "host/cascades/fits/price_grid.hpp"
#include "host/cascades/fits/trace_check.hpp"
#include "host/outcomes/tables/evaluator_spec.hpp"

namespace pandora {
namespace {

std::vector<CascadeCandidate> candidates_of(const TraceTable& table, const CascadeFitSettings& settings) {
  if (settings.aim.is_bound()) return candidates_by_bound(table, settings);
  std::vector<CascadeCandidate> out;
  for (std::size_t m = 0; m < table.models.size(); ++m) out.push_back({CascadeKind::single, settings.aim.value, m});
  if (settings.thresholds) out.push_back({CascadeKind::thresholds, settings.aim.value});
  if (settings.indices) out.push_back({CascadeKind::indices, settings.aim.value});
  return out;
}

// The kind that was chosen among the cascades and the best single model, at a price, both on other prompts.
struct Refit {
  PromptGroups groups;
  Routed cascade, single;

  Refit(const TraceTable& table, CascadeFitSettings settings, CascadeKind kind, double price) {
    settings.indices = kind == CascadeKind::indices;
    settings.thresholds = !settings.indices;
    const CrossValidation validation(table, settings);
    groups = validation.groups();
    cascade = validation.run({{kind, price}}, false).all.routed[0];
    const std::vector<std::size_t> rows = all_rows(table.rows());
    const Outcomes outcomes{table.models.size(), table.quality, table.quality, table.cost};
    const auto best = [&](const std::vector<std::size_t>& seen) {
      return evaluate(outcomes, FixedCascade{{best_single_model(outcomes, price, seen)}, {}}, rows);
    };
    std::vector<Routed> by_fold;
    for (std::size_t f = 0; f < kCascadeFolds; ++f) by_fold.emplace_back(best(validation.rows_outside(f)));
    single = corrected(best(rows), by_fold, groups);
  }
  CascadeWorth worth(double price) const { return worth_of(cascade, single, price, groups, kCascadeFolds); }
};

// `judged`: its cascade, row by row, fitted on other prompts.
void add_without(CascadeFit& fit, const TraceTable& table, const Routed& judged) {
  if (table.models.size() == 1 || fit.choice.kind == CascadeKind::single) return;
  for (const ModelShare& share : fit.shares) {
    std::vector<std::string> others;
    for (const std::string& model : fit.models)
      if (model != share.model) others.push_back(model);
    const Refit refit(select_models(table, others), fit.settings, fit.choice.kind, fit.price);
    OtherFit& out = fit.without.emplace_back(OtherFit{"without " + share.model, refit.worth(fit.price), {}, true});
    out.change =
        cross_fitted(difference_over_prompts(refit.cascade.utility(fit.price), judged.utility(fit.price), refit.groups),
                     kCascadeFolds);
  }
}

// Judging costs as much for each judged call, so the claim goes down in a line: a gain in utility by the price, a
// saving by the dollars themselves, what is left under a bound on dollars likewise.
double break_even_judge(const CascadeFit& fit) {
  const CascadeChoice& choice = fit.choice;
  if (choice.kind == CascadeKind::single || !choice.chosen().met || !(choice.judged_calls > 0.0)) return 0.0;
  const CascadeAim& aim = fit.settings.aim;
  if (aim.is_on_dollars()) return (aim.value - choice.chosen().bound) / choice.judged_calls;
  if (aim.is_bound()) return choice.single->met ? choice.gain.value / 1000.0 / choice.judged_calls : 0.0;
  return fit.price > 0.0 ? choice.gain.value / (fit.price * choice.judged_calls) : 0.0;
}

void add_elsewhere(CascadeFit& fit, const TraceTable& table) {
  if (!(fit.price > 0.0)) return;
  const auto add = [&](const std::string& what, const CascadeFitSettings& settings, double price) {
    fit.elsewhere.push_back({what, Refit(table, settings, fit.choice.cascade, price).worth(price), {}, false});
  };
  for (const double price : {fit.price / 2.0, 2.0 * fit.price})
    add(fmt::format("price {:g}", price), fit.settings, price);
  // Under a bound the model that a cascade is held against is not the best one at the price.
  if (fit.settings.aim.is_bound() || !(fit.break_even_judge > 0.0)) return;
  for (const double share : {0.25, 0.5}) {
    CascadeFitSettings settings = fit.settings;
    settings.judge_usd = settings.judge() + share * fit.break_even_judge;
    add(fmt::format("a judge at ${:.2g}", *settings.judge_usd), settings, fit.price);
  }
}

class Fitting {
 public:
  Fitting(const TraceTable& table, const CascadeFitSettings& settings)
      : table_(table), validation_(table, settings), candidates_(candidates_of(table, settings)) {
    fit_.settings = settings;
    fit_.table = table.source;
    fit_.digest = content_digest(table);
    fit_.rows = table.rows();
    fit_.prompts = validation_.groups().count;
    fit_.models = table.models;
  }

  CascadeFit run() {
    const CrossValidated judged = validation_.run(candidates_, true);
    const NestedChoice nested = choose_nested(candidates_, judged, fit_.settings.aim);
    CascadeChoice& choice = fit_.choice = nested.choice;
    fit_.price = candidates_[choice.of(choice.cascade).candidate].price;
    fit_.single_model = table_.models[candidates_[choice.single->candidate].model];
    report(judged, nested);
    const TrainedTable trained(table_, fit_.settings, all_rows(table_.rows()));
    CascadeOptions options = choice.kind == CascadeKind::indices
                                 ? trained.options_of_indices(fit_.price, true)
                                 : trained.options_of(judged.whole_orders[choice.chosen().candidate], fit_.price);
    count_shares(trained, options);
    add_without(fit_, table_, judged.all.routed[choice.of(choice.cascade).candidate]);
    fit_.break_even_judge = break_even_judge(fit_);
    add_elsewhere(fit_, table_);
    note_context();
    fit_.verdict = fit_verdict(fit_, options) + "; " +
                   eyes_text(fit_.settings.evaluator, fit_.settings.judge_usd, fit_.break_even_judge,
                             fit_.settings.aim.is_on_dollars() ? "room under the bound" : "gain");
    options.about = fit_record(fit_).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    fit_.cascade = std::make_shared<Cascade>(trained.cascade_of(options));
    return std::move(fit_);
  }

 private:
  // Decides, and promises of what is decided.
  void report(const CrossValidated& judged, const NestedChoice& nested) {
    const PromptGroups& groups = validation_.groups();
    CascadeChoice& choice = fit_.choice;
    const auto of = [&](const PickedCandidate& picked, const std::vector<Routed>& by_fold) {
      return corrected(judged.whole[picked.candidate], by_fold, groups);
    };
    Routed single = of(*choice.single, nested.single);
    const auto gain = [&](const Routed& routed) {
      const auto in_worth = [&](const Routed& x) { return worth_by_row(x, fit_.settings.aim, fit_.price); };
      return cross_fitted(difference_over_prompts(in_worth(routed), in_worth(single), groups), kCascadeFolds);
    };
    choice.gain = gain(of(choice.of(choice.cascade), nested.cascade));
    decide(choice, fit_.settings.aim);
    if (choice.kind == CascadeKind::thresholds && judged.whole_orders[choice.thresholds->candidate].order.size() == 1)
      choice.kind = CascadeKind::single;
    const Routed kept = of(choice.chosen(), nested.kept);
    if (choice.kind == CascadeKind::single)
      single = kept;
    else
      choice.gain = gain(kept);
    const auto worth = [&](const Routed& routed) {
      return worth_of(routed, single, fit_.price, groups, kCascadeFolds);
    };
    fit_.single = worth(single);
    fit_.promise = worth(kept);
    if (choice.kind != CascadeKind::single) choice.judged_calls = fit_.promise.calls.value;
    fit_.tail = dollar_tail(judged.whole[choice.chosen().candidate].dollars, groups);
    for (const auto& [kind, picked] :
         {std::pair{CascadeKind::thresholds, choice.thresholds}, std::pair{CascadeKind::indices, choice.indices}})
      if (picked) fit_.kinds.emplace_back(kind, worth(judged.all.routed[picked->candidate]));
    if (choice.cascade == CascadeKind::thresholds) note_never_called(judged);
  }

  void note_never_called(const CrossValidated& judged) {
    for (std::size_t m = 0; m < table_.models.size(); ++m) {
      const auto calls = [&](const std::vector<FixedCascade>& orders) {
        const std::vector<std::size_t>& order = orders[fit_.choice.thresholds->candidate].order;
        return std::find(order.begin(), order.end(), m) != order.end();
      };
      if (std::none_of(judged.orders.begin(), judged.orders.end(), calls)) fit_.never.push_back(table_.models[m]);
    }
  }

  void note_context() {
    const std::vector<std::string>& context = fit_.settings.context;
    if (context.empty()) return;
    if (fit_.choice.kind != CascadeKind::indices)
      fit_.notes.push_back(
          fmt::format("context: not used; {} the same for every prompt",
                      fit_.choice.kind == CascadeKind::single ? "one model alone is" : "thresholds are"));
    for (std::string& leak : suspected_leaks(table_, context, fit_.price)) fit_.notes.push_back(std::move(leak));
  }

  // Over the table that was fitted on: how much of the traffic each model gets hardly depends on the fit.
  void count_shares(const TrainedTable& trained, const CascadeOptions& options) {
    CascadeOptions plain = options;
    plain.features.clear();
    if (plain.rules) plain.index_features = static_cast<int>(trained.input().index_features);
    const CascadeInput input = plain.rules ? trained.input() : cascade_input(plain, table_, fit_.settings.judge());
    Cascade cascade = trained.cascade_of(plain);
    ModelCounts counts;
    (void)run_prompts(cascade, input, all_rows(table_.rows()), &counts);
    const double rows = static_cast<double>(table_.rows());
    for (std::size_t m = 0; m < options.models.size(); ++m) {
      fit_.shares.push_back({options.models[m], static_cast<double>(counts.called[m]) / rows,
                             static_cast<double>(counts.deployed[m]) / rows});
      if (plain.rules && counts.called[m] == 0) fit_.never.push_back(options.models[m]);
    }
  }

  const TraceTable& table_;
  const CrossValidation validation_;
  const std::vector<CascadeCandidate> candidates_;
  CascadeFit fit_;
};

// A context that says what only the outcomes can have told.

// By row and model: whether the answer is the best one.
std::vector<char> best_answers_of(const TraceTable& table, double price) {
  const std::size_t models = table.models.size();
  const Outcomes outcomes{models, table.quality, table.quality, table.cost};
  std::vector<char> out(table.quality.size());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto worth = [&](std::size_t m) { return outcomes.utility(row * models + m, price); };
    double best = worth(0);
    for (std::size_t m = 1; m < models; ++m) best = std::max(best, worth(m));
    for (std::size_t m = 0; m < models; ++m) out[row * models + m] = worth(m) == best;
  }
  return out;
}

// The share of rows whose best model is the one that is best most often where the value is the same, in other folds.
double share_told(const std::vector<std::string>& value, const std::vector<char>& best, std::size_t models) {
  std::map<std::string, std::vector<double>> all;  // how often each model is the best one; also by fold
  std::vector<std::map<std::string, std::vector<double>>> in(kCascadeFolds);
  const auto count = [&](std::vector<double>& counts, std::size_t row) {
    counts.resize(models);
    for (std::size_t m = 0; m < models; ++m) counts[m] += best[row * models + m];
  };
  for (std::size_t row = 0; row < value.size(); ++row) {
    count(all[value[row]], row);
    count(in[row % kCascadeFolds][value[row]], row);
  }
  double right = 0.0;
  for (std::size_t row = 0; row < value.size(); ++row) {
    std::vector<double> others = all[value[row]];
    for (std::size_t m = 0; m < models; ++m) others[m] -= in[row % kCascadeFolds][value[row]][m];
    const auto most = std::max_element(others.begin(), others.end());
    // A value that other folds do not have tells nothing.
    right += *most > 0.0 && best[row * models + static_cast<std::size_t>(most - others.begin())];
  }
  return right / static_cast<double>(value.size());
}

}  // namespace

std::vector<std::string> suspected_leaks(const TraceTable& table, const std::vector<std::string>& context,
                                         double price) {
  constexpr double kNearlyAlways = 0.95, kMisses = 0.25;
  std::vector<std::string> out;
  const std::size_t rows = table.rows(), models = table.models.size();
  for (const std::string& spec : context) {
    const std::string name = spec.starts_with("raw:") ? spec.substr(4) : spec;
    const PromptColumn* const column = find_column(table, name);
    if (column == nullptr || column->kind == PromptColumn::Kind::vector) continue;
    std::vector<std::string> value;
    for (std::size_t row = 0; row < rows; ++row)
      value.push_back(column->kind == PromptColumn::Kind::text ? std::string(column->texts[row])
                                                               : fmt::format("{}", column->numbers[row]));
    for (const double at : {0.0, price}) {
      const std::vector<char> best = best_answers_of(table, at);
      const double told = share_told(value, best, models),
                   one = share_told(std::vector<std::string>(rows), best, models);
      if (told < kNearlyAlways || 1.0 - told > kMisses * (1.0 - one) || one == 1.0) continue;
      out.push_back(
          fmt::format("context {} tells the best model of {:.1f}% of the prompts (one model for all: {:.1f}%): was it "
                      "computed from the outcomes? What is not known before a call makes promises that nothing keeps",
                      name, 100.0 * told, 100.0 * one));
      break;
    }
  }
  return out;
}

CascadeFit fit_cascade(const TraceTable& table, const CascadeFitSettings& settings) {
  require_sound(settings);
  require_content(table);
  const CalibratedEvaluator known(table, settings.evaluator);
  require_binding(settings, table);
  require_few_models(table, settings.aim.is_bound() ? 0.0 : settings.aim.value, "fitted");
  return Fitting(table, settings).run();
}

}  // namespace pandora
