#include "host/ground/tables/columns.hpp"

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace pandora {

Field::Field(std::string name, double value, const char* format)
    : column(std::move(name)),
      kind(Kind::number),
      text(std::isfinite(value) ? fmt::format(fmt::runtime(format), value) : ""),
      number(value) {}

Field Field::shown_only(std::string title, Cell cell) {
  Field out("", "");
  out.in_csv = out.in_frames = false;
  return out.shown(std::move(title), std::move(cell));
}

Field& Field::shown(std::string as, int decimals, bool bold) {
  return shown(std::move(as), Cell(number_text(number, decimals), bold));
}

Field& Field::shown(std::string as, Cell content) {
  title = std::move(as);
  cell = std::move(content);
  return *this;
}

void append(Fields& row, const std::string& column, const std::string& half_width, const Estimate& estimate,
            const char* format) {
  row.emplace_back(column, estimate.mean, format);
  row.emplace_back(half_width, estimate.half_width_95, format);
  constexpr std::string_view kHalfWidth = "half_width_95";
  std::string error = half_width;
  row.emplace_back(error.replace(error.find(kHalfWidth), kHalfWidth.size(), "standard_error"), estimate.standard_error,
                   "{:.9g}");
}

void append(Fields& row, Fields more) {
  row.insert(row.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

void Columns::add(const Fields& row) {
  for (std::size_t c = columns_.size(); c < row.size(); ++c) columns_.push_back({row[c]});
  for (std::size_t c = 0; c < row.size(); ++c) {
    Column& column = columns_.at(c);
    column.texts.push_back(row[c].text);
    if (column.head.kind == Field::Kind::number) column.numbers.push_back(row[c].number);
    if (!column.head.title.empty()) column.cells.push_back(row[c].cell);
  }
}

void Columns::drop_rows() {
  for (Column& column : columns_) column = {column.head};
}

std::string Columns::csv() const {
  std::string out;
  const auto line = [&](auto&& cell) {
    bool first = true;
    for (const Column& column : columns_) {
      if (!column.head.in_csv) continue;
      out += (first ? "" : ",") + csv_cell(cell(column));
      first = false;
    }
    out += "\n";
  };
  line([](const Column& column) { return column.head.column; });
  for (std::size_t row = 0; row < rows(); ++row) line([row](const Column& column) { return column.texts[row]; });
  return out;
}

Table Columns::table() const {
  Table out;
  out.rows.resize(rows());
  for (const Column& column : columns_) {
    if (column.head.title.empty()) continue;
    out.columns.push_back(column.head.title);
    for (std::size_t row = 0; row < rows(); ++row) out.rows[row].cells.push_back(column.cells[row]);
  }
  return out;
}

nlohmann::json columns_json(const Columns& columns) {
  nlohmann::json out = nlohmann::json::object();
  for (const Columns::Column& column : columns.columns()) {
    if (!column.head.in_frames) continue;
    nlohmann::json& values = out[column.head.column] = nlohmann::json::array();
    for (std::size_t row = 0; row < column.texts.size(); ++row) {
      const std::string& text = column.texts[row];
      switch (column.head.kind) {
        case Field::Kind::text:
          values.push_back(text);
          break;
        case Field::Kind::number:
          values.push_back(column.numbers[row]);
          break;
        case Field::Kind::integer:
          values.push_back(std::stoll(text));
          break;
        case Field::Kind::flag:
          values.push_back(text == "1");
      }
    }
  }
  return out;
}

}  // namespace pandora
