// What a cascade is fitted for, and with what.
#pragma once

#include <memory>
#include <optional>

#include "host/cascades/fits/fit_progress.hpp"
#include "host/cascades/fits/worth.hpp"
#include "host/outcomes/tables/trace_table.hpp"

namespace pandora {

/// A price of dollars, or a bound on them or on the quality. Under a bound a price is found that keeps it.
struct CascadeAim {
  enum class Kind { price, most_usd, least_quality };
  Kind kind = Kind::price;
  double value = 0.0;  ///< utility per dollar; dollars per prompt; quality, in [0, 1]
  /// Seconds that the 95th per cent of a prompt's calls in series may take, of cascades on prompts that they were not
  /// fitted on.
  std::optional<double> most_latency = {};

  bool is_bound() const { return kind != Kind::price; }
  bool is_on_dollars() const { return kind == Kind::most_usd; }
};

/// "price 20", "at most 0.001 dollars per prompt", "quality of at least 0.95".
std::string aim_text(const CascadeAim& aim);

/// One model for all prompts; one for each prompt, by its features; models in an order with thresholds; an order for
/// each prompt; models or orders with thresholds, for each prompt one of them.
enum class CascadeKind { single, router, thresholds, indices, routed };
inline constexpr CascadeKind kCascadeKinds[] = {CascadeKind::single, CascadeKind::router, CascadeKind::thresholds,
                                                CascadeKind::indices, CascadeKind::routed};

/// "best single", "router", "thresholds", "indices", "routed".
const char* kind_text(CascadeKind kind);
/// Whether `a` needs less than `b`: a router a context, thresholds a judge, indices and routed both.
constexpr bool is_simpler(CascadeKind a, CascadeKind b) {
  constexpr int kNeeds[] = {0, 1, 2, 3, 3};  // bits
  const int needs = kNeeds[static_cast<int>(a)], more = kNeeds[static_cast<int>(b)];
  return needs != more && (needs & more) == needs;
}
/// Whether the features of a prompt decide before any call.
constexpr bool routes(CascadeKind kind) {
  return kind == CascadeKind::router || kind == CascadeKind::routed;
}

/// Which calls of a decision are those that another policy would have made.
enum class Openings {
  in_order,     ///< its t-th call is that of the policy, if it is the same model
  independent,  ///< each model was called by a toss of its own, whatever came before: its order does not matter
  apart         ///< those of its model, in whatever decision: models' answers to a prompt are independent
};
/// The end of a verdict.
inline const char* assumed_text(Openings openings) {
  return openings == Openings::apart ? "; if models' answers are independent" : "";
}

struct CascadeFitSettings {
  CascadeAim aim;
  std::string evaluator = {};              ///< "quality", "score", "score:NAME", "none"; must be said
  std::vector<std::string> context = {};   ///< specs of FeatureMap
  bool thresholds = true, indices = true;  ///< which kinds are tried
  bool router = false, routed = false;     ///< likewise, where there is a context
  /// Whether the one kind that is tried is deployed also where no gain over the best single model is sure.
  bool as_asked = false;
  /// Of indices, while they run: a sample's half-life in requests (0: none fades), and the width of the bonus, 0 where the
  /// table tells of all models. What is promised is without either.
  double forget = 0.0, width = 0.0;
  /// With what probability it explores while it runs; then all models of the table are in its file, and can be drawn.
  double explore = 0.0;
  /// Dollars of judging an answer, added to each call of a cascade; absent: nobody said, and it is taken to be free.
  std::optional<double> judge_usd = {};
  /// Of outcomes that are estimated from a log, where models that were seldom called would be chosen for their noise: a
  /// router takes each model's quality for less by so many standard errors of its mean, and the best single model is this.
  double caution = 0.0;
  std::optional<std::size_t> single = {};
  bool from_log() const { return caution > 0.0; }
  bool estimated = false;  ///< whether the table's qualities are estimates
  /// Whether what a kind is worth on other prompts is read out of fold, and not corrected() (fit_cascade.hpp). Corrected
  /// cross-validation takes off what the folds' fits gain by having seen their prompts, which is right where they do the
  /// same as the whole fit. A router chooses its learner anew in each; where the whole takes ten neighbours and the folds
  /// do not, most of what it remembers would stay. Noise of estimated qualities can be followed by any fit, and is greater
  /// than that of qualities by 1 / the share of labels.
  bool out_of_fold(CascadeKind kind) const { return estimated || from_log() || routes(kind); }
  std::optional<CascadeWorth> running = {};    ///< of a log: CascadeFit::running, without its gain
  bool other_fits = true;                      ///< whether CascadeFit::without and ::elsewhere are made too
  unsigned threads = 0;                        ///< 0: as many as the machine has
  std::shared_ptr<FitProgress> progress = {};  ///< where somebody looks
  Openings openings = Openings::in_order;      ///< of a log

  double judge() const { return judge_usd.value_or(0.0); }
  /// What a table shows of an answer: of the evaluator "none" it does not matter.
  std::string shown() const { return evaluator == kNoEvaluator ? "quality" : evaluator; }
  /// Whether the kind can be had and is asked for; without an evaluator that is a router alone.
  bool tries(CascadeKind kind) const;
  CascadeFitSettings only(CascadeKind kind) const;
  /// "router", "thresholds", "indices", "routed" or "auto", all of them; one alone is deployed `as_asked`, thresholds also
  /// of one model. Throws Error (usage) for another text.
  void set_kind(const std::string& name);
};

/// Throws Error (usage) for a number that is out of range, where no kind is tried, and for a context that none uses.
void require_sound(const CascadeFitSettings& settings);

void require_judge_usd(std::optional<double> judge_usd);

/// Under a bound on latency throws Error (usage) for a log, Error (bad_data) for a table that has none.
void require_latency(const CascadeFitSettings& settings, const TraceTable& table);

/// Throws Error (usage) for a bound on dollars that binds nothing, being above what calling all models costs, with
/// their judge: it was meant for more than one prompt.
void require_binding(const CascadeFitSettings& settings, const TraceTable& table);

}  // namespace pandora
