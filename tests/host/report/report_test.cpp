// Reports of made-up results, as data: what is compared with what, and what a report says of itself.
#include "host/report/report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "pandora/error.hpp"
#include "tests/host/report/made_up_results.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using test::by_name;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class Report : public test::MadeUpResults {
 protected:
  void SetUp() override {
    MadeUpResults::SetUp();
    ::setenv("PANDORA_PYTHON", "/nowhere/python3", 1);
  }
  void TearDown() override {
    ::unsetenv("PANDORA_PYTHON");
    MadeUpResults::TearDown();
  }

  // The results of four replications.
  void make(const std::string& policies, const std::string& more = "T0 = [0, 7]\n") const {
    fs::remove_all(path());
    write(study_of(policies, more), [](const std::string& lane, const Unit& unit) {
      return (lane == "-/oracle/known" ? 520.0 : 500.0 - static_cast<double>(lane.size())) +
             static_cast<double>(unit.replication);
    });
  }
  // report.json
  Json made(const ReportOptions& options = {}) const {
    StoredResults results = read();
    return Json::parse(test::read_file(write_report(results, options).file));
  }
  ReportOutcome written(const ReportOptions& options) const {
    StoredResults results = read();
    return write_report(results, options);
  }
  static ReportOptions with(const std::vector<std::string>& policies, const std::string& base) {
    ReportOptions options;
    options.policies = policies;
    options.base = base;
    return options;
  }
};

// The section of that heading; null if there is none.
Json section_named(const Json& document, const std::string& heading) {
  for (const Json& section : document["sections"])
    if (section["heading"] == heading) return section;
  return nullptr;
}

Json table_named(const Json& document, const std::string& name) {
  for (const Json& section : document["sections"])
    for (const Json& table : section["tables"])
      if (table["name"] == name) return table;
  return nullptr;
}

// "rival < base" of each row.
std::vector<std::string> compared(const Json& document) {
  std::vector<std::string> out;
  const Json table = table_named(document, "rivals");
  if (table.is_null()) return out;
  for (const Json& row : table["rows"])
    if (row.contains("cells"))
      out.push_back(row["cells"][0].get<std::string>() + " < " + row["cells"][1].get<std::string>());
  return out;
}

std::vector<std::string> figure_names(const Json& document) {
  std::vector<std::string> out;
  const Json figures = section_named(document, "Figures");
  if (figures.is_null()) return out;
  for (const Json& group : figures["sections"])
    for (const Json& figure : group["figures"]) out.push_back(figure["name"]);
  return out;
}

std::vector<std::string> overview_columns(const Json& document) {
  return table_named(document, "overview")["columns"];
}

const char* const kThree = "\"online_plugin\", \"dow\", \"query_all\"";

TEST_F(Report, TheFirstPolicyIsTheBaseAndYardsticksCompeteWithNobody) {
  make(kThree);
  const Json page = made();
  EXPECT_THAT(compared(page), Contains("dow/known < online_plugin/known"));
  EXPECT_THAT(compared(page), Contains("dow/unknown < online_plugin/unknown"));
  EXPECT_EQ(compared(page).size(), 4u);  // two rewards, two T_0: nothing with the yardstick
  EXPECT_THAT(figure_names(page), Contains("difference-online_plugin-known-uniform-A"));
}

// One table: in each cell a row for each rival, its regret less that of the base, and one note.
TEST_F(Report, RivalsStandInOneTable) {
  make("\"dow\", \"online_plugin\"", "T0 = [0]\n");
  const Json table = table_named(made(), "rivals");
  ASSERT_EQ(table["rows"].size(), 3u);
  EXPECT_EQ(table["rows"][0]["heading"], "uniform, A, T0=0");
  EXPECT_EQ(table["notes"].size(), 1u);
  const auto cell = [&](const Json& row, const std::string& column) {
    for (std::size_t c = 0; c < table["columns"].size(); ++c)
      if (table["columns"][c] == column) return row["cells"][c].get<std::string>();
    return std::string("no column ") + column;
  };
  // The utility falls by one for each letter of a lane's name: the best lane of DOW has 7 letters more.
  const Json& row = table["rows"][1];
  EXPECT_EQ(cell(row, "n"), "4");
  EXPECT_EQ(cell(row, "less the base"), cell(row, "cross-fitted"));
  const double difference = std::stod(cell(row, "regret")) - std::stod(cell(row, "less the base"));
  EXPECT_GT(difference, 0.0);
  EXPECT_TRUE(fs::exists(base_ / "results/report/tables/rivals.csv"));
}

