#include "host/cascades/fits/fit_cascade.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "host/cascades/fits/bound_search.hpp"
#include "host/cascades/fits/context_leak.hpp"
#include "host/cascades/fits/headroom.hpp"
#include "host/cascades/fits/other_fits.hpp"
#include "host/cascades/fits/trace_check.hpp"
#include "host/outcomes/routing/calibrated_evaluator.hpp"

namespace pandora {
namespace {

std::vector<CascadeCandidate> candidates_at(const TraceTable& table, const CascadeFitSettings& settings) {
  std::vector<CascadeCandidate> out;
  for (std::size_t m = 0; m < table.models.size(); ++m) out.push_back({CascadeKind::single, settings.aim.value, m});
  if (settings.thresholds) out.push_back({CascadeKind::thresholds, settings.aim.value});
  if (settings.indices) out.push_back({CascadeKind::indices, settings.aim.value});
  return out;
}

class Fitting {
 public:
  Fitting(const TraceTable& table, const CascadeFitSettings& settings)
      : table_(table), validation_(table, settings), candidates_(candidates(settings)) {
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
    add_other_fits(fit_, table_, judged.all.routed[choice.of(choice.cascade).candidate]);
    note_context();
    fit_.verdict = fit_verdict(fit_, options) + "; " + eyes_text(fit_);
    options.about = fit_record(fit_).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    fit_.cascade = std::make_shared<Cascade>(make(trained, options));
    return std::move(fit_);
  }

 private:
  std::vector<CascadeCandidate> candidates(const CascadeFitSettings& settings) const {
    return settings.aim.is_bound() ? candidates_by_bound(table_, settings) : candidates_at(table_, settings);
  }

  static Cascade make(const TrainedTable& trained, const CascadeOptions& options) {
    return options.rules ? trained.fit_indices(options) : Cascade(options);
  }

  // Decides, and promises of what is decided.
  void report(const CrossValidated& judged, const NestedChoice& nested) {
    const PromptGroups& groups = validation_.groups();
    CascadeChoice& choice = fit_.choice;
    const auto of = [&](const PickedCandidate& picked, const std::vector<const Routed*>& by_fold) {
      return corrected(judged.whole[picked.candidate], by_fold, groups);
    };
    WorthByRow single = of(*choice.single, nested.single);
    const auto gain = [&](const WorthByRow& routed) {
      const auto in_worth = [&](const WorthByRow& x) { return worth_by_row(x, fit_.settings.aim, fit_.price); };
      return cross_fitted(difference_over_prompts(in_worth(routed), in_worth(single), groups), kCascadeFolds);
    };
    choice.gain = gain(of(choice.of(choice.cascade), nested.cascade));
    decide(choice, fit_.settings.aim);
    if (choice.kind == CascadeKind::thresholds && judged.whole_orders[choice.thresholds->candidate].order.size() == 1)
      choice.kind = CascadeKind::single;
    const WorthByRow kept = of(choice.chosen(), nested.kept);
    if (choice.kind == CascadeKind::single)
      single = kept;
    else
      choice.gain = gain(kept);
    const auto worth = [&](const WorthByRow& routed) {
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
    CascadeInput input;
    if (plain.rules) {
      plain.index_features = static_cast<int>(trained.input().index_features);
      input = trained.input();
    } else {
      input = cascade_input(plain, table_, fit_.settings.judge());
    }
    Cascade cascade = make(trained, plain);
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

}  // namespace

CascadeFit fit_cascade(const TraceTable& table, const CascadeFitSettings& settings) {
  require_sound(settings);
  require_content(table);
  const CalibratedEvaluator known(table, settings.evaluator);
  require_binding(settings, table);
  require_few_models(table, settings.aim.is_bound() ? 0.0 : settings.aim.value, "fitted");
  return Fitting(table, settings).run();
}

}  // namespace pandora
