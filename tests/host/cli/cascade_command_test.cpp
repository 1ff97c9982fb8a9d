// `pandora cascade`, as its users meet it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "pandora/cascade.hpp"
#include "tests/host/cascades/fits/fitted_cascades.hpp"
#include "tests/host/run_program.hpp"

namespace pandora {
namespace {

using testing::HasSubstr;

class CascadeCommand : public test::ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_table("val.csv", "v", 90);
    write_table("test.csv", "t", 60);
  }
  // A small model that is right in two of three, a large one that is nearly always, and a judge that does not know.
  void write_table(const std::string& name, const std::string& prefix, int rows) {
    std::ofstream out(work() / name);
    out << "prompt_id,model,quality,cost,score\n";
    for (int row = 0; row < rows; ++row)
      out << prefix << row << ",small," << (row % 3 == 0 ? 0.1 : 1.0) << ",0.0001,0.5\n"
          << prefix << row << ",large," << (row % 7 == 0 ? 0.8 : 1.0) << ",0.01,0.5\n";
  }
  test::ProgramResult done(const std::vector<std::string>& arguments) {
    test::ProgramResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return result;
  }
  void expect_refused(const std::vector<std::string>& arguments, int exit_code, const std::string& part) {
    const test::ProgramResult result = run(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_EQ(result.error_lines(), 1) << result.err;
    EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_EQ(result.out, "");
  }
};

TEST_F(CascadeCommand, WhatExploresHasAllModels) {
  std::ofstream(work() / "three.csv") << [] {
    std::string out = "prompt_id,model,quality,cost,score\n";
    for (int row = 0; row < 90; ++row)
      for (const auto& [model, quality, cost] :
           {std::tuple{"small", row % 3 == 0 ? "0.1" : "1", "0.0001"}, {"large", "1", "0.01"}, {"useless", "0", "1"}})
        out += fmt::format("p{},{},{},{},{}\n", row, model, quality, cost, quality);
    return out;
  }();
  const auto models = [&](const char* explore) {
    done({"cascade", "fit", "three.csv", "--evaluator", "score", "--price", "5", "--explore", explore, "--force"});
    const Cascade cascade = Cascade::load((work() / "cascade.json").string());
    return std::pair(cascade.options().models.size(), cascade.options().order.size());
  };
  EXPECT_EQ(models("0"), std::pair(std::size_t{2}, std::size_t{2}));
  EXPECT_EQ(models("0.1"), std::pair(std::size_t{3}, std::size_t{2}));
}

// A nightly fit to the log of what runs.
TEST_F(CascadeCommand, AFitThatIsNotSurelyBetterThanWhatMadeTheLogReplacesNoFile) {
  const test::TraceLaw law(0.3);
  const CascadeFit best = fit_cascade(test::drawn_table(law, 3000, 4), test::settings_at(1.0, "score"));
  best.cascade->set_explore(0.05);
  best.cascade->log_to({work() / "decisions"});
  const TraceTable table = test::drawn_table(law, 2000, 5);
  test::live_utility(*best.cascade, table, table.scores[0].values);
  std::vector<std::string> fit = {"cascade",     "fit",   "decisions", "--price", "1",
                                  "--evaluator", "score", "--force",   "--out",   "running.json"};
  std::ofstream(work() / "running.json") << "what runs";
  EXPECT_THAT(done(fit).out,
              testing::AllOf(HasSubstr("rules of the log"), HasSubstr("verdict: keep the rules that made the log"),
                             HasSubstr("running.json stays as it is")));
  std::string kept;
  std::getline(std::ifstream(work() / "running.json"), kept);
  EXPECT_EQ(kept, "what runs");
  fit.back() = "nearest.json";
  EXPECT_THAT(done(fit).out, HasSubstr("cascade in nearest.json"));
  EXPECT_TRUE(Cascade::load((work() / "nearest.json").string()).options().about.find("\"keep\":true") !=
              std::string::npos);
}

TEST_F(CascadeCommand, FromATableToACascadeThatIsTestedAndShown) {
  const test::ProgramResult fitted = done({"cascade", "fit", "val.csv", "--evaluator", "quality", "--price", "5"});
  for (const char* part : {"Fitted for price 5 on 90 prompts with 2 models", "thresholds", "indices", "best single",
                           "choice: thresholds; runner-up:", "promise", "without small", "price 10",
                           "verdict: use small", "cascade in cascade.json"})
    EXPECT_THAT(fitted.out, HasSubstr(part));
  const test::ProgramResult tested = done({"cascade", "test", "cascade.json", "test.csv"});
  for (const char* part : {"cascade.json on test.csv: 60 prompts, price 5", "promised", "large alone", "gain", "saving",
                           "verdict: the cascade is better than large alone"})
    EXPECT_THAT(tested.out, HasSubstr(part));
  const nlohmann::json json =
      nlohmann::json::parse(done({"cascade", "test", "cascade.json", "test.csv", "--format", "json"}).out);
  for (const char* name : {"quality", "usd_per_1000", "calls", "utility", "gain", "saving"}) {
    EXPECT_LE(json[name]["low"].get<double>(), json[name]["value"].get<double>()) << name;
    EXPECT_GE(json[name]["high"].get<double>(), json[name]["value"].get<double>()) << name;
  }
  // Two of three prompts end with the small model.
  EXPECT_NEAR(json["calls"]["value"].get<double>(), 4.0 / 3.0, 1e-12);
  EXPECT_NEAR(json["usd_per_1000"]["value"].get<double>(), 0.1 + 10.0 / 3.0, 1e-9);
  EXPECT_NEAR(json["saving"]["value"].get<double>(), 1.0 - (0.1 + 10.0 / 3.0) / 10.0, 1e-9);
  EXPECT_EQ(json["against"], "large");
  EXPECT_EQ(json["same_table"], false);
  EXPECT_THAT(json["verdict"].get<std::string>(), testing::StartsWith("the cascade is better than large alone"));
  const nlohmann::json small = nlohmann::json::parse(
      done({"cascade", "test", "cascade.json", "val.csv", "--against", "small", "--format", "json"}).out);
  EXPECT_EQ(small["against"], "small");
  EXPECT_EQ(small["same_table"], true);
  const test::ProgramResult shown = done({"cascade", "show", "cascade.json"});
  for (const char* part : {"models in order, with thresholds, price 5", "accepted from",
                           "on 90 prompts with 2 models (val.csv), evaluator quality", "verdict: use small"})
    EXPECT_THAT(shown.out, HasSubstr(part));
}

TEST_F(CascadeCommand, TheFileHasTheMembersThatOthersRelyOn) {
  done({"cascade", "fit", "val.csv", "--evaluator", "quality", "--price", "5", "--kind", "thresholds", "--out",
        "a.json"});
  done({"cascade", "fit", "val.csv", "--evaluator", "quality", "--price", "5", "--kind", "indices", "--out", "b.json"});
  for (const char* name : {"a.json", "b.json"}) {
    const nlohmann::json file = nlohmann::json::parse(test::read_file(work() / name));
    for (const char* member : {"version", "kind", "models", "price", "evaluator", "digest"})
      EXPECT_TRUE(file.contains(member)) << name << " " << member;
  }
  const nlohmann::json file = nlohmann::json::parse(test::read_file(work() / "a.json"));
  EXPECT_EQ(file["kind"], "thresholds");
  EXPECT_EQ(file["models"].size(), 2u);
  EXPECT_TRUE(file.contains("order"));
  EXPECT_EQ(file["thresholds"].size(), 1u);
}

TEST_F(CascadeCommand, WithAJudgeThatDoesNotKnowOneModelIsUsed) {
  const nlohmann::json record = nlohmann::json::parse(
      done({"cascade", "fit", "val.csv", "--price", "5", "--evaluator", "score", "--format", "json"}).out);
  EXPECT_EQ(record["choice"], "best single");
  EXPECT_EQ(record["pays"], false);
  EXPECT_THAT(record["verdict"].get<std::string>(),
              testing::StartsWith("use large alone: no cascade is better with this evaluator (score) at price 5"));
  EXPECT_THAT(done({"cascade", "show", "cascade.json"}).out, HasSubstr("one model"));
  EXPECT_THAT(done({"cascade", "test", "cascade.json", "test.csv"}).out, HasSubstr("the cascade is large alone"));
}

TEST_F(CascadeCommand, ATestSeesWithOtherEyes) {
  done({"cascade", "fit", "val.csv", "--evaluator", "quality", "--price", "5"});
  const std::string out =
      done({"cascade", "test", "cascade.json", "test.csv", "--evaluator", "score", "--judge-usd", "0.001"}).out;
  EXPECT_THAT(out, HasSubstr("evaluator score at $0.001 a call"));
  EXPECT_THAT(out, HasSubstr("the cascade was made to see quality"));
  expect_refused({"cascade", "test", "cascade.json", "test.csv", "--evaluator", "truth"}, 2,
                 "evaluator truth: unknown");
  expect_refused({"cascade", "test", "cascade.json", "test.csv", "--judge-usd", "-1"}, 2, "--judge-usd -1");
  EXPECT_THAT(
      done({"cascade", "new", "--models", "a,b", "--price", "1", "--evaluator", "score", "--out", "n.json"}).out,
      HasSubstr("n.json: 2 models, evaluator score, nothing learned yet"));
  EXPECT_THAT(done({"cascade", "show", "n.json"}).out, HasSubstr("n.json: indices, price 1, evaluator score"));
  done({"cascade", "new", "--models", "a,b", "--price", "1", "--evaluator", "score", "--psi", "2", "--forget", "50",
        "--out", "f.json"});
  EXPECT_THAT(done({"cascade", "show", "f.json"}).out,
              testing::AllOf(HasSubstr("indices that depend on the prompt"), HasSubstr("2 numbers are given"),
                             HasSubstr("After 50 requests a sample counts half")));
  Cascade exploring = Cascade::load(work() / "n.json");
  exploring.set_explore(0.05);
  exploring.save(work() / "e.json");
  EXPECT_THAT(done({"cascade", "show", "e.json"}).out, HasSubstr("At 0.05 of its steps it explores."));
}

TEST_F(CascadeCommand, BoundsThatHoldAndBoundsThatDoNot) {
  const std::string kept =
      done({"cascade", "fit", "val.csv", "--evaluator", "quality", "--min-quality", "0.9", "--out", "q.json"}).out;
  EXPECT_THAT(kept, HasSubstr("quality of at least 0.9 is kept: with 95%"));
  EXPECT_THAT(kept, HasSubstr("against the best single model,\nlarge, it saves $6."));
  EXPECT_THAT(done({"cascade", "test", "q.json", "test.csv"}).out, HasSubstr("quality of at least 0.9 holds here"));
  EXPECT_THAT(
      done({"cascade", "fit", "val.csv", "--evaluator", "quality", "--max-usd", "0.000001", "--out", "d.json"}).out,
      HasSubstr("is missed by $9.9e-05"));
  EXPECT_TRUE(std::filesystem::exists(work() / "d.json"));  // the nearest
}

TEST_F(CascadeCommand, DrawsTheFrontier) {
  const test::ProgramResult result = run(
      {"cascade", "frontier", "val.csv", "--evaluator", "quality", "--test", "test.csv", "--out", "front", "--rows"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(test::read_file(work() / "front/rows.csv"),
              testing::AllOf(testing::StartsWith("kind,price,prompt,called,quality,usd"),
                             HasSubstr("single,nan,t0,large,0.8,0.01"), HasSubstr(",t0,small|large,0.8,0.0101")));
  EXPECT_THAT(result.out, HasSubstr("each better than the cheaper ones"));
  EXPECT_THAT(test::read_file(work() / "front/frontier.csv"), testing::StartsWith("kind,name,price,usd_per_1000"));
  const bool drawn = std::filesystem::exists(work() / "front/report.html");
  EXPECT_EQ(std::filesystem::exists(work() / "front/figures/frontier.svg"), drawn);
  EXPECT_TRUE(drawn || result.err.find("not all was rendered") != std::string::npos) << result.err;
  const nlohmann::json document = nlohmann::json::parse(test::read_file(work() / "front/report.json"));
  const nlohmann::json& figure = document["sections"][0]["figures"][0];
  // Who sees what, and for which prices; steps have the numbers of the table.
  EXPECT_THAT(figure["title"].get<std::string>(),
              testing::MatchesRegex("Cascades .thresholds. with evaluator quality.*, prices? .*of utility per dollar"));
  EXPECT_THAT(figure["series"][0]["marks"], testing::Contains("1"));
  EXPECT_EQ(document["sections"][0]["tables"][0]["name"], "steps");
  expect_refused({"cascade", "frontier", "val.csv", "--evaluator", "quality", "--test", "test.csv", "--out", "front"},
                 2, "front");
}

TEST_F(CascadeCommand, RefusesWhatItIsNotGivenRight) {
  const auto refused = [&](std::vector<std::string> more, int exit_code, const std::string& part) {
    more.insert(more.begin(), {"cascade", "fit"});
    expect_refused(more, exit_code, part);
    EXPECT_FALSE(std::filesystem::exists(work() / "cascade.json")) << part;
  };
  refused({"val.csv"}, 2, "exactly one of --price");
  refused({"val.csv", "--price", "5", "--max-usd", "1"}, 2, "exactly one of --price");
  refused({"val.csv", "--price", "-5"}, 2, "--price -5");
  refused({"val.csv", "--min-quality", "2"}, 2, "--min-quality 2");
  refused({"val.csv", "--max-usd", "0"}, 2, "--max-usd 0");
  refused({"val.csv", "--price", "5"}, 2,
          "no evaluator is given, which says what is seen of an answer at run time: val.csv has score, and quality");
  expect_refused({"cascade", "frontier", "val.csv", "--test", "test.csv", "--out", "front"}, 2,
                 "no evaluator is given");
  expect_refused({"cascade", "new", "--models", "a,b", "--price", "1"}, 2, "no evaluator is given");
  expect_refused({"cascade", "new", "--models", "a,b", "--price", "1", "--evaluator", "score", "--psi", "3",
                  "--features", "f.json"},
                 2, "--features excludes --psi");
  refused({"val.csv", "--max-usd", "4", "--evaluator", "score"}, 2, "give --max-usd 0.004");
  refused({"val.csv", "--price", "5", "--kind", "tresholds"}, 2, "the nearest is thresholds");
  refused({"val.csv", "--price", "5", "--kind", "router"}, 2, "give --context");
  refused({"val.csv", "--price", "5", "--kind", "thresholds", "--context", "length"}, 2,
          "--context: thresholds do not use it");
  refused({"val.csv", "--price", "5", "--evaluator", "truth"}, 2, "evaluator truth");
  refused({"val.csv", "--price", "5", "--evaluator", "score:gpt"}, 3, "gpt");
  refused({"val.csv", "--price", "5", "--evaluator", "score", "--context", "text:4"}, 3, "no text of prompts");
  refused({"val.csv", "--price", "5", "--models", "huge"}, 3, "huge");
  refused({"val.csv", "--price", "5", "--missing", "guess"}, 2, "--missing guess");
  refused({"val.csv", "--price", "5", "--format", "csv"}, 2, "--format csv");
  refused({"val.csv", "--price", "5", "--judge-usd", "-1"}, 2, "--judge-usd -1");
  refused({"absent.csv", "--price", "5"}, 3, "absent.csv");
  write_table("few.csv", "f", 9);
  refused({"few.csv", "--price", "5", "--evaluator", "score"}, 3, "few.csv: has 9 different prompts");
  expect_refused({"cascade"}, 2, "subcommand");
  expect_refused({"cascade", "fitt", "val.csv"}, 2, "cascade fitt: unknown command; the nearest is fit");
}

TEST_F(CascadeCommand, RefusesToReplaceAndToTestWhatDoesNotFit) {
  done({"cascade", "fit", "val.csv", "--evaluator", "quality", "--price", "5"});
  expect_refused({"cascade", "fit", "val.csv", "--evaluator", "quality", "--price", "5"}, 2,
                 "--out cascade.json: is there already");
  done({"cascade", "fit", "val.csv", "--evaluator", "quality", "--price", "5", "--force"});
  expect_refused({"cascade", "test", "cascade.json", "absent.csv"}, 3, "absent.csv");
  expect_refused({"cascade", "test", "absent.json", "test.csv"}, 3, "absent.json");
  expect_refused({"cascade", "test", "cascade.json", "test.csv", "--against", "larger"}, 3,
                 "has no model larger; the nearest is large; name one of the table's with --against");
  expect_refused({"cascade", "test", "cascade.json", "test.csv", "--format", "csv"}, 2, "--format csv");
  std::ofstream(work() / "small.csv") << "prompt_id,model,quality,cost\na,small,1,0.1\nb,small,0,0.1\n";
  expect_refused({"cascade", "test", "cascade.json", "small.csv"}, 3, "small.csv: has no model large of the cascade");
  std::ofstream(work() / "cascade.json", std::ios::app) << " ";
  const std::string bytes = test::read_file(work() / "cascade.json");
  std::ofstream(work() / "cascade.json", std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  expect_refused({"cascade", "test", "cascade.json", "test.csv"}, 3, "cascade.json");
  expect_refused({"cascade", "show", "cascade.json"}, 3, "cascade.json");
}

TEST_F(CascadeCommand, WritesOverNoInput) {
  const std::string table = test::read_file(work() / "val.csv");
  std::filesystem::create_directory(work() / "front");
  std::filesystem::copy(work() / "val.csv", work() / "front/frontier.csv");
  std::filesystem::create_hard_link(work() / "val.csv", work() / "again.csv");
  for (const char* out : {"val.csv", "again.csv"}) {
    expect_refused({"cascade", "fit", "val.csv", "--evaluator", "quality", "--price", "5", "--out", out, "--force"}, 2,
                   "is the input val.csv itself; name another file");
    expect_refused({"cascade", "new", "--models", "a,b", "--price", "5", "--evaluator", "quality", "--features",
                    "val.csv", "--out", out, "--force"},
                   2, "is the input val.csv itself; name another file");
  }
  expect_refused({"cascade", "frontier", "front/frontier.csv", "--test", "test.csv", "--evaluator", "quality", "--out",
                  "front", "--force"},
                 2, "is the input front/frontier.csv itself; name another file");
  EXPECT_EQ(test::read_file(work() / "val.csv"), table);
  EXPECT_EQ(test::read_file(work() / "front/frontier.csv"), table);
}

}  // namespace
}  // namespace pandora
