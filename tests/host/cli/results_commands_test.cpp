// show, compare, report, lanes, replay and explain on folders of results.
#include <algorithm>

#include "host/ground/base/printable.hpp"
#include "host/ground/files/output_folder.hpp"
#include "host/ground/tables/table.hpp"
#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;
using test::Words;
using testing::HasSubstr;
using testing::Not;

class ResultsCommands : public test::RunStudyTest {
 protected:
  // Makes a run with more than three replications, so that it can be cross-fitted.
  void make(const std::string& folder, const Words& more = {}) {
    ASSERT_EQ(run(words(folder, {"--environment", "uniform"}, more)).exit_code, 0) << test::read_file(base_ / "err");
  }
  // In so many columns.
  std::string output_in(const char* columns, const Words& arguments) {
    ::setenv("COLUMNS", columns, 1);
    const std::string out = output(arguments);
    ::unsetenv("COLUMNS");
    return out;
  }
  std::string report_file(const std::string& name) const { return test::read_file(work() / "out" / "report" / name); }
  bool has_figure(const std::string& name) const { return fs::exists(work() / "out" / "report" / "figures" / name); }
  static std::size_t widest(const std::string& text) {
    std::size_t width = 0;
    for (const std::string& line : split(text, '\n')) width = std::max(width, display_width(line));
    return width;
  }
};

TEST_F(ResultsCommands, ShowFitsIntoSixtyEightyAndHundredAndTwentyColumns) {
  make("out");
  for (const char* width : {"60", "80", "120"}) {
    const std::string text = output_in(width, {"show", "out"});
    EXPECT_LE(widest(text), std::stoul(width));
    for (const char* part : {"DOW, unknown", "FrugalGPT, known", "T0=7", "(c_rho, c_theta)", "permutations"})
      EXPECT_THAT(text, HasSubstr(part)) << width;
    for (const char* part : {"\033", "published"}) EXPECT_THAT(text, Not(HasSubstr(part)));  // it is no terminal
  }
  EXPECT_EQ(output({"show", "out"}), output_in("80", {"show", "out"}));  // the default
}

TEST_F(ResultsCommands, ShowHasAnOverview) {
  make("out");
  const std::string csv = output({"show", "out", "--overview", "--base", "dow", "--format", "csv"});
  EXPECT_THAT(  // without published values, because the horizon is not the paper's
      csv,
      testing::StartsWith("cells of,policy,cells,regret,wrong order,too early,too many,wrong deployment,of dow\n"));
  EXPECT_THAT(csv, HasSubstr("regime A,\"DOW, known\",2,"));
  EXPECT_THAT(csv, HasSubstr("regime B,\"DOW, known\",2,"));
  EXPECT_THAT(output({"show", "out", "--overview"}), HasSubstr("of online_plugin"));  // the first policy
  const std::string some = output({"show", "out", "--overview", "--regime", "B", "--t0", "7", "--format", "csv"});
  EXPECT_THAT(some, HasSubstr("\"DOW, known\",1,"));
  EXPECT_EQ(std::count(some.begin(), some.end(), '\n'), 1 + 5);
  expect_refusal({"show", "out", "--overview", "--base", "dwo"}, 2, {"--base dwo", "the nearest is dow"});
  expect_refusal({"show", "out", "--base", "dow"}, 2, {"--base: is for --overview"});
  const std::string tables = output({"show", "out", "--regime", "B", "--t0", "7"});
  EXPECT_THAT(tables, HasSubstr("regime B"));
  EXPECT_THAT(tables, Not(HasSubstr("regime A")));
  EXPECT_THAT(tables, Not(HasSubstr("T0=0")));
  expect_refusal({"show", "out", "--t0", "8"}, 2, {"--t0 8: the results have T0 = 0, 7"});
  expect_refusal({"show", "out", "--regime", "C"}, 2, {"--regime C"});
}

