
#include "host/lanes/model/trace_keys.hpp"

#include <fmt/format.h>

#include <cmath>

#include "host/ground/base/printable.hpp"
#include "host/outcomes/tables/features.hpp"
#include "host/outcomes/tables/trace_table.hpp"
#include "kernels/rules/bonus.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

using Kind = EvaluatorSpec::Kind;

// The S of noisy:S. Throws Error (usage).
double noise_of(const EvaluatorSpec& spec) {
  const double value = number_of(spec.name).value_or(-1.0);
  if (value >= 0.0 && std::isfinite(value)) return value;
  throw Error(ExitCode::usage,
              fmt::format("evaluator \"noisy:{}\": give a finite number from 0 on behind noisy:", spec.name));
}

EvaluatorSpec spec_of(const std::string& evaluator) {
  if (const std::optional<EvaluatorSpec> spec = evaluator_of(evaluator)) return *spec;
  throw Error(
      ExitCode::usage,
      fmt::format("evaluator \"{}\" is unknown; use quality, score, score:NAME, noisy:S or column:NAME", evaluator));
}

}  // namespace

std::optional<Drift> drift_of(const std::string& text) {
  if (text.empty()) return {};
  const std::size_t colon = text.rfind(':');  // names of models may contain a colon
  const double factor =
      colon == std::string::npos || colon == 0 ? -1.0 : number_of(text.substr(colon + 1)).value_or(-1);
  if (!(factor >= 0.0 && factor <= 1.0))
    throw Error(ExitCode::usage,
                "drift \"" + text + "\": give MODEL:FACTOR with a factor in [0, 1], such as small:0.5");
  return Drift{text.substr(0, colon), factor};
}

std::optional<std::vector<std::string>> scores_wanted(const std::string& evaluator) {
  using Names = std::vector<std::string>;
  const EvaluatorSpec spec = spec_of(evaluator);
  if (spec.kind == Kind::noisy) (void)noise_of(spec);
  if (spec.kind != Kind::score) return Names{};
  if (spec.name == "score") return Names{"score"};
  return std::nullopt;  // find_score() accepts "2" for "score_2"
}

bool hides_quality(const std::string& evaluator) {
  return evaluator != "quality";
}

Evaluator::Evaluator(const std::string& name, const TraceTable& table) : table_(table) {
  const std::size_t A = table.models.size();
  size_ = 2 * static_cast<int>(A);
  const EvaluatorSpec spec = spec_of(name);
  if (spec.kind == Kind::column) {
    column_ = find_column(table, spec.name);
    if (column_ == nullptr || column_->kind != PromptColumn::Kind::vector || column_->length % A != 0)
      throw Error(ExitCode::bad_data, fmt::format("{}: has no column {} with as many numbers for each of the {} models",
                                                  table.source, spec.name, A));
    size_ = static_cast<int>(column_->length / A);
  } else {
    shown_ = spec.kind == Kind::score ? &find_score(table, spec.name).values : &table.quality;
    if (spec.kind == Kind::noisy) noise_ = noise_of(spec);
  }
}

void Evaluator::append_features(std::size_t row, std::size_t model, const Stream& noise,
                                std::vector<float>& out) const {
  const std::size_t A = table_.models.size(), d = static_cast<std::size_t>(size_), first = out.size();
  out.resize(first + d, 0.0f);
  if (column_ != nullptr) {
    for (std::size_t k = 0; k < d; ++k)
      out[first + k] = static_cast<float>(column_->numbers[row * column_->length + model * d + k]);
    return;
  }
  double logit = logit_of_score((*shown_)[row * A + model]);
  if (noise_ > 0.0) logit += noise_ * box_normal(noise, static_cast<std::uint32_t>(row), static_cast<int>(model));
  out[first + 2 * model] = 1.0f;
  out[first + 2 * model + 1] = static_cast<float>(logit);
}

}  // namespace pandora
