// Two made-up folders of results on the same tapes show which outcomes are paired, and what is refused.
#include <gmock/gmock.h>

#include "host/report/compare.hpp"
#include "tests/host/expect_error.hpp"
#include "tests/host/report/made_up_results.hpp"

namespace pandora {
namespace {

using test::by_name;
using test::kFailed;

class CompareFolders : public test::MadeUpResults {
 protected:
  static std::string study(int replications, const std::string& T0, const std::string& more = "") {
    return "replications = " + std::to_string(replications) + "\n" +
           study_without_replications("\"online_plugin\", \"query_all\"", "T0 = " + T0 + "\n" + more);
  }
  std::vector<ComparedPair> compared(const CompareOptions& options) const {
    StoredResults first = read("first"), second = read("second");
    return compare_folders(first, second, options);
  }
  void expect_refusal(const CompareOptions& options, ExitCode code, const std::string& part) const {
    test::expect_error(code, part, [&] { compared(options); });
  }
  // The same for two new folders of these studies.
  void expect_refusal(const std::string& here, const std::string& there, ExitCode code, const std::string& part,
                      const CompareOptions& options = {{"query_all"}}) const {
    for (const auto& [folder, study] : {std::pair("first", here), std::pair("second", there)}) {
      std::filesystem::remove_all(path(folder));
      write(study, by_name({{"-/oracle/known", {520, 530}}}), folder);
    }
    expect_refusal(options, code, part);
  }
};

TEST_F(CompareFolders, ReplicationsThatBothHaveArePaired) {
  write(study(4, "[0, 7]"),
        by_name({{"-/oracle/known", {520, 530, 510, 540}}, {"7/online_plugin/known", {512, 521, kFailed, 530}}}),
        "first");
  write(study(3, "[7, 9]"), by_name({{"-/oracle/known", {520, 530, 510}}, {"7/online_plugin/known", {510, 515, 500}}}),
        "second");
  const std::vector<ComparedPair> pairs = compared({{"online_plugin/known"}});
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].a, "online_plugin/known of " + path("first"));
  EXPECT_EQ(pairs[0].b, "online_plugin/known of " + path("second"));
  ASSERT_EQ(pairs[0].rows.size(), 1u);  // only T_0 = 7 is in both
  const ComparedRow& row = pairs[0].rows[0];
  EXPECT_EQ(row.T0, 7);
  EXPECT_EQ(row.paired.n, 2u);  // replications 0 and 1: 8 and 9 against 10 and 15
  EXPECT_NEAR(row.a.mean, 8.5, 1e-9);
  EXPECT_NEAR(row.b.mean, 12.5, 1e-9);
  EXPECT_NEAR(row.paired.difference.mean, -4.0, 1e-9);
}

// All policies except the oracle are compared. Policies without a T_0 are compared once.
TEST_F(CompareFolders, WithoutPoliciesAllThatBothHaveAreCompared) {
  for (const char* folder : {"first", "second"})
    write(study(2, "[0, 7]"), by_name({{"-/oracle/known", {520, 530}}}), folder);
  std::vector<std::string> found;
  for (const ComparedPair& pair : compared({}))
    found.push_back(pair.a.substr(0, pair.a.find(' ')) + " " + std::to_string(pair.rows.size()));
  EXPECT_THAT(found, testing::ElementsAre("online_plugin/known 2", "online_plugin/unknown 2", "query_all/known 1"));
}

TEST_F(CompareFolders, SettingsAreFoundByTheirNames) {
  write(study(2, "[0]", "[vary]\nestimation.eta_index = [1, 2]"), by_name({{"-/oracle/known", {520, 530}}}), "first");
  write(study(2, "[0]", "[vary]\nestimation.eta_index = [3, 2]"), by_name({{"-/oracle/known", {520, 530}}}), "second");
  const std::vector<ComparedPair> pairs = compared({{"query_all"}});
  ASSERT_EQ(pairs.at(0).rows.size(), 1u);
  EXPECT_EQ(pairs[0].rows[0].setting, "estimation.eta_index=2");
}