// The order of the list counts, not that of the program; the overview has the same base.
TEST_F(Report, TheBaseIsTheFirstThatTheStudyListsAndNoYardstick) {
  make("\"query_all\", \"dow\", \"online_plugin\"");
  const Json page = made();
  EXPECT_THAT(compared(page), Contains("online_plugin/known < dow/known"));
  EXPECT_THAT(figure_names(page), Contains("difference-dow-known-uniform-A"));
  EXPECT_THAT(overview_columns(page), Contains("of dow"));
  make(kThree);
  EXPECT_THAT(overview_columns(made()), Contains("of online_plugin"));
  make("");  // the paper's
  EXPECT_THAT(compared(made()), Contains("online_plugin/known < dow/known"));
}

TEST_F(Report, BaseAndPoliciesAreThoseAskedFor) {
  make(kThree);
  // The base comes first, once, also where it is among the policies.
  for (const std::vector<std::string>& policies :
       {std::vector<std::string>{"query_all", "online_plugin"}, {"query_all", "dow", "online_plugin"}}) {
    const Json page = made(with(policies, "dow"));
    EXPECT_THAT(compared(page), Contains("query_all/known < dow/known"));
    EXPECT_THAT(compared(page), Contains("online_plugin/known < dow/known"));
    EXPECT_THAT(compared(page), Not(Contains(HasSubstr("dow/known <"))));
  }
  EXPECT_THAT(compared(made(with({}, "dow"))), Contains("online_plugin/known < dow/known"));
  EXPECT_THAT(compared(made(with({"dow", "query_all"}, ""))), Contains("query_all/known < dow/known"));
  try {
    written(with({}, "dwo"));
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_THAT(error.what(), HasSubstr("dwo"));
  }
}

// Tables and figures too, not comparisons alone.
TEST_F(Report, OfSomePoliciesSaysNothingOfOthers) {
  make(kThree);
  const auto said = [&](const ReportOptions& options) {
    const Json page = made(options);
    std::string out;
    for (const char* part : {"Tables", "Comparisons"})
      for (const Json& table : section_named(page, part)["tables"]) out += table["rows"].dump();
    return out + section_named(page, "Figures").dump();
  };
  const std::string all = said({}), one = said(with({"dow/known"}, "")), based = said(with({"dow"}, "query_all"));
  for (const char* name : {"DOW, known", "DOW, unknown", "Online plug-in", "Query all"})
    EXPECT_THAT(all, HasSubstr(name));
  for (const char* name : {"DOW, known", "Oracle", "curves-known-uniform-A", "depth-uniform-A"})
    EXPECT_THAT(one, HasSubstr(name));
  for (const char* name : {"DOW, unknown", "Online plug-in", "Query all", "curves-unknown"})
    EXPECT_THAT(one, Not(HasSubstr(name)));
  for (const char* name : {"DOW, known", "DOW, unknown", "Query all"}) EXPECT_THAT(based, HasSubstr(name));
  EXPECT_THAT(based, Not(HasSubstr("Online plug-in")));
  try {
    written(with({"dwo"}, ""));
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("--policy dwo"));
  }
}

TEST_F(Report, OfOnePolicyThereIsNothingToCompare) {
  make("\"dow\", \"query_all\"");
  const Json page = made();
  EXPECT_THAT(section_named(page, "Comparisons")["paragraphs"],
              Contains("There is one policy, and nothing to compare it with."));
  EXPECT_TRUE(compared(page).empty());
}