TEST_F(ResultsCommands, ShowHasFormatsAndFilters) {
  make("out");
  EXPECT_EQ(output({"show", "out", "--format", "csv"}), test::read_file(work() / "out" / "summary.csv"));
  EXPECT_THAT(output({"show", "out", "--format", "latex"}), HasSubstr("\\begin{tabular}{llcc}"));
  EXPECT_THAT(output({"show", "out", "--format", "markdown"}), HasSubstr("| T0=0 | T0=7 |"));
  const std::string filtered = output({"show", "out", "--policy", "dow"});
  EXPECT_THAT(filtered, HasSubstr("DOW, known"));
  EXPECT_THAT(filtered, Not(HasSubstr("FrugalGPT")));
  expect_refusal({"show", "out", "--policy", "dwo"}, 2, {"--policy dwo", "the nearest is dow"});
  expect_refusal({"show", "out", "--environment", "gaussian"}, 2, {"--environment gaussian", "uniform"});
  expect_refusal({"show", "out", "--format", "pdf"}, 2, {"--format pdf", "text, markdown, latex or csv"});
}

TEST_F(ResultsCommands, AnUnfinishedRunIsShownAndSaysSo) {
  make("out");
  fs::remove(work() / "out" / "parts" / "000-uniform-A-00001.part");
  fs::remove(work() / "out" / "summary.csv");
  const std::string shown = output_in("200", {"show", "out"});
  EXPECT_THAT(shown, HasSubstr("unfinished: 7 of 8 parts are complete"));
  EXPECT_THAT(shown, HasSubstr("the 3 of 4 replications that are there"));
  EXPECT_THAT(output({"compare", "out", "--policy", "dow,online_plugin", "--regime", "A"}),
              HasSubstr("unfinished: 7 of 8"));
}

TEST_F(ResultsCommands, FoldersThatAreNoneOrDamagedOrOfAnotherVersionAreNamed) {
  make("out");
  for (const std::string command : {"show", "report", "compare", "lanes"})
    expect_refusal({command, "nowhere"}, command == "lanes" ? 2 : 3, {"nowhere"});
  expect_refusal({"show", "study.toml"}, 3, {"study.toml", "holds no results"});
  fs::copy(work() / "out", work() / "other", fs::copy_options::recursive);
  std::string text = test::read_file(work() / "other" / "manifest.json");
  text[text.size() / 2] ^= 1;
  write("other/manifest.json", text);
  expect_refusal({"show", "other"}, 3, {"other/manifest.json", "--resume"});
  fs::copy_file(work() / "out" / "manifest.json", work() / "other" / "manifest.json",
                fs::copy_options::overwrite_existing);
  write("other/study.toml", test::kStudy + "# another\n");
  expect_refusal({"show", "other"}, 3, {"other/study.toml", "is not the study of the results"});
  fs::copy_file(work() / "out" / "study.toml", work() / "other" / "study.toml", fs::copy_options::overwrite_existing);
  const fs::path part = work() / "other" / "parts" / "000-uniform-A-00000.part";
  fs::resize_file(part, 1000);
  const test::ProgramResult damaged = run({"show", "other"});  // the part counts as missing, and a message names it
  EXPECT_EQ(damaged.exit_code, 0);
  EXPECT_THAT(damaged.err, HasSubstr("000-uniform-A-00000.part: is truncated"));
  EXPECT_THAT(damaged.out, HasSubstr("unfinished: 7 of 8"));
}

TEST_F(ResultsCommands, CompareIsPairedOverReplications) {
  make("out");
  const std::vector<std::string> lines =
      split(output({"compare", "out", "--policy", "dow/known,online_plugin/known", "--format", "csv"}), '\n');
  EXPECT_EQ(lines[0],
            "a,b,setting,environment,regime,T0,replications,regret_a_x1000,regret_b_x1000,difference_x1000,"
            "half_width_95_x1000,share_a_better,relative_efficiency,cross_fitted_difference_x1000,"
            "cross_fitted_half_width_95_x1000,p_holm,optimism_a_x1000,optimism_b_x1000,"
            "bootstrap_low_95_x1000,bootstrap_high_95_x1000,ratio,ratio_low_95,ratio_high_95");
  ASSERT_EQ(lines.size(), 5u);  // two regimes, two T_0
  for (std::size_t k = 1; k < lines.size(); ++k)
    EXPECT_THAT(lines[k], testing::StartsWith("dow/known,online_plugin/known,,uniform,"));
  // The regrets are the same as in the tables.
  const std::string summary = test::read_file(work() / "out" / "summary.csv");
  const std::vector<std::string> cells = split(lines[1], ',');  // regime A, T_0 = 0
  EXPECT_THAT(summary, HasSubstr("A,uniform,0,online_plugin,known,,,,4,0,150," + cells[8].substr(0, 8)));
  const std::string text = output({"compare", "out", "--policy", "dow,online_plugin,frugalgpt", "--t0", "7"});
  EXPECT_THAT(text, HasSubstr("dow/unknown (a) against online_plugin/unknown (b)"));
  EXPECT_THAT(text, HasSubstr("dow/known (a) against frugalgpt/known (b)"));
  EXPECT_THAT(text, Not(HasSubstr("dow/unknown (a) against frugalgpt")));  // the same reward is compared if it is there
  EXPECT_EQ(output({"compare", "out", "--policies", "dow,online_plugin,frugalgpt", "--t0", "7"}), text);  // old name
  expect_refusal({"compare", "out", "--policy", "dow,plugin"}, 2, {"--policy plugin", "the nearest"});
}

