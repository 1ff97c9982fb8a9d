#include "host/outcomes/tables/trace_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "host/ground/base/nearest.hpp"
#include "host/ground/base/printable.hpp"
#include "host/ground/files/sealed_file.hpp"
#include "host/outcomes/tables/text_hash.hpp"

namespace pandora {
namespace {

// Columns `columns` of a matrix of `width`. What is empty stays empty, here and in rows_of().
std::vector<double> columns_of(const std::vector<double>& values, std::size_t width,
                               std::span<const std::size_t> columns) {
  std::vector<double> some;
  some.reserve(values.size() / width * columns.size());
  for (std::size_t row = 0; row < values.size(); row += width)
    for (const std::size_t column : columns) some.push_back(values[row + column]);
  return some;
}

std::vector<double> rows_of(const std::vector<double>& values, std::size_t width, std::span<const std::size_t> rows) {
  std::vector<double> some;
  if (values.empty()) return some;
  some.reserve(rows.size() * width);
  for (const std::size_t row : rows) some.insert(some.end(), &values[row * width], &values[row * width] + width);
  return some;
}

TextColumn rows_of(const TextColumn& texts, std::span<const std::size_t> rows) {
  TextColumn some;
  for (const std::size_t row : rows)
    if (texts.size() > 0) some.push_back(texts[row]);
  return some;
}

std::string row_text(const FilePlace& place) {
  return place.row == 0    ? "the header"
         : place.line == 0 ? fmt::format("row {}", place.row)
                           : fmt::format("row {} (line {})", place.row, place.line);
}

// The values of calls besides quality, cost and scores; most tables have none.
std::vector<std::vector<double>*> cells_of_calls(TraceTable& table) {
  std::vector<std::vector<double>*> out;
  for (std::vector<double>* cells : {&table.label_propensity, &table.latency})
    if (!cells->empty()) out.push_back(cells);
  if (table.log) out.insert(out.end(), {&table.log->propensity, &table.log->place});
  if (table.log && !table.log->by_rules.empty()) out.push_back(&table.log->by_rules);
  return out;
}

}  // namespace

std::string in_quotes(std::string_view value) {
  return '"' + printable(value, 80) + '"';
}

FilePlace::FilePlace(const std::filesystem::path& path) : file(printable(path.string())) {}

void FilePlace::refuse(const std::string& what) const {
  // The caller's names may contain U+0000, which would end what().
  throw Error(ExitCode::bad_data, fmt::format("{}: {}", file, printable(what, what.size())));
}

void FilePlace::refuse_form(std::string_view found) const {
  refuse(
      "is no table in a known form: {}. The known forms are CSV with a column M of qualities and M|total_cost for "
      "every model M; CSV or JSON lines with prompt_id, model, quality, cost; JSON lines with \"models\": {{M: "
      "{{\"quality\": ..., \"cost\": ...}}}}",
      found);
}

void FilePlace::refuse_row(const std::string& what) const {
  refuse("{}: {}", row_text(*this), what);
}

void FilePlace::refuse_cell(std::initializer_list<std::string_view> column, const std::string& what) const {
  std::string name;
  for (const std::string_view part : column) name.append(name.empty() ? "" : " > ").append(part);
  refuse("{}, column {}: {}", row_text(*this), in_quotes(name), what);
}

void TraceTable::refuse(const std::string& what) const {
  throw Error(ExitCode::bad_data, source.empty() ? what : fmt::format("{}: {}", source, what));
}

std::size_t TraceTable::unlabelled() const {
  std::size_t out = 0;
  for (std::size_t at = 0; at < quality.size(); ++at) out += std::isnan(quality[at]) && !std::isnan(cost[at]) ? 1 : 0;
  return out;
}

const ScoreColumn& find_score(const TraceTable& table, const std::string& name) {
  std::vector<std::string> names;
  for (const ScoreColumn& score : table.scores) {
    if (score.name == name || score.name == "score_" + name || score.name == "score:" + name) return score;
    names.push_back(score.name);
  }
  table.refuse(names.empty() ? "has no scores; a judge's column is called score, score_NAME or score:NAME"
                             : fmt::format("has no score {}{}", in_quotes(name),
                                           nearest_text(nearest(name, names, names.size()))));
}

const PromptColumn* find_column(const TraceTable& table, const std::string& name) {
  const auto found = std::ranges::find(table.columns, name, &PromptColumn::name);
  return found == table.columns.end() ? nullptr : &*found;
}

TraceTable select_models(const TraceTable& table, const std::vector<std::string>& models) {
  if (models.empty()) table.refuse("no model is asked for; name at least one");
  std::vector<std::size_t> which;
  for (const std::string& name : models) {
    const auto found = std::find(table.models.begin(), table.models.end(), name);
    if (found == table.models.end())
      table.refuse("has no model {}{}", in_quotes(name), nearest_text(nearest(name, table.models)));
    which.push_back(static_cast<std::size_t>(found - table.models.begin()));
    if (std::count(which.begin(), which.end(), which.back()) > 1)
      table.refuse("model {} is asked for twice", in_quotes(name));
  }
  TraceTable some = table;
  some.models = models;
  const std::size_t width = table.models.size();
  some.quality = columns_of(table.quality, width, which);
  some.cost = columns_of(table.cost, width, which);
  for (ScoreColumn& score : some.scores) score.values = columns_of(score.values, width, which);
  for (std::vector<double>* cells : cells_of_calls(some)) *cells = columns_of(*cells, width, which);
  return some;
}

TraceTable select_rows(const TraceTable& table, std::span<const std::size_t> rows) {
  const std::size_t models = table.models.size();
  TraceTable some;
  some.source = table.source;
  some.models = table.models;
  some.prompts = rows_of(table.prompts, rows);
  some.named_prompts = table.named_prompts;
  some.by_name = table.by_name;
  some.quality = rows_of(table.quality, models, rows);
  some.cost = rows_of(table.cost, models, rows);
  for (const ScoreColumn& score : table.scores)
    some.scores.push_back({score.name, rows_of(score.values, models, rows)});
  for (const PromptColumn& column : table.columns)
    some.columns.push_back({column.name, column.kind, column.length, rows_of(column.numbers, column.length, rows),
                            rows_of(column.texts, rows)});
  some.log = table.log;
  some.label_propensity = table.label_propensity;
  some.latency = table.latency;
  for (std::vector<double>* cells : cells_of_calls(some)) *cells = rows_of(*cells, models, rows);
  some.text_column = table.text_column;
  some.dropped = table.dropped;
  some.judged_by = table.judged_by;
  some.notes = table.notes;
  some.note_on = table.note_on;
  return some;
}

TraceSplit split_rows(const TraceTable& table, double share) {
  if (!(share > 0 && share < 1))
    throw Error(ExitCode::usage, fmt::format("a split of {} is no share in (0, 1)", share));
  TraceSplit split;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const bool by_name = table.by_name || table.text_column == TraceTable::kNone;
    const std::string_view key = by_name ? table.prompts[row] : table.text(row);
    const double u = static_cast<double>(stable_hash(key) >> 11) * 0x1p-53;  // in [0, 1)
    (u < share ? split.first : split.second).push_back(row);
  }
  if (split.first.empty() || split.second.empty())
    table.refuse("has {} rows, too few to split at {}", table.rows(), share);
  return split;
}

