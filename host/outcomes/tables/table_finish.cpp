// Finishes a table after all of its file is read: costs from tokens, columns, and notes about everything left out.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "host/ground/base/nearest.hpp"
#include "host/ground/base/printable.hpp"
#include "host/outcomes/tables/table_builder.hpp"

namespace pandora {
namespace {

// The prompt's text: the first of these that is a column of texts.
constexpr std::string_view kTextNames[] = {"prompt", "text", "question", "query", "input", "instruction"};

// Names in quotes, the first few of them.
std::string names_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 40;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i == 0 ? "" : ", ") + in_quotes(names[i]);
  return names.size() <= kMost ? text : fmt::format("{} and {} more", text, names.size() - kMost);
}

bool has_value(double cell) {
  return cell >= 0;
}

}  // namespace

// Computes missing costs from tokens and their prices (dollars_of).
void TableBuilder::price_tokens(TraceTable& table) const {
  const std::size_t in = find_quantity("prompt_tokens"), out = find_quantity("completion_tokens");
  if (in == kNone && out == kNone) return;
  if (in == kNone || out == kNone)
    place_.refuse("has {} and no {}; a price needs both", in == kNone ? "completion_tokens" : "prompt_tokens",
                  in == kNone ? "prompt_tokens" : "completion_tokens");
  std::vector<std::pair<const std::vector<double>*, double TokenUsage::*>> counts;
  for (const Quantity& quantity : quantities_)
    if (double TokenUsage::*const member = TokenUsage::member(quantity.name))
      counts.emplace_back(&quantity.values, member);
  NameList without_cached;
  std::size_t both = 0, answers = 0, not_used = 0, with_hidden = 0;
  double hidden = 0.0;
  for (std::size_t i = 0; i < table.cost.size(); ++i) {
    const double given = quantities_[in].values[i], made = quantities_[out].values[i];
    answers += has_value(table.cost[i]) || (has_value(given) && has_value(made));
    if (!has_value(given) || !has_value(made)) continue;
    both += has_value(table.cost[i]);
    if (has_value(table.cost[i])) continue;
    const std::string& model = table.models[i % table.models.size()];
    const auto price = options_.prices.find(model);
    if (price == options_.prices.end()) {
      std::vector<std::string> priced;
      for (const auto& entry : options_.prices) priced.push_back(entry.first);
      place_.refuse("model {} has tokens and no cost, and no price is given for it{}; add it to the prices",
                    in_quotes(model), nearest_text(nearest(model, priced)));
    }
    TokenUsage usage;
    for (const auto& [values, member] : counts) usage.*member = std::max(0.0, (*values)[i]);  // 0 if it is missing
    const std::string_view prompt = table.prompts[i / table.models.size()];
    if (const char* const fault = usage.fault())
      place_.refuse("prompt {}: the answer of model {} {}", in_quotes(prompt), in_quotes(model), fault);
    table.cost[i] = dollars_of(price->second, usage);
    if (table.cost[i] > kMostCallUsd)
      place_.refuse("prompt {}: {:g} and {:g} tokens of model {} cost more than a million dollars", in_quotes(prompt),
                    given, made, in_quotes(model));
    if ((usage.cached > 0 && std::isnan(price->second.cached)) ||
        (usage.cache_write > 0 && std::isnan(price->second.cache_write))) {
      without_cached.add(model);
      ++not_used;
    }
    with_hidden += usage.hidden() > 0;
    hidden += usage.hidden();
  }
  if (not_used > 0)
    table.notes.push_back(fmt::format(
        "cached tokens of {} answers are priced as other tokens of their prompts: no price of cached tokens (cached, "
        "cache_write) is given for {}",
        not_used, names_text(without_cached.names())));
  if (with_hidden > 0)
    table.notes.push_back(fmt::format(
        "total_tokens of {} answers exceed prompt_tokens and completion_tokens, by {:.6g} on average: the rest "
        "counts as reasoning, at the price reasoning or else out",
        with_hidden, hidden / static_cast<double>(with_hidden)));
  if (both > 0)
    table.notes.push_back(fmt::format(
        "{} of {} answers have a cost beside their tokens: the cost is used, not the prices", both, answers));
}