// The message says why folders cannot be paired, also if settings have different names for this reason.
TEST_F(CompareFolders, WhyNothingIsPairedIsSaid) {
  const std::string vary = "[vary]\nestimation.eta_index = ";
  expect_refusal(study(2, "[0]", vary + "[1, 2]"), study(2, "[0]", "seed = 7\n" + vary + "[3, 4]"), ExitCode::mismatch,
                 "do not share tapes: seed is 1 there and 7 here");
  expect_refusal(study(2, "[0]", "[vary]\nseed = [1, 2]"), study(2, "[0]", "[vary]\nseed = [3, 4]"), ExitCode::mismatch,
                 "do not share tapes: seed is 1 there and 3 here");
  expect_refusal(study(2, "[0]", vary + "[1, 2]"), study(2, "[0]"), ExitCode::usage,
                 "have no setting (the values of the keys under [vary]) in common: estimation.eta_index=1, "
                 "estimation.eta_index=2 there, one without [vary] here");
  expect_refusal(study(2, "[0, 7]"), study(2, "[9]"), ExitCode::usage, "have no T0 in common: 0, 7 there, 9 here");
  expect_refusal(study(2, "[0, 7]"), study(2, "[7]"), ExitCode::usage, "have no T0 in common: 0 there, 7 here",
                 {{"query_all"}, {0}});
  const auto with = [](const std::string& policy, const std::string& environment) {
    return "replications = 2\nperiods = 100\nT0 = [0]\nregimes = [\"A\"]\noutput.order = false\n"
           "output.instances = false\noutput.hdf5 = false\npolicies = [\"" +
           policy + "\"]\nenvironments = [\"" + environment + "\"]\n";
  };
  expect_refusal(with("query_all", "uniform"), with("query_all", "gaussian"), ExitCode::usage,
                 "have no environment and regime in common: uniform/A there, gaussian/A here");
  expect_refusal(with("query_all", "uniform"), with("random_order", "uniform"), ExitCode::usage,
                 "have no policy in common: query_all/known there, random_order/known here", {});
}

TEST_F(CompareFolders, OtherTapesAreRefused) {
  for (const auto& [more, part] : {std::pair("seed = 2\n", "seed is 1 there and 2 here"),
                                   {"dimensions.boxes = 4\n", "is 3/100/"},
                                   {"[environment.uniform]\nu = 0.5\n", "environment.uniform.u is 0.23 there"}})
    expect_refusal(study(2, "[0]"), study(2, "[0]", more), ExitCode::mismatch, part);
  // The oracle depends only on the tape. Another grid changes its utility by less than a thousandth per period.
  const auto with_oracle = [&](double utility) {
    std::filesystem::remove_all(path("second"));
    write(study(2, "[0]"), by_name({{"-/oracle/known", {520, utility}}}), "second");
  };
  with_oracle(531.5);
  expect_refusal({{"query_all"}}, ExitCode::mismatch, "uniform/A/1 is 530.0000 there and 531.5000 here");
  with_oracle(530.9);
  EXPECT_EQ(compared({{"query_all"}}).size(), 1u);
}

TEST_F(CompareFolders, PoliciesMustBeInBoth) {
  write(study(2, "[0]"), by_name({{"-/oracle/known", {520, 530}}}), "first");
  write("replications = 2\n" + study_without_replications("\"online_plugin\"", "T0 = [0]\n"),
        by_name({{"-/oracle/known", {520, 530}}}), "second");
  expect_refusal({{"query_all"}}, ExitCode::usage, "--policy query_all");
  EXPECT_EQ(compared({}).size(), 2u);
}

TEST_F(CompareFolders, TheManifestsDifferencesAreNamed) {
  write(study(2, "[0]"), by_name({}), "first");
  write(study(3, "[0]"), by_name({}), "second");
  const StoredResults first = read("first"), second = read("second");
  EXPECT_THAT(manifest_differences(first, second), testing::ElementsAre("study.replications is 2 there and 3 here"));
}

}  // namespace
}  // namespace pandora
