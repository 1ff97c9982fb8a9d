#include "host/outcomes/tables/table_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/ground/base/printable.hpp"
#include "host/ground/files/system_limits.hpp"
#include "host/outcomes/tables/text_hash.hpp"

namespace pandora {
namespace {

constexpr std::size_t kMostColumns = 4096, kMostScores = 64;

std::uint64_t half_of_memory() {
  const std::uint64_t all = machine_memory();
  return all > 0 ? all / 2 : std::uint64_t{4} << 30;
}

// Why a number is not allowed in an answer.
std::string problem_with(const std::string& name, double low, double high, double x) {
  if (!std::isfinite(x)) return "is not finite";
  if (is_cost(name))
    return x < 0 ? "is negative; a cost is in dollars, at least 0"
                 : "is more than a million dollars for one call; costs are in dollars";
  if (name == kLatency || is_tokens(name)) return x < 0 ? "is negative" : "is more than a thousand million";
  if (is_probability(name) || name == kByRules) return "is outside [0, 1]; it is a probability";
  if (name == kBatch) return "is neither 1 nor 0; give 1 for a call in a batch, otherwise 0";
  if (low != 0.0 || high != 1.0)
    return fmt::format("is outside [{}, {}], the stated range (scale, --scale)", low, high);
  return fmt::format("is outside [0, 1]; rescale {} to that range, or state theirs (scale, --scale), such as {}=1:5",
                     name == "quality" ? "qualities" : "scores", name);
}

// The remedy for a text that is not a number.
std::string remedy_for(std::string_view text, const std::string& name) {
  const auto has = [text](char c) { return text.find(c) != std::string_view::npos; };
  if (has('$')) return "; write dollars without a sign, such as 0.02";
  if (has('%'))
    return fmt::format("; write a share, such as 0.85 for 85%, or 85 and its range (scale, --scale {}=0:100)", name);
  return has(',') && !has('[') && !has('{') ? "; write a decimal point" : "";
}

}  // namespace

std::optional<StatedRange> range_of(const std::string& text) {
  const std::size_t equals = text.rfind('='), colon = text.rfind(':');
  if (equals == std::string::npos || equals == 0 || colon == std::string::npos || colon < equals) return {};
  const std::optional<double> low = number_of(std::string_view(text).substr(equals + 1, colon - equals - 1));
  const std::optional<double> high = number_of(std::string_view(text).substr(colon + 1));
  return low && high ? std::optional(StatedRange{text.substr(0, equals), *low, *high}) : std::nullopt;
}

void require_sound(const TraceOptions& options) {
  const auto refuse = [](const std::string& what) { throw Error(ExitCode::usage, what); };
  for (const StatedRange& range : options.scale) {
    const std::string said = fmt::format("scale {}={}:{}", printable(range.name, 80), range.low, range.high);
    if (!is_quality(range.name) && !is_score(range.name))
      refuse(said + ": names neither quality nor a judge; use quality, score or score:NAME");
    if (!(std::isfinite(range.low) && std::isfinite(range.high) && range.low < range.high))
      refuse(said + ": is no range; give two finite numbers, the lower one first, such as 1:5");
    if (std::count_if(options.scale.begin(), options.scale.end(),
                      [&](const StatedRange& other) { return is_range_of(other, range.name); }) > 1)
      refuse(said + ": a range of it is given twice; give one");
  }
  constexpr double kMostTokenPrice = 1e6;
  const auto require_price = [&](const std::string& model, const TokenPrice& price) {
    for (const double usd :
         {price.in, price.out, price.cached, price.cache_write, price.reasoning, price.batch_in, price.batch_out})
      if (!(usd >= 0 && usd <= kMostTokenPrice) && !(std::isnan(usd) && !std::isnan(price.in + price.out)))
        refuse(fmt::format("prices: {} of model {}: give dollars for a million tokens, from 0 to {:.0f}", usd,
                           in_quotes(model), kMostTokenPrice));
  };
  for (const auto& [model, price] : options.prices) {
    require_price(model, price);
    for (const TokenPrice& longer : price.longer) require_price(model, longer);
  }
}

TableBuilder::TableBuilder(const FilePlace& place, const TraceOptions& options, bool infer)
    : place_(place),
      options_(options),
      infer_(infer),
      most_bytes_(options.most_bytes > 0 ? options.most_bytes : half_of_memory()),
      prices_batches_(std::ranges::any_of(options.prices, [](const auto& p) {
        return !std::isnan(p.second.batch_in) || !std::isnan(p.second.batch_out);
      })) {
  require_sound(options);
  for (const std::string& name : options.models) {
    if (models_.find(name) != kNone) place_.refuse("model {} is asked for twice", in_quotes(name));
    models_.add(name);
  }
  if (models_.size() > kMostModels) place_.refuse("more than {} models are asked for", kMostModels);
  stride_ = models_.size();
  for (const char* name : {"quality", "cost"}) add_quantity(name);
  for (const std::string& name : options.scores.value_or(std::vector<std::string>())) add_quantity(name);
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
    place_.refuse_row("model {} is one more than the {} that a table may have; name those to keep (models, --models)",
                      in_quotes(name), kMostModels);
  if (models_.size() == stride_) widen(std::max<std::size_t>(4, 2 * stride_));
  return models_.add(name);
}

void TableBuilder::add_quantity(std::string_view name) {
  constexpr double kMostCount = 1e9;
  Quantity quantity{std::string(name), std::vector<double>(rows_ * stride_, kAbsentCell)};
  quantity.scaled = is_quality(name) || is_score(name);
  quantity.high = quantity.scaled || is_probability(name) || name == kByRules || name == kBatch ? 1.0
                  : is_cost(name)                                                               ? kMostCallUsd
                                                                                                : kMostCount;
  for (const StatedRange& range : options_.scale)
    if (is_range_of(range, name)) quantity.low = range.low, quantity.high = range.high;
  quantities_.push_back(std::move(quantity));
}

std::size_t TableBuilder::find_quantity(std::string_view name) const {
  for (std::size_t q = 0; q < quantities_.size(); ++q)
    if (quantities_[q].name == name) return q;
  return kNone;
}

std::size_t TableBuilder::quantity(std::string_view name) {
  if (says_quality(name)) return 0;
  if (is_cost(name)) return 1;
  if (!is_of_answers(name)) {
    unused(name);
    return kNone;
  }
  if (is_tokens(name)) name = canonical_count(name);
  if (const std::size_t found = find_quantity(name); found != kNone) return found;
  if (is_score(name) && options_.scores) {
    if (other_scores_.size() < kMostNoted) other_scores_.add(name);
    return kNone;
  }
  if (std::count_if(quantities_.begin(), quantities_.end(), [](const Quantity& q) { return is_score(q.name); }) ==
      kMostScores)
    place_.refuse_row("has more than {} scores", kMostScores);
  require_memory(stride_, quantities_.size() + 1);
  add_quantity(name);
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
        "the table takes more than the {:.1f} GiB of memory that it may use; keep fewer models, or use fewer rows",
        static_cast<double>(most_bytes_) / (1 << 30));
}

