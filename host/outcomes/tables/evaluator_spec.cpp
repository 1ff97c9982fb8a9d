#include "host/outcomes/tables/evaluator_spec.hpp"

#include <fmt/format.h>

namespace pandora {

std::optional<EvaluatorSpec> evaluator_of(const std::string& text) {
  using Kind = EvaluatorSpec::Kind;
  if (text == "quality") return EvaluatorSpec{};
  if (text == "score") return EvaluatorSpec{Kind::score, text};
  for (const auto& [prefix, kind] :
       {std::pair{std::string_view("score:"), Kind::score}, {"noisy:", Kind::noisy}, {"column:", Kind::column}})
    if (text.starts_with(prefix) && text.size() > prefix.size()) return EvaluatorSpec{kind, text.substr(prefix.size())};
  return {};
}

Error no_evaluator(const std::string& shown, const std::string& remedy) {
  return Error(
      ExitCode::usage,
      fmt::format("no evaluator is given, which says what is seen of an answer at run time: {}, and quality is "
                  "a yardstick, a free and perfect judge that needs the truth at run time; give --evaluator {}",
                  shown, remedy));
}

std::string evaluator_text(const std::string& evaluator, std::optional<double> judge_usd) {
  return judge_usd ? fmt::format("evaluator {} at ${:.3g} a call", evaluator, *judge_usd)
                   : fmt::format("evaluator {}, judging taken to be free", evaluator);
}

std::string eyes_text(const std::string& evaluator, std::optional<double> judge_usd, double gone_at,
                      const char* claim) {
  if (judge_usd) return evaluator_text(evaluator, judge_usd);
  return fmt::format("evaluator {}: judging is taken to be free", evaluator) +
         (gone_at > 0.0 ? fmt::format("; at ${:.2g} a call the {} is gone", gone_at, claim) : "");
}

}  // namespace pandora
