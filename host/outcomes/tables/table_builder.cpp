#include "host/outcomes/tables/table_builder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "host/ground/base/nearest.hpp"
#include "host/ground/base/printable.hpp"
#include "host/ground/files/system_limits.hpp"
#include "host/outcomes/tables/text_hash.hpp"

namespace pandora {
namespace {

constexpr std::size_t kMostColumns = 4096, kMostScores = 64, kMostNoted = 1024;
constexpr const char* kPlace = "place of the call";

// The prompt's text: the first of these that is a column of texts.
constexpr std::string_view kTextNames[] = {"prompt", "text", "question", "query", "input", "instruction"};

std::uint64_t half_of_memory() {
  const std::uint64_t all = machine_memory();
  return all > 0 ? all / 2 : std::uint64_t{4} << 30;
}

// Why a number cannot be a quality (0), a cost (1) or a score; nullptr if it can.
const char* problem_with(std::size_t quantity, double x) {
  if (!std::isfinite(x)) return "is not finite";
  if (quantity == 1)
    return x < 0              ? "is negative; a cost is in dollars, at least 0"
           : x > kMostCallUsd ? "is more than a million dollars for one call; costs are in dollars"
                              : nullptr;
  return x >= 0 && x <= 1 ? nullptr
         : quantity == 0  ? "is outside [0, 1]; rescale qualities to that range"
                          : "is outside [0, 1]; rescale scores to that range";
}

}  // namespace

TableBuilder::TableBuilder(const FilePlace& place, const TraceOptions& options, bool infer)
    : place_(place),
      options_(options),
      infer_(infer),
      most_bytes_(options.most_bytes > 0 ? options.most_bytes : half_of_memory()),
      quantities_(2) {
  for (const std::string& name : options.models) {
    if (models_.find(name) != kNone) place_.refuse("model {} is asked for twice", in_quotes(name));
    models_.add(name);
  }
  if (models_.size() > kMostModels) place_.refuse("more than {} models are asked for", kMostModels);
  stride_ = models_.size();
  if (options.scores) score_names_ = *options.scores;
  quantities_.resize(2 + score_names_.size());
}

std::size_t TableBuilder::model(std::string_view name) {
  const std::size_t known = models_.find(name);
  if (known != kNone) return known;
  if (name.empty()) place_.refuse_row("a model has no name");
  if (!options_.models.empty()) {
    if (other_models_.size() < kMostNoted) other_models_.add(name);
    return kNone;
  }
  if (models_.size() == kMostModels)
    place_.refuse_row("model {} is one more than the {} that a table may have; name those to keep (models)",
                      in_quotes(name), kMostModels);
  if (models_.size() == stride_) widen(std::max<std::size_t>(4, 2 * stride_));
  return models_.add(name);
}

std::size_t TableBuilder::quantity(std::string_view name) {
  if (is_quality(name)) return 0;
  if (is_cost(name)) return 1;
  const bool of_calls = name == "label_propensity" ? options_.holes : log_ && (is_probability(name) || name == kPlace);
  if (!is_score(name) && !of_calls) return kNone;
  const auto found = std::find(score_names_.begin(), score_names_.end(), name);
  if (found != score_names_.end()) return 2 + static_cast<std::size_t>(found - score_names_.begin());
  if (options_.scores && is_score(name)) {
    if (other_scores_.size() < kMostNoted) other_scores_.add(name);
    return kNone;
  }
  if (score_names_.size() == kMostScores) place_.refuse_row("has more than {} scores", kMostScores);
  require_memory(stride_, quantities_.size() + 1);
  score_names_.emplace_back(name);
  quantities_.emplace_back(rows_ * stride_, kAbsentCell);
  return quantities_.size() - 1;
}

std::size_t TableBuilder::column(std::string_view name) {
  const std::size_t number = column_names_.add(name);
  if (number < columns_.size()) return number;
  if (number == kMostColumns) place_.refuse_row("has more than {} columns of prompts", kMostColumns);
  columns_.emplace_back(std::string(name));
  differs_.push_back(false);
  return number;
}

void TableBuilder::require_memory(std::size_t stride, std::size_t quantities) const {
  const std::uint64_t rows = rows_ + 1;
  const std::uint64_t bytes = rows * 8 * (stride * quantities + columns_.size() + 2) + text_bytes_;
  if (bytes > most_bytes_)
    place_.refuse_row(
        "the table takes more than the {:.1f} GiB of memory that it may; keep fewer models, or take a part of the rows",
        static_cast<double>(most_bytes_) / (1 << 30));
}

// Makes room for more models in every row.
void TableBuilder::widen(std::size_t stride) {
  require_memory(stride, quantities_.size());
  for (std::vector<double>& values : quantities_) {
    std::vector<double> wider(rows_ * stride, kAbsentCell);
    for (std::size_t row = 0; row < rows_; ++row)
      std::copy_n(values.begin() + static_cast<long>(row * stride_), stride_,
                  wider.begin() + static_cast<long>(row * stride));
    values = std::move(wider);
  }
  stride_ = stride;
}

void TableBuilder::begin_row() {
  require_memory(stride_, quantities_.size());
  row_ = rows_++;
  for (std::vector<double>& values : quantities_) values.resize(rows_ * stride_, kAbsentCell);
  found_again_ = false;
}

void TableBuilder::name_row(std::string_view name) {
  if (name.empty()) place_.refuse_row("the prompt has no name; give every prompt one");
  text_bytes_ += name.size();
  prompts_.push_back(name);
}

void TableBuilder::find_row(std::string_view of, std::string_view name) {
  keyed_ = true;
  found_again_ = rows_ > 0 && keys_[row_] == of;
  for (std::uint64_t key = stable_hash(of); !found_again_; key = mixed(key + 1)) {
    const auto [found, is_new] = row_of_.try_emplace(key, rows_);
    if (is_new) {
      begin_row();
      keys_.push_back(of);
      text_bytes_ += of.size();
      return name_row(name);
    }
    row_ = found->second;
    found_again_ = keys_[row_] == of;
  }
}

void TableBuilder::is_log() {
  log_ = true;
  (void)quantity("propensity");
  (void)quantity(kPlace);
}

void TableBuilder::call(std::size_t model) {
  double before = 0.0, *const places = quantities_[quantity(kPlace)].data() + row_ * stride_;
  for (std::size_t m = 0; m < models_.size(); ++m) before = std::max(before, places[m]);
  places[model] = before + 1.0;
}

void TableBuilder::value(std::size_t column, const CellValue& value) {
  ColumnBuilder& builder = columns_[column];
  if (found_again_) {
    differs_[column] |= !builder.agrees(row_, value);
    return;
  }
  if (builder.rows() > row_) place_.refuse_cell({builder.name()}, "stands twice in a row");
  if (const char* const problem = builder.put(row_, value)) place_.refuse_cell({builder.name()}, problem);
  text_bytes_ += value.text.size() + 8 * value.vector.size();
}

void TableBuilder::cell(std::size_t model, std::size_t quantity, const CellValue& value, Label label) {
  double& slot = quantities_[quantity][row_ * stride_ + model];
  if (slot != kAbsentCell)
    place_.refuse_cell(label, fmt::format("model {} has {} for the prompt{} already; a model answers a prompt once",
                                          in_quotes(models_.names()[model]),
                                          quantity == 0   ? "a quality"
                                          : quantity == 1 ? "a cost"
                                                          : "this score",
                                          keyed_ ? " " + in_quotes(keys_[row_]) : ""));
  const bool missing = value.kind == CellValue::Kind::missing;
  if (!missing && value.kind != CellValue::Kind::number)
    place_.refuse_cell(label,
                       (value.kind == CellValue::Kind::text ? in_quotes(value.text) : "a list") + " is not a number");
  if (const char* const problem = missing ? nullptr : problem_with(quantity, value.number))
    place_.refuse_cell(label, fmt::format("{} {}", value.number, problem));
  slot = missing ? kMissingCell : value.number + 0.0;  // no -0
}

TraceTable TableBuilder::assemble() {
  TraceTable table;
  table.source = place_.file;
  table.models = models_.names();
  const std::size_t models = table.models.size();
  for (std::vector<double>& values : quantities_) {
    for (std::size_t row = 0; row < rows_ && models < stride_; ++row)  // to the left: no value is lost
      std::copy_n(values.begin() + static_cast<long>(row * stride_), models,
                  values.begin() + static_cast<long>(row * models));
    values.resize(rows_ * models);
  }
  table.quality = std::move(quantities_[0]);
  table.cost = std::move(quantities_[1]);
  if (log_) table.log.emplace();
  for (std::size_t s = 0; s < score_names_.size(); ++s) {
    const std::string& name = score_names_[s];
    if (std::vector<double>& values = quantities_[2 + s]; is_score(name))
      table.scores.push_back({name, std::move(values)});
    else
      (name == kPlace         ? table.log->place
       : name == "propensity" ? table.log->propensity
                              : table.label_propensity) = std::move(values);
  }
  table.named_prompts = prompts_.size() > 0;
  for (std::size_t row = 0; row < rows_ && !table.named_prompts; ++row) prompts_.push_back(std::to_string(row + 1));
  table.prompts = std::move(prompts_);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const std::string name = columns_[c].name();
    const bool is_text = std::find(std::begin(kTextNames), std::end(kTextNames), name) != std::end(kTextNames);
    const std::string differs = fmt::format("column {} differs between rows of the same prompt", in_quotes(name));
    if (differs_[c] && is_text) place_.refuse(differs);
    if (differs_[c])
      table.notes.push_back(
          differs + ": it is of the answers and left out (a judge's is called score, score_NAME or score:NAME)");
    else
      table.columns.push_back(std::move(columns_[c]).finish(rows_, infer_ && !is_text));
  }
  for (const std::string_view name : kTextNames)
    for (std::size_t c = 0; c < table.columns.size() && table.text_column == kNone; ++c)
      if (table.columns[c].name == name && table.columns[c].kind == PromptColumn::Kind::text) table.text_column = c;
  return table;
}

