#include "host/cascades/fits/fitted_indices.hpp"

#include <algorithm>

#include "kernels/rules/period.hpp"

namespace pandora {
namespace {

int reward_features_of(const CascadeOptions& options) {
  return options.rules->learns_reward() ? static_cast<int>(2 * options.models.size()) : 0;
}

}  // namespace

FittedIndices::FittedIndices(const CascadeOptions& options, const CascadeInput& input,
                             std::span<const std::size_t> calibration, const FittedIndices* near)
    : input_(input),
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
      estimator_.calibrate(request, output_of(row, a), input_.table->quality[row * models + a]);
  }
  if (near != nullptr) estimator_.start_at(near->estimator_);
}

// As Cascade::begin() takes it.
std::span<const float> FittedIndices::context_of(std::size_t row) {
  const std::span<const float> psi = input_.psi_of_row(row);
  if (range_.empty()) return psi;
  context_.resize(psi.size());
  for (std::size_t j = 0; j < psi.size(); ++j) context_[j] = std::clamp(psi[j], range_[j].first, range_[j].second);
  return context_;
}

// As Cascade::observe() makes it of a call.
Output FittedIndices::output_of(std::size_t row, std::size_t model) {
  const std::size_t at = row * input_.table->models.size() + model;
  if (!phi_.empty()) {
    std::fill(phi_.begin(), phi_.end(), 0.0f);
    phi_[2 * model] = 1.0f;
    phi_[2 * model + 1] = static_cast<float>(logit_of_score(input_.shown[at]));
  }
  return {static_cast<int>(model), phi_, price_ * usd(at), input_.shown[at]};
}

Routed FittedIndices::route(std::span<const std::size_t> rows, ModelCounts* counts) {
  const std::size_t models = input_.table->models.size();
  if (counts != nullptr) counts->called = counts->deployed = std::vector<std::uint64_t>(models);
  Routed out;
  std::vector<double> score(models);
  int period = 0;
  for (const std::size_t row : rows) {
    estimator_.begin({++period, context_of(row), {}});
    for (std::size_t a = 0; a < models; ++a) score[a] = estimator_.index(static_cast<int>(a));
    double dollars = 0.0, seconds = 0.0;
    const PeriodOutcome walk = walk_period(rules_, static_cast<int>(models), score.data(), nullptr, [&](int a) {
      const auto model = static_cast<std::size_t>(a);
      dollars += usd(row * models + model);
      if (input_.latency) seconds += input_.table->latency[row * models + model];
      if (counts != nullptr) {
        ++counts->called[model];
        ++counts->judged;
      }
      return estimator_.reward(output_of(row, model));
    });
    const auto deployed = static_cast<std::size_t>(walk.deployed);
    if (counts != nullptr) ++counts->deployed[deployed];
    out.quality.push_back(input_.table->quality[row * models + deployed]);
    out.dollars.push_back(dollars);
    out.calls.push_back(static_cast<double>(walk.queried));
    if (input_.latency) out.latency.push_back(seconds);
  }
  return out;
}

}  // namespace pandora
