// The rows of a comparison and their content, for made-up regrets.
#include "host/report/compare.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/host/expect_error.hpp"
#include "tests/host/report/made_up_results.hpp"

namespace pandora {
namespace {

using test::by_name;
using test::kFailed;
using testing::ElementsAre;

// With known rewards dow has the regrets 5, 8, 2, 7 and the plug-in 8, 9, 9, 10. With unknown rewards dow has the
// regret 15 in every replication, and the plug-in 18.
const std::map<std::string, std::vector<double>> kUtilities = {
    {"-/oracle/known", {520, 530, 510, 540}},          {"0/dow/known/c_rho=0.1", {515, 522, 508, 533}},
    {"0/online_plugin/known", {512, 521, 501, 530}},   {"0/dow/unknown/c_rho=0.1;c_theta=0.1", {505, 515, 495, 525}},
    {"0/online_plugin/unknown", {502, 512, 492, 522}},
};
constexpr const char* kDowAndPlugIn = "\"dow\", \"online_plugin\"";
constexpr const char* kOneEach = "[hyperparameters]\nc_rho = [0.1]\nc_theta = [0.1]\n";

class Compare : public test::MadeUpResults {
 protected:
  // The results for one T_0 and one choice of hyperparameters, with some utilities changed.
  StoredResults changed(const std::map<std::string, std::vector<double>>& changes) const {
    std::map<std::string, std::vector<double>> utilities = kUtilities;
    for (const auto& [lane, values] : changes) utilities[lane] = values;
    return results_of(study_of(kDowAndPlugIn, std::string("T0 = [0]\n") + kOneEach), by_name(utilities));
  }
  static std::vector<std::string> names(const std::vector<ComparedPair>& pairs) {
    std::vector<std::string> out;
    for (const ComparedPair& pair : pairs) out.push_back(pair.a + " " + pair.b);
    return out;
  }
  static std::vector<std::string> cells(const ComparedPair& pair) {
    std::vector<std::string> out;
    for (const ComparedRow& row : pair.rows)
      out.push_back(row.environment + " " + row.regime + " " + (row.T0 ? std::to_string(*row.T0) : "any"));
    return out;
  }
  void expect_error(StoredResults& results, const CompareOptions& options, ExitCode code, const std::string& part) {
    test::expect_error(code, part, [&] { compare_policies(results, options); });
  }
};

TEST_F(Compare, DifferencesArePairedOverReplications) {
  StoredResults results = changed({});
  const std::vector<ComparedPair> pairs = compare_policies(results, {{"dow/known", "online_plugin/known"}});
  ASSERT_THAT(names(pairs), ElementsAre("dow/known online_plugin/known"));
  ASSERT_EQ(pairs[0].rows.size(), 1u);
  const ComparedRow& row = pairs[0].rows[0];
  EXPECT_NEAR(row.a.mean, 5.5, 1e-9);
  EXPECT_NEAR(row.b.mean, 9.0, 1e-9);
  EXPECT_EQ(row.replications, 4);
  EXPECT_EQ(row.paired.n, 4u);
  // The differences -3, -1, -7, -3 have the mean -3.5 and squared deviations 0.25 + 6.25 + 12.25 + 0.25.
  EXPECT_NEAR(row.paired.difference.mean, -3.5, 1e-9);
  EXPECT_NEAR(row.paired.difference.half_width_95, 3.18244630528 * std::sqrt(19.0 / 3.0 / 4.0), 1e-8);
  EXPECT_EQ(row.paired.share_below, 1.0);
  // Squared deviations are 0.25 + 6.25 + 12.25 + 2.25 for a, and 1 + 0 + 0 + 1 for b.
  EXPECT_NEAR(row.paired.relative_efficiency, (21.0 + 2.0) / 19.0, 1e-9);
  // Student's t with three degrees of freedom has a closed form.
  const double t = 3.5 / std::sqrt(19.0 / 12.0) / std::sqrt(3.0);
  EXPECT_NEAR(row.paired.p, 1.0 - 2.0 / M_PI * (t / (1.0 + t * t) + std::atan(t)), 1e-9);
}

// Known rewards are compared with known ones and unknown with unknown ones, as separate pairs.
TEST_F(Compare, LikeIsComparedWithLike) {
  StoredResults results = changed({});
  const std::vector<ComparedPair> pairs = compare_policies(results, {{"dow", "online_plugin"}});
  ASSERT_THAT(names(pairs), ElementsAre("dow/known online_plugin/known", "dow/unknown online_plugin/unknown"));
  EXPECT_NEAR(pairs[1].rows[0].a.mean, 15.0, 1e-9);
  EXPECT_NEAR(pairs[1].rows[0].b.mean, 18.0, 1e-9);
  // Different rewards are compared only if the words ask for it.
  EXPECT_THAT(names(compare_policies(results, {{"dow/known", "online_plugin/unknown"}})),
              ElementsAre("dow/known online_plugin/unknown"));
}

TEST_F(Compare, WhatSharesNoRewardIsComparedWithAll) {
  StoredResults results =
      results_of(study_of("\"dow\", \"linucb_online\"", std::string("T0 = [0]\n") + kOneEach + "c_b = [1]\n"),
                 by_name(kUtilities));
  EXPECT_THAT(names(compare_policies(results, {{"linucb_online", "dow"}})),
              ElementsAre("linucb_online/none dow/known", "linucb_online/none dow/unknown"));
}

// The first policy is the base. It is compared with each of the others, which are not compared with each other.
TEST_F(Compare, TheFirstIsTheBase) {
  StoredResults results = results_of(
      study_of("\"dow\", \"online_plugin\", \"frugalgpt\"", std::string("T0 = [7]\n") + kOneEach), by_name(kUtilities));
  EXPECT_THAT(names(compare_policies(results, {{"frugalgpt", "online_plugin/known", "dow/known"}})),
              ElementsAre("frugalgpt/known online_plugin/known", "frugalgpt/known dow/known"));
}

TEST_F(Compare, TheHyperparameterWithTheLeastMeanIsTakenOnEachSide) {
  StoredResults results = results_of(study_of(kDowAndPlugIn, "T0 = [0]\n[hyperparameters]\nc_rho = [0.1, 1, 10]\n"),
                                     by_name({{"-/oracle/known", {520, 530, 510, 540}},
                                              {"0/dow/known/c_rho=0.1", {510, 520, 500, 530}},
                                              {"0/dow/known/c_rho=1", {515, 522, 508, 533}},
                                              {"0/dow/known/c_rho=10", {519, 520, 500, 531}},
                                              {"0/online_plugin/known", {512, 521, 501, 530}}}));
  const ComparedRow row = compare_policies(results, {{"dow/known", "online_plugin/known"}})[0].rows.at(0);
  EXPECT_EQ(row.a.choices, 3u);
  EXPECT_EQ(row.b.choices, 1u);
  EXPECT_NEAR(row.a.mean, 5.5, 1e-9);
  ASSERT_EQ(row.a.best.size(), 4u);
  EXPECT_NEAR(row.a.best[2], 2.0, 1e-9);
  EXPECT_NEAR(row.paired.difference.mean, -3.5, 1e-9);
  EXPECT_EQ(row.a.fit.without.size(), 4u);
}

// A hyperparameter whose mean is over fewer replications does not compete, however good it is.
TEST_F(Compare, AHyperparameterWithFewerReplicationsIsLeftOut) {
  StoredResults results = results_of(study_of(kDowAndPlugIn, "T0 = [0]\n[hyperparameters]\nc_rho = [0.1, 1]\n"),
                                     by_name({{"-/oracle/known", {520, 530, 510, 540}},
                                              {"0/dow/known/c_rho=0.1", {515, 522, 508, 533}},
                                              {"0/dow/known/c_rho=1", {520, 530, 510, kFailed}},
                                              {"0/online_plugin/known", {512, 521, 501, 530}}}));
  const ComparedRow row = compare_policies(results, {{"dow/known", "online_plugin/known"}})[0].rows.at(0);
  EXPECT_EQ(row.a.choices, 1u);
  EXPECT_EQ(row.paired.n, 4u);
  EXPECT_NEAR(row.a.mean, 5.5, 1e-9);
}

// If one side failed in a replication, the other side does not count there. Both means are then over the same draws.
TEST_F(Compare, AReplicationCountsIfBothSidesDo) {
  StoredResults results = changed(
      {{"0/dow/known/c_rho=0.1", {515, kFailed, 508, 533}}, {"0/online_plugin/known", {512, 521, kFailed, 530}}});
  const ComparedRow row = compare_policies(results, {{"dow/known", "online_plugin/known"}})[0].rows.at(0);
  EXPECT_EQ(row.paired.n, 2u);
  EXPECT_EQ(row.replications, 4);
  EXPECT_NEAR(row.a.mean, 6.0, 1e-9);
  EXPECT_NEAR(row.b.mean, 9.0, 1e-9);
  EXPECT_NEAR(row.paired.difference.mean, -3.0, 1e-9);
  EXPECT_TRUE(std::isnan(row.a.fit.mean));  // so few replications are not cross-fitted
}

TEST_F(Compare, OfOneReplicationThereIsNoInterval) {
  StoredResults results = results_of("replications = 1\n" + study_without_replications(kDowAndPlugIn, "T0 = [0]\n"),
                                     by_name({{"-/oracle/known", {520}}, {"0/online_plugin/known", {512}}}));
  const PairedDifference paired =
      compare_policies(results, {{"online_plugin/known", "dow/known"}})[0].rows.at(0).paired;
  EXPECT_EQ(paired.n, 1u);
  EXPECT_NEAR(paired.difference.mean, 8.0 - 520.0, 1e-9);
  EXPECT_TRUE(std::isnan(paired.difference.half_width_95));
  EXPECT_TRUE(std::isnan(paired.p));
}

TEST_F(Compare, APolicyThatFailedEverywhereHasARowOfNothing) {
  StoredResults results = changed({{"0/dow/known/c_rho=0.1", std::vector<double>(4, kFailed)}});
  const std::vector<ComparedPair> pairs = compare_policies(results, {{"online_plugin", "dow"}});
  ASSERT_THAT(names(pairs), ElementsAre("online_plugin/known dow/known", "online_plugin/unknown dow/unknown"));
  EXPECT_EQ(pairs[0].rows.at(0).paired.n, 0u);
  EXPECT_TRUE(std::isnan(pairs[0].rows.at(0).paired.difference.mean));
  EXPECT_EQ(pairs[1].rows.at(0).paired.n, 4u);
  expect_error(results, {{"online_plugin/known", "dow/known"}}, ExitCode::bad_data, "no replication");
}

TEST_F(Compare, OfNoReplicationThereIsNothingToSay) {
  changed({});
  for (const int r : {0, 1, 2, 3}) forget(r);
  StoredResults results = read();
  expect_error(results, {{"dow", "online_plugin"}}, ExitCode::bad_data, "no replication");
}

TEST_F(Compare, RowsAreOfTheT0EnvironmentsAndRegimesAskedFor) {
  StoredResults results = results_of(
      "replications = 1\nperiods = 100\nT0 = [7, 0]\nenvironments = [\"uniform\", \"gaussian\"]\npolicies = [\"dow\", "
      "\"frugalgpt\", \"online_plugin\"]\n[output]\norder = false\ninstances = false\n",
      by_name({{"-/oracle/known", {520}}}));
  const auto found = [&](const CompareOptions& options) { return cells(compare_policies(results, options).at(0)); };
  const std::vector<std::string> both = {"dow/known", "online_plugin/known"};
  EXPECT_THAT(found({both, {}, {"uniform"}, {"A"}}), ElementsAre("uniform A 7", "uniform A 0"));
  EXPECT_THAT(found({both, {0}, {}, {"B"}}), ElementsAre("uniform B 0", "gaussian B 0"));
  EXPECT_EQ(found({both}).size(), 8u);
  // FrugalGPT needs a calibration.
  EXPECT_THAT(found({{"dow/known", "frugalgpt"}, {}, {"gaussian"}, {"A"}}), ElementsAre("gaussian A 7"));
  expect_error(results, {{"dow", "frugalgpt"}, {0}}, ExitCode::usage, "none of the others at T0 = 0");
}

// Two policies whose lanes do not depend on T_0 are compared once. If one of them depends on it, they are compared at
// every T_0.
TEST_F(Compare, PoliciesWithoutACalibrationAreComparedOnce) {
  StoredResults results = results_of(study_of("\"query_all\", \"random_order\", \"dow\"", "T0 = [0, 7]\n"),
                                     by_name({{"-/oracle/known", {520, 530, 510, 540}}}));
  EXPECT_THAT(cells(compare_policies(results, {{"query_all", "random_order"}}).at(0)), ElementsAre("uniform A any"));
  EXPECT_THAT(cells(compare_policies(results, {{"query_all", "random_order"}, {7}}).at(0)),
              ElementsAre("uniform A any"));
  EXPECT_THAT(cells(compare_policies(results, {{"query_all", "dow/known"}}).at(0)),
              ElementsAre("uniform A 0", "uniform A 7"));
}

TEST_F(Compare, EverySettingHasItsRows) {
  StoredResults results = results_of(
      study_of(kDowAndPlugIn, "T0 = [0]\n" + std::string(kOneEach) + "[vary]\nestimation.eta_index = [1, 2]"),
      by_name(kUtilities));
  const std::vector<ComparedPair> pairs = compare_policies(results, {{"dow/known", "online_plugin/known"}});
  ASSERT_EQ(pairs.size(), 1u);
  ASSERT_EQ(pairs[0].rows.size(), 2u);
  EXPECT_EQ(pairs[0].rows[0].setting, "estimation.eta_index=1");
  EXPECT_EQ(pairs[0].rows[1].setting, "estimation.eta_index=2");
}

TEST_F(Compare, SaysWhereTheOthersRun) {
  StoredResults results = results_of(study_of("\"dow\", \"frugalgpt\"", "T0 = [0, 7]\n"), by_name({}));
  expect_error(
      results, {{"dow/known", "frugalgpt"}, {0}}, ExitCode::usage,
      "dow/known is compared with none of the others at T0 = 0: dow/known runs at T0 = 0, 7; frugalgpt runs at T0 = 7");
}

TEST_F(Compare, RefusesNamesThatTheResultsHaveNot) {
  StoredResults results = changed({});
  expect_error(results, {{"dow"}}, ExitCode::usage, "two or more");
  expect_error(results, {{"dow", "online_plugn"}}, ExitCode::usage, "the nearest is online_plugin");
  expect_error(results, {{"dow/none", "online_plugin"}}, ExitCode::usage, "--policy dow/none");
  expect_error(results, {{"dow", "online_plugin"}, {5}}, ExitCode::usage, "--t0 5: the results have T0 = 0");
  expect_error(results, {{"dow", "online_plugin"}, {}, {"unifrom"}}, ExitCode::usage, "the nearest is uniform");
  expect_error(results, {{"dow", "online_plugin"}, {}, {}, {"C"}}, ExitCode::usage, "use A, B");
  write("replications = 1\nenvironments = [\"uniform\"]\noutput.regret = false\noutput.instances = false\n",
        by_name({}), "bare");
  StoredResults bare = read("bare");
  expect_error(bare, {{"dow", "online_plugin"}}, ExitCode::usage, "simulates no policies");
}

}  // namespace
}  // namespace pandora