PromptGroups group_prompts(const TraceTable& table) {
  std::vector<std::pair<std::uint64_t, std::size_t>> hashed(table.rows());
  for (std::size_t row = 0; row < hashed.size(); ++row) {
    const std::string_view text = table.by_name ? std::string_view() : table.text(row);
    hashed[row] = {mixed(stable_hash(text.empty() ? table.prompts[row] : text)), row};
  }
  std::sort(hashed.begin(), hashed.end());
  PromptGroups groups{std::vector<std::size_t>(table.rows()), 0};
  for (std::size_t i = 0; i < hashed.size(); ++i) {
    if (i == 0 || hashed[i].first != hashed[i - 1].first) ++groups.count;
    groups.of_row[hashed[i].second] = groups.count - 1;
  }
  return groups;
}

void require_apart(const TraceTable& calibration, const TraceTable& online) {
  std::vector<std::string> mine = calibration.models, theirs = online.models;
  std::sort(mine.begin(), mine.end());
  std::sort(theirs.begin(), theirs.end());
  for (const std::string& name : mine)
    if (!std::binary_search(theirs.begin(), theirs.end(), name))
      online.refuse("has no model {}, which {} has{}; name the models that both have (models)", in_quotes(name),
                    calibration.source, nearest_text(nearest(name, online.models)));
  for (const std::string& name : theirs)
    if (!std::binary_search(mine.begin(), mine.end(), name))
      online.refuse("has the model {}, which {} does not have; name the models that both have (models)",
                    in_quotes(name), calibration.source);
  const bool by_text = !(calibration.by_name || online.by_name) && calibration.text_column != TraceTable::kNone &&
                       online.text_column != TraceTable::kNone;
  if (!by_text && !(calibration.named_prompts && online.named_prompts)) return;
  const auto key = [by_text](const TraceTable& table, std::size_t row) {
    return by_text ? table.text(row) : table.prompts[row];
  };
  std::unordered_map<std::string_view, std::size_t> rows;
  rows.reserve(calibration.rows());
  for (std::size_t row = 0; row < calibration.rows(); ++row) rows.emplace(key(calibration, row), row);
  std::size_t common = 0, first = 0;
  for (std::size_t row = 0; row < online.rows(); ++row)
    if (!key(online, row).empty() && rows.contains(key(online, row)) && common++ == 0) first = row;
  if (common == 0) return;
  online.refuse(
      "{} of its {} prompts are in {} too; the first is that of row {}, there row {}: {}. A fit looks too good on "
      "prompts that it has seen; remove them from one of the two",
      common, online.rows(), calibration.source, first + 1, rows.at(key(online, first)) + 1,
      in_quotes(key(online, first)));
}

