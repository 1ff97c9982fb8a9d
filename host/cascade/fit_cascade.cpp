#include "host/cascade/fit_cascade.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "host/cascade/bound_search.hpp"
#include "host/cascade/other_fits.hpp"
#include "host/traces/calibrated_evaluator.hpp"
#include "host/traces/trace_check.hpp"

namespace pandora {
namespace {

std::vector<CascadeCandidate> candidates_at(const CascadeFitSettings& settings) {
  std::vector<CascadeCandidate> out = {{CascadeKind::single, settings.aim.value}};
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
    const NestedChoice nested = choose_nested(candidates_, validation_, judged, fit_.settings.aim);
    CascadeChoice& choice = fit_.choice = nested.choice;
    const TrainedTable trained(table_, fit_.settings, all_rows(table_.rows()));
    fit_.price = candidates_[choice.of(choice.cascade).candidate].price;
    const FixedCascade single = trained.fit_order(candidates_[choice.single->candidate]);
    fit_.single_model = table_.models[single.order[0]];
    FixedCascade order = single;
    if (choice.kind == CascadeKind::thresholds) order = trained.fit_order(candidates_[choice.thresholds->candidate]);
    if (choice.kind == CascadeKind::thresholds && order.order.size() == 1) {  // then it is a single model
      choice.kind = CascadeKind::single;
      order = single;
    }
    report(judged, nested);
    CascadeOptions options = choice.kind == CascadeKind::indices ? trained.options_of_indices(fit_.price, true)
                                                                 : trained.options_of(order, fit_.price);
    count_shares(trained, options);
    add_other_fits(fit_, table_, judged.all.routed[choice.of(choice.cascade).candidate]);
    fit_.verdict = fit_verdict(fit_, options) + "; " + eyes_text(fit_);
    options.about = fit_record(fit_).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    fit_.cascade = std::make_shared<Cascade>(make(trained, options));
    return std::move(fit_);
  }

 private:
  std::vector<CascadeCandidate> candidates(const CascadeFitSettings& settings) const {
    return settings.aim.is_bound() ? candidates_by_bound(table_, settings) : candidates_at(settings);
  }

  static Cascade make(const TrainedTable& trained, const CascadeOptions& options) {
    return options.rules ? trained.fit_indices(options) : Cascade(options);
  }

  void report(const CrossValidated& judged, const NestedChoice& nested) {
    const PromptGroups& groups = validation_.groups();
    const auto worth = [&](const Routed& routed) {
      return worth_of(routed, nested.single, fit_.price, groups, kCascadeFolds);
    };
    fit_.single = worth(nested.single);
    fit_.promise = worth(nested.kept);
    for (const auto& [kind, picked] : {std::pair{CascadeKind::thresholds, fit_.choice.thresholds},
                                       std::pair{CascadeKind::indices, fit_.choice.indices}})
      if (picked) fit_.kinds.emplace_back(kind, worth(judged.all.routed[picked->candidate]));
    if (fit_.choice.cascade == CascadeKind::thresholds) note_never_called(judged);
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
