#include "host/ground/tables/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pandora/error.hpp"

namespace pandora {
namespace {

using testing::HasSubstr;

Table small_table() {
  Table table;
  table.title = "Regret of 50% & more";
  table.label = "x";
  table.columns = {"policy", "T0=0", "T0=50"};
  table.rows = {{{}, "a panel"},
                {{"DOW_2", Cell("1.25±0.50", true, "1.2512"), "---"}},
                {{"Plug-in, \"known\"", "10.00±0.50", "x|y"}, "", true}};
  table.notes = {"a note"};
  return table;
}

TEST(Table, AsText) {
  EXPECT_EQ(table_text(small_table(), 80, false),
            "Regret of 50% & more\n"
            "policy                  T0=0  T0=50\n"
            "----------------  ----------  -----\n"
            "a panel\n"
            "DOW_2              1.25±0.50    ---\n"
            "Plug-in, \"known\"  10.00±0.50    x|y\n"
            "a note\n");
}

TEST(Table, ColumnsThatDoNotFitFollowBelowWithTheRowHeaders) {
  EXPECT_EQ(table_text(small_table(), 30, false),
            "Regret of 50% & more\n"
            "policy                  T0=0\n"
            "----------------  ----------\n"
            "a panel\n"
            "DOW_2              1.25±0.50\n"
            "Plug-in, \"known\"  10.00±0.50\n"
            "\n"
            "policy            T0=50\n"
            "----------------  -----\n"
            "a panel\n"
            "DOW_2               ---\n"
            "Plug-in, \"known\"    x|y\n"
            "a note\n");
}

TEST(Table, ARowWithoutCellsInALaterPieceIsNotRepeated) {
  Table table = small_table();
  table.rows.push_back({{"gain", "1.00", ""}});
  const std::string text = table_text(table, 30, false);
  EXPECT_EQ(text.find("gain"), text.rfind("gain"));
}

TEST(Table, BoldOnATerminalChangesNoColumn) {
  EXPECT_THAT(table_text(small_table(), 80, true), HasSubstr("DOW_2             \033[1m 1.25±0.50\033[0m    ---\n"));
}

TEST(Table, WidthCountsCodePointsWithoutCombiningMarks) {
  EXPECT_EQ(display_width("1.25±0.50"), 9u);
  EXPECT_EQ(display_width("ρ̂ₐ"), 2u);
  EXPECT_EQ(display_width(""), 0u);
}

TEST(Table, AsMarkdown) {
  EXPECT_EQ(table_markdown(small_table()),
            "**Regret of 50% & more**\n\n"
            "| policy | T0=0 | T0=50 |\n|---|---:|---:|\n"
            "| *a panel* |||\n"
            "| DOW\\_2 | **1.25±0.50** | --- |\n"
            "| Plug-in, \"known\" | 10.00±0.50 | x\\|y |\n"
            "\na note\n");
}

TEST(Table, AsCsvWithAllDigits) {
  EXPECT_EQ(table_csv(small_table()), "policy,T0=0,T0=50\nDOW_2,1.2512,\n\"Plug-in, \"\"known\"\"\",10.00±0.50,x|y\n");
}

// Python makes LaTeX, HTML and CSV from this JSON.
TEST(Table, AsJson) {
  const nlohmann::json found = table_json(small_table());
  EXPECT_EQ(found["columns"], (nlohmann::json{"policy", "T0=0", "T0=50"}));
  EXPECT_EQ(found["rows"][0], (nlohmann::json{{"heading", "a panel"}}));
  EXPECT_EQ(found["rows"][1]["cells"], (nlohmann::json{"DOW_2", "1.25±0.50", "---"}));
  EXPECT_EQ(found["rows"][1]["exact"], (nlohmann::json{"DOW_2", "1.2512", ""}));
  EXPECT_EQ(found["rows"][1]["bold"], nlohmann::json{1});
  EXPECT_EQ(found["notes"], nlohmann::json{"a note"});
}

TEST(Table, NamesInCsvAreNoFormulas) {
  for (const char* text : {"=1+1", "@x", "-2+3", "-", "+a", "\tb"}) EXPECT_EQ(csv_name(text), std::string("'") + text);
  for (const char* text : {"", "a=1", "-2.5", "+1e-3", "-inf", "-5%"}) EXPECT_EQ(csv_name(text), text);
  EXPECT_EQ(csv_name("-0.5 [-0.6, -0.4]"), "\"-0.5 [-0.6, -0.4]\"");
}

TEST(Table, FormatsHaveNames) {
  EXPECT_EQ(parse_table_format("latex"), TableFormat::latex);
  EXPECT_THROW(parse_table_format("Latex"), Error);
}

}  // namespace
}  // namespace pandora
