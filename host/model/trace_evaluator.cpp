#include "host/model/trace_evaluator.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "host/traces/features.hpp"
#include "kernels/rules/bonus.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

constexpr std::string_view kScore = "score:", kNoisy = "noisy:", kColumn = "column:";

// The S of noisy:S; throws Error (usage).
double noise_of(const std::string& name) {
  double value = 0.0;
  const char *begin = name.data() + kNoisy.size(), *end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || stop != end || !(value >= 0.0 && std::isfinite(value)))
    throw Error(ExitCode::usage, fmt::format("evaluator \"{}\": give a finite number from 0 on behind noisy:", name));
  return value;
}

}  // namespace

std::optional<std::vector<std::string>> scores_wanted(const std::string& evaluator) {
  using Names = std::vector<std::string>;
  if (evaluator == "score") return Names{"score"};
  if (evaluator.starts_with(kScore) && evaluator.size() > kScore.size())
    return std::nullopt;  // find_score() takes "2" for "score_2"
  if (evaluator.starts_with(kNoisy)) (void)noise_of(evaluator);
  if (evaluator == "quality" || evaluator.starts_with(kNoisy) ||
      (evaluator.starts_with(kColumn) && evaluator.size() > kColumn.size()))
    return Names{};
  throw Error(
      ExitCode::usage,
      fmt::format("evaluator \"{}\" is unknown; use quality, score, score:NAME, noisy:S or column:NAME", evaluator));
}

bool hides_quality(const std::string& evaluator) {
  return evaluator != "quality";
}

Evaluator::Evaluator(const std::string& name, const TraceTable& table) : table_(table) {
  const std::size_t A = table.models.size();
  size_ = 2 * static_cast<int>(A);
  if (name.starts_with(kColumn)) {
    column_ = find_column(table, name.substr(kColumn.size()));
    if (column_ == nullptr || column_->kind != PromptColumn::Kind::vector || column_->length % A != 0)
      throw Error(ExitCode::bad_data, fmt::format("{}: has no column {} with as many numbers for each of the {} models",
                                                  table.source, name.substr(kColumn.size()), A));
    size_ = static_cast<int>(column_->length / A);
  } else if (name == "score") {
    shown_ = &find_score(table, "score").values;
  } else if (name.starts_with(kScore)) {
    shown_ = &find_score(table, name.substr(kScore.size())).values;
  } else {
    shown_ = &table.quality;
    if (name.starts_with(kNoisy)) noise_ = noise_of(name);
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
