// What a cascade is fitted for, and with what.
#pragma once

#include <memory>
#include <optional>

#include "host/cascades/fits/fit_progress.hpp"
#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {

/// A price of dollars, or a bound on them or on the quality. Under a bound a price is found that keeps it.
struct CascadeAim {
  enum class Kind { price, most_usd, least_quality };
  Kind kind = Kind::price;
  double value = 0.0;  ///< utility per dollar; dollars per prompt; quality, in [0, 1]

  bool is_bound() const { return kind != Kind::price; }
  bool is_on_dollars() const { return kind == Kind::most_usd; }
};

/// "price 20", "at most 0.001 dollars per prompt", "quality of at least 0.95".
std::string aim_text(const CascadeAim& aim);

/// From the least to the most complicated.
enum class CascadeKind { single, thresholds, indices };

/// "best single", "thresholds", "indices".
const char* kind_text(CascadeKind kind);

struct CascadeFitSettings {
  CascadeAim aim;
  std::string evaluator = {};              ///< "quality", "score", "score:NAME"; must be said
  std::vector<std::string> context = {};   ///< specs of FeatureMap, for the kind `indices`
  bool thresholds = true, indices = true;  ///< which kinds are tried
  /// Dollars of judging an answer, added to each call of a cascade; absent: nobody said, and it is taken to be free.
  std::optional<double> judge_usd = {};
  unsigned threads = 0;                        ///< 0: as many as the machine has
  std::shared_ptr<FitProgress> progress = {};  ///< where somebody looks

  double judge() const { return judge_usd.value_or(0.0); }
};

/// Throws Error (usage) for a number that is out of range, where no kind is tried, and for a context that none uses.
void require_sound(const CascadeFitSettings& settings);

void require_judge_usd(std::optional<double> judge_usd);

/// Throws Error (usage) for a bound on dollars that binds nothing, being above what calling all models costs, with
/// their judge: it was meant for more than one prompt.
void require_binding(const CascadeFitSettings& settings, const TraceTable& table);

}  // namespace pandora
