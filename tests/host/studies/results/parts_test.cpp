#include "host/studies/results/parts.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "host/ground/files/sealed_file.hpp"
#include "host/studies/sweep/sweep.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {
using nlohmann::json;

// An error that says what the study does not have or has otherwise.
auto is_mismatch(const std::string& what) {
  using testing::Property;
  return testing::Throws<Error>(
      testing::AllOf(Property(&Error::code, ExitCode::mismatch), Property(&Error::what, testing::HasSubstr(what))));
}

StudyConfig small_config(const std::string& more = "") {
  return StudyConfig::parse(
      "replications = 3\nperiods = 60\nT0 = [0, 5]\nenvironments = [\"uniform\", \"gaussian\"]\npolicies = [\"dow\", "
      "\"query_all\"]\n[dimensions]\ncontext = 3\nreward_features = 2\n"
      "radius_draws = 500\n[oracle]\nsamples = 1000\ngrid = [3, 3, "
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
      const Units& units = settings[part.setting].plan.units;
      for (std::size_t u = part.first; u < part.last; ++u) {  // a part has units of one group only
        EXPECT_EQ(units[u].environment, units[part.first].environment);
        EXPECT_EQ(units[u].regime, units[part.first].regime);
      }
      EXPECT_TRUE(names.insert(part.name).second) << part.name;
      next[part.setting] = part.last;
    }
    for (std::size_t s = 0; s < settings.size(); ++s) EXPECT_EQ(next[s], settings[s].plan.units.size());
    EXPECT_LE(names.size(), 2u * 4u * 50u * static_cast<std::size_t>(std::ceil(std::log2(R / 50.0 + 1.0))));
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

  std::vector<UnitResult> results_of(const Part& part) const { return results_of(part, settings_[0]); }
  static std::vector<UnitResult> results_of(const Part& part, const PlannedSetting& planned) {
    Plan plan = planned.plan;
    plan.units = {plan.units[part.first]};
    return run_sweep(planned.setting.study, plan, {});
  }
};

TEST_F(PartFile, GivesBackEveryBit) {
  const Part& part = parts_[4];
  std::vector<UnitResult> results = results_of(part);
  results[0].lanes[1].fail(Failure::index_fit, 17);
  results[0].lanes[2].utility = -0.0;
  const json content = unseal("part", seal("part", part_content(settings_[0], part, identity_, results)));
  EXPECT_EQ(identity_in(content), identity_);
  const PartContents found = part_contents(settings_[0], part, content);
  EXPECT_TRUE(found.whole());
  const std::vector<UnitResult>& again = found.units;
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again, results);
  EXPECT_TRUE(std::signbit(again[0].lanes[2].utility));
  EXPECT_TRUE(again[0].instance.has_value());
}

TEST_F(PartFile, OfAnotherPlaceOrShapeIsDamage) {
  const Part& part = parts_[4];
  const json good = part_content(settings_[0], part, identity_, results_of(part));
  const auto expect_damage = [&](const json& content, const Part& as) {
    EXPECT_THROW(part_contents(settings_[0], as, content), Damaged) << content.dump().substr(0, 200);
  };
  EXPECT_NO_THROW(part_contents(settings_[0], part, good));
  for (const Part& other : parts_)
    if (other.name != part.name) expect_damage(good, other);
  const auto expect_damage_with = [&](const std::string& pointer, const json& value) {
    json bad = good;
    bad[json::json_pointer(pointer)] = value;
    expect_damage(bad, part);
  };
  for (const char* field : {"place", "lanes", "units"}) {
    json bad = good;
    bad.erase(field);
    expect_damage(bad, part);
    expect_damage_with(std::string("/") + field, 7);
  }
  for (const char* field : {"tallies", "notes", "order", "instance"}) {
    json bad = good;
    bad["units"][0].erase(field);
    expect_damage(bad, part);
    expect_damage_with(std::string("/units/0/") + field, json::array({1, 2}));
  }
  expect_damage_with("/units", json::array());
  expect_damage_with("/lanes/1", good["lanes"][0]);
  std::vector<double> tallies = unpack(good["units"][0]["tallies"]);
  for (const double value : {-1.0, 0.5, 1e9, std::nan("")}) {  // for a number of periods, which is a count
    tallies[0] = value;
    expect_damage_with("/units/0/tallies", pack(tallies));
  }
  tallies.pop_back();
  expect_damage_with("/units/0/tallies", pack(tallies));
  for (const json& content : {json(), json(3), json::array(), json::object()}) {
    expect_damage(content, part);
    EXPECT_THROW(identity_in(content), Damaged);
  }
  json identity = good;
  identity["identity"]["study.seed"] = 5;
  EXPECT_THROW(identity_in(identity), Damaged);
}