TEST_F(ResultsCommands, CompareDecidesWhetherToKeepARule) {
  make("out");
  const Words asked = {"compare", "out", "--keep", "dow/known", "--against", "online_plugin", "--margin"};
  const auto with = [&](const Words& more) { return joined(asked, more); };
  const std::string text = output_in("200", with({"1000"}));
  EXPECT_THAT(text, HasSubstr("Whether to keep dow/known (rule) against online_plugin/known (base)"));
  EXPECT_THAT(text, testing::ContainsRegex("uniform, A, T0=0 .* keep: worse by less than 1000, or better .*"));
  EXPECT_THAT(output(with({"0", "--format", "markdown"})), HasSubstr("| decision |"));
  EXPECT_THAT(output(with({"0.5", "--format", "latex"})), HasSubstr("\\label{tab:keep}"));
  const std::string csv = output(with({"1000", "--format", "csv", "--regime", "B"}));
  EXPECT_THAT(csv, testing::StartsWith("rule,base,setting,environment,regime,T0,replications,decision,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2);  // two T_0
  expect_refusal(with({"much"}), 2, {"--margin", "much"});
  expect_refusal(with({""}), 2, {"--margin", "is no number"});
  expect_refusal(with({"-1"}), 2, {"--margin -1: give a number of at least 0"});
  expect_refusal({"compare", "out", "--keep", "dow", "--against", "online_plugin"}, 2, {"--margin X: is missing"});
  expect_refusal({"compare", "out", "--margin", "1"}, 2, {"--keep RULE: is missing"});
  expect_refusal({"compare", "out", "out", "--keep", "dow", "--against", "x", "--margin", "1"}, 2, {"one folder"});
}

// The comparison with the paper is a program of its own. Whoever looks for it in these commands is told its name.
TEST_F(ResultsCommands, TheVerdictIsElsewhere) {
  for (const Words& former : {Words{"verdict", "out", "--part", "numbers"}, Words{"compare", "out", "published"}})
    expect_refusal(former, 2, {"experiments/verdict out", "python3 -m pandora_verdict out"});
  expect_refusal({"verdict"}, 2, {"pandora_verdict FOLDER"});
}

// A hyperparameter that fails does not change the others, neither in tables nor in comparisons.
TEST_F(ResultsCommands, AFailingHyperparameterIsLeftOut) {
  const Words broken = {"--environment", "uniform", "--set", "hyperparameters.c_rho=[0.1, 1e300]"};
  ASSERT_EQ(run(words("out", broken)).exit_code, 1);
  make("sound", {"--set", "hyperparameters.c_rho=[0.1]"});
  const Words what = {"--policy", "dow/known,online_plugin/known", "--format", "csv"};
  EXPECT_EQ(output(joined({"compare", "out"}, what)), output(joined({"compare", "sound"}, what)));
  ASSERT_EQ(run(words("none", {"--environment", "uniform", "--set", "hyperparameters.c_rho=[1e300]"})).exit_code, 1);
  expect_refusal({"compare", "none", "--policy", "dow,online_plugin"}, 3, {"no replication"});
}

TEST_F(ResultsCommands, CompareTwoFoldersOnCommonTapesAlone) {
  make("out");
  make("other", {"--refit", "tracking", "--replications", "3", "--t0", "7"});
  const std::string text = output({"compare", "out", "other", "--policy", "dow"});
  EXPECT_THAT(text, HasSubstr("study.estimation.refit is \"geometric:1.5\" there and \"tracking\" here"));
  EXPECT_THAT(text, HasSubstr("dow/known of out (a) against dow/known of other (b)"));
  EXPECT_THAT(text, testing::ContainsRegex("uniform, A, T0=7 +3 "));  // the replications that both have
  EXPECT_THAT(text, Not(HasSubstr("T0=0")));
  // A folder does not differ from itself.
  const std::string same = output({"compare", "out", "out", "--policy", "dow/known"});
  EXPECT_THAT(same, HasSubstr("The manifests do not differ."));
  EXPECT_THAT(same, HasSubstr("1.0000"));
  make("short", {"--periods", "100"});
  expect_refusal({"compare", "out", "short"}, 5, {"do not share tapes", "periods is 150 there and 100 here"});
}

TEST_F(ResultsCommands, ReportIsAPageWithFigures) {
  make("out");
  const std::string told = output({"report", "out"}), html = report_file("report.html");
  EXPECT_THAT(told, HasSubstr("report in out/report/report.html"));
  for (const char* part : {"DOW, unknown", "cross-fitted", "pandora run study.toml", "periods = 150", "<svg"})
    EXPECT_THAT(html, HasSubstr(part));
  EXPECT_THAT(html, Not(HasSubstr("http://www.example")));
  EXPECT_THAT(report_file("report.tex"), HasSubstr("\\end{document}"));
  for (const char* figure :
       {"curves-known-uniform-A", "curves-loglog-unknown-uniform-B", "t0-known-uniform-A", "hyperparameters-uniform-B",
        "quality-cost-uniform-A", "queries-uniform-A", "deployments-uniform-B", "depth-uniform-A"})
    for (const char* ending : {".csv", ".svg"})
      EXPECT_TRUE(has_figure(std::string(figure) + ending)) << figure << ending;
  EXPECT_FALSE(has_figure("depth-uniform-B.pdf"));
  EXPECT_EQ(output({"report", "out", "--figures", "pdf,png"}), told);  // it replaces its own report
  EXPECT_TRUE(has_figure("depth-uniform-B.pdf") && has_figure("depth-uniform-B.png"));
  EXPECT_FALSE(has_figure("depth-uniform-B.svg"));
  expect_refusal({"report", "out", "--figures", "svg,gif"}, 2, {"--figures gif", "svg, pdf or png"});
  fs::create_directory(work() / "mine");
  write("mine/thesis.txt", "precious");
  expect_refusal({"report", "out", "--out", "mine"}, 2, {"mine", "holds no report"});
  write("mine/report.html", "<p>a page of somebody's</p>");
  expect_refusal({"report", "out", "--out", "mine"}, 2, {"mine", "holds no report"});
  EXPECT_EQ(output({"show", "out"}).empty(), false);  // the folder is still one of results
  ASSERT_EQ(run(words("out", {"--environment", "uniform", "--resume"})).exit_code, 0);
  expect_refusal({"report", "out", "--t0", "8"}, 2, {"--t0 8"});
  {  // two reports at the same time would remove each other's figures
    const std::optional<FolderLock> other = FolderLock::take(work() / "out" / "report");
    ASSERT_TRUE(other);
    expect_refusal({"report", "out"}, 2, {"out/report: another process is making a report there"});
  }
  expect_refusal({"report", "out", "--base", "nobody"}, 2, {"nobody"});
  output({"report", "out", "--t0", "0", "--policies", "frugalgpt", "--base", "dow"});
  const std::string page = report_file("report.html");
  EXPECT_THAT(page, HasSubstr("<th scope=\"row\">frugalgpt/known</th>"));
  EXPECT_THAT(page, Not(HasSubstr("<th scope=\"row\">online_plugin/known</th>")));
  EXPECT_THAT(page, HasSubstr("pandora report results --t0 0 --policy frugalgpt --base dow"));
  EXPECT_THAT(page, HasSubstr("Without those that do not run at this T₀: FrugalGPT, known."));
}

TEST_F(ResultsCommands, WithoutPythonTheNumbersAreThere) {
  make("out", {"--regime", "A"});
  ::setenv("PANDORA_PYTHON", "/nowhere/python3", 1);
  const test::ProgramResult result = run({"report", "out", "--out", "bare"});
  expect_refusal({"show", "out", "--format", "latex"}, 2, {"--format latex: PANDORA_PYTHON=/nowhere/python3"});
  ::unsetenv("PANDORA_PYTHON");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("numbers of the report in bare/numbers.json"));
  EXPECT_THAT(result.err, HasSubstr("bare: not all was rendered: PANDORA_PYTHON=/nowhere/python3 is no program"));
  EXPECT_EQ(result.error_lines(), 1);
  EXPECT_FALSE(fs::exists(work() / "bare" / "report.json"));
  EXPECT_THAT(output({"report", "out", "--out", "bare"}), HasSubstr("report in bare/report.html"));  // it now works
}

TEST_F(ResultsCommands, SettingsThatVaryHaveOneTableAndFiguresAgainstTheirKeys) {
  write("study.toml",
        test::kStudy + "[vary]\nperiods = [40, 80, 120]\nestimation.refit = [\"tracking\", \"every:9\"]\n");
  make("out", {"--t0", "7", "--set", "output.order=false"});
  const std::string shown = output({"show", "out"});
  EXPECT_THAT(shown, testing::ContainsRegex("80 +every:9 "));
  EXPECT_EQ(shown.find("Uniform, regime A"), shown.rfind("Uniform, regime A"));
  output({"report", "out"});
  EXPECT_TRUE(has_figure("vary-1-known-uniform-A.svg") && has_figure("vary-2-unknown-uniform-B.svg"));
}

TEST_F(ResultsCommands, LanesAreListedReplayedAndExplained) {
  make("out");
  const std::string names = output({"lanes", "out"});
  EXPECT_EQ(names, output({"lanes", "out/study.toml"}));
  EXPECT_THAT(names, HasSubstr("uniform/A/0/-/oracle/known\n"));
  EXPECT_THAT(names, HasSubstr("uniform/B/3/7/dow/unknown/c_rho=1;c_theta=0.1\n"));
  const std::string lane = "uniform/B/3/7/dow/unknown/c_rho=1;c_theta=0.1";
  EXPECT_THAT(output({"replay", "out", "--lane", lane}), HasSubstr("regret x 1000"));
  // A lane that is named by its policy has the best hyperparameters, as summary.csv names them.
  const std::string summary = test::read_file(work() / "out" / "summary.csv");
  const std::string of_dow = output({"replay", "out", "--policy", "dow/unknown", "--t0", "7", "--environment",
                                     "uniform", "--regime", "B", "--replication", "2"});
  EXPECT_THAT(of_dow, HasSubstr("uniform/B/2/7/dow/unknown/c_rho="));
  const std::string named =
      of_dow.substr(of_dow.find("7/dow/unknown"), of_dow.find('\n') - of_dow.find("7/dow/unknown"));
  EXPECT_THAT(summary, HasSubstr("," + named + "\n"));
  expect_refusal({"explain", "out", "--period", "3"}, 2, {"--lane", "--policy"});
  expect_refusal({"explain", "out", "--period", "3", "--policy", "nobody"}, 2, {"--policy nobody", "dow/known"});
  expect_refusal({"explain", "study.toml", "--period", "3", "--policy", "dow"}, 2, {"a folder of results"});
  expect_refusal({"replay", "out", "--policy", "dow", "--replication", "4"}, 2, {"--replication 4", "0 to 3"});
  EXPECT_THAT(output({"explain", "out", "--lane", lane, "--period", "3:4"}), HasSubstr("period 4: request"));
  EXPECT_THAT(output({"explain", "study.toml", "--lane", lane, "--period", "3", "--format", "json"}),
              HasSubstr("\"regret_so_far\""));
  for (const char* period : {"x", "3:", "3-4", "", "0", "151"})
    expect_refusal({"explain", "out", "--lane", lane, "--period", period}, 2, {"--period"});
  expect_refusal({"replay", "out", "--lane", "uniform/B/3/7/dov/unknown/c_rho=1;c_theta=0.1"}, 2,
                 {"no such lane", "the nearest are " + lane});
  expect_refusal({"lanes", "out", "--setting", "periods=3"}, 2, {"--setting periods=3", "nothing varies"});
}

TEST_F(ResultsCommands, RunMakesTheReportToo) {
  EXPECT_THAT(output(words("out", {"--environment", "uniform", "--report"})),
              HasSubstr("report in out/report/report.html"));
}

}  // namespace
}  // namespace pandora
