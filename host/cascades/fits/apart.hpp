// What a log says of each model by itself, as were models' answers to a prompt independent (the paper's boxes, Section 2).
// Then a call tells of its model in whatever decision it was made, and logs of one call a decision tell of cascades, too.
#pragma once

#include "host/cascades/fits/log_reader.hpp"
#include "host/outcomes/routing/calibrated_evaluator.hpp"

namespace pandora {

/// A call of the log, as a draw of its model's law.
struct LawCall {
  std::size_t group;  ///< of its prompt, below kLawGroups
  double seen;        ///< calibrated
  double quality;     ///< estimated where it is not known
  double dollars;
  double weight;  ///< 1 / propensity
};
inline constexpr std::size_t kLawGroups = 50;  ///< of prompts, by which estimates are jackknifed

inline constexpr const char* kApartNote =
    "assumed: models' answers to a prompt are independent; where they are right and wrong together, far less is kept than "
    "is promised";

/// By model; each ascending in `seen`. A model that is not called often enough has none.
using ModelLaws = std::vector<std::vector<LawCall>>;

struct ApartMeans {
  double quality = 0.0, dollars = 0.0, calls = 0.0;
};

/// What a cascade brings in the mean where its models' answers are drawn from their laws, each by itself: exactly, by the
/// law of the best answer so far. `judge_usd`: added to each call of more than one model. Its models have laws.
ApartMeans means_of(const FixedCascade& cascade, const ModelLaws& laws, double judge_usd);

/// The best cascade (fit_fixed_cascade) on a table of `rows` prompts, into which each model's answers are drawn from its
/// law, evenly and in an order of its own.
FixedCascade fit_apart(const ModelLaws& laws, double price, double judge_usd, std::size_t rows);

/// Thresholds that were searched on all of the log, and what those bring that were searched without a fold of prompts.
struct FitApart {
  FixedCascade best, alone;
  std::vector<IsotonicMap> calibration;
  MovedPolicy cascade, single, named;  ///< single: as each fold has it; named: `alone` in all of them
  std::vector<std::string> left_out;   ///< models that were called too seldom
};
/// Nothing where no model was called often enough.
std::optional<FitApart> fit_log_apart(const TraceTable& log, const CascadeFitSettings& settings,
                                      const LogReader& reader);

/// Of a cascade of thresholds. Throws Error (usage) for another, Error (bad_data) where a model was called too seldom.
MovedPolicy worth_apart(const CascadeOptions& cascade, const CascadeInput& input, const LogReader& reader);
MovedPolicy worth_apart(std::size_t single, const CascadeInput& input, const LogReader& reader);

}  // namespace pandora
