#include "host/outcomes/tables/named_columns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "host/ground/base/printable.hpp"

namespace pandora {

using Kind = CellValue::Kind;

std::string name_in(const FilePlace& place, std::string_view column, const CellValue& cell) {
  constexpr double kWhole = 1e15;  // beyond it a double is no name: several whole numbers are one
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
  roles_.resize(names_.size());
  for (const std::string_view name : kPromptNames)
    if (has(name) && prompt_name_ == kNone) prompt_name_ = position(name);
  if (prompt_name_ != kNone) roles_[prompt_name_].is = Role::Is::prompt_name;
  if (has(kAnswer)) answer_ = position(kAnswer);
  long_ = has("model") && (has("quality") || has("reward"));
  if (long_ && has("propensity")) builder_.is_log();
  if (long_ && has("decision")) decision_ = position("decision");
  long_ ? give_long_roles() : give_wide_roles();
}

void NamedColumns::give_long_roles() {
  if (prompt_name_ == kNone) place_.refuse_form("a column prompt_id is missing");
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i].empty()) builder_.unused("a column without a name");
    if (i == prompt_name_ || i == decision_ || names_[i].empty()) continue;
    Role& role = roles_[i];
    if (names_[i] == "model") {
      role.is = Role::Is::model_name;
      model_name_ = i;
    } else if (builder_.is_of_answers(names_[i])) {
      role.quantity = builder_.quantity(names_[i]);
      role.is = role.quantity == kNone ? Role::Is::ignored : Role::Is::cell;
    } else {
      role = {Role::Is::value, 0, 0, builder_.column(names_[i])};
    }
  }
  const auto count = [this](bool (*is)(std::string_view)) { return std::count_if(names_.begin(), names_.end(), is); };
  if (count(is_cost) == 0 && (!builder_.is_of_answers("prompt_tokens") || count(is_tokens) == 0))
    place_.refuse_form("a column cost is missing, or prompt_tokens and completion_tokens and prices");
  if (count(is_quality) > 1 || count(is_cost) > 1)
    place_.refuse("has two columns of qualities or costs (quality and reward, or cost and total_cost); keep one");
}

// The model of "M|total_cost" or "M|cost", where M is a column too, and where prices are given of "M|prompt_tokens";
// empty for another name.
std::string NamedColumns::model_of_cost(const std::string& name) const {
  const std::size_t bar = name.rfind('|');
  if (bar == std::string::npos) return "";
  const std::string_view what = std::string_view(name).substr(bar + 1);
  const bool priced = builder_.is_of_answers(what) && what == "prompt_tokens" && !has(name.substr(0, bar) + "|cost") &&
                      !has(name.substr(0, bar) + "|total_cost");
  if (!is_cost(what) && !priced) return "";
  if (!has(name.substr(0, bar)))
    place_.refuse("column {} has no column {} of qualities beside it", in_quotes(name), in_quotes(name.substr(0, bar)));
  return name.substr(0, bar);
}

void NamedColumns::give_wide_roles() {
  NameList models;
  for (const std::string& name : names_) {
    const std::string model = model_of_cost(name);
    if (model.empty()) continue;
    if (models.find(model) != kNone) place_.refuse("model {} has two columns of costs", in_quotes(model));
    models.add(model);
  }
  if (models.names().empty())
    place_.refuse_form("its header is " + printable(fmt::format("{}", fmt::join(names_, ",")), 300));
  for (const std::string& name : names_)  // in the order of their qualities
    if (models.find(name) != kNone) (void)builder_.model(name);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::string& name = names_[i];
    if (name.empty()) builder_.unused("a column without a name");
    if (i == prompt_name_ || name.empty()) continue;
    Role& role = roles_[i];
    const std::size_t bar = name.rfind('|');
    const bool is_model = models.find(name) != kNone;
    const std::string model = is_model ? name : name.substr(0, bar), what = is_model ? "quality" : name.substr(bar + 1);
    if (models.find(model) == kNone) {
      role = {Role::Is::value, 0, 0, builder_.column(name)};
    } else if (!is_model && is_quality(what)) {  // the column M has the qualities
      builder_.unused(name);
    } else if ((role.model = builder_.model(model)) != kNone) {
      role.quantity = builder_.quantity(what);
      role.is = role.quantity == kNone ? Role::Is::ignored : Role::Is::cell;
    }
  }
}

void NamedColumns::take(std::span<const CellValue> cells) {
  const auto name_of = [&](std::size_t column) { return name_in(place_, names_[column], cells[column]); };
  const std::uint32_t answer = answer_ == kNone ? 0 : builder_.answer_number(cells[answer_]);
  std::size_t model = kNone;
  if (long_) {
    const std::string prompt = name_of(prompt_name_);
    model = builder_.model(name_of(model_name_));
    builder_.find_row(decision_ == kNone ? prompt : name_of(decision_), prompt, model, answer);
    if (has("propensity")) builder_.call(model);
  } else {
    builder_.begin_row(answer);
    if (prompt_name_ != kNone) builder_.name_row(name_of(prompt_name_));
  }
  for (std::size_t i = 0; i < roles_.size(); ++i) {
    if (roles_[i].is == Role::Is::value) builder_.value(roles_[i].column, cells[i]);
    if (roles_[i].is != Role::Is::cell || (long_ && model == kNone)) continue;
    CellValue value = cells[i];
    if (infer_ && value.text.find_first_not_of(" \t") == std::string_view::npos) value.kind = Kind::missing;
    if (const std::optional<double> number = infer_ ? number_in(value.text) : std::nullopt) {
      value.kind = Kind::number;
      value.number = *number;
    }
    builder_.cell(long_ ? model : roles_[i].model, roles_[i].quantity, value, {names_[i]});
  }
}

// In a wide table a model whose costs have another name than M|cost would be no model, without a word.
TraceTable NamedColumns::finish() && {
  TraceTable table = std::move(builder_).finish();
  for (const PromptColumn& of_model : table.columns)
    for (const PromptColumn& of_cost : table.columns) {
      const bool names_it = !long_ && &of_cost != &of_model && of_cost.name.find(of_model.name) != std::string::npos;
      const auto says = [&](const char* word) { return of_cost.name.find(word) != std::string::npos; };
      if (names_it && of_model.kind == PromptColumn::Kind::number && (says("cost") || says("usd") || says("price")))
        table.notes.push_back(fmt::format(
            "columns {} and {} are taken for columns of the prompts; if {} is a model, its costs are called {}",
            in_quotes(of_model.name), in_quotes(of_cost.name), of_model.name, in_quotes(of_model.name + "|cost")));
    }
  return table;
}

}  // namespace pandora
