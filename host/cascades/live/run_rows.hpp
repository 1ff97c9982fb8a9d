// Prompts of a table, as arrays, that a cascade meets one after the other as a service would send them.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "pandora/cascade.hpp"

namespace pandora {

/// Views of rows x models, row-major, with the models of the cascade in its order. What they look at must outlive them.
struct CascadeRows {
  std::size_t models = 0;
  std::size_t index_features = 1;   ///< m
  std::span<const float> psi = {};  ///< rows x m; empty: 1 alone
  std::span<const double> usd;      ///< of a call, with the judge's
  std::span<const double> shown;    ///< what the evaluator shows of an answer, in [0, 1]
  std::span<const double> quality = {};

  std::span<const float> psi_of(std::size_t row) const {
    static constexpr float kOne = 1.0f;
    return psi.empty() ? std::span(&kOne, 1) : psi.subspan(row * index_features, index_features);
  }
};

/// What became of some rows.
struct RowCalls {
  std::size_t models = 0;
  std::vector<std::int8_t> called;     ///< rows x models: those that were called, in order, and then -1
  std::vector<std::int32_t> deployed;  ///< whose answer
  std::vector<std::uint8_t> judged;    ///< whether answers had to be; 0 where one model alone could be called

  /// Of one row more; `order`: the models that were called.
  void add(std::span<const std::size_t> order, std::size_t of_deployed, bool is_judged);
};

/// Nothing is learned: every row meets the cascade as it is, which then does not learn any more. Throws Error
/// (interrupted) once that is set.
RowCalls run_rows(Cascade& cascade, const CascadeRows& table, std::span<const std::size_t> rows,
                  const std::atomic<bool>* interrupted = nullptr);

/// Has a cascade of the kind `indices`, which has met nothing yet, learn from all models' answers to these rows.
void learn_rows(Cascade& cascade, const CascadeRows& table, std::span<const std::size_t> rows,
                const std::atomic<bool>* interrupted = nullptr);

}  // namespace pandora