// Makes room for more models in every row.
void TableBuilder::widen(std::size_t stride) {
  require_memory(stride, quantities_.size());
  for (Quantity& quantity : quantities_) {
    std::vector<double> wider(rows_ * stride, kAbsentCell);
    for (std::size_t row = 0; row < rows_; ++row)
      std::copy_n(quantity.values.begin() + static_cast<long>(row * stride_), stride_,
                  wider.begin() + static_cast<long>(row * stride));
    quantity.values = std::move(wider);
  }
  stride_ = stride;
}

std::uint32_t TableBuilder::answer_number(const CellValue& value) {
  constexpr double kMost = 1e6;
  const std::optional<double> number = value.kind == CellValue::Kind::number           ? value.number
                                       : infer_ && value.kind == CellValue::Kind::text ? number_in(value.text)
                                                                                       : std::nullopt;
  const bool counts = number && *number >= 0 && *number <= kMost && *number == std::trunc(*number);
  if (!numbered_) numbered_ = counts;
  if (*numbered_ && !counts)
    place_.refuse_cell({kAnswer},
                       "is not the number of an answer (0, 1, 2, ...), as in the first row; if the column means "
                       "something else, rename it");
  return *numbered_ ? static_cast<std::uint32_t>(*number) : 0;
}

void TableBuilder::begin_row(std::uint32_t answer) {
  require_memory(stride_, quantities_.size());
  row_ = rows_++;
  for (Quantity& quantity : quantities_) quantity.values.resize(rows_ * stride_, kAbsentCell);
  answers_.push_back(answer);
  found_again_ = false;
}