void TableBuilder::add_columns(TraceTable& table) {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const std::string name = columns_[c].name();
    const bool is_text = std::ranges::find(kTextNames, name) != std::end(kTextNames);
    const std::string differs = fmt::format("column {} differs between rows of the same prompt", in_quotes(name));
    if (differs_[c] && is_text) place_.refuse(differs);
    if (differs_[c])
      table.notes.push_back(
          differs +
          ": it belongs to the answers and is left out (a judge's scores are called score, score_NAME or "
          "score:NAME)");
    else
      table.columns.push_back(std::move(columns_[c]).finish(rows_, infer_ && !is_text));
  }
  for (const std::string_view name : kTextNames)
    for (std::size_t c = 0; c < table.columns.size() && table.text_column == kNone; ++c)
      if (table.columns[c].name == name && table.columns[c].kind == PromptColumn::Kind::text) table.text_column = c;
}

// Takes a judge's scores as qualities, if that is asked for, or if there are no qualities and it is allowed.
void TableBuilder::take_scores_for_quality(TraceTable& table) const {
  std::string judge = options_.quality;
  const bool none = std::ranges::all_of(table.quality, [](double x) { return x == kAbsentCell; });
  if (judge.empty() && none && !table.scores.empty() && !log_) {  // a log may be read before its feedback came
    if (!options_.scores_alone) place_.refuse(kScoresAlone);
    judge = table.scores[0].name;
  }
  if (!judge.empty() && !is_score(judge) && none)
    place_.refuse("no answer has a {}, which was named as the quality (quality, --quality)", in_quotes(judge));
  if (!is_score(judge)) return;
  table.quality = find_score(table, judge.starts_with("score:") ? judge.substr(6) : judge).values;
  table.judged_by = judge;
  table.note(
      "judge",
      fmt::format(
          "quality: the scores of the judge {} are used as the quality; this assumes that the judge is right on average "
          "about every model, which nothing in this table can show",
          in_quotes(judge)));
}

void TableBuilder::add_notes(TraceTable& table) const {
  for (const Quantity& quantity : quantities_)
    if (std::ranges::any_of(quantity.words, [](std::uint8_t words) { return (words & kTruths) != 0; }))
      table.notes.push_back("truth values of " + quantity.name + " are read as 1 (True, yes) and 0 (False, no)");
  std::vector<double> seconds;
  std::ranges::copy_if(table.latency, std::back_inserter(seconds), has_value);
  if (!seconds.empty()) {
    const auto middle = seconds.begin() + static_cast<long>(seconds.size() / 2);
    std::ranges::nth_element(seconds, middle);
    if (constexpr double kSlow = 60.0; *middle > kSlow)
      table.note(
          "latency",
          fmt::format(
              "latency: the median is {:.6g}, but the unit must be seconds; if these are milliseconds, divide them by "
              "1,000",
              *middle));
  }
  if (unused_.size() > 0) table.notes.push_back("not used: " + names_text(unused_.names()));
  if (!options_.prices.empty() && find_quantity("prompt_tokens") == kNone)
    table.notes.push_back("prices are not used: no answer has prompt_tokens and completion_tokens");
  table.notes.insert(table.notes.end(), notes_.begin(), notes_.end());
}

TraceTable TableBuilder::assemble() {
  TraceTable table;
  table.source = place_.file;
  table.models = models_.names();
  if (log_) table.log.emplace();
  const std::size_t models = table.models.size();
  for (Quantity& quantity : quantities_) {
    std::vector<double>& values = quantity.values;
    for (std::size_t row = 0; row < rows_ && models < stride_; ++row)  // moves to the left, so no value is overwritten
      std::copy_n(values.begin() + static_cast<long>(row * stride_), models,
                  values.begin() + static_cast<long>(row * models));
    values.resize(rows_ * models);
    if (is_score(quantity.name)) {
      table.scores.push_back({quantity.name, std::move(values)});
      continue;
    }
    std::vector<double>* const cells = quantity.name == kLatency             ? &table.latency
                                       : quantity.name == "label_propensity" ? &table.label_propensity
                                       : quantity.name == "propensity"       ? &table.log->propensity
                                       : quantity.name == kPlace             ? &table.log->place
                                       : quantity.name == kByRules           ? &table.log->by_rules
                                                                             : nullptr;
    if (cells != nullptr) *cells = std::move(values);
  }
  table.quality = std::move(quantities_[0].values);
  table.cost = std::move(quantities_[1].values);
  for (double& seconds : table.latency)
    if (!has_value(seconds)) seconds = std::numeric_limits<double>::quiet_NaN();
  table.named_prompts = prompts_.size() > 0;
  table.by_name = !options_.prompt_key.empty();
  for (std::size_t row = 0; row < rows_ && !table.named_prompts; ++row) prompts_.push_back(std::to_string(row + 1));
  table.prompts = std::move(prompts_);
  add_columns(table);
  price_tokens(table);
  take_scores_for_quality(table);
  add_notes(table);
  return table;
}