// Notes of policies come back. Notes that no policy can have written count as damage.
TEST_F(PartFile, KeepsNotesOfLanes) {
  const Part& part = parts_[4];
  std::vector<UnitResult> results = results_of(part);
  results[0].notes[1].list = {2, 0};
  results[0].notes[1].thresholds = {0.25};
  results[0].notes[2].rho.assign(3 * 4, -0.0);
  results[0].notes[2].theta = {1.5, 2.5};
  results[0].notes[2].message = "said \"no\"";
  const json good = part_content(settings_[0], part, identity_, results);
  EXPECT_EQ(part_contents(settings_[0], part, good).units, results);
  const std::string name = lane_name(settings_[0].plan.lanes[1]);
  const auto expect_damage = [&](const char* field, const json& value) {
    json bad = good;
    bad["units"][0]["notes"][name][field] = value;
    EXPECT_THROW(part_contents(settings_[0], part, bad), Damaged) << bad["units"][0]["notes"].dump();
  };
  for (const json& list :
       {json::array(), json({3}), json({-1}), json({0, 1, 2, 0}), json({0.5}), json("0"), json({"a"})})
    expect_damage("list", list);
  expect_damage("thresholds", pack(std::vector<double>{1.0, 2.0}));
  expect_damage("rho", pack(std::vector<double>{1.0}));
  expect_damage("theta", pack(std::vector<double>{1.0}));
  expect_damage("message", 5);
}

// For a larger study, the part gives the units that it has, and the others are missing.
TEST_F(PartFile, OfASmallerStudyGivesWhatItHas) {
  const Part& part = parts_[4];
  const std::vector<UnitResult> results = results_of(part);
  const json content = part_content(settings_[0], part, identity_, results);
  StudyConfig larger = small_config();
  larger.set("T0", "[5, 0, 7]", "");
  larger.set("policies", "random_order,dow,query_all", "");
  const std::vector<PlannedSetting> settings = make_plans(larger);
  const Plan &small = settings_[0].plan, &large = settings[0].plan;
  const PartContents found = part_contents(settings[0], part, content);
  EXPECT_FALSE(found.whole());
  ASSERT_EQ(found.units.size(), 1u);
  std::size_t there = 0;
  for (std::size_t lane = 0; lane < large.lanes.size(); ++lane) {
    const std::string name = lane_name(large.lanes[lane]);
    const auto same = std::ranges::find(small.lanes, name, lane_name);
    EXPECT_EQ(found.lanes[lane], same != small.lanes.end()) << name;
    EXPECT_EQ(found.units[0].lanes[lane].ran(), found.lanes[lane]) << name;
    if (!found.lanes[lane]) continue;
    ++there;
    EXPECT_EQ(found.units[0].lanes[lane], results[0].lanes[static_cast<std::size_t>(same - small.lanes.begin())]);
  }
  EXPECT_EQ(there, small.lanes.size());
  // A larger study's part is refused for a smaller study.
  const json whole = part_content(settings[0], part, identity_, results_of(part, settings[0]));
  EXPECT_THAT([&] { part_contents(settings_[0], part, whole); },
              is_mismatch("holds lane -/random_order/known, which the study does not"));
}

TEST_F(PartFile, OfAnEnvironmentWithOtherNumbersIsAMismatch) {
  const Part& part = parts_[0];
  const json content = part_content(settings_[0], part, identity_, results_of(part));
  StudyConfig other = small_config();
  other.set("environment.uniform.u", "0.5", "");
  EXPECT_THAT([&] { part_contents(make_plans(other)[0], part, content); }, is_mismatch("[environment.uniform]"));
}

TEST(Identity, FixedPartIsWhatResultsCannotGrowBy) {
  const Identity fixed = fixed_part({{"study.replications", "3"},
                                     {"study.T0", "[0]"},
                                     {"study.policies", "[]"},
                                     {"study.regimes", "x"},
                                     {"study.environments", "x"},
                                     {"study.environment.a.u", "1"},
                                     {"study.hyperparameters.c_rho", "[1]"},
                                     {"study.seed", "1"},
                                     {"build.x", "y"},
                                     {"study.vary.replications", "[1, 2]"}});
  EXPECT_THAT(fixed, testing::ElementsAre(testing::Pair("build.x", "y"), testing::Pair("study.seed", "1"),
                                          testing::Pair("study.vary.replications", "[1, 2]")));
}

TEST(Identity, DifferencesNameBothSides) {
  EXPECT_TRUE(differences({{"a", "1"}}, {{"a", "1"}}).empty());
  EXPECT_THAT(
      differences({{"a", "1"}, {"b", "2"}}, {{"a", "3"}, {"c", "4"}}),
      testing::ElementsAre("a is 1 there and 3 here", "b is 2 there and absent here", "c is absent there and 4 here"));
}

}  // namespace
}  // namespace pandora
