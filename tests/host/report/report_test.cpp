// The content of a report on made-up results: which policies are compared, and which ones have numbers.
#include "host/report/report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/host/expect_error.hpp"
#include "tests/host/report/made_up_results.hpp"

namespace pandora {
namespace {

using Json = nlohmann::json;
using test::by_name;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Report : public test::MadeUpResults {
 protected:
  // Makes the results of four replications.
  void make(const std::string& policies, const std::string& more = "T0 = [0, 7]\n") const {
    std::filesystem::remove_all(path());
    write(study_of(policies, more), [](const std::string& lane, const Unit& unit) {
      return (lane == "-/oracle/known" ? 520.0 : 500.0 - static_cast<double>(lane.size())) +
             static_cast<double>(unit.replication);
    });
  }
  Json made(const ReportOptions& options = {}) const {
    StoredResults results = read();
    return report_numbers(results, options);
  }
  void expect_refused(const ReportOptions& options, ExitCode code, const std::string& part) const {
    test::expect_error(code, part, [&] { made(options); });
  }
};

// The text "rival < base" for each row.
std::vector<std::string> compared(const Json& numbers) {
  std::vector<std::string> out;
  for (std::size_t row = 0; numbers["pairs"].contains("a") && row < numbers["pairs"]["a"].size(); ++row)
    out.push_back(numbers["pairs"]["b"][row].get<std::string>() + " < " +
                  numbers["pairs"]["a"][row].get<std::string>());
  return out;
}

std::vector<std::string> overview_columns(const Json& numbers) {
  return numbers["tables"].back()["columns"];
}

const char* const kThree = "\"online_plugin\", \"dow\", \"query_all\"";

TEST_F(Report, TheFirstPolicyIsTheBaseAndYardsticksCompeteWithNobody) {
  make(kThree);
  const Json page = made();
  EXPECT_THAT(compared(page), Contains("dow/known < online_plugin/known"));
  EXPECT_THAT(compared(page), Contains("dow/unknown < online_plugin/unknown"));
  EXPECT_EQ(compared(page).size(), 4u);  // two rewards, two T_0, and no yardstick
  EXPECT_TRUE(compared(made({.differences = false})).empty());
}

// The order of the study's list counts, and not that of the program. The overview has the same base.
TEST_F(Report, TheBaseIsTheFirstThatTheStudyListsAndNoYardstick) {
  make("\"query_all\", \"dow\", \"online_plugin\"");
  const Json page = made();
  EXPECT_THAT(compared(page), Contains("online_plugin/known < dow/known"));
  EXPECT_THAT(overview_columns(page), Contains("of dow"));
  make(kThree);
  EXPECT_THAT(overview_columns(made()), Contains("of online_plugin"));
  make("");  // the paper's policies
  EXPECT_THAT(compared(made()), Contains("online_plugin/known < dow/known"));
}

TEST_F(Report, BaseAndPoliciesAreThoseAskedFor) {
  make(kThree);
  // The base comes first and only once, also if it is among the policies.
  for (const std::vector<std::string>& policies :
       {std::vector<std::string>{"query_all", "online_plugin"}, {"query_all", "dow", "online_plugin"}}) {
    const Json page = made({policies, "dow"});
    EXPECT_THAT(compared(page), Contains("query_all/known < dow/known"));
    EXPECT_THAT(compared(page), Contains("online_plugin/known < dow/known"));
    EXPECT_THAT(compared(page), Not(Contains(HasSubstr("dow/known <"))));
  }
  EXPECT_THAT(compared(made({{}, "dow"})), Contains("online_plugin/known < dow/known"));
  EXPECT_THAT(compared(made({{"dow", "query_all"}, ""})), Contains("query_all/known < dow/known"));
  expect_refused({{}, "dwo"}, ExitCode::usage, "dwo");
  expect_refused({{"dwo"}, ""}, ExitCode::usage, "--policy dwo");
}

// This holds for tables too, and not only for comparisons.
TEST_F(Report, TablesOfSomePoliciesSayNothingOfOthers) {
  make(kThree);
  const auto said = [&](const ReportOptions& options) {
    std::string out;
    const Json numbers = made(options);
    for (const Json& table : numbers["tables"]) out += table["rows"].dump();
    return out;
  };
  const std::string all = said({}), one = said({{"dow/known"}, ""}), based = said({{"dow"}, "query_all"});
  for (const char* name : {"DOW, known", "DOW, unknown", "Online plug-in", "Query all"})
    EXPECT_THAT(all, HasSubstr(name));
  EXPECT_THAT(one, HasSubstr("DOW, known"));
  for (const char* name : {"DOW, unknown", "Online plug-in", "Query all"}) EXPECT_THAT(one, Not(HasSubstr(name)));
  for (const char* name : {"DOW, known", "DOW, unknown", "Query all"}) EXPECT_THAT(based, HasSubstr(name));
  EXPECT_THAT(based, Not(HasSubstr("Online plug-in")));
  EXPECT_EQ(made({{"dow"}, "query_all"})["shown"], (Json{"dow", "query_all"}));
}

TEST_F(Report, OfOnePolicyThereIsNothingToCompare) {
  make("\"online_plugin\", \"query_all\"");
  EXPECT_TRUE(compared(made()).empty());
  EXPECT_THAT(overview_columns(made()), Not(Contains("of online_plugin")));
}

// Regrets are 8 and 9 per 1000 periods.
TEST_F(Report, HasTheNumbersOfEachCell) {
  StoredResults results =
      results_of("replications = 2\n" + study_without_replications("\"online_plugin\"", "T0 = [7]\n"),
                 by_name({{"-/oracle/known", {520, 530}}, {"7/online_plugin/known", {512, 521}}}));
  const Json numbers = report_numbers(results, {});
  ASSERT_EQ(numbers["groups"].size(), 1u);
  const Json& group = numbers["groups"][0];
  EXPECT_EQ(group["title"], "Uniform");
  EXPECT_EQ(group["summary"]["policy"], (Json{"oracle", "online_plugin", "online_plugin"}));
  EXPECT_NEAR(group["summary"]["regret_x1000"][1].get<double>(), 8.5, 1e-9);
  EXPECT_EQ(group["curves"]["period"].back(), 100);
  EXPECT_EQ(group["boxes"]["box"].size(), 9u);
  EXPECT_NEAR(group["slopes"][0]["slope"].get<double>(), 1.0, 1e-9);
  EXPECT_EQ(numbers["T0"], Json{7});
  EXPECT_EQ(numbers["settings"][0]["context"], 100);
  EXPECT_EQ(numbers["parts"][0][0], "wrong order");
}

TEST_F(Report, HasWhatVariesInEachSetting) {
  StoredResults results =
      results_of("replications = 1\n" + study_without_replications("\"dow\"",
                                                                   "T0 = [0]\n[vary]\ndimensions.boxes = [2, 3]\n"
                                                                   "estimation.refit = [\"tracking\"]\n"),
                 by_name({}));
  const Json numbers = report_numbers(results, {});
  EXPECT_EQ(numbers["settings"][1]["varied"][0], (Json{"dimensions.boxes", "3", 3.0}));
  EXPECT_EQ(numbers["settings"][1]["varied"][1], (Json{"estimation.refit", "tracking", nullptr}));
  EXPECT_THAT(numbers["meanings"]["estimation.refit"].get<std::string>(), HasSubstr("index estimates"));
  EXPECT_EQ(numbers["groups"][1]["setting"], 1);
  EXPECT_TRUE(numbers["groups"][1]["curves"]["period"].empty());
}

TEST_F(Report, SaysWhatIsMissing) {
  make(kThree, "T0 = [0]\ntitle = \"a <title>\"\n");
  EXPECT_EQ(made()["unfinished"], "");
  forget(2);
  EXPECT_EQ(made()["title"], "a <title>");
  EXPECT_THAT(made()["unfinished"].get<std::string>(), HasSubstr("3 of 4 parts are complete"));
  for (const int r : {0, 1, 3}) forget(r);
  expect_refused({}, ExitCode::bad_data, "no replication");
}

TEST_F(Report, WithoutPoliciesThereAreTablesAlone) {
  write("replications = 2\nenvironments = [\"uniform\"]\noutput.regret = false\noutput.instances = false\n",
        by_name({}));
  const Json numbers = made();
  EXPECT_EQ(numbers["regret"], false);
  EXPECT_TRUE(numbers["groups"].empty());
  EXPECT_TRUE(compared(numbers).empty());
}

}  // namespace
}  // namespace pandora
