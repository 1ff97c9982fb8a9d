#include "host/results/parts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "host/files/sealed_file.hpp"

namespace pandora {
namespace {
using nlohmann::json;

StudyConfig small_config(const std::string& more = "") {
  return StudyConfig::parse(
      "replications = 3\nperiods = 60\nT0 = [0, 5]\nenvironments = [\"uniform\", \"gaussian\"]\npolicies = "
      "[\"dow\", \"query_all\"]\n[dimensions]\ncontext = 3\nreward_features = 2\n[oracle]\nsamples = 1000\ngrid = [3, "
      "3, "
      "3]\nbins = 20\norder_contexts = 10\n" +
          more,
      "test");
}

TEST(MakeParts, CoverEveryUnitOnceInOrderWhateverTheirNumber) {
  for (const int R : {1, 3, 50, 51, 100, 101, 1234}) {
    StudyConfig config = small_config("[vary]\nperiods = [5, 6]\n");
    config.set("replications", std::to_string(R), "");
    const std::vector<PlannedSetting> settings = make_plans(config);
    std::vector<std::size_t> next(settings.size(), 0);
    std::set<std::string> names;
    for (const Part& part : make_parts(settings)) {
      EXPECT_EQ(part.first, next[part.setting]);
      EXPECT_GT(part.last, part.first);
      const std::vector<Unit>& units = settings[part.setting].plan.units;
      for (std::size_t u = part.first; u < part.last; ++u) {  // never two groups in one part
        EXPECT_EQ(units[u].environment, units[part.first].environment);
        EXPECT_EQ(units[u].regime, units[part.first].regime);
      }
      EXPECT_TRUE(names.insert(part.name).second) << part.name;
      next[part.setting] = part.last;
    }
    for (std::size_t s = 0; s < settings.size(); ++s) EXPECT_EQ(next[s], settings[s].plan.units.size());
    EXPECT_LE(names.size(), 2u * 4u * 50u);
    if (R <= 50) {
      EXPECT_EQ(names.size(), 2u * 4u * static_cast<std::size_t>(R));
    }
  }
}

class PartFile : public testing::Test {
 protected:
  StudyConfig config_ = small_config();
  std::vector<PlannedSetting> settings_ = make_plans(config_);
  std::vector<Part> parts_ = make_parts(settings_);
  Identity identity_ = {{"study.seed", "1"}, {"build.sources", "x"}};

  std::vector<UnitResult> results_of(const Part& part) const {
    Plan plan = settings_[0].plan;
    plan.units = {plan.units[part.first]};
    return run_sweep(settings_[0].setting.study, plan, {});
  }
};

TEST_F(PartFile, GivesBackEveryBit) {
  const Part& part = parts_[4];
  std::vector<UnitResult> results = results_of(part);
  results[0].lanes[1].fail(Failure::index_fit, 17);
  results[0].lanes[2].utility = -0.0;
  const json content = unseal("part", seal("part", part_content(settings_[0], part, identity_, results)));
  EXPECT_EQ(part_identity(content), identity_);
  const std::vector<UnitResult> again = part_results(settings_[0], part, content);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again, results);
  EXPECT_TRUE(std::signbit(again[0].lanes[2].utility));
  EXPECT_TRUE(again[0].instance.has_value());
}

TEST_F(PartFile, OfAnotherPlaceOrShapeIsDamage) {
  const Part& part = parts_[4];
  const json good = part_content(settings_[0], part, identity_, results_of(part));
  const auto expect_damage = [&](const json& content, const Part& as) {
    EXPECT_THROW(part_results(settings_[0], as, content), Damaged) << content.dump().substr(0, 200);
  };
  EXPECT_NO_THROW(part_results(settings_[0], part, good));
  for (const Part& other : parts_)
    if (other.name != part.name) expect_damage(good, other);
  for (const char* field : {"place", "units"}) {
    json bad = good;
    bad.erase(field);
    expect_damage(bad, part);
    bad[field] = 7;
    expect_damage(bad, part);
  }
  for (const char* field : {"tallies", "order", "instance"}) {
    json bad = good;
    bad["units"][0].erase(field);
    expect_damage(bad, part);
    bad["units"][0][field] = json::array({1, 2});
    expect_damage(bad, part);
  }
  json more = good;
  more["units"].push_back(more["units"][0]);
  expect_damage(more, part);
  std::vector<double> tallies = unpack(good["units"][0]["tallies"]);
  for (const double value : {-1.0, 0.5, 1e9, std::nan("")}) {  // periods, a count
    json bad = good;
    tallies[0] = value;
    bad["units"][0]["tallies"] = pack(tallies);
    expect_damage(bad, part);
  }
  tallies.pop_back();
  json shorter = good;
  shorter["units"][0]["tallies"] = pack(tallies);
  expect_damage(shorter, part);
  for (const json& content : {json(), json(3), json::array(), json::object()}) {
    expect_damage(content, part);
    EXPECT_THROW(part_identity(content), Damaged);
  }
  json identity = good;
  identity["identity"]["study.seed"] = 5;
  EXPECT_THROW(part_identity(identity), Damaged);
}

TEST(Identity, DifferencesNameBothSides) {
  EXPECT_TRUE(differences({{"a", "1"}}, {{"a", "1"}}).empty());
  EXPECT_THAT(
      differences({{"a", "1"}, {"b", "2"}}, {{"a", "3"}, {"c", "4"}}),
      testing::ElementsAre("a is 1 there and 3 here", "b is 2 there and absent here", "c is absent there and 4 here"));
}

// The fingerprint must tell arithmetic apart that decisions do not show.
TEST(Identity, FingerprintDependsOnTheEngineAndIsStable) {
  const auto fingerprint = [](const std::string& key, const std::string& value) {
    StudyConfig config = small_config();
    if (!key.empty()) config.set(key, value, "");
    const BackendChoice cpu{"cpu", "", {}, ""};
    return identity_of(config, config.settings(), cpu).at("numerics.fingerprint");
  };
  const std::string standard = fingerprint("", "");
  EXPECT_EQ(standard.size(), 16u);
  EXPECT_EQ(fingerprint("", ""), standard);
  EXPECT_EQ(fingerprint("seed", "9"), standard);  // of the arithmetic, not of the study
  EXPECT_EQ(fingerprint("engine.chunk", "1"), standard);
  EXPECT_NE(fingerprint("engine.precision", "double"), standard);
  EXPECT_NE(fingerprint("engine.kind", "reference"), fingerprint("engine.precision", "double"));
  EXPECT_NE(fingerprint("engine.block", "8"), standard);
}

}  // namespace
}  // namespace pandora
