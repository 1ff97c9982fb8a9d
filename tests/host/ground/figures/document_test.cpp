// A document as report.json and CSV files, without its rendering.
#include "host/ground/figures/document.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "host/ground/figures/figure.hpp"
#include "tests/host/folder_test.hpp"
#include "tests/host/ground/figures/small_figures.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

Table small_table(const std::string& label) {
  Table table;
  table.label = label;
  table.title = "Regrets";
  table.columns = {"policy", "regret"};
  table.rows = {{{}, "uniform"}, {{"DOW", Cell("1.23±0.10", true, "1.2345")}}};
  table.notes = {"a note"};
  return table;
}

ReportDocument small_document() {
  ReportDocument document{"A title", "a subtitle", {}};
  ReportSection& section = document.sections.emplace_back();
  section.heading = "Tables";
  section.tables = {small_table("regret"), small_table("regret"), small_table("")};
  ReportSection& outer = document.sections.emplace_back();
  outer.heading = "Figures";
  outer.sections.push_back({.heading = "Inner", .figures = test::figures_of_every_kind()});
  return document;
}

TEST(DocumentJson, HasWhatIsShownAndNoNumbersOfFigures) {
  const json found = document_json(small_document());
  EXPECT_EQ(found["title"], "A title");
  const json& table = found["sections"][0]["tables"][0];
  EXPECT_EQ(table["rows"][0]["heading"], "uniform");
  EXPECT_EQ(table["rows"][1]["cells"], (json{"DOW", "1.23±0.10"}));
  EXPECT_EQ(table["rows"][1]["bold"], json{1});
  EXPECT_EQ(table["notes"], json{"a note"});
  std::vector<std::string> names;
  for (const json& one : found["sections"][0]["tables"]) names.push_back(one["name"]);
  EXPECT_THAT(names, ElementsAre("regret", "regret-2", "table"));
  const json& figure = found["sections"][1]["sections"][0]["figures"][0];
  EXPECT_EQ(figure["name"], "lines");
  EXPECT_EQ(figure["kind"], "lines");
  EXPECT_EQ(figure["spoken"], "Title of lines: regret ± 95% against period t; DOW, oracle");
  EXPECT_EQ(figure["references"][0]["label"], "target");
  EXPECT_FALSE(figure["series"][0].contains("y"));
}

TEST(DocumentJson, RefusesTwoFiguresOfOneName) {
  ReportDocument document = small_document();
  document.sections[0].figures.push_back(test::small_figure(Figure::Kind::lines, "lines"));
  EXPECT_THROW(document_json(document), std::logic_error);
}

TEST(FigureData, CsvHasARowPerPointAndAllDigits) {
  Figure figure = test::small_figure(Figure::Kind::scatter, "f");
  figure.series.resize(1);
  figure.series[0].label = "DOW, \"known\"";
  figure.series[0].y = {1.0 / 3.0, std::nan(""), 4, 8};
  EXPECT_THAT(figure_csv(figure), testing::StartsWith("series,label,x,y,low,high,x_low,x_high\n"
                                                      "1,\"DOW, \"\"known\"\"\",0,0.3333333333333333,-2,1,-1,1\n"
                                                      "1,\"DOW, \"\"known\"\"\",10,,-1,3,9,11\n"));
  Figure bars = test::small_figure(Figure::Kind::bars, "b");
  EXPECT_THAT(figure_csv(bars), testing::StartsWith("series,label,category,y,low,high\n1,DOW,Gaussian,-1,-2,1\n"));
}

TEST(FigureData, JsonHasTheNumbersWhereTheyAreAskedFor) {
  Figure figure = test::small_figure(Figure::Kind::lines, "f");
  figure.series[0].y[1] = std::nan("");
  figure.series[0].policy = "dow";
  figure.log_x = true;
  figure.caption = "What it shows";
  const json found = figure_json(figure, true);
  EXPECT_EQ(found["series"][0]["policy"], "dow");
  EXPECT_EQ(json::parse(found.dump())["series"][0]["y"], (json{-1.0, nullptr, 4.0, 8.0}));
  EXPECT_EQ(found["caption"], "What it shows. Zero has a place of its own at the left of the logarithmic axis.");
}

class WriteDocument : public test::FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    ::setenv("PANDORA_PYTHON", "/nowhere/python3", 1);
  }
  void TearDown() override {
    ::unsetenv("PANDORA_PYTHON");
    FolderTest::TearDown();
  }
};

TEST_F(WriteDocument, LeavesDataWhereNothingRendersItAndNoPictureOfBefore) {
  fs::create_directories(base_ / "figures");
  for (const char* name : {"report.html", "report.tex", "figures/lines.svg", "figures/lines.png"})
    std::ofstream(base_ / name) << "of before";
  const RenderResult result = write_document(base_, small_document(), {});
  EXPECT_FALSE(result.rendered);
  EXPECT_THAT(result.message, HasSubstr("PANDORA_PYTHON=/nowhere/python3 is no program that can be run"));
  EXPECT_THAT(result.message, testing::ContainsRegex("run `python3 .*render.py .* --format svg`"));
  EXPECT_EQ(result.message.find('\n'), std::string::npos);
  for (const char* name : {"report.html", "report.tex", "figures/lines.svg", "figures/lines.png"})
    EXPECT_FALSE(fs::exists(base_ / name)) << name;
  EXPECT_EQ(test::read_file(base_ / "tables/regret-2.csv"), "policy,regret\nDOW,1.2345\n");
  EXPECT_EQ(test::read_file(base_ / "figures/bars.csv"), figure_csv(test::figures_of_every_kind()[6]));
  EXPECT_EQ(json::parse(test::read_file(base_ / "report.json")), document_json(small_document()));
  EXPECT_TRUE(holds_document(base_));
  std::ofstream(base_ / "report.json") << "{\"of\": \"somebody\"}";
  EXPECT_FALSE(holds_document(base_));
}

// Bytes that are no UTF-8 come from names of files and models.
TEST_F(WriteDocument, WritesJsonWhateverTheTextsAre) {
  ReportDocument document = small_document();
  document.title = "a\xff\x1b title";
  write_document(base_, document, {});
  EXPECT_THAT(json::parse(test::read_file(base_ / "report.json"))["title"], HasSubstr("title"));
}

}  // namespace
}  // namespace pandora