// Checks that all models and scores that were asked for exist.
void TableBuilder::require_models_and_scores() const {
  std::vector<std::string> lacking, there = other_models_.names();
  for (std::size_t m = 0; m < options_.models.size(); ++m) {
    bool seen = false;
    for (std::size_t row = 0; row < rows_ && !seen; ++row) seen = answered(row, m);
    (seen ? there : lacking).push_back(options_.models[m]);
  }
  if (!lacking.empty())
    place_.refuse("has no model {}{}; its models are {}{}", in_quotes(lacking[0]),
                  nearest_text(nearest(lacking[0], there)), printable(fmt::format("{}", fmt::join(there, ", ")), 500),
                  std::ranges::none_of(there, [](const std::string& name) { return name.find(',') != name.npos; })
                      ? ""
                      : "; put a name with a comma in quotes, as in CSV (--models '\"a,b\"')");
  std::vector<std::string> scores = other_scores_.names();
  for (const Quantity& quantity : quantities_)
    if (is_score(quantity.name) &&
        std::any_of(quantity.values.begin(), quantity.values.end(), [](double x) { return x != kAbsentCell; }))
      scores.push_back(quantity.name);
  const auto require_score = [&](const std::string& name, const auto& is_it) {
    if (std::none_of(scores.begin(), scores.end(), is_it))
      place_.refuse("has no score {}{}", in_quotes(name), nearest_text(nearest(name, scores)));
  };
  for (const std::string& name : options_.scores.value_or(std::vector<std::string>()))
    require_score(name, [&](const std::string& score) { return score == name; });
  for (const StatedRange& range : options_.scale)
    if (!is_quality(range.name))
      require_score(range.name, [&](const std::string& score) { return is_range_of(range, score); });
}

// A misspelt column of answers would silently become a prompt's column or be ignored, and a log would be no log.
void TableBuilder::require_no_misspelt_name() const {
  const auto is_there = [this](std::string_view name) {
    const std::size_t q = is_quality(name) ? 0 : is_cost(name) ? 1 : find_quantity(name);
    return q != kNone && std::ranges::any_of(quantities_[q].values, has_value);
  };
  for (const char* name : {"quality", "reward", "cost", "total_cost", "score", "latency", "prompt_tokens",
                           "completion_tokens", "propensity", "label_propensity", "decision"}) {
    const bool of_logs =
        name == std::string_view("propensity") ? options_.holes : name == std::string_view("decision") && log_;
    if (!(of_logs || is_of_answers(name)) || is_there(name)) continue;
    for (const NameList* list : {&column_names_, &unused_})
      for (const std::string& own : list->names())
        if (is_misspelt(own, name))
          place_.refuse(
              "has a column {} and no {}; if that was meant, call it {}, otherwise choose a less similar "
              "name",
              in_quotes(own), in_quotes(name), name);
  }
}

// In a table whose rows are numbered answers, a prompt may occur again, but not with the same number.
void TableBuilder::require_different_answers(const TraceTable& table) const {
  std::set<std::pair<std::string_view, std::uint32_t>> seen;
  for (std::size_t row = 0; row < rows_; ++row) {
    const std::string_view prompt = table.named_prompts ? table.prompts[row] : table.text(row);
    if (!prompt.empty() && !seen.emplace(prompt, answers_[row]).second)
      place_.refuse("row {}: answer {} of the prompt {} occurs twice; number the answers of a prompt 0, 1, 2, ...",
                    row + 1, answers_[row], in_quotes(prompt));
  }
}

TraceTable TableBuilder::finish() && {
  if (rows_ == 0) place_.refuse("has no row; a table has at least one prompt");
  require_no_misspelt_name();
  require_models_and_scores();
  if (models_.size() == 0) place_.refuse("has no model");
  row_of_ = {};
  TraceTable table = assemble();
  if (numbers_answers() && !keyed_ && !options_.repeats) require_different_answers(table);
  if (!left_out_.empty()) {
    std::vector<std::size_t> rows;
    for (std::size_t row = 0; row < rows_; ++row)
      if (!left_out_.contains(row)) rows.push_back(row);
    table = select_rows(table, rows);
  }
  return checked_table(std::move(table), place_, options_, options_.repeats || numbers_answers());
}

}  // namespace pandora