TraceTable TableBuilder::finish() && {
  if (rows_ == 0) place_.refuse("has no row; a table has at least one prompt");
  std::vector<std::string> lacking, there = other_models_.names();
  for (std::size_t m = 0; m < options_.models.size(); ++m) {
    bool seen = false;
    for (std::size_t row = 0; row < rows_ && !seen; ++row)
      for (const std::vector<double>& values : quantities_) seen |= values[row * stride_ + m] != kAbsentCell;
    (seen ? there : lacking).push_back(options_.models[m]);
  }
  if (!lacking.empty())
    place_.refuse("has no model {}{}; its models are {}", in_quotes(lacking[0]),
                  nearest_text(nearest(lacking[0], there)), printable(fmt::format("{}", fmt::join(there, ", ")), 500));
  for (std::size_t s = 0; options_.scores && s < score_names_.size(); ++s)
    if (std::all_of(quantities_[2 + s].begin(), quantities_[2 + s].end(), [](double x) { return x == kAbsentCell; }))
      place_.refuse("has no score {}{}", in_quotes(score_names_[s]),
                    nearest_text(nearest(score_names_[s], other_scores_.names())));
  if (models_.size() == 0) place_.refuse("has no model");
  row_of_ = {};
  return checked_table(assemble(), place_, options_);
}

}  // namespace pandora
