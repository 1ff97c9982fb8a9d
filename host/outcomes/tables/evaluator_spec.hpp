// What is seen of an answer when its model was called, as users name it.
#pragma once

#include <optional>

#include "host/ground/base/error.hpp"

namespace pandora {

struct EvaluatorSpec {
  enum class Kind { quality, score, noisy, column };
  Kind kind = Kind::quality;
  std::string name = {};  ///< of the judge, as find_score() takes it; of the column; the S of noisy:S
};

/// Of "quality", "score", "score:NAME", "noisy:S" or "column:NAME"; nothing of any other text.
std::optional<EvaluatorSpec> evaluator_of(const std::string& text);

/// Error (usage) where nobody says through whose eyes a cascade sees. `shown`: what there is beside quality, such as
/// "t.csv has score"; `remedy`: what to give.
Error no_evaluator(const std::string& shown, const std::string& remedy);

/// "evaluator score at $0.0002 a call"; without dollars "evaluator score, judging taken to be free".
std::string evaluator_text(const std::string& evaluator, std::optional<double> judge_usd);

/// The same for a verdict: without dollars "evaluator score: judging is taken to be free; at $0.0006 a call the gain is
/// gone". `gone_at`: 0 where that is not known.
std::string eyes_text(const std::string& evaluator, std::optional<double> judge_usd, double gone_at,
                      const char* claim = "gain");

}  // namespace pandora
