// Checks of a table that are possible only when all of it has been read.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "host/outcomes/tables/table_builder.hpp"
#include "host/outcomes/tables/text_hash.hpp"

namespace pandora {
namespace {

bool is_missing(double cell) {
  return cell < 0;
}

std::string row_text(const TraceTable& table, std::size_t row) {
  return table.named_prompts ? "prompt " + in_quotes(table.prompts[row]) : "row " + std::string(table.prompts[row]);
}

// The name of the number that is missing at `cell` of rows x models; empty if none is.
std::string_view what_is_missing(const TraceTable& table, std::size_t cell) {
  if (is_missing(table.quality[cell])) return "quality";
  if (is_missing(table.cost[cell])) return "cost";
  if (!table.label_propensity.empty() && is_missing(table.label_propensity[cell])) return "label_propensity";
  for (const ScoreColumn& score : table.scores)
    if (is_missing(score.values[cell])) return score.name;
  return "";
}

void refuse_missing(const TraceTable& table, const FilePlace& place, const std::vector<bool>& lacks) {
  const auto rows = std::count(lacks.begin(), lacks.end(), true);
  const auto first = static_cast<std::size_t>(std::find(lacks.begin(), lacks.end(), true) - lacks.begin());
  for (std::size_t m = 0; rows > 0 && m < table.models.size(); ++m)
    if (const std::string_view what = what_is_missing(table, first * table.models.size() + m); !what.empty())
      place.refuse("{} of {} prompts lack a cell; the first is {}: no {} of model {}. Fill them in{}, or {}", rows,
                   table.rows(), row_text(table, first), what, in_quotes(table.models[m]),
                   what != "cost" ? ""
                   : static_cast<std::size_t>(rows) == table.rows()
                       ? " (a log of calls needs a column propensity: docs/traces.md#which-log-can-answer-what)"
                       : " (prices, --prices: dollars of tokens)",
                   kDropThem);
}

// Marks rows without a price in `drop`, or refuses them: a cost of zero for a model that costs elsewhere. A model that
// never costs anything is refused, unless its price says so.
void mark_free(const TraceTable& table, const FilePlace& place, const TraceOptions& options, std::vector<bool>& drop) {
  const std::size_t models = table.models.size();
  for (std::size_t m = 0; m < models; ++m) {
    std::size_t free = 0, paid = 0, first = 0;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const double cost = table.cost[row * models + m];
      if (cost == 0 && free++ == 0) first = row;
      paid += cost > 0;
    }
    const auto price = options.prices.find(table.models[m]);
    const bool costs_nothing = price != options.prices.end() && price->second.in + price->second.out == 0.0;
    if (free == 0 || (paid == 0 && costs_nothing)) continue;
    if (paid == 0)
      place.refuse(
          "model {} costs 0 for all of {} prompts. If that is right, allow free calls (free_calls, {}); if another "
          "column has its dollars, call that column cost",
          in_quotes(table.models[m]), free, option("free-calls", "allowed"));
    if (options.missing == MissingCells::refuse)
      place.refuse(
          "model {} costs 0 in {} of {} prompts, the first of them {}, and more in {}: such zeros are usually "
          "missing prices. Fill them in, or {}; if answers came from a cache, allow free calls (free_calls, {})",
          in_quotes(table.models[m]), free, table.rows(), row_text(table, first), paid, kDropThem,
          option("free-calls", "allowed"));
    for (std::size_t row = 0; row < table.rows(); ++row)
      if (table.cost[row * models + m] == 0) drop[row] = true;
  }
}

// By sorted hashes: with a map of texts, reading a million rows takes a quarter more time.
void refuse_doubles(const TraceTable& table, const FilePlace& place, const TextColumn& texts) {
  std::vector<std::pair<std::uint64_t, std::size_t>> hashes;
  hashes.reserve(texts.size());
  for (std::size_t row = 0; row < texts.size(); ++row)
    if (!texts[row].empty()) hashes.emplace_back(stable_hash(texts[row]), row);
  std::sort(hashes.begin(), hashes.end());
  std::size_t doubles = 0, first = TraceTable::kNone, before = 0;
  for (std::size_t i = 1; i < hashes.size(); ++i) {
    if (hashes[i].first != hashes[i - 1].first || texts[hashes[i].second] != texts[hashes[i - 1].second]) continue;
    ++doubles;
    if (hashes[i].second >= first) continue;
    first = hashes[i].second;
    before = hashes[i - 1].second;
  }
  if (doubles == 0) return;
  const bool by_name = &texts == &table.prompts;
  place.refuse(
      "{} rows repeat the prompt of an earlier row; the first is row {}, whose {} is that of row {}: {}. Keep one of "
      "them{}{}",
      doubles, first + 1, by_name ? "name" : "text", before + 1, in_quotes(texts[first]),
      by_name ? "" : ", or name prompts in a column prompt_id if they are different",
      table.by_name ? ", or allow several rows of a prompt (repeats, " + option("repeats", "allowed") + ")" : "");
}

// Of a call everything must be known except its quality. For a model that was not called nothing is known, and its
// cells become NaN.
void check_log(TraceTable& table, const FilePlace& place) {
  CallLog& log = *table.log;
  const std::size_t models = table.models.size();
  for (std::size_t at = 0; at < log.place.size(); ++at) {
    const bool called = !is_missing(log.place[at]);
    const auto refuse = [&](const std::string& what) {
      place.refuse("{}, model {}: {}", row_text(table, at / models), in_quotes(table.models[at % models]), what);
    };
    const auto take = [&](double& cell, const char* name, bool needed) {
      if (called && needed && is_missing(cell)) refuse(fmt::format("a call has no {}; give every call one", name));
      if (is_missing(cell)) cell = NAN;
    };
    take(log.place[at], "place", false);
    if (!log.by_rules.empty()) take(log.by_rules[at], "rules", false);
    take(log.propensity[at], "propensity", true);
    take(table.cost[at], "cost", true);
    for (ScoreColumn& score : table.scores) take(score.values[at], score.name.c_str(), true);
    if (!table.label_propensity.empty()) take(table.label_propensity[at], "label_propensity", true);
    if (called && !(log.propensity[at] > 0.0 && (table.label_propensity.empty() || table.label_propensity[at] > 0.0)))
      refuse(fmt::format("{} is 0; an event that happened had a probability above 0",
                         log.propensity[at] > 0.0 ? "label_propensity" : "propensity"));
  }
}

// Refuses infinite numbers in columns of prompts, and lists with some NaN, because they cannot become features.
void refuse_not_finite(const TraceTable& table, const FilePlace& place) {
  for (const PromptColumn& column : table.columns)
    for (std::size_t i = 0; i < column.numbers.size(); i += column.length) {
      const std::span cell(column.numbers.data() + i, column.length);
      const bool missing = std::all_of(cell.begin(), cell.end(), [](double x) { return std::isnan(x); });
      const auto odd = std::find_if_not(cell.begin(), cell.end(), [](double x) { return std::isfinite(x); });
      if (!missing && odd != cell.end())
        place.refuse("column {}, {}: {} is not finite; leave the cell empty where nothing is known",
                     in_quotes(column.name), row_text(table, i / column.length), *odd);
    }
}

}  // namespace

