// A map of features as JSON is exact, and no other JSON is accepted.
#include "host/ground/files/sealed_file.hpp"
#include "host/outcomes/tables/features.hpp"
#include "tests/host/outcomes/tables/naive_ngrams.hpp"
#include "tests/host/outcomes/tables/trace_files.hpp"

namespace pandora {
namespace {

using Json = nlohmann::json;

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
