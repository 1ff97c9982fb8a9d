// A table's prompts through a cascade, as a service would send them: begin, next, observe, deploy.
#pragma once

#include "host/outcomes/routing/routing.hpp"
#include "host/outcomes/tables/features.hpp"
#include "pandora/cascade.hpp"

namespace pandora {

/// A table as a cascade meets it.
struct CascadeInput {
  const TraceTable* table = nullptr;  ///< must outlive this
  std::vector<std::size_t> columns;   ///< of the cascade's models, which of the table's
  std::span<const double> shown;  ///< rows x the table's models: what the evaluator shows, as it stands in the table
  std::vector<float> psi;         ///< rows x index_features; empty: 1 alone
  std::size_t index_features = 1;
  double judge_usd = 0.0;  ///< added to the dollars of every call

  std::span<const float> psi_of_row(std::size_t row) const {
    static constexpr float kOne = 1.0f;
    return psi.empty() ? std::span(&kOne, 1) : std::span(psi).subspan(row * index_features, index_features);
  }
};

/// rows x m: 1, the features and zeros.
std::vector<float> psi_of(const FeatureMap& map, const TraceTable& table, std::size_t m);

/// For a cascade and a table it was perhaps not fitted on. Throws Error (bad_data) where the table lacks a model, a
/// score or a column of the features, Error (usage) for an evaluator that tables do not have (column:NAME).
CascadeInput cascade_input(const CascadeOptions& cascade, const TraceTable& table, double judge_usd);

/// How often each model of the cascade was called and its answer deployed.
struct ModelCounts {
  std::vector<std::uint64_t> called, deployed;
};

/// The named rows, one after the other. Nothing is learned: every prompt meets the cascade as it is.
Routed run_prompts(Cascade& cascade, const CascadeInput& input, std::span<const std::size_t> rows,
                   ModelCounts* counts = nullptr);

}  // namespace pandora
