#include "host/ground/tables/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(Table, AsLatexWithGroupsOfRows) {
  Table table = small_table();
  table.row_headers = 2;
  table.columns.insert(table.columns.begin(), "");
  for (Row& row : table.rows)
    if (row.heading.empty()) row.cells.insert(row.cells.begin(), "Reward known");
  const std::string latex = table_latex(table);
  EXPECT_THAT(latex, HasSubstr("\\caption{Regret of 50\\% \\& more}"));
  EXPECT_THAT(latex, HasSubstr("\\begin{tabular}{llcc}\n\\toprule\n"));
  EXPECT_THAT(latex, HasSubstr("\\multicolumn{4}{l}{a panel}\\\\\n\\cmidrule(lr){1-4}\n"));
  EXPECT_THAT(latex,
              HasSubstr("\\multirow{2}{*}{\\emph{Reward known}} & DOW\\_2 & \\textbf{1.25$\\pm$0.50} & ---\\\\\n"));
  EXPECT_THAT(latex, HasSubstr("\\cmidrule(lr){2-4}\n & Plug-in, \"known\""));
  EXPECT_THAT(latex, HasSubstr("\\bottomrule\n\\end{tabular}\n"));
}

TEST(Table, LatexOfManyColumnsIsSeveralTables) {
  Table table;
  table.title = "Wide";
  table.label = "wide";
  table.columns = {"policy"};
  table.rows = {{{"DOW"}}, {{}, "a panel"}};
  table.notes = {"at the end"};
  for (std::size_t c = 0; c < kMostLatexColumns + 2; ++c) {
    table.columns.push_back("c" + std::to_string(c));
    table.rows[0].cells.emplace_back("x" + std::to_string(c));
  }
  const std::vector<Table> pieces = in_pieces(table, kMostLatexColumns);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[1].columns, (std::vector<std::string>{"policy", "c8", "c9"}));
  EXPECT_EQ(pieces[1].rows[0].cells[1].text, "x8");
  EXPECT_EQ(pieces[1].title, "Wide (continued)");
  EXPECT_TRUE(pieces[0].notes.empty());
  EXPECT_EQ(pieces[1].notes.size(), 1u);
  EXPECT_EQ(table_latex(table), table_latex(pieces[0]) + table_latex(pieces[1]));
}

TEST(Table, AsCsvWithAllDigits) {
  EXPECT_EQ(table_csv(small_table()), "policy,T0=0,T0=50\nDOW_2,1.2512,\n\"Plug-in, \"\"known\"\"\",10.00±0.50,x|y\n");
}

TEST(Table, NamesInCsvAreNoFormulas) {
  for (const char* text : {"=1+1", "@x", "-2+3", "-", "+a", "\tb"}) EXPECT_EQ(csv_name(text), std::string("'") + text);
  for (const char* text : {"", "a=1", "-2.5", "+1e-3", "-inf", "-5%"}) EXPECT_EQ(csv_name(text), text);
  EXPECT_EQ(csv_name("-0.5 [-0.6, -0.4]"), "\"-0.5 [-0.6, -0.4]\"");
}

TEST(Table, AsHtmlEscaped) {
  const std::string html = table_html(small_table());
  EXPECT_THAT(html, HasSubstr("<caption>Regret of 50% &amp; more</caption>"));
  EXPECT_THAT(html, HasSubstr("<th colspan=\"3\">a panel</th>"));
  EXPECT_THAT(html, HasSubstr("<td><b>1.25±0.50</b></td>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">Plug-in, &quot;known&quot;</th>"));
}

TEST(Table, FormatsHaveNames) {
  EXPECT_EQ(parse_table_format("latex"), TableFormat::latex);
  EXPECT_THROW(parse_table_format("Latex"), Error);
}

}  // namespace
}  // namespace pandora