TEST_F(Report, SaysTheCommandThatMakesItAgain) {
  make(kThree);
  const auto commands = [&](const ReportOptions& options) {
    return section_named(made(options), "How to make this again")["commands"];
  };
  EXPECT_THAT(commands({}), Contains("pandora report results"));
  ReportOptions options = with({"query_all", "online_plugin"}, "dow");
  options.T0 = 7;
  options.formats = {"svg", "pdf"};
  EXPECT_THAT(commands(options),
              Contains("pandora report results --t0 7 --policy query_all,online_plugin --base dow --figures svg,pdf"));
  options.T0 = 8;
  EXPECT_THROW(made(options), Error);
}

TEST_F(Report, IsTitledByItsStudyAndSaysWhatIsMissing) {
  make(kThree);
  EXPECT_EQ(made()["title"], "Online Pandora's box: results");
  EXPECT_THAT(made()["subtitle"], Not(HasSubstr("unfinished")));
  make(kThree, "T0 = [0]\ntitle = \"a <title>\"\n");
  forget(2);
  const Json page = made();
  EXPECT_EQ(page["title"], "a <title>");
  EXPECT_THAT(page["subtitle"].get<std::string>(), AllOf(HasSubstr("4 replications of 100 periods, seed 1"),
                                                         HasSubstr("unfinished: 3 of 4 parts are complete")));
}

TEST_F(Report, OfOnePolicyTheOverviewHasNoRatios) {
  make("\"online_plugin\", \"query_all\"");
  EXPECT_THAT(overview_columns(made()), Not(Contains("of online_plugin")));
}

TEST_F(Report, WithoutPoliciesThereAreNoComparisons) {
  write("replications = 2\nenvironments = [\"uniform\"]\noutput.regret = false\noutput.instances = false\n",
        by_name({}));
  const Json page = made();
  EXPECT_TRUE(section_named(page, "Comparisons").is_null());
  EXPECT_TRUE(section_named(page, "Figures").is_null());
  EXPECT_EQ(written({}).figures, 0u);
}

TEST_F(Report, OfNoReplicationNothingIsWritten) {
  make(kThree);
  for (const int r : {0, 1, 2, 3}) forget(r);
  try {
    written({});
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::bad_data) << error.what();
  }
  EXPECT_FALSE(fs::exists(base_ / "results" / "report"));
}

TEST_F(Report, AFolderOfSomethingElseIsLeftAlone) {
  make(kThree);
  ReportOptions options;
  options.out = base_ / "mine";
  fs::create_directory(options.out);
  std::ofstream(options.out / "thesis.txt") << "precious";
  EXPECT_THROW(written(options), Error);
  EXPECT_EQ(test::read_file(options.out / "thesis.txt"), "precious");
  fs::remove(options.out / "thesis.txt");
  fs::create_directory(options.out / "figures");
  std::ofstream(options.out / "figures" / "photo.jpg") << "precious";
  EXPECT_THROW(written(options), Error);
  // What a report that was killed has left is replaced.
  fs::rename(options.out / "figures" / "photo.jpg", options.out / "figures" / "depth-uniform-A.csv");
  std::ofstream(options.out / "report.tex") << "half a report";
  const ReportOutcome outcome = written(options);
  EXPECT_EQ(outcome.file, options.out / "report.json");
  EXPECT_THAT(outcome.message, HasSubstr("not all was rendered"));
  EXPECT_GT(outcome.figures, 10u);
  EXPECT_FALSE(fs::exists(options.out / "report.tex"));
  EXPECT_EQ(written(options).figures, outcome.figures);  // and so is a report
  // One that a version before made has scripts in the place of numbers.
  fs::remove(options.out / "report.json");
  std::ofstream(options.out / "figures" / "depth-uniform-A.gp") << "a script";
  EXPECT_EQ(written(options).figures, outcome.figures);
}

}  // namespace
}  // namespace pandora
