// The commands that simulate no policy: oracle index, order and check, and calibrate.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/host/cli/cli_words.hpp"

namespace pandora {
namespace {
using test::kOwnStudy;
using test::Words;
using testing::AllOf;
using testing::HasSubstr;
using Cli = test::ProgramTest;
using CliOracle = test::ProgramTest;

// Every long command must end at the first signal, and not only `reproduce`.
TEST_F(CliOracle, InterruptEndsTheOtherCommandsToo) {
  const std::vector<Words> commands = {
      words_of("oracle order --environment uniform --samples 1000 --replications 400 --contexts 50 --threads 1"),
      words_of("calibrate --environment uniform --samples 1000 --replications 400 --contexts 5")};
  for (const Words& command : commands) {
    const pid_t child = start(command);
    ASSERT_TRUE(wait_until_it_catches(child, SIGINT)) << command[0] << test::read_file(base_ / "err");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // by then it is at work, for many seconds
    ::kill(child, SIGINT);
    EXPECT_EQ(wait_for(child).exit_code, 130) << command[0];  // if it ran on, it would end with 0
  }
}

TEST_F(CliOracle, IndexPrintsSigmaAndItsError) {
  const std::string out =
      output(words_of("oracle index --environment gaussian --ell 0.3 --scale 1.5 --cost 0.05 --samples 20000"));
  double sigma = 0.0, standard_error = 0.0;
  ASSERT_EQ(std::sscanf(out.c_str(), "sigma %lf\nmonte_carlo_se %lf", &sigma, &standard_error), 2) << out;
  // E[(G(0.3 + 1.5 w) - sigma)^+] for a standard normal w, by a fine sum.
  double excess = 0.0;
  for (double w = -8.0; w <= 8.0; w += 1e-3)
    excess += 1e-3 * std::exp(-0.5 * w * w) / std::sqrt(2.0 * M_PI) *
              std::max(1.0 / (1.0 + std::exp(-0.3 - 1.5 * w)) - sigma, 0.0);
  EXPECT_NEAR(excess, 0.05, 0.004);  // five standard errors, plus the effect of truncating one per cent
  EXPECT_GT(standard_error, 0.0);
  EXPECT_LT(standard_error, 0.01);
}

TEST_F(CliOracle, IndexRefusesBadNumbers) {
  const auto with = [](const std::string& option, const std::string& value) {
    Words words = words_of("oracle index --environment uniform --samples 2000");
    for (const char* given : {"--ell", "--scale", "--cost"}) {
      words.push_back(given);
      words.push_back(given == option ? value : "0.5");
    }
    return words;
  };
  expect_refusal(with("--cost", "0"), 2, {"--cost 0", "above 0"});
  expect_refusal(with("--scale", "-1"), 2, {"--scale -1", "above 0"});
  expect_refusal(with("--ell", "inf"), 2, {"--ell inf", "finite"});
  expect_refusal(words_of("oracle index --environment uniform"), 2, {"--ell", "required"});
  expect_refusal(words_of("oracle"), 2, {"subcommand"});
}

TEST_F(CliOracle, IndexTakesAStudyWithEnvironmentsOfItsOwn) {
  std::ofstream(work() / "own.toml") << kOwnStudy;
  const auto with = [&](const std::string& more) {
    return output(words_of("oracle index own.toml --ell 0.3 --scale 1.5 --cost 0.05 " + more));
  };
  const std::string out = with("");  // it has one environment, which need not be named
  EXPECT_THAT(out, testing::StartsWith("sigma "));
  EXPECT_EQ(with("--environment own"), out);
  EXPECT_NE(with("--set environment.own.scale=1"), out);
  EXPECT_NE(with("--seed 2"), out);
  EXPECT_NE(with("--set oracle.samples=2e3"), out);
  std::ofstream(work() / "varied.toml") << kOwnStudy << "[vary]\nenvironment.own.scale = [1, 2]\n";
  EXPECT_THAT(output(words_of("oracle index varied.toml --ell 0.3 --scale 1.5 --cost 0.05")),
              AllOf(HasSubstr("==== environment.own.scale=1 ===="), HasSubstr("scale=2 ====\n" + out)));
  expect_refusal(words_of("oracle index --ell 0.3 --scale 1.5 --cost 0.05"), 2,
                 {"--environment", "one of uniform, gaussian, student_t5"});
  expect_refusal(words_of("oracle index own.toml --environment onw --ell 0.3 --scale 1.5 --cost 0.05"), 2,
                 {"--environment onw", "nearest is own"});
}

TEST_F(CliOracle, OrderAndCheckPrintTheirTables) {
  EXPECT_THAT(
      output(words_of("oracle order --environment uniform --replications 2 --contexts 50 --samples 1000 --grid 5x5x5")),
      AllOf(HasSubstr("uniform, regime A"), HasSubstr("uniform, regime B")));
  const std::string check = output(words_of(
      "oracle check --environment uniform --replications 1 --contexts 50 --samples 1000 --grid 5x5x5 --solves 5"));
  EXPECT_THAT(check, HasSubstr("grid max"));
  EXPECT_EQ(std::count(check.begin(), check.end(), '\n'), 4);
}

TEST_F(CliOracle, CountsOutOfRangeAreNamedWithTheirValue) {
  expect_refusal(words_of("oracle order --replications 0"), 2, {"--replications 0", "at least 1"});
  expect_refusal(words_of("oracle check --solves -2"), 2, {"--solves -2", "at least 1"});
  expect_refusal(words_of("calibrate --contexts 0"), 2, {"--contexts 0", "at least 1"});
}

TEST_F(Cli, CalibratePrintsOneLinePerEnvironment) {
  const auto with = [&](const std::string& replications) {
    return output(
        words_of("calibrate --environment uniform --contexts 20 --samples 1000 --replications " + replications));
  };
  const std::string out = with("2");
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 2) << out;
  EXPECT_THAT(out, AllOf(HasSubstr("uniform"), HasSubstr("0.23")));
  EXPECT_THAT(with("1"), HasSubstr("± ---"));  // one replication has no interval
}

TEST_F(Cli, CalibrateTakesAStudyWithEnvironmentsOfItsOwn) {
  std::ofstream(work() / "own.toml") << kOwnStudy;
  const auto with = [&](const std::string& more) {
    return output(words_of("calibrate own.toml --contexts 20 " + more));
  };
  const std::string two = with("--replications 2");
  EXPECT_THAT(two, AllOf(HasSubstr("\nown "), HasSubstr("study's u"), HasSubstr("0.20\n")));
  EXPECT_EQ(with("--set replications=2"), two);
  EXPECT_NE(with("--replications 2 --set dimensions.boxes=2"), two);
  // The number of replications in a study is meant for its sweep, and not for this command.
  EXPECT_NE(with("--regime A"), with("--regime A --replications 2"));
  EXPECT_EQ(with("--replications 2 --environment own,uniform --set environment.uniform.u=0.5").find(two.substr(0, 40)),
            0u);
}

TEST_F(Cli, CalibrateShowsItsProgress) {
  const std::string words = "calibrate --environment uniform --replications 2 --contexts 20 --samples 1000 --threads ";
  const test::ProgramResult result = run(words_of(words + "2")), quiet = run(words_of(words + "1 --quiet"));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("100%  72 of 72 steps"));
  EXPECT_EQ(quiet.err, "");
  EXPECT_EQ(quiet.out, result.out);
  expect_refusal(words_of("calibrate --environment uniform --threads -1"), 2, {"--threads -1"});
}

