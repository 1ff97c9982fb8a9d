#include "host/cascades/live/fitted_indices.hpp"

#include <algorithm>

#include "host/outcomes/tables/features.hpp"
#include "kernels/rules/period.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

int reward_features_of(const CascadeOptions& options) {
  return options.rules->learns_reward() ? static_cast<int>(2 * options.models.size()) : 0;
}

}  // namespace

FittedIndices::FittedIndices(const CascadeOptions& options, const CascadeRows& table,
                             std::span<const std::size_t> calibration, const FittedIndices* near)
    : table_(table),
      rules_(*options.rules),
      price_(options.price),
      range_(options.psi_range),
      estimator_({static_cast<int>(options.models.size()), options.index_features, reward_features_of(options),
                  options.exploration},
                 rules_, options.estimation),
      phi_(static_cast<std::size_t>(reward_features_of(options))) {
  const std::size_t models = options.models.size();
  int period = 0;
  for (const std::size_t row : calibration) {
    const Request request{++period, context_of(row), {}};
    for (std::size_t a = 0; a < models; ++a)
      estimator_.calibrate(request, output_of(row, a), table_.quality[row * models + a]);
  }
  if (near != nullptr) estimator_.start_at(near->estimator_);
}

// As Cascade::begin() takes it.
std::span<const float> FittedIndices::context_of(std::size_t row) {
  const std::span<const float> psi = table_.psi_of(row);
  if (range_.empty()) return psi;
  context_.resize(psi.size());
  for (std::size_t j = 0; j < psi.size(); ++j) context_[j] = std::clamp(psi[j], range_[j].first, range_[j].second);
  return context_;
}

// As Cascade::observe() makes it of a call.
Output FittedIndices::output_of(std::size_t row, std::size_t model) {
  const std::size_t at = row * table_.models + model;
  if (!phi_.empty()) {
    std::fill(phi_.begin(), phi_.end(), 0.0f);
    phi_[2 * model] = 1.0f;
    phi_[2 * model + 1] = static_cast<float>(logit_of_score(table_.shown[at]));
  }
  return {static_cast<int>(model), phi_, price_ * table_.usd[at], table_.shown[at]};
}

RowCalls FittedIndices::run(std::span<const std::size_t> rows, const std::atomic<bool>* interrupted) {
  const std::size_t models = table_.models;
  RowCalls out{models, {}, {}, {}};
  std::vector<double> score(models);
  std::vector<std::size_t> order;
  int period = 0;
  for (const std::size_t row : rows) {
    if (interrupted != nullptr && *interrupted) throw Error(ExitCode::interrupted, "interrupted; nothing was fitted");
    estimator_.begin({++period, context_of(row), {}});
    for (std::size_t a = 0; a < models; ++a) score[a] = estimator_.index(static_cast<int>(a));
    order.clear();
    const PeriodOutcome walk = walk_period(rules_, static_cast<int>(models), score.data(), nullptr, [&](int a) {
      order.push_back(static_cast<std::size_t>(a));
      return estimator_.reward(output_of(row, order.back()));
    });
    out.add(order, static_cast<std::size_t>(walk.deployed), true);
  }
  return out;
}

}  // namespace pandora
