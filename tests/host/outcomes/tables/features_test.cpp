// Features of prompts are fitted on one table, and are the same for every other. As JSON they are exact, and no other
// JSON is accepted.
#include "host/outcomes/tables/features.hpp"

#include <Eigen/Dense>

#include "host/ground/files/sealed_file.hpp"
#include "tests/host/outcomes/tables/naive_ngrams.hpp"
#include "tests/host/outcomes/tables/trace_files.hpp"

namespace pandora {
namespace {

using Json = nlohmann::json;
using Kind = PromptColumn::Kind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// A table that has only prompts.
TraceTable prompts(std::size_t rows) {
  TraceTable table;
  table.source = "table";
  table.models = {"a"};
  PromptColumn source{"source", Kind::text}, n{"n", Kind::number}, v{"v", Kind::vector, 2};
  for (std::size_t row = 0; row < rows; ++row) {
    table.prompts.push_back(std::to_string(row + 1));
    source.texts.push_back(row % 10 == 9 ? "" : row % 3 == 0 ? "maths" : "chat");
    n.numbers.push_back(row == 4 ? NAN : std::exp(0.3 * static_cast<double>(row % 17)));
    v.numbers.insert(v.numbers.end(), {static_cast<double>(row), 7});
  }
  table.columns = {{"prompt", Kind::text, 1, {}, test::some_texts(static_cast<int>(rows))}, source, n, v};
  table.text_column = 0;
  table.quality.assign(rows, 0.5);
  table.cost.assign(rows, 1);
  return table;
}

double scaled(std::vector<double> fitted, double x) {
  std::erase_if(fitted, [](double value) { return std::isnan(value); });
  const Eigen::Map<const Eigen::ArrayXd> known(fitted.data(), static_cast<Eigen::Index>(fitted.size()));
  const double deviation = std::sqrt((known - known.mean()).square().mean());
  return std::clamp((x - known.mean()) / (2 * deviation), -1.0, 1.0);
}

class FeaturesTest : public test::TraceTest {
 protected:
  std::string spec_refusal(const std::vector<std::string>& specs, ExitCode code) {
    return refusal_of([&] { (void)FeatureMap::fit(prompts(40), specs); }, code);
  }
};

TEST_F(FeaturesTest, AreWhatTheirDefinitionsSay) {
  const TraceTable table = prompts(40);
  const FeatureMap map = FeatureMap::fit(table, {"n", "length", "source", "v", "text:3", "raw:v"});
  EXPECT_THAT(map.names(), ElementsAre("n", "length", "source=chat", "source=maths", "source=(other)", "v:0", "text:0",
                                       "text:1", "text:2", "raw:v:0", "raw:v:1"));
  EXPECT_THAT(map.notes(), ElementsAre("1 of the 2 numbers of \"v\" do not vary and are left out"));
  const std::vector<double> features = map.apply(table);
  ASSERT_EQ(features.size(), 40u * 11);
  std::vector<double> lengths, chat, other, v, first;
  const TextProjection projection = test::projection_of(table.columns[0].texts, 3);
  std::vector<double> numbers(3);
  for (std::size_t row = 0; row < 40; ++row) {
    const std::string text(table.text(row));
    lengths.push_back(std::log(1 + static_cast<double>(test::characters_of(text).size())));
    chat.push_back(table.columns[1].texts[row] == "chat");
    other.push_back(table.columns[1].texts[row].empty());
    v.push_back(static_cast<double>(row));
    projection.apply(text, numbers);
    first.push_back(numbers[0]);
  }
  for (std::size_t row = 0; row < 40; ++row) {
    const std::span<const double> found = std::span(features).subspan(row * 11, 11);
    EXPECT_NEAR(found[0], row == 4 ? 0 : scaled(table.columns[2].numbers, table.columns[2].numbers[row]), 1e-12) << row;
    EXPECT_NEAR(found[1], scaled(lengths, lengths[row]), 1e-12);
    EXPECT_NEAR(found[2], scaled(chat, chat[row]), 1e-12);
    EXPECT_NEAR(found[4], scaled(other, other[row]), 1e-12);
    EXPECT_NEAR(found[5], scaled(v, v[row]), 1e-12);
    EXPECT_NEAR(found[6], scaled(first, first[row]), 1e-12);
    EXPECT_EQ(found[9], static_cast<double>(row));
    EXPECT_EQ(found[10], 7);
  }
}

TEST_F(FeaturesTest, DependOnTheTableThatWasFittedAlone) {
  const TraceTable table = prompts(300);
  const FeatureMap map = FeatureMap::fit(select_rows(table, std::vector<std::size_t>{0, 1, 2, 3, 5, 6, 7, 8, 9, 10}),
                                         {"n", "source", "length", "text:2"});
  const std::vector<double> all = map.apply(table), some = map.apply(select_rows(table, std::vector<std::size_t>{250}));
  EXPECT_THAT(std::vector<double>(all.begin() + static_cast<long>(250 * map.size()),
                                  all.begin() + static_cast<long>(251 * map.size())),
              testing::ElementsAreArray(some));
  for (const double feature : all) {
    EXPECT_GE(feature, -1);
    EXPECT_LE(feature, 1);
  }
  EXPECT_EQ(map.apply(select_rows(table, {})), std::vector<double>{});
}

TEST_F(FeaturesTest, KeepTheMostFrequentClasses) {
  TraceTable table = prompts(400);
  table.columns[1].texts = {};
  for (std::size_t row = 0; row < 400; ++row)  // class k occurs 2 k + 1 times, for k < 20
    table.columns[1].texts.push_back(fmt::format("c{:02}", static_cast<int>(std::sqrt(static_cast<double>(row)))));
  const FeatureMap map = FeatureMap::fit(table, {"source"});
  ASSERT_EQ(map.size(), kMostClasses + 1);
  EXPECT_EQ(map.names()[0], "source=c04");
  EXPECT_EQ(map.names()[15], "source=c19");
  const std::vector<double> of_rest = map.apply(select_rows(table, std::vector<std::size_t>{0}));
  TraceTable unseen = select_rows(table, std::vector<std::size_t>{0});
  for (const char* value : {"never seen", "", "c00"}) {
    unseen.columns[1].texts = {};
    unseen.columns[1].texts.push_back(value);
    EXPECT_EQ(map.apply(unseen), of_rest) << value;
  }
  EXPECT_GT(of_rest.back(), 0);
}

TEST_F(FeaturesTest, OfASinglePromptAreThoseOfItsRow) {
  const TraceTable table = prompts(40);
  const FeatureMap map = FeatureMap::fit(table, {"text:3", "v", "source", "length", "raw:v", "n"});
  const std::vector<double> features = map.apply(table);
  Prompt prompt;
  prompt.text = table.text(8);
  prompt.columns["source"] = std::string(table.columns[1].texts[8]);
  prompt.columns["n"] = table.columns[2].numbers[8];
  prompt.columns["v"] = std::vector<double>{8, 7};
  prompt.columns["unused"] = 3.0;
  const auto row = features.begin() + static_cast<long>(8 * map.size());
  EXPECT_EQ(map.apply(prompt), std::vector<double>(row, row + static_cast<long>(map.size())));
  prompt.columns.erase("n");
  EXPECT_EQ(map.apply(prompt).back(), 0);
  const auto refused = [&](const char* column, const Prompt::Value& value) {
    Prompt other = prompt;
    other.columns[column] = value;
    return refusal_of([&] { (void)map.apply(other); }, ExitCode::usage);
  };
  EXPECT_EQ(refused("n", "x"), "column \"n\" of the prompt: is a text where a number belongs");
  EXPECT_EQ(refused("n", NAN), "column \"n\" of the prompt: is not finite");
  EXPECT_EQ(refused("source", 1.0), "column \"source\" of the prompt: is a number where a text belongs");
  EXPECT_EQ(refused("v", 1.0), "column \"v\" of the prompt: has 1 numbers where 2 belong");
  prompt.columns.erase("v");
  EXPECT_THAT(refusal_of([&] { (void)map.apply(prompt); }, ExitCode::usage),
              HasSubstr("a raw column needs a value in every row"));
}

TEST_F(FeaturesTest, RefuseSpecsThatAreNone) {
  for (const char* spec : {"text:", "text:0", "text:x", "text:3x", "text:-1", "text:513"})
    EXPECT_THAT(spec_refusal({spec}, ExitCode::usage), HasSubstr("is no feature: text:k has k from 1 to 512")) << spec;
  EXPECT_EQ(spec_refusal({"n", "n"}, ExitCode::usage), "feature \"n\" stands twice");
  EXPECT_EQ(spec_refusal({"text:2", "text:3"}, ExitCode::usage), "feature \"text:3\" stands twice");
  EXPECT_THAT(spec_refusal({"sourse"}, ExitCode::bad_data),
              StartsWith("table: has no column \"sourse\" of prompts; the nearest is source; features are text:k"));
  EXPECT_THAT(spec_refusal({"raw:source"}, ExitCode::bad_data), HasSubstr("holds texts, but features need num"));
  EXPECT_THAT(spec_refusal({"raw:n"}, ExitCode::bad_data), HasSubstr("row 5, column \"n\": is missing"));
  EXPECT_THAT(spec_refusal({"prompt"}, ExitCode::bad_data), HasSubstr("has a different value in every row"));
  TraceTable table = prompts(40);
  table.columns[2].name = "length";
  EXPECT_THAT(refusal_of([&] { (void)FeatureMap::fit(table, {"length"}); }), HasSubstr("also the name of the text's"));
  table.text_column = TraceTable::kNone;
  EXPECT_THAT(refusal_of([&] { (void)FeatureMap::fit(table, {"text:2"}); }), HasSubstr("has no text of prompts"));
}

TEST_F(FeaturesTest, RefuseTablesOfOtherColumns) {
  const FeatureMap map = FeatureMap::fit(prompts(40), {"n", "source", "v"});
  const auto refused = [&](auto change) {
    TraceTable table = prompts(3);
    change(table);
    return refusal_of([&] { (void)map.apply(table); });
  };
  EXPECT_THAT(refused([](TraceTable& t) { t.columns[2].name = "m"; }), HasSubstr("has no column \"n\" of prompts"));
  EXPECT_THAT(refused([](TraceTable& t) { t.columns[2] = t.columns[1], t.columns[2].name = "n"; }),
              HasSubstr("column \"n\" holds texts, but features need numbers"));
  EXPECT_THAT(refused([](TraceTable& t) { t.columns[3] = t.columns[2], t.columns[3].name = "v"; }),
              HasSubstr("column \"v\" holds 1 numbers per prompt, but features need 2"));
  const FeatureMap raw = FeatureMap::fit(prompts(4), {"raw:n"});
  EXPECT_THAT(refusal_of([&] { (void)raw.apply(prompts(40)); }), HasSubstr("row 5, column \"n\": is missing"));
}

TEST_F(FeaturesTest, DropWhatDoesNotVary) {
  TraceTable table = prompts(10);
  table.columns[2].numbers.assign(10, 0.1);
  const FeatureMap map = FeatureMap::fit(table, {"n", "text:30"});
  EXPECT_EQ(map.size(), 9u);  // ten texts minus their mean
  EXPECT_EQ(map.notes()[0], "\"n\" does not vary and is left out");
  table.columns[2].numbers.assign(10, NAN);
  EXPECT_EQ(FeatureMap::fit(table, {"n"}).size(), 0u);
}

TEST_F(FeaturesTest, LogitOfAScore) {
  EXPECT_EQ(logit_of_score(0.5), 0);
  EXPECT_DOUBLE_EQ(logit_of_score(0.9), std::log(9));
  EXPECT_DOUBLE_EQ(logit_of_score(1), std::log(99));
  EXPECT_DOUBLE_EQ(logit_of_score(0), -std::log(99));
}

FeatureMap some_map() {
  TraceTable table = test::small_table();
  table.columns[0].texts = test::some_texts(5);
  table.columns[2].numbers = {1e300, -0.1, 1.0 / 3, NAN, 5e-324};
  table.columns[3].numbers = {1, 0.5, -1, 0.1, 0, 0, 3e10, 2, 5, 5};
  return FeatureMap::fit(table, {"text:2", "source", "difficulty", "embedding", "raw:embedding", "length"});
}

TEST(FeaturesJsonTest, IsTheSameMapInEveryBit) {
  const FeatureMap map = some_map();
  ASSERT_EQ(map.size(), 12u - 2);
  const FeatureMap again = FeatureMap::from_json(Json::parse(map.to_json().dump()));
  EXPECT_EQ(again, map);
  EXPECT_EQ(again.to_json().dump(), map.to_json().dump());
  EXPECT_EQ(FeatureMap::from_json(FeatureMap().to_json()).size(), 0u);
}

TEST(FeaturesJsonTest, IsRefusedWhereAnythingDiffers) {
  const Json good = some_map().to_json();
  const auto expect_refused = [&good](const std::string& pointer, const Json& value) {
    Json json = good;
    json[Json::json_pointer(pointer)] = value;
    EXPECT_THROW((void)FeatureMap::from_json(json), Damaged) << pointer << " " << value.dump();
  };
  for (const Json& any : {Json(), Json(3), Json("x"), Json::array(), Json::object()}) {
    EXPECT_THROW((void)FeatureMap::from_json(any), Damaged);
    for (const auto& [name, value] : good.items())
      if (!(any == Json::array() && value.is_array())) expect_refused("/" + name, any);
    for (std::size_t s = 0; s < good["sources"].size(); ++s)
      for (const auto& [name, value] : good["sources"][s].items()) {
        if (name == "column" && any == "x") continue;  // "x" is a valid name, but not that of its features:
        expect_refused(fmt::format("/sources/{}/{}", s, name), any);
      }
    for (std::size_t c = 0; c < good["columns"].size(); ++c)
      for (const auto& [name, value] : good["columns"][c].items()) {
        if ((name == "mean" || name == "spread") && any == 3) continue;
        expect_refused(fmt::format("/columns/{}/{}", c, name), any);
      }
  }
  expect_refused("/more", 1);
  expect_refused("/format", "pandora features 2");
  expect_refused("/notes", {1});
  expect_refused("/sources/0/more", 1);
  expect_refused("/sources/0/kind", "bytes");
  expect_refused("/sources/0/bits", 40);
  expect_refused("/sources/0/bits", 11);
  expect_refused("/sources/0/size", 3);
  expect_refused("/sources/0/size", 1u << 31);
  expect_refused("/sources/0/idf/7", 0.5);
  expect_refused("/sources/0/idf/7", 1e300);
  expect_refused("/sources/0/basis/7", 1.5);
  expect_refused("/sources/0/basis/7", "0");
  expect_refused("/sources/1/classes", {"maths", "chat"});
  expect_refused("/sources/1/classes", {"chat", "chat"});
  expect_refused("/sources/1/classes", {"", "chat"});
  expect_refused("/sources/1/classes/0", "other");  // the class's feature has another name
  expect_refused("/sources/1/column", "x");
  expect_refused("/sources/3/length", 0);
  expect_refused("/columns/0/source", 99);
  expect_refused("/columns/0/index", 1);
  expect_refused("/columns/1/index", 0);
  expect_refused("/columns/0/spread", 0);
  expect_refused("/columns/0/spread", -1);
  expect_refused("/columns/0/mean", std::nan(""));
  const std::size_t raw = 7;
  ASSERT_EQ(good["columns"][raw]["name"], "raw:embedding:0");
  expect_refused(fmt::format("/columns/{}/mean", raw), 1);
  expect_refused(fmt::format("/columns/{}/spread", raw), 2);
}

}  // namespace
}  // namespace pandora