std::string content_digest(const TraceTable& table) {
  static_assert(std::endian::native == std::endian::little);
  std::string digests;  // digests of the parts, from which one digest is made
  const auto add = [&](std::string_view bytes) { digests += sha256(bytes); };
  const auto add_numbers = [&](const std::vector<double>& numbers) {
    add({reinterpret_cast<const char*>(numbers.data()), 8 * numbers.size()});
  };
  const auto add_texts = [&](const TextColumn& texts) {
    std::vector<double> lengths;
    for (std::size_t row = 0; row < texts.size(); ++row) lengths.push_back(static_cast<double>(texts[row].size()));
    add_numbers(lengths);
    add(texts.bytes());
  };
  TextColumn names;
  for (const std::string& name : table.models) names.push_back(name);
  add_texts(names);
  add(table.named_prompts ? "named" : "numbered");
  add_texts(table.prompts);
  add_numbers(table.quality);
  add_numbers(table.cost);
  for (const ScoreColumn& score : table.scores) {
    add("score " + score.name);
    add_numbers(score.values);
  }
  if (!table.latency.empty()) add("latency");
  for (const std::vector<double>* cells : cells_of_calls(const_cast<TraceTable&>(table))) {
    add("calls");
    add_numbers(*cells);
  }
  for (const PromptColumn& column : table.columns) {
    add(fmt::format("column {} {} {}", static_cast<int>(column.kind), column.length, column.name));
    add_numbers(column.numbers);
    add_texts(column.texts);
  }
  return sha256(digests);
}

std::uint64_t trace_bytes(const TraceTable& table) {
  std::uint64_t bytes = table.prompts.memory() + 8 * (table.quality.size() + table.cost.size() + table.latency.size());
  for (const ScoreColumn& score : table.scores) bytes += 8 * score.values.size();
  for (const PromptColumn& column : table.columns) bytes += 8 * column.numbers.size() + column.texts.memory();
  return bytes;
}

std::optional<EvaluatorSpec> evaluator_of(const std::string& text) {
  using Seen = EvaluatorSpec::Kind;
  if (text == "quality") return EvaluatorSpec{};
  if (text == "score") return EvaluatorSpec{Seen::score, text};
  for (const auto& [prefix, kind] :
       {std::pair{std::string_view("score:"), Seen::score}, {"noisy:", Seen::noisy}, {"column:", Seen::column}})
    if (text.starts_with(prefix) && text.size() > prefix.size()) return EvaluatorSpec{kind, text.substr(prefix.size())};
  return {};
}

}  // namespace pandora
