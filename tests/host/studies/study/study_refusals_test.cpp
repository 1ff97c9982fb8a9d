// Every text that is no study gets an error with the key, the value and the probable intention.
#include <gmock/gmock.h>

#include "tests/host/studies/study/study_texts.hpp"

namespace pandora {
namespace {
using test::expect_refusal;
using test::parsed;
using test::refusal;
using testing::HasSubstr;
using Words = std::vector<std::string>;

// None of the values is accepted.
void expect_refusals(const std::string& key, const Words& values, const Words& parts) {
  for (const std::string& value : values) expect_refusal(key + " = " + value, parts);
}

// The error about an unknown key suggests the key that was probably meant.
TEST(StudyConfig, NamesTheNearestKey) {
  expect_refusal("replicatoins = 3", {"study.toml:1", "replicatoins", "nearest is replications"});
  expect_refusal("seed = 1\n[dimensions]\nbox = 3", {"study.toml:3", "dimensions.box", "nearest is dimensions.boxes"});
  expect_refusal("[oracle]\nreplications = 3", {"oracle.replications", "nearest is replications"});
  expect_refusal("refit = \"tracking\"", {"study.toml:1", "nearest is estimation.refit"});
  expect_refusal("[environment.uniform]\nradius = 3", {"nearest is environment.uniform.truncation_radius"});
  expect_refusal("[policy.dow]\nc_rho = [1]", {"nearest is hyperparameters.c_rho"});
  expect_refusal("[environment.t]\ntable = \"t.csv\"\nscale = \"score=1:5\"", {"of a table give ranges"});
  expect_refusal("[vary]\nperiod = [1]", {"study.toml:2", "nearest is periods"});
  expect_refusal("t0 = [1]", {"study.toml:1", "nearest is T0"});
}

// A name that is not near to any key gets no suggestion, because it would mislead.
TEST(StudyConfig, SaysWhereTheKeysAreListedIfNoneIsNear) {
  expect_refusal("\"a\\u0000b\" = 1", {"unknown key", "a\\x00b"});  // the whole name, although U+0000 ends a text in C
  for (const char* text : {"foo = 1", "[oracle]\nfoo = 1", "[environment.uniform]\nfoo = 1"}) {
    expect_refusal(text, {"unknown key", "foo", "--print-defaults"});
    EXPECT_THAT(refusal([&] { parsed(text); }), Not(HasSubstr("nearest"))) << text;
  }
}

TEST(StudyConfig, NamesTheNearestWord) {
  expect_refusal("policies = [\"DOW\"]", {"\"DOW\"", "nearest is dow", "pandora policies"});
  expect_refusal("policies = [\"dwo\"]", {"nearest is dow;"});
  expect_refusal("policies = [\"plugin\"]", {"nearest are online_plugin, static_plugin"});
  expect_refusal("regimes = [\"a\"]", {"nearest is A; use A, B"});
  expect_refusal("[engine]\nkind = \"refrence\"", {"nearest is reference"});
  EXPECT_THAT(refusal([] { parsed("policies = [\"zzz\"]"); }), Not(HasSubstr("nearest")));
}

// Boxes count from 1. A number that counted from 0 would mean another box now. So it is refused, with the right number.
TEST(StudyConfig, TakesNumbersOfBoxesThatCannotBeMistaken) {
  const char* const same[] = {"\"box 3:1000,box 1:5\"", "[{ box_number = 3, at = 1000 }, \"box 1:5\"]",
                              "[{ box_number = 3.0, at = 1e3 }, { at = 5, box_number = 1 }]"};
  for (const char* text : same) {
    const Study study = parsed(std::string("[environment.uniform]\narrives = ") + text).settings()[0].study;
    EXPECT_EQ(study.environments[0].arrives, (std::vector<BoxChange>{{2, 1000}, {0, 5}})) << text;
  }
  const std::string uniform = "[environment.uniform]\n";
  for (const char* table : {"{ box = 0, at = 9 }", "[{ box = 0, at = 9 }, { box = 1, at = 8 }]"})
    expect_refusal(uniform + "leaves = " + table, {std::string("leaves = ") + table + ": has no box; give some of"});
  expect_refusal(uniform + "arrives = { box = 2, box_number = 3, at = 9 }",
                 {"has no box; give some of box_number, at"});
  expect_refusal(uniform + "arrives = { at = 9 }", {"has no box_number; give it too"});
  expect_refusal(uniform + "arrives = \"box 0:9\"", {"such as \"box 3:1000\", boxes from 1 to 16"});
  expect_refusal(uniform + "arrives = \"box 4:9\"", {"box 4 comes or goes, and boxes are 1 to 3"});
}

TEST(StudyConfig, NamesFileLineKeyAndValueOfWhatIsOutOfRange) {
  expect_refusal("\n\nperiods = 0", {"study.toml:3", "periods = 0", "at least 1"});
  expect_refusal("replications = -1", {"replications = -1", "at least 1"});
  expect_refusal("periods = 2000000000", {"at most 1000000000"});
  expect_refusal("T0 = [0, -5]", {"T0 = [0, -5]", "at least 0"});
  expect_refusal("T0 = [5, 5]", {"5 is named twice"});
  expect_refusal("T0 = []", {"is empty"});
  expect_refusal("regimes = [\"C\"]", {"\"C\"", "A, B"});
  expect_refusal("policies = [\"zzz\"]", {"\"zzz\"", "pandora policies"});
  expect_refusal("environments = [\"cauchy\"]",
                 {"\"cauchy\"", "uniform, gaussian, student_t5", "[environment.cauchy]"});
  expect_refusal("[dimensions]\nboxes = 17", {"dimensions.boxes = 17", "at most 16"});
  expect_refusal("[dimensions]\nreward_features = 65", {"at most 64"});
  expect_refusal("[hyperparameters]\nc_rho = [nan]", {"finite"});
  expect_refusal("[hyperparameters]\nc_rho = []", {"is empty"});
  expect_refusal("[estimation]\nrefit = \"sometimes\"", {"sometimes", "geometric:g"});
  expect_refusal("[estimation]\nrefit_reward = \"every:2\"", {"estimation.refit_reward", "every:2", "geometric:g"});
  // Outside of these bounds the engines need not agree (docs/keys.md).
  const Words beyond = {"-1", "1e-7", "1.1e8", "inf", "nan"}, low = {"out of range", "from 1e-06 to 1e+08"};
  expect_refusals("estimation.eta_index", {"0", "1e-7", "1.1e8", "inf", "nan"}, low);
  expect_refusals("estimation.eta_slopes", beyond, low);
  for (const std::string key : {"estimation.eta_loss", "estimation.radius_rho", "estimation.radius_theta"}) {
    expect_refusals(key, beyond, low);
    expect_refusal(key + " = 2", {key + " = 2", "works only with the reference engine", "set engine.kind"});
  }
  expect_refusals("estimation.eta_reward", {"-1", "1e-4", "1.1e8", "inf", "nan"}, {"from 0.001 to 1e+08"});
  for (const std::string key : {"estimation.ridge_mean", "estimation.ridge_own"})
    expect_refusals(key, {"0", "0.009", "1e13", "inf"}, {"out of range", "from 0.01 to 1e+12"});
  expect_refusals("environment.uniform.u", {"1.1e6", "inf", "nan"}, {"out of range", "from 0 to 1e+06"});
  expect_refusals("environment.gaussian.scale", {"0", "1e-60", "9e-7", "101", "inf"}, {"from 1e-06 to 100"});
  expect_refusal("[oracle]\nsamples = 999", {"at least 1000"});
  expect_refusal("[oracle]\ngrid = [5, 5]", {"three integers"});
  expect_refusal("[oracle]\ngrid = [5, 1, 5]", {"at least 2"});
  expect_refusal("[engine]\nkind = \"fast\"", {"\"fast\"", "blocked, reference"});
  expect_refusal("[engine]\nblock = 1025", {"at most 1024"});
  expect_refusal("[output]\nregret = false\norder = false", {"output.regret", "nothing is left"});
  expect_refusal("[environment.uniform]\nu = -1", {"environment.uniform.u = -1", "from 0 to"});
  expect_refusal("[environment.gaussian]\ntruncation_radius = 0", {"above 0"});
  expect_refusal("[environment.gaussian]\ncost_tail = 1", {"above 1"});
  expect_refusal("[environment.gaussian]\nslopes = \"unrelate\"", {"unrelated"});
  expect_refusal("[environment.gaussian]\nreward_link = \"probit\"", {"logistic, algebraic, linear"});
  expect_refusal("[environment.gaussian]\noutput_costs = \"center\"", {"paper, centred"});
  expect_refusal("[environment.gaussian]\noutput_scales = \"one\"", {"contextual, constant"});
  expect_refusal("dimensions.output = 1\n[environment.uniform]\noutput_costs = \"centred\"",
                 {"environment.uniform.output_costs", "at least 2"});
  expect_refusal("dimensions.output = 5\n[environment.uniform]\noutput_costs = \"centred\"\nslopes = \"unrelated\"",
                 {"two coordinates of a box", "at least 6"});
  expect_refusal("[environment.uniform]\nindices = \"linear\"\noutput_costs = \"centred\"",
                 {"environment.uniform.output_costs", "sets no cost", "leave out"});
  expect_refusal("[hyperparameters]\nepsilon = [0.1, -1]", {"-1 is out of range", "from 0 to 1"});
  expect_refusal("dimensions.context = 2\n[environment.gaussian]\nslopes = \"unrelated\"", {"at least 3"});
  expect_refusal("[environment.gaussian]\nstream = 256", {"at most 255"});
  expect_refusal("[environment.gaussian]\nlaw = \"custom\"", {"program that registers it"});
}

TEST(StudyConfig, RefusesBudgetsThatAreNone) {
  expect_refusal("[budget]\nqueries = 0.9", {"budget.queries = 0.9", "from 1 to"});
  expect_refusal("[budget]\ncost = -1", {"out of range"});
  expect_refusal("[budget]\nqueries = 1.5\ncost = 0.2", {"budget.cost = 0.2", "second budget"});
  expect_refusal("[budget]\nstep = 0", {"out of range"});
}

TEST(StudyConfig, RefusesChangesOfTheProblemThatAreNone) {
  expect_refusals("feedback.delay", {"-1", "1.5", "\"soon\"", "{ law = \"geometric\" }"},
                  {"feedback.delay", "give periods, such as 100"});
  expect_refusal("[feedback]\ndelay = { mean = 10 }", {"has no law"});
  for (const char* key : {"feedback.share", "feedback.flip"}) expect_refusals(key, {"1.1"}, {"from 0 to 1"});
  expect_refusal("[feedback]\npoison = { from = 5, to = 4 }", {"first and the last period"});
  expect_refusals("environment.gaussian.drift", {"\"swap\"", "\"walk:2\"", "5", "{ kind = \"swap\" }"},
                  {"give swap:PERIODS", "walk:SPEED"});
  expect_refusal("[environment.gaussian]\ndrift = { kind = \"swap\", when = [5] }",
                 {"has no when", "kind, at, share, speed"});
  expect_refusal(
      "environments = [\"x\"]\n[environment.x]\nlaw = \"gaussian\"\nstream = 9\nindices = \"linear\"\n"
      "drift = \"swap:9\"",
      {"drift", "indices"});
  expect_refusals("environment.gaussian.correlation", {"1", "-0.1", "nan"}, {"from 0 to below 1"});
}

TEST(StudyConfig, NamesWrongTypes) {
  expect_refusal("periods = \"many\"", {"periods = \"many\"", "right type", "integer"});
  expect_refusal("periods = 1.5", {"right type", "integer"});
  expect_refusal("T0 = 5", {"right type", "list"});
  expect_refusal("T0 = [\"x\"]", {"right type"});
  expect_refusal("regimes = \"A\"", {"right type", "list"});
  expect_refusal("seed = -1", {"right type", "0 to 2^64"});
  expect_refusal("seed = \"many\"", {"0 to 2^64"});
  expect_refusal("[output]\norder = 1", {"true or false"});
  expect_refusal("oracle = 5", {"unknown key oracle"});
  expect_refusal("[[periods]]\nx = 1", {"periods", "right type"});
  expect_refusal("periods = 1979-05-27", {"right type"});
}

TEST(StudyConfig, NamesTheLineThatIsNotToml) {
  expect_refusal("seed = 1\nperiods = = 3", {"study.toml:2", "not TOML"});
  expect_refusal("seed = 1\nseed = 2", {"study.toml:2"});
  expect_refusal("periods = 99999999999999999999", {"study.toml:1"});
  expect_refusal("seed = 1\n[!]\n", {"study.toml", "not TOML"});
  expect_refusal("seed = 1\nT0 = [0, 5\u041c\n", {"study.toml:2", "beyond ASCII"});
  for (const char* text : {"title = \"\u041c\"", "title = '\u041c'", "title = \"\"\"a\n\u041c\"\"\"",
                           "# \u041c\nseed = 1", "title = \"\\\"\u041c\"", "\xEF\xBB\xBFseed = 1"})
    EXPECT_NO_THROW(parsed(text)) << text;
}

TEST(StudyConfig, RefusesWhatContradictsItself) {
  expect_refusal("environments = [\"gaussian\"]\n[dimensions]\noutput = 50",
                 {"dimensions.output = 50", "environment.gaussian.truncation_radius"});
  EXPECT_NO_THROW(parsed("environments = [\"uniform\"]\n[dimensions]\noutput = 50"));
  EXPECT_NO_THROW(
      parsed("environments = [\"gaussian\"]\n[dimensions]\noutput = 50\n[environment.gaussian]\n"
             "truncation_radius = 9"));
  EXPECT_NO_THROW(parsed("[dimensions]\nboxes = 16"));  // all policies, also FrugalGPT
  expect_refusal("[environment.unifrom]\nu = 0.5", {"environment.unifrom.u = 0.5", "uniform, gaussian"});
  expect_refusal("environments = [\"mine\"]\n[environment.mine]\nlaw = \"uniform\"\nu = 0.2",
                 {"mine has no stream", "environment.mine.stream"});
}

TEST(StudyConfig, RefusesWiderActionsThatContradictTheStudy) {
  expect_refusal("[actions]\nopenings = 6", {"actions.openings = 6", "18 things to open", "16 are the most"});
  expect_refusal("[dimensions]\nboxes = 16\n[actions]\noutside = 0.5", {"actions.outside = 0.5", "17 things to open"});
  expect_refusal("[dimensions]\nboxes = 7\n[actions]\nuninspected = true", {"actions.uninspected", "6 are the most"});
  expect_refusal("[actions]\nopenings = 4\n[engine]\nblock = 3", {"actions.openings = 4", "engine.block"});
  expect_refusal("[actions]\noutside = 1.5", {"actions.outside = 1.5", "number from 0 to 1"});
  expect_refusal("[actions]\noutside = 0.5\n[budget]\nqueries = 1.5", {"actions.outside", "[budget]"});
  expect_refusal("[actions]\nopenings = 2\n[environment.uniform]\ndrift = \"walk:0.01\"",
                 {"actions.openings = 2", "environment uniform drifts"});
  expect_refusal("[actions]\nuninspected = true\n[environment.uniform]\ncorrelation = 0.5",
                 {"actions.uninspected", "environment uniform has a correlation"});
  expect_refusal("[actions]\nuninspected = true\n[environment.uniform]\nindices = \"linear\"",
                 {"actions.uninspected", "linear indices"});
  EXPECT_NO_THROW(parsed("[actions]\nopenings = 1\nuninspected = false\noutside = -inf\n[budget]\nqueries = 1.5"));
  EXPECT_NO_THROW(parsed("[actions]\noutside = 0\n[environment.uniform]\ndrift = \"walk:0.01\""));
}

TEST(StudyConfig, RefusesTiesOfBoxesThatCannotBe) {
  expect_refusal("[model]\nties = [[1, 4]]", {"model.ties = [[1, 4]]", "names box 4 of 3"});
  expect_refusal("[model]\nties = [[1, 2], [2, 3]]", {"names box 2 twice"});
  expect_refusal("[model]\nties = [[0, 1]]", {"such as [[1, 2], [3]]"});
  expect_refusal("[model]\nties = [1, 2]", {"ties no two boxes", "such as [[1, 2], [3]]"});
  expect_refusal("[model]\nties = [[1, 2]]\n[environment.uniform]\ndrift = \"walk:0.01\"", {"moves apart"});
  const StudyConfig config = parsed("[model]\nties = [[1, 3], [2]]");
  EXPECT_EQ(config.settings()[0].study.ties, (BoxGroups{{0, 2}, {1}}));
  EXPECT_EQ(parsed(config.toml()).identity(), config.identity());
}

TEST(StudyConfig, RefusesTablesThatHoldNothingKnownAndKeysGivenTwice) {
  expect_refusal("seed = 2\n[estimaton]\n", {"study.toml:2", "unknown key estimaton"});
  expect_refusal("[oracle.grids]\n", {"study.toml:1", "unknown key oracle.grids"});
  expect_refusal("[environment.nowhere]\n", {"study.toml:1", "unknown key environment.nowhere"});
  expect_refusal("[environment.uniform.u]\n", {"study.toml:1", "environment.uniform.u"});
  expect_refusal("periods = {}\n", {"study.toml:1", "periods", "integer"});
  expect_refusal("\"oracle.samples\" = 1000\n[oracle]\nsamples = 2000\n",
                 {"study.toml:3", "oracle.samples = 2000", "given twice"});
  EXPECT_EQ(parsed("[estimation]\n[vary]\n[environment.uniform]\n[environment]\n").identity(),
            StudyConfig().identity());
}

TEST(ReadStudyFile, NamesAFileThatCannotBeRead) {
  EXPECT_THAT(refusal([] { read_study_file("no/such/study.toml"); }), HasSubstr("no/such/study.toml: cannot be read"));
  EXPECT_THAT(refusal([] { read_study_file("/"); }), HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace pandora
