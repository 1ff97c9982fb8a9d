// Verdicts on folders of made-up results, as tables, CSV and JSON.
#include "host/report/verdict.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "pandora/error.hpp"
#include "tests/host/report/made_up_results.hpp"

namespace pandora {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class VerdictOnResults : public test::MadeUpResults {
 protected:
  // Regrets of the plug-in scatter by one about 9 (known) and 9.5 (unknown), in `replications` replications.
  StoredResults paper(int replications, const std::string& more = "", bool failing = false) const {
    return results_of("replications = " + std::to_string(replications) +
                          "\nT0 = [0]\nenvironments = [\"uniform\"]\nregimes = [\"A\"]\npolicies = "
                          "[\"online_plugin\"]\n" +
                          (more.empty() ? "periods = 30000\n" : more) +
                          "[output]\norder = false\ninstances = false\nhdf5 = false\n",
                      [failing](const std::string& lane, const Unit& unit) {
                        const double luck = std::sin(1.0 + unit.replication), own = std::cos(2.0 * unit.replication);
                        if (failing && unit.replication == 3 && lane == "0/online_plugin/known") return test::kFailed;
                        return lane == "-/oracle/known"          ? 520.0 + 30.0 * luck
                               : lane == "0/online_plugin/known" ? 520.0 + 30.0 * luck - 9.0 - own
                                                                 : 520.0 + 30.0 * luck - 9.5 + own;
                      });
  }
};

TEST_F(VerdictOnResults, HasAllPartsOfWhatThereIs) {
  StoredResults results = paper(120, "", true);
  const std::vector<Verdict> found = verdicts(results);
  ASSERT_EQ(found.size(), 1u);
  const Verdict& verdict = found[0];
  EXPECT_EQ(verdict.replications, 120);
  EXPECT_EQ(verdict.least, 119u);  // one lane failed
  EXPECT_FALSE(verdict.costs);
  ASSERT_EQ(verdict.numbers.size(), 4u);
  double sum = 0.0;
  for (int r = 0; r < 120; ++r) sum += r == 3 ? 0.0 : 9.0 + std::cos(2.0 * r);
  EXPECT_NEAR(verdict.numbers[0].plain.ours.mean, sum / 119.0, 1e-9);
  EXPECT_EQ(verdict.numbers[0].published.value, 9.31);
  EXPECT_EQ(verdict.rows.size(), 2u);
  EXPECT_EQ(verdict.counts.at(0).sets.size(), 2u);
  EXPECT_EQ(verdict.prices.size(), 1u);
  std::vector<std::string> labels;
  for (const Finding& finding : verdict.findings) labels.push_back(finding.label());
  EXPECT_THAT(labels, ElementsAre("4b", "5"));
  std::vector<std::string> titles;
  for (const Table& table : verdict_tables(verdict)) titles.push_back(table.label);
  EXPECT_THAT(titles, ElementsAre("numbers", "rows", "counts", "findings", "exceptions", "prices"));
  EXPECT_THAT(verdict_tables(verdict, "prices").at(0).title, HasSubstr("price of an unknown reward"));
}

TEST_F(VerdictOnResults, IsReadByPrograms) {
  StoredResults results = paper(60);
  const std::vector<Verdict> found = verdicts(results);
  const nlohmann::json json = verdict_json(found);
  ASSERT_EQ(json.size(), 5u);
  const nlohmann::json& number = json["numbers"].at(1);
  EXPECT_EQ(number["policy"], "online_plugin");
  EXPECT_EQ(number["reward"], "unknown");
  EXPECT_EQ(number["T0"], 0);
  EXPECT_EQ(number["replications"], 60);
  EXPECT_EQ(number["published"], 10.17);
  EXPECT_EQ(number["ours"].get<double>(), found[0].numbers[1].plain.ours.mean);
  EXPECT_EQ(number["adjusted_z"].get<double>(), found[0].numbers[1].adjusted.z);
  EXPECT_EQ(json["counts"].at(0)["published"], "paper");
  const Table csv = verdict_csv(found, "numbers");
  EXPECT_THAT(table_csv(csv),
              testing::StartsWith("replications,number,regime,environment,policy,reward,T0,published,ours,"
                                  "half_width_95,published_half_width_95,z,inside_joint_95,adjusted_ours,"));
  EXPECT_THAT(table_csv(csv), HasSubstr("\n60,boxes_queried,A,uniform,,,,1.69,1,0,"));
  EXPECT_EQ(verdict_json(found, "rows").size(), 1u);
}

// Any horizon has findings; published numbers are of the paper's.
TEST_F(VerdictOnResults, OfAnotherHorizonHasFindingsAlone) {
  StoredResults results = paper(12, "periods = 50\n");
  const Verdict verdict = verdicts(results).at(0);
  EXPECT_TRUE(verdict.numbers.empty());
  EXPECT_TRUE(verdict.counts.empty());
  EXPECT_FALSE(verdict.findings.empty());
  EXPECT_FALSE(verdict.findings.at(0).cells.at(0).published.has_value());
  EXPECT_FALSE(verdict.prices.at(0).published.has_value());
  EXPECT_THAT(verdict_tables(verdict, "prices").at(0).notes.back(),
              HasSubstr("of 12 replications they are too narrow"));
}

TEST_F(VerdictOnResults, SettingsAreJudgedApart) {
  StoredResults results = paper(12, "periods = 30000\n[vary]\nestimation.refit = [\"geometric:1.5\", \"tracking\"]\n");
  const std::vector<Verdict> found = verdicts(results);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(verdict_tables(found[1]).at(0).title, HasSubstr("tracking: Published numbers"));
  EXPECT_THAT(table_csv(verdict_csv(found, "rows")), testing::StartsWith("setting,replications,policy,"));
}

TEST_F(VerdictOnResults, WhatIsNotThePapersIsRefused) {
  StoredResults results = results_of(
      "replications = 2\nperiods = 50\nT0 = [0]\nenvironments = [\"mine\"]\nregimes = [\"A\"]\npolicies = "
      "[\"online_plugin\"]\n[environment.mine]\nlaw = \"uniform\"\nu = 0.5\nstream = 17\n[output]\norder = "
      "false\ninstances = false\n",
      test::by_name({}));
  try {
    verdicts(results);
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_THAT(error.what(), HasSubstr("has no replication of the paper's environments"));
  }
}

}  // namespace
}  // namespace pandora
