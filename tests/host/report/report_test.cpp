// Reports of made-up results, without their pictures: what is compared with what, and what a report says of itself.
#include "host/report/report.hpp"

#include <gmock/gmock.h>

#include "pandora/error.hpp"
#include "tests/host/report/made_up_results.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;
using test::by_name;
using testing::HasSubstr;
using testing::Not;

class Report : public test::MadeUpResults {
 protected:
  void SetUp() override {
    MadeUpResults::SetUp();
    ::setenv("PANDORA_GNUPLOT", "/nowhere/gnuplot", 1);
  }
  void TearDown() override {
    ::unsetenv("PANDORA_GNUPLOT");
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
  std::string html(const ReportOptions& options = {}) const {
    StoredResults results = read();
    return test::read_file(write_report(results, options).html);
  }
  std::string tex() const { return test::read_file(base_ / "results" / "report" / "report.tex"); }
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

const char* const kThree = "\"online_plugin\", \"dow\", \"query_all\"";

TEST_F(Report, TheFirstPolicyIsTheBaseAndYardsticksCompeteWithNobody) {
  make(kThree);
  const std::string page = html();
  EXPECT_THAT(page, HasSubstr("online_plugin/known (a) against dow/known (b)"));
  EXPECT_THAT(page, HasSubstr("online_plugin/unknown (a) against dow/unknown (b)"));
  EXPECT_THAT(page, Not(HasSubstr("dow/known (a)")));
  EXPECT_THAT(page, Not(HasSubstr("against query_all")));
  EXPECT_THAT(page, HasSubstr("difference-online_plugin-known-uniform-A"));
}

// The order of the list counts, not that of the program; the overview has the same base.
TEST_F(Report, TheBaseIsTheFirstThatTheStudyListsAndNoYardstick) {
  make("\"query_all\", \"dow\", \"online_plugin\"");
  const std::string page = html();
  EXPECT_THAT(page, HasSubstr("dow/known (a) against online_plugin/known (b)"));
  EXPECT_THAT(page, HasSubstr("difference-dow-known-uniform-A"));
  EXPECT_THAT(page, HasSubstr(">of dow<"));
  make(kThree);
  EXPECT_THAT(html(), HasSubstr(">of online_plugin<"));
  make("");  // the paper's
  EXPECT_THAT(html(), HasSubstr("dow/known (a) against online_plugin/known (b)"));
}

TEST_F(Report, BaseAndPoliciesAreThoseAskedFor) {
  make(kThree);
  // The base comes first, once, also where it is among the policies.
  for (const std::vector<std::string>& policies :
       {std::vector<std::string>{"query_all", "online_plugin"}, {"query_all", "dow", "online_plugin"}}) {
    const std::string page = html(with(policies, "dow"));
    EXPECT_THAT(page, HasSubstr("dow/known (a) against query_all/known (b)"));
    EXPECT_THAT(page, HasSubstr("dow/known (a) against online_plugin/known (b)"));
    EXPECT_THAT(page, Not(HasSubstr("against dow")));
  }
  EXPECT_THAT(html(with({}, "dow")), HasSubstr("dow/known (a) against online_plugin/known (b)"));
  EXPECT_THAT(html(with({"dow", "query_all"}, "")), HasSubstr("dow/known (a) against query_all/known (b)"));
  try {
    written(with({}, "dwo"));
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_THAT(error.what(), HasSubstr("dwo"));
  }
}

TEST_F(Report, OfOnePolicyThereIsNothingToCompare) {
  make("\"dow\", \"query_all\"");
  const std::string page = html();
  EXPECT_THAT(page, HasSubstr("There is one policy, and nothing to compare it with."));
  EXPECT_THAT(page, Not(HasSubstr("(a) against")));
}

TEST_F(Report, SaysTheCommandThatMakesItAgain) {
  make(kThree);
  EXPECT_THAT(html(), HasSubstr("pandora report results\n"));
  ReportOptions options = with({"query_all", "online_plugin"}, "dow");
  options.T0 = 7;
  EXPECT_THAT(html(options), HasSubstr("pandora report results --t0 7 --policy query_all,online_plugin --base dow\n"));
  EXPECT_THAT(tex(), HasSubstr("pandora report results --t0 7 --policy"));
  options.T0 = 8;
  EXPECT_THROW(html(options), Error);
}

TEST_F(Report, IsTitledByItsStudyAndSaysWhatIsMissing) {
  make(kThree);
  EXPECT_THAT(html(), AllOf(HasSubstr("Online Pandora's box: results"), Not(HasSubstr("unfinished"))));
  make(kThree, "T0 = [0]\ntitle = \"a <title>\"\n");
  forget(2);
  EXPECT_THAT(html(), AllOf(HasSubstr("a &lt;title&gt;"), Not(HasSubstr("a <title>")),
                            HasSubstr("4 replications of 100 periods, seed 1"),
                            HasSubstr("unfinished: 3 of 4 parts are complete")));
}

// The lane with the least regret is bold among those that see mu*, and among those that do not.
TEST_F(Report, OfOnePolicyTheOverviewHasNoRatios) {
  make("\"online_plugin\", \"query_all\"");
  EXPECT_THAT(html(), Not(HasSubstr(">of online_plugin<")));
}

TEST_F(Report, WithoutPoliciesThereAreNoComparisons) {
  write("replications = 2\nenvironments = [\"uniform\"]\noutput.regret = false\noutput.instances = false\n",
        by_name({}));
  const std::string page = html();
  EXPECT_THAT(page, Not(HasSubstr("Comparisons</h")));
  EXPECT_THAT(page, Not(HasSubstr("Figures</h")));
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
  fs::rename(options.out / "figures" / "photo.jpg", options.out / "figures" / "depth-uniform-A.dat");
  std::ofstream(options.out / "report.tex") << "half a report";
  const ReportOutcome outcome = written(options);
  EXPECT_EQ(outcome.html, options.out / "report.html");
  EXPECT_THAT(outcome.message, HasSubstr("figures were not drawn"));
  EXPECT_GT(outcome.figures, 10u);
  EXPECT_THAT(test::read_file(options.out / "report.tex"), HasSubstr("\\end{document}"));
  EXPECT_EQ(written(options).figures, outcome.figures);  // and so is a report
}

}  // namespace
}  // namespace pandora