TraceTable checked_table(TraceTable table, const FilePlace& place, const TraceOptions& options, bool repeats) {
  const std::size_t models = table.models.size();
  if (table.log && !options.holes)
    place.refuse("is a log of decisions (propensity); only `pandora trace check` and `pandora cascade` read logs");
  // Before any row is dropped, so that rows in messages are those of the file.
  if (table.log)
    check_log(table, place);
  else if (!repeats && table.named_prompts)
    refuse_doubles(table, place, table.prompts);
  else if (!repeats && table.text_column != TraceTable::kNone)
    refuse_doubles(table, place, table.columns[table.text_column].texts);
  refuse_not_finite(table, place);
  const bool keeps_holes = table.log || (options.holes && options.missing != MissingCells::drop);
  for (double& quality : table.quality)
    if (keeps_holes && is_missing(quality)) quality = NAN;
  std::vector<bool> drop(table.rows());
  for (std::size_t cell = 0; cell < table.quality.size(); ++cell)
    if (!what_is_missing(table, cell).empty()) drop[cell / models] = true;
  if (options.missing == MissingCells::refuse) refuse_missing(table, place, drop);
  if (!options.free_calls) mark_free(table, place, options, drop);
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < table.rows(); ++row)
    if (!drop[row]) rows.push_back(row);
  if (rows.empty()) place.refuse("every row lacks a cell or a price, so no row is left");
  table.dropped = table.rows() - rows.size();
  if (table.dropped > 0) table = select_rows(table, rows);
  if (const std::size_t unknown = table.unlabelled(); unknown > 0)  // a log has no cost of what it did not call
    table.note("unknown", fmt::format("the quality of {} of {} answers is not known", unknown,
                                      std::ranges::count_if(table.cost, [](double usd) { return !std::isnan(usd); })));
  if (table.dropped > 0)
    table.note("dropped", (table.dropped == 1 ? "1 prompt of the file is"
                                              : fmt::format("{} prompts of the file are", table.dropped)) +
                              " left out: a cell or a price is missing");
  return table;
}

}  // namespace pandora
