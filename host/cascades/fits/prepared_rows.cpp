#include "host/cascades/fits/prepared_rows.hpp"

#include <algorithm>

namespace pandora {
namespace {

bool uses_context(const CascadeFitSettings& settings) {
  return !settings.context.empty() && (settings.tries(CascadeKind::indices) || settings.tries(CascadeKind::router) ||
                                       settings.tries(CascadeKind::routed));
}

std::shared_ptr<const PreparedContext> context_of(const TraceTable& table, const std::vector<std::string>& specs,
                                                  const std::vector<std::size_t>& rows, const TextCounts* counts,
                                                  const FeatureMap* near) {
  const auto out = std::make_shared<PreparedContext>();
  const bool all = rows.size() == table.rows();
  out->features = all ? FeatureMap::fit(table, specs, {counts}, near)
                      : FeatureMap::fit(select_rows(table, rows), specs, {counts, rows}, near);
  if (out->features.size() == 0) return out;  // nothing varies
  out->index_features = 1 + out->features.size();
  out->psi = psi_of(out->features, table, out->index_features, {counts});
  const std::vector<std::pair<float, float>> range = psi_range(*out, rows);  // as a request's psi is taken
  for (std::size_t k = 0; !range.empty() && k < out->psi.size(); ++k)
    out->psi[k] = std::clamp(out->psi[k], range[k % range.size()].first, range[k % range.size()].second);
  return out;
}

PreparedRows with_context(const TraceTable& table, const CascadeFitSettings& settings, std::vector<std::size_t> rows,
                          std::vector<double> quality, const TextCounts* counts, const FeatureMap* near) {
  PreparedRows out{std::move(rows), std::move(quality), {}, {}, nullptr};
  const CalibratedEvaluator evaluator(table, settings.shown());
  out.calibration = evaluator.calibrate(out.rows, out.quality);
  out.seen = evaluator.seen(out.calibration);
  out.context = uses_context(settings) ? context_of(table, settings.context, out.rows, counts, near)
                                       : std::make_shared<const PreparedContext>();
  return out;
}

bool reads_text(const std::vector<std::string>& specs) {
  return std::ranges::any_of(specs, [](const std::string& spec) { return spec.starts_with("text:"); });
}

}  // namespace

std::vector<float> psi_of(const FeatureMap& map, const TraceTable& table, std::size_t m, const CountedRows& counted) {
  const std::vector<double> numbers = map.apply(table, 1, counted);
  const std::size_t d = map.size();
  std::vector<float> psi(table.rows() * m);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    psi[row * m] = 1.0f;
    for (std::size_t j = 0; j < d; ++j) psi[row * m + 1 + j] = static_cast<float>(numbers[row * d + j]);
  }
  return psi;
}

std::vector<std::pair<float, float>> psi_range(const PreparedContext& context, std::span<const std::size_t> rows) {
  const std::vector<std::string> names = context.features.names();
  const auto raw = [](const std::string& name) { return name.starts_with("raw:"); };
  if (std::none_of(names.begin(), names.end(), raw)) return {};
  std::vector<std::pair<float, float>> out(context.index_features, {-1.0f, 1.0f});
  for (std::size_t j = 0; j < names.size(); ++j) {
    if (!raw(names[j])) continue;
    const auto at = [&](std::size_t row) { return context.psi[row * context.index_features + 1 + j]; };
    out[1 + j] = {at(rows[0]), at(rows[0])};
    for (const std::size_t row : rows)
      out[1 + j] = {std::min(out[1 + j].first, at(row)), std::max(out[1 + j].second, at(row))};
  }
  return out;
}

PreparedRows prepared_rows(const TraceTable& table, const CascadeFitSettings& settings, std::vector<std::size_t> rows) {
  return with_context(table, settings, std::move(rows), {}, nullptr, nullptr);
}

PreparedFolds::PreparedFolds(const TraceTable& table, const CascadeFitSettings& settings, std::size_t folds,
                             const QualityEstimates* estimates)
    : table_(&table),
      settings_(settings),
      folds_(folds),
      estimates_(estimates),
      groups_(group_prompts(table)),
      slots_(empty_slots()) {
  if (uses_context(settings) && reads_text(settings.context) && table.text_column != TraceTable::kNone)
    counts_ = TextCounts::of(table.columns[table.text_column].texts, all_rows(table.rows()));
}

PreparedFolds::PreparedFolds(const PreparedFolds& all, const TraceTable& some, std::vector<std::size_t> which)
    : table_(&some),
      settings_(all.settings_),
      folds_(all.folds_),
      groups_(all.groups_),
      slots_(empty_slots()),
      all_(&all),
      which_(std::move(which)) {}

std::vector<std::unique_ptr<PreparedFolds::Slot>> PreparedFolds::empty_slots() const {
  std::vector<std::unique_ptr<Slot>> out((folds_ + 1) * (folds_ + 1));
  for (std::unique_ptr<Slot>& slot : out) slot = std::make_unique<Slot>();
  return out;
}

std::shared_ptr<const PreparedRows> PreparedFolds::without(std::size_t f, std::size_t g) const {
  Slot& slot = *slots_[std::min(f, g) * (folds_ + 1) + std::max(f, g)];
  std::call_once(slot.once, [&] { slot.rows = std::make_shared<const PreparedRows>(prepared(f, g)); });
  return slot.rows;
}

PreparedRows PreparedFolds::prepared(std::size_t f, std::size_t g) const {
  if (all_ != nullptr) return models_of(*all_->without(f, g));
  std::vector<std::size_t> rows;
  std::vector<bool> held_out(table_->rows());
  for (std::size_t row = 0; row < table_->rows(); ++row) {
    const std::size_t fold = groups_.of_row[row] % folds_;
    held_out[row] = fold == f || fold == g;
    if (!held_out[row]) rows.push_back(row);
  }
  const bool whole = f == folds_ && g == folds_;
  std::vector<double> quality;
  if (estimates_ != nullptr && !whole) quality = estimates_->without(held_out);
  return with_context(*table_, settings_, std::move(rows), std::move(quality), counts_.size() > 0 ? &counts_ : nullptr,
                      whole || counts_.size() == 0 ? nullptr : &without(folds_, folds_)->context->features);
}

PreparedRows PreparedFolds::models_of(const PreparedRows& all) const {
  const auto of_which = [&](const std::vector<double>& cells) {
    const std::size_t models = cells.size() / table_->rows();
    std::vector<double> out;
    out.reserve(table_->rows() * which_.size());
    for (std::size_t row = 0; models > 0 && row < table_->rows(); ++row)
      for (const std::size_t m : which_) out.push_back(cells[row * models + m]);
    return out;
  };
  PreparedRows out{all.rows, of_which(all.quality), {}, of_which(all.seen), all.context};
  for (const std::size_t m : all.calibration.empty() ? std::vector<std::size_t>() : which_)
    out.calibration.push_back(all.calibration[m]);
  return out;
}

}  // namespace pandora
