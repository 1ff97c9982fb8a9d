// Tables of outcomes as files for tests: texts that are written and read, and a table in every form.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "host/outcomes/tables/read_trace.hpp"
#include "pandora/error.hpp"
#include "tests/host/folder_test.hpp"

namespace pandora::test {

class TraceTest : public FolderTest {
 protected:
  std::filesystem::path write(const std::string& bytes, const std::string& name = "table") {
    std::ofstream(base_ / name, std::ios::binary) << bytes;
    return base_ / name;
  }
  TraceTable read(const std::string& bytes, const TraceOptions& options = {}) {
    return read_trace(write(bytes), options);
  }
  /// The refusal's text after the file's name. Fails the test if nothing is refused, or with another code.
  std::string refusal(const std::string& bytes, const TraceOptions& options = {}) {
    return refusal_of([&] { (void)read(bytes, options); });
  }
  template <class Body>
  std::string refusal_of(const Body& body, ExitCode code = ExitCode::bad_data) {
    try {
      body();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      const std::string what = error.what(), file = (base_ / "table").string() + ": ";
      EXPECT_EQ(what.find('\n'), std::string::npos) << what;
      return what.starts_with(file) ? what.substr(file.size()) : what;
    }
    ADD_FAILURE() << "was not refused";
    return "";
  }
};

/// The text as a field of a CSV file, in quotes.
inline std::string csv_field(const std::string& text) {
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? "\"\"" : std::string(1, c);
  return field + '"';
}

/// A prompt's value as JSON; null if it is missing.
inline nlohmann::json json_value(const PromptColumn& column, std::size_t row) {
  if (column.kind == PromptColumn::Kind::text) return std::string(column.texts[row]);
  if (std::isnan(column.numbers[row * column.length])) return nullptr;
  if (column.kind == PromptColumn::Kind::number) return column.numbers[row];
  const auto first = column.numbers.begin() + static_cast<long>(row * column.length);
  return std::vector<double>(first, first + static_cast<long>(column.length));
}

using Rows = std::vector<nlohmann::ordered_json>;  ///< objects

inline nlohmann::ordered_json answer_json(const TraceTable& table, std::size_t i) {
  nlohmann::ordered_json answer = {{"quality", table.quality[i]}, {"cost", table.cost[i]}};
  for (const ScoreColumn& score : table.scores) answer[score.name] = score.values[i];
  return answer;
}

inline void add_columns(nlohmann::ordered_json& line, const TraceTable& table, std::size_t row) {
  line["prompt_id"] = std::string(table.prompts[row]);
  for (const PromptColumn& column : table.columns) line[column.name] = json_value(column, row);
}

inline Rows wide_rows(const TraceTable& table) {
  Rows rows(table.rows());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    add_columns(rows[row], table, row);
    for (std::size_t m = 0; m < table.models.size(); ++m) {
      const std::size_t i = row * table.models.size() + m;
      rows[row][table.models[m]] = table.quality[i];
      rows[row][table.models[m] + "|total_cost"] = table.cost[i];
      for (const ScoreColumn& score : table.scores) rows[row][table.models[m] + "|" + score.name] = score.values[i];
    }
  }
  return rows;
}

inline Rows long_rows(const TraceTable& table) {
  Rows rows;
  for (std::size_t i = 0; i < table.quality.size(); ++i) {
    rows.push_back(answer_json(table, i));
    rows.back()["model"] = table.models[i % table.models.size()];
    add_columns(rows.back(), table, i / table.models.size());
  }
  return rows;
}

inline Rows nested_rows(const TraceTable& table) {
  Rows rows(table.rows());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    add_columns(rows[row], table, row);
    for (std::size_t m = 0; m < table.models.size(); ++m)
      rows[row]["models"][table.models[m]] = answer_json(table, row * table.models.size() + m);
  }
  return rows;
}

inline std::string as_csv(const Rows& rows, const std::string& line_end = "\n") {
  std::string text, comma;
  for (const auto& [name, value] : rows[0].items()) text += std::exchange(comma, ",") + csv_field(name);
  for (const nlohmann::ordered_json& row : rows) {
    text += line_end;
    comma = "";
    for (const nlohmann::ordered_json& value : row) {
      text += std::exchange(comma, ",");
      if (value.is_string()) text += csv_field(value.get<std::string>());
      if (value.is_array()) text += csv_field(value.dump());
      if (value.is_number()) text += value.dump();
    }
  }
  return text + line_end;
}

inline std::string as_jsonl(const Rows& rows) {
  std::string text;
  for (const nlohmann::ordered_json& row : rows) text += row.dump() + "\n";
  return text;
}

/// A table with two models, a judge and five prompts. It has every kind of column, and texts with line ends, quotes,
/// commas and characters beyond ASCII.
inline TraceTable small_table() {
  TraceTable table;
  table.models = {"vendor/big", "small"};
  table.named_prompts = true;
  PromptColumn prompt{"prompt"}, source{"source"};
  PromptColumn difficulty{"difficulty", PromptColumn::Kind::number, 1, {0.25, -3, NAN, 1e-7, 12}};
  PromptColumn embedding{"embedding", PromptColumn::Kind::vector, 2, {1, 0.5, -1, 0.1, 0, 0, 3e10, 2, NAN, NAN}};
  const char* const texts[] = {"Two\nlines, and a comma", "\"Quoted\" said Zo\u00eb", "\u4f60\u597d",
                               "tabs\tand\\backslashes", "plain"};
  const char* const sources[] = {"maths", "chat", "chat", "", "maths"};
  for (int row = 0; row < 5; ++row) {
    table.prompts.push_back("p" + std::to_string(10 - row));
    prompt.texts.push_back(texts[row]);
    source.texts.push_back(sources[row]);
  }
  table.columns = {prompt, source, difficulty, embedding};
  table.text_column = 0;
  table.quality = {1, 0, 0.5, 0.25, 0.1, 0.3, 1, 1, 0.125, 0.7};
  table.cost = {0.02, 1e-4, 0.03, 1e-4, 1e-5, 1e-4, 2, 1e-4, 0.5, 1e-4};
  table.scores = {{"score", {0.9, 0.1, 0.4, 0.3, 0.2, 0.2, 1, 0, 0.5, 0.5}}};
  return table;
}

}  // namespace pandora::test