TEST_F(Cli, CalibrateRefusesWhatCannotBeReached) {
  const std::string tiny_search =
      "calibrate --quiet --environment uniform --replications 1 --contexts 10 --samples 1000 --boxes ";
  const test::ProgramResult result = run(words_of(tiny_search + "9"));  // the head of the table may be there already
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.error_lines(), 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("--boxes 9"));
  expect_refusal(words_of(tiny_search + "0"), 2, {"--boxes 0", "above 0"});
}

TEST_F(CliOracle, ExactTellsThePolicyAndRefusesWhatIsNoProblem) {
  const std::string box = "[[box]]\ncost = 0.1\nvalues = [0, 1]\nprobabilities = [0.5, 0.5]\n";
  const auto file = [&](const std::string& text) {
    std::ofstream(work() / "p.toml") << text;
    return words_of("oracle exact p.toml");
  };
  EXPECT_THAT(output(file(box + "[actions]\nuninspected = true\n")),
              AllOf(HasSubstr("optimal policy    0.500000"), HasSubstr("Weitzman's rule   0.400000"),
                    HasSubstr("deploy box 1 unopened")));
  const std::string thousand = box + "openings = 1000\n";
  for (const auto& [text, parts] : std::vector<std::pair<std::string, Words>>{
           {"", {"p.toml, box", "[[box]]"}},
           {"[[box]]\nvalues = [1]\nprobabilities = [1]\n", {"p.toml, box 1", "no cost"}},
           {box + "opening = 2\n", {"p.toml, box 1", "opening", "nearest is openings"}},
           {box + "openings = 1.5\n", {"p.toml, box 1, openings", "whole number"}},
           {box + "openings = 30000000000000\n", {"p.toml, box 1: openings is 30000000000000", "1000"}},
           {"[[box]]\ncost = 0.1\nvalue = [1]\nprobabilities = [1]\n", {"no key value", "is values"}},
           {box + "[actions]\noutside = true\n", {"p.toml, actions, outside", "a number"}},
           {"[[box]]\ncost = 0.1\nvalues = [\"a\"]\nprobabilities = [1]\n",
            {"p.toml, box 1, values", "list of numbers"}},
           {thousand + thousand + thousand, {"p.toml", "3e+09 states", "fewer boxes"}}})
    expect_refusal(file(text), 2, parts);
  expect_refusal(words_of("oracle exact p.toml --format xml"), 2, {"--format xml", "text, json, markdown"});
  expect_refusal(words_of("oracle exact absent.toml"), 2, {"absent.toml"});
}

}  // namespace
}  // namespace pandora
