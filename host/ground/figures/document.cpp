#include "host/ground/figures/document.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "host/ground/base/error.hpp"
#include "host/ground/files/input_file.hpp"
#include "host/ground/files/output_folder.hpp"
#include "host/ground/files/system_limits.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kGenerator = "pandora report 1";  // the number is that of the form of report.json

// What stands in files beside report.json, in the order of the document.
struct Parts {
  std::vector<std::pair<std::string, const Table*>> tables;  // by stem
  std::vector<const Figure*> figures;
  std::set<std::string> names;

  // Labels are short and mostly different; a table that has none, or that of another, gets a number.
  std::string stem_of(const Table& table) {
    const std::string label = table.label.empty() ? "table" : table.label;
    std::string stem = label;
    for (char& c : stem)
      if (std::string("/\\ ").find(c) != std::string::npos) c = '-';
    const std::string first = stem;
    for (int k = 2; !names.insert("tables/" + stem).second; ++k) stem = fmt::format("{}-{}", first, k);
    return stem;
  }
};

json table_json(const Table& table, const std::string& stem) {
  json rows = json::array();
  for (const Row& row : table.rows) {
    if (!row.heading.empty()) {
      rows.push_back({{"heading", row.heading}});
      continue;
    }
    json cells = json::array(), bold = json::array();
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      cells.push_back(row.cells[c].text);
      if (row.cells[c].bold) bold.push_back(c);
    }
    rows.push_back({{"cells", cells}, {"bold", bold}, {"rule_above", row.rule_above}});
  }
  return {
      {"name", stem},         {"title", table.title}, {"columns", table.columns}, {"row_headers", table.row_headers},
      {"notes", table.notes}, {"rows", rows}};
}

json section_json(const ReportSection& section, Parts& parts) {
  json out = {{"heading", section.heading}, {"paragraphs", section.paragraphs}, {"commands", section.commands},
              {"tables", json::array()},    {"figures", json::array()},         {"preformatted", section.preformatted},
              {"sections", json::array()},  {"folded", section.folded}};
  for (const Table& table : section.tables) {
    parts.tables.emplace_back(parts.stem_of(table), &table);
    out["tables"].push_back(table_json(table, parts.tables.back().first));
  }
  for (const Figure& figure : section.figures) {
    check(figure);
    if (!parts.names.insert("figures/" + figure.name).second)
      throw std::logic_error(fmt::format("figure {}: two figures have this name", figure.name));
    parts.figures.push_back(&figure);
    out["figures"].push_back(figure_json(figure, false));
  }
  for (const ReportSection& inner : section.sections) out["sections"].push_back(section_json(inner, parts));
  return out;
}

json json_of(const ReportDocument& document, Parts& parts) {
  json out = {{"generator", kGenerator},
              {"title", document.title},
              {"subtitle", document.subtitle},
              {"sections", json::array()}};
  for (const ReportSection& section : document.sections) out["sections"].push_back(section_json(section, parts));
  return out;
}

bool begins_with(const fs::path& file, const std::string& part) {
  try {
    return InputFile(file).read(1000).find(part) != std::string::npos;
  } catch (const Unreadable&) {
    return false;  // then it is not replaced
  }
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  require_resources(error.value(), folder.string());
  if (error)
    throw Error(ExitCode::output_lost,
                fmt::format("{}: cannot be created ({}); {}", folder.string(), error.message(), kOtherOut));
}

}  // namespace

json document_json(const ReportDocument& document) {
  Parts parts;
  return json_of(document, parts);
}

bool holds_document(const fs::path& folder) {
  return begins_with(folder / "report.json", fmt::format("\"generator\": \"{}", kGenerator)) ||
         begins_with(folder / "report.html", "<meta name=\"generator\" content=\"pandora\">");
}

RenderResult write_document(const fs::path& folder, const ReportDocument& document, const RenderOptions& options) {
  Parts parts;
  const json whole = json_of(document, parts);
  const auto remove = [&](const std::string& name) {
    std::error_code ignored;
    fs::remove(folder / name, ignored);
  };
  for (const char* name : {"report.html", "report.tex", "report.json"}) remove(name);
  for (const char* name : {"tables", "figures"}) make_folder(folder / name);
  for (const auto& [stem, table] : parts.tables) write_file(folder / "tables" / (stem + ".csv"), table_csv(*table));
  for (const Figure* figure : parts.figures) {
    for (const char* format : {"svg", "pdf", "png"}) remove(fmt::format("figures/{}.{}", figure->name, format));
    write_file(folder / "figures" / (figure->name + ".csv"), figure_csv(*figure));
  }
  // The order of the keys makes the generator one of the first lines.
  nlohmann::ordered_json ordered = {{"generator", kGenerator}};
  for (const auto& [key, value] : whole.items()) ordered[key] = value;
  write_file(folder / "report.json", ordered.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
  return render_document(folder, options);
}

}  // namespace pandora