void TableBuilder::name_row(std::string_view name) {
  if (name.empty()) place_.refuse_row("the prompt has no name; give every prompt one");
  text_bytes_ += name.size();
  prompts_.push_back(name);
}

void TableBuilder::find_row(std::string_view key, std::string_view name, std::uint32_t answer) {
  keyed_ = true;
  const auto is_it = [&](std::size_t row) { return answers_[row] == answer && keys_[row] == key; };
  found_again_ = rows_ > 0 && is_it(row_);
  for (std::uint64_t hash = stable_hash(key) + answer; !found_again_; hash = mixed(hash + 1)) {
    const auto [found, is_new] = row_of_.try_emplace(hash, rows_);
    if (is_new) {
      begin_row(answer);
      keys_.push_back(key);
      text_bytes_ += key.size();
      return name_row(name);
    }
    row_ = found->second;
    found_again_ = is_it(row_);
  }
}

void TableBuilder::find_row(std::string_view key, std::string_view name, std::size_t model, std::uint32_t answer) {
  find_row(key, name, answer);
  const bool numbers = options_.repeats && !log_ && !numbers_answers();
  while (numbers && model != kNone && answered(row_, model)) find_row(key, name, ++answer);
}

void TableBuilder::is_log() {
  log_ = true;
  (void)quantity("propensity");
  (void)quantity(kPlace);
}

void TableBuilder::call(std::size_t model) {
  calls_.resize(rows_, 0);
  ++calls_[row_];
  if (model != kNone) quantities_[quantity(kPlace)].values[row_ * stride_ + model] = static_cast<double>(calls_[row_]);
}

// Whether the file has any value of the model's answer.
bool TableBuilder::answered(std::size_t row, std::size_t model) const {
  return std::any_of(quantities_.begin(), quantities_.end(),
                     [&](const Quantity& q) { return q.values[row * stride_ + model] != kAbsentCell; });
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
  Quantity& of = quantities_[quantity];
  double& slot = of.values[row_ * stride_ + model];
  const bool is_text = value.kind == CellValue::Kind::text;
  const bool missing = value.kind == CellValue::Kind::missing || (is_text && is_word_for_nothing(value.text));
  if (slot != kAbsentCell && is_tokens(of.name)) {  // providers give a count under several names
    if (missing || (value.kind == CellValue::Kind::number && value.number == slot)) return;
    if (slot == kMissingCell) slot = kAbsentCell;
  }
  if (slot != kAbsentCell)
    place_.refuse_cell(
        label,
        fmt::format("model {} has {} for {}the prompt{} already; {}", in_quotes(models_.names()[model]),
                    is_score(of.name) ? "this score" : "a " + of.name,
                    numbers_answers() ? fmt::format("answer {} of ", answers_[row_]) : "",
                    keyed_ ? " " + in_quotes(keys_[row_]) : "",
                    numbers_answers() ? "number a model's answers to a prompt 0, 1, 2, ..., each number once"
                    : keyed_ && !log_ ? "a model answers a prompt once, unless rows are numbered by a column answer or "
                                        "repeats are allowed"
                                      : "a model answers a prompt once"));
  const std::optional<double> truth =
      is_text && !missing && of.low == 0.0 && of.high == 1.0 ? truth_in(value.text) : std::nullopt;
  if (!missing && !truth && value.kind != CellValue::Kind::number)
    place_.refuse_cell(
        label, (is_text ? in_quotes(value.text) : "a list") + " is not a number" + remedy_for(value.text, of.name));
  if (!missing) {
    const std::size_t column = keyed_ ? 0 : model;
    if (of.words.size() <= column) of.words.resize(column + 1, 0);
    if ((of.words[column] |= truth ? kTruths : kNumbers) == (kTruths | kNumbers))
      place_.refuse_cell(label, "holds truth values (true, false) in some rows and numbers in others; write 1 and 0");
  }
  const double x = truth.value_or(value.number);
  if (!missing && !(x >= of.low && x <= of.high))
    place_.refuse_cell(label, fmt::format("{} {}", x, problem_with(of.name, of.low, of.high, x)));
  slot = missing ? kMissingCell : (of.scaled ? (x - of.low) / (of.high - of.low) : x) + 0.0;  // + 0.0 turns -0 into 0
}

}  // namespace pandora
