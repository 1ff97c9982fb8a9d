// The forms of named columns.
#include "host/ground/tables/columns.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace pandora {
namespace {

Fields row_of(const std::string& name, double value, bool best) {
  Field aside("number", 7);
  aside.in_csv = false;
  return {Field("name", name).shown("who", Cell(name)),
          aside,
          Field("value", value, "{:.3f}").shown("worth", 1, best),
          Field::shown_only("note", "-"),
          {"best", best}};
}

TEST(Columns, CsvHasTheColumnsThatAreForFiles) {
  Columns columns;
  columns.add(row_of("a,b", 1.25, true));
  columns.add(row_of("c", std::nan(""), false));
  EXPECT_EQ(columns.csv(), "name,value,best\n\"a,b\",1.250,1\nc,,0\n");
  EXPECT_EQ(columns.rows(), 2u);
  EXPECT_EQ(columns.columns()[1].texts[0], "7");
  EXPECT_EQ(columns.columns()[2].numbers[0], 1.25);
  EXPECT_TRUE(std::isnan(columns.columns()[2].numbers[1]));
}

TEST(Columns, ATableHasTheColumnsThatHaveATitle) {
  Columns columns;
  columns.add(row_of("a", 1.26, true));
  const Table table = columns.table();
  EXPECT_EQ(table.columns, (std::vector<std::string>{"who", "worth", "note"}));
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0].cells[1].text, "1.3");
  EXPECT_TRUE(table.rows[0].cells[1].bold);
  EXPECT_EQ(table.rows[0].cells[2].text, "-");
}

TEST(Columns, WithoutRowsTheHeaderStays) {
  Columns columns;
  columns.add(row_of("a", 1.0, false));
  columns.drop_rows();
  EXPECT_EQ(columns.csv(), "name,value,best\n");
  columns.add(row_of("b", 2.0, false));
  EXPECT_EQ(columns.csv(), "name,value,best\nb,2.000,0\n");
}

TEST(Columns, IntegersKeepAllDigits) {
  Columns columns;
  columns.add({{"seed", std::uint64_t{9007199254740993}}});
  EXPECT_EQ(columns.csv(), "seed\n9007199254740993\n");
}

}  // namespace
}  // namespace pandora
