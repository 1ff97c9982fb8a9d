#include "host/outcomes/tables/named_columns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "host/ground/base/nearest.hpp"
#include "host/ground/base/printable.hpp"
#include "host/outcomes/tables/json_rows.hpp"

namespace pandora {

using Kind = CellValue::Kind;

std::string name_in(const FilePlace& place, std::string_view column, const CellValue& cell) {
  constexpr double kWhole = 1e15;  // beyond it a double cannot be a name, because it stands for several whole numbers
  if (cell.kind == Kind::text || !cell.text.empty()) return std::string(cell.text);
  if (cell.kind == Kind::missing) return "";
  if (cell.kind == Kind::number && std::abs(cell.number) <= kWhole && cell.number == std::trunc(cell.number))
    return fmt::format("{}", static_cast<std::int64_t>(cell.number));
  place.refuse_cell({column}, "is neither a text nor a whole number");
}

void NamedColumns::name(std::vector<std::string> names) {
  names_ = std::move(names);
  std::vector<std::string> sorted = names_;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(sorted.begin(), std::upper_bound(sorted.begin(), sorted.end(), ""));
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    place_.refuse("column {} stands twice in the header", in_quotes(*twice));
  for (const std::string& name : builder_.options().prompt_key) {
    if (!has(name))
      place_.refuse("has no column {}{}, which is to name the prompts (prompt_key, --prompt-key)", in_quotes(name),
                    nearest_text(nearest(name, names_)));
    prompt_names_.push_back(position(name));
  }
  for (const std::string_view name : kPromptNames)
    if (has(name) && prompt_names_.empty()) prompt_names_ = {position(name)};
  if (has(kAnswer)) answer_ = position(kAnswer);
  long_ = has("model") && any_of([&](std::string_view name) { return builder_.gives_quality(name); });
  if (has("model") && !long_ && any_of(is_score) && !prompt_names_.empty()) place_.refuse(kScoresAlone);
  if (long_ && has("propensity")) builder_.is_log();
  if (long_ && has("decision")) decision_ = position("decision");
  if (long_) model_name_ = position("model");
  long_ ? require_long_form() : find_models();
  for (std::size_t i = 0; i < names_.size(); ++i) roles_.push_back(role_of(i));
}

void NamedColumns::require_long_form() const {
  const auto count = [this](const auto& is) { return std::count_if(names_.begin(), names_.end(), is); };
  if (prompt_names_.empty()) place_.refuse_form("a column prompt_id is missing");
  if (count(is_cost) == 0 && (!builder_.is_of_answers("prompt_tokens") || count(is_tokens) == 0))
    place_.refuse_form("a column cost is missing, or prompt_tokens and completion_tokens and prices");
  if (count([this](const std::string& name) { return builder_.says_quality(name); }) > 1 || count(is_cost) > 1)
    place_.refuse("has two columns of qualities or costs (quality and reward, or cost and total_cost); keep one");
}

// The model of a name "M|total_cost" or "M|cost", if M has a column of qualities; with prices given, also of
// "M|prompt_tokens". Empty for other names.
std::string NamedColumns::model_of_cost(const std::string& name) const {
  const std::size_t bar = name.rfind('|');
  if (bar == std::string::npos) return "";
  const std::string_view what = std::string_view(name).substr(bar + 1);
  const bool priced = builder_.is_of_answers(what) && what == "prompt_tokens" && !has(name.substr(0, bar) + "|cost") &&
                      !has(name.substr(0, bar) + "|total_cost");
  if (!is_cost(what) && !priced) return "";
  std::string model = name.substr(0, bar);
  const auto is_own = [&](std::string_view column, const auto& is) {
    return column.starts_with(model + "|") && is(column.substr(bar + 1));
  };
  const auto gives = [this](std::string_view column) { return builder_.gives_quality(column); };
  if (!has(model) && !any_of([&](std::string_view column) { return is_own(column, gives); })) {
    if (any_of([&](std::string_view column) { return is_own(column, is_score); })) place_.refuse(kScoresAlone);
    place_.refuse("column {} has no column {} of qualities beside it", in_quotes(name), in_quotes(model));
  }
  return model;
}

// Finds the models of a wide table, or the column with the answers of a row as an object that is written as text.
void NamedColumns::find_models() {
  for (const std::string& name : names_) {
    const std::string model = model_of_cost(name);
    if (model.empty()) continue;
    if (models_.find(model) != kNone) place_.refuse("model {} has two columns of costs", in_quotes(model));
    models_.add(model);
  }
  for (const char* answers : {"models", "arms"})
    if (models_.size() == 0 && answers_ == kNone && has(answers)) answers_ = position(answers);
  if (answers_ != kNone) {
    const auto decisions = std::make_shared<DecisionRows>(place_, builder_);  // there are no decisions
    const auto rows = std::make_shared<JsonRows>(place_, builder_, *decisions);
    take_answers_ = [this, decisions, rows](std::string_view text) { rows->take_answers(names_[answers_], text); };
  } else if (models_.size() == 0) {
    place_.refuse_form((any_of(is_cost) ? "its header is " : "it has no costs; its header is ") +
                       printable(fmt::format("{}", fmt::join(names_, ",")), 300));
  }
  for (const std::string& name : names_)  // in the order of their qualities
    if (models_.find(name) != kNone) (void)builder_.model(name);
  for (const std::string& name : models_.names()) (void)builder_.model(name);
}

NamedColumns::Role NamedColumns::role_of(std::size_t column) {
  const std::string& name = names_[column];
  // A column that prompt_key names stays a column.
  const bool names_prompt = builder_.options().prompt_key.empty() && prompt_names_ == std::vector{column};
  if (names_prompt || column == model_name_ || column == decision_) return {};
  if (column == answers_) return {Role::Is::answers};
  if (name.empty()) {
    if (answers_ == kNone) builder_.unused("a column without a name");
    return {};
  }
  const std::size_t bar = name.rfind('|');
  const bool is_model = models_.find(name) != kNone;
  const std::string model = is_model ? name : name.substr(0, bar), what = is_model ? "quality" : name.substr(bar + 1);
  if (long_ ? !builder_.is_of_answers(name) : models_.find(model) == kNone)
    return {Role::Is::value, builder_.column(name)};
  if (!long_ && !is_model && is_quality(what) && has(model)) {  // the column M has the qualities
    builder_.unused(name);
    return {};
  }
  const std::size_t number_of_model = long_ ? 0 : builder_.model(model);
  if (number_of_model == kNone) return {};
  const std::size_t quantity = builder_.quantity(long_ ? name : what);
  return {quantity == kNone ? Role::Is::ignored : Role::Is::cell, quantity, number_of_model};
}

void NamedColumns::take(std::span<const CellValue> cells) {
  const auto name_of = [&](std::size_t column) { return name_in(place_, names_[column], cells[column]); };
  std::string prompt = prompt_names_.empty() ? "" : name_of(prompt_names_[0]);
  for (std::size_t k = 1; k < prompt_names_.size(); ++k) prompt += " | " + name_of(prompt_names_[k]);
  const std::uint32_t answer = answer_ == kNone ? 0 : builder_.answer_number(cells[answer_]);
  std::size_t model = kNone;
  if (long_) {
    model = builder_.model(name_of(model_name_));
    builder_.find_row(decision_ == kNone ? prompt : name_of(decision_), prompt, model, answer);
    if (has("propensity")) builder_.call(model);
  } else {
    builder_.begin_row(answer);
    if (!prompt_names_.empty()) builder_.name_row(prompt);
  }
  for (std::size_t i = 0; i < roles_.size(); ++i) {
    if (roles_[i].is == Role::Is::value) builder_.value(roles_[i].number, cells[i]);
    if (roles_[i].is == Role::Is::answers) take_answers_(cells[i].text);
    if (roles_[i].is != Role::Is::cell || (long_ && model == kNone)) continue;
    CellValue value = cells[i];
    if (const std::optional<double> number = infer_ ? number_in(value.text) : std::nullopt;
        number && !std::isnan(*number)) {
      value.kind = Kind::number;
      value.number = *number;
    }
    builder_.cell(long_ ? model : roles_[i].model, roles_[i].number, value, {names_[i]});
  }
}

// In a wide table, a model whose costs are not called M|cost would silently be no model.
TraceTable NamedColumns::finish() && {
  TraceTable table = std::move(builder_).finish();
  for (const PromptColumn& of_model : table.columns)
    for (const PromptColumn& of_cost : table.columns) {
      const bool names_it = !long_ && &of_cost != &of_model && of_cost.name.find(of_model.name) != std::string::npos;
      const auto says = [&](const char* word) { return of_cost.name.find(word) != std::string::npos; };
      if (names_it && of_model.kind == PromptColumn::Kind::number && (says("cost") || says("usd") || says("price")))
        table.notes.push_back(fmt::format(
            "columns {} and {} are read as columns of the prompts; if {} is a model, call its costs {}",
            in_quotes(of_model.name), in_quotes(of_cost.name), of_model.name, in_quotes(of_model.name + "|cost")));
    }
  return table;
}

}  // namespace pandora
