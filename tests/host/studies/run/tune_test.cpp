// Compares successive halving with a choice by hand from all lanes in all replications.
#include <algorithm>
#include <cmath>
#include <set>

#include "host/studies/run/tune_tables.hpp"
#include "tests/host/studies/run/run_study_fixture.hpp"
#include "tests/host/studies/study/study_texts.hpp"

namespace pandora {
namespace {
using testing::HasSubstr;

std::vector<int> replications(const std::vector<TuneRound>& rounds) {
  std::vector<int> out;
  for (const TuneRound& round : rounds) out.push_back(round.replications);
  return out;
}

TEST(HalvingRounds, ShareTheBudgetEvenly) {
  // With 9, 5, 3 and 2 candidates of 4 lanes, a replication has 36, 20, 12 and 8 lanes.
  EXPECT_EQ(replications(halving_rounds({9}, {4}, 4 * 36)), (std::vector<int>{1, 1, 3, 6}));
  EXPECT_EQ(replications(halving_rounds({9}, {4}, 14400)), (std::vector<int>{100, 180, 300, 450}));
  // There are two races, and that of 2 candidates ends first. A single candidate needs no race.
  EXPECT_EQ(replications(halving_rounds({4, 2, 1}, {1, 3, 7}, 100)), (std::vector<int>{5, 25}));
  for (const std::uint64_t budget : {144u, 145u, 1000u, 99999u}) {
    std::size_t used = 0;
    for (const TuneRound& round : halving_rounds({9}, {4}, budget)) used += round.lanes;
    EXPECT_LE(used, budget);
    EXPECT_GT(used + 8, budget);  // too little is left for a replication of the last round
  }
}

TEST(HalvingRounds, NeedAReplicationEach) {
  EXPECT_TRUE(halving_rounds({1, 1}, {3, 3}, 0).empty());
  EXPECT_THAT(test::refusal([] { halving_rounds({9}, {4}, 143); }),
              HasSubstr("--budget 143: 4 rounds of halving need at least 144 lanes"));
  EXPECT_THROW(halving_rounds({2}, {1}, 1000000000), Error);
}

constexpr std::size_t kJudged = 4;  // replications of the small study

std::vector<PlannedSetting> settings_of(const char* policies, const char* c_rho, const std::string& more) {
  StudyConfig config = StudyConfig::parse(test::kStudy + more, "study.toml");
  config.set("policies", policies, "");
  config.set("hyperparameters.c_rho", c_rho, "");
  config.set("periods", "60", "");
  config.set("dimensions.output", "4", "");
  return make_plans(config);
}

// All lanes of a setting, in the replications 0 .. R-1 that judge, and in the n replications after them that choose.
struct WholeSweep {
  Study study;
  Plan plan;
  std::vector<UnitResult> all;
  std::size_t replications = kJudged;

  WholeSweep(const PlannedSetting& planned, int n) : study(planned.setting.study), plan(planned.plan) {
    plan.units = {};
    for (const Environment& environment : study.environments)
      for (const Regime regime : study.regimes) {
        plan.units.append({environment, regime, 0}, kJudged);
        plan.units.append({environment, regime, 1000000000}, static_cast<std::size_t>(n));
      }
    replications += static_cast<std::size_t>(n);
    all = run_sweep(study, plan, {});
  }
};

// The regrets of a candidate in every replication, from the lanes of the whole study, by name.
std::vector<double> regrets_by_hand(const WholeSweep& sweep, const std::string& policy, const std::string& reward,
                                    const std::string& hyperparameter) {
  const auto& [study, plan, all, n] = sweep;
  std::vector<double> sum(n, 0.0);
  int cells = 0;  // every lane is in four groups
  for (std::size_t k = 0; k < plan.lanes.size(); ++k) {
    const PlannedLane& lane = plan.lanes[k];
    if (lane.policy->name != policy || lane.variant.reward != reward || lane.variant.hyperparameter != hyperparameter)
      continue;
    cells += 4;
    for (std::size_t u = 0; u < all.size(); ++u) sum[u % n] += all[u].lanes[0].utility - all[u].lanes[k].utility;
  }
  for (double& value : sum) value *= 1000.0 / (study.periods * cells);
  return sum;
}

double mean(const std::vector<double>& values, std::size_t first, std::size_t last) {
  double sum = 0.0;
  for (std::size_t k = first; k < last; ++k) sum += values[k];
  return sum / static_cast<double>(last - first);
}

// Among the candidates with default values, the one that stayed longest is compared with the winner, in pairs.
void expect_default_beside_the_winner(const TuneRace& race, const std::vector<std::vector<double>>& regrets) {
  ASSERT_TRUE(race.standard);
  const std::string& values = race.candidates[*race.standard].hyperparameter;
  for (const char* other : {"=3", "=0.02"}) EXPECT_EQ(values.find(other), std::string::npos) << values;
  EXPECT_THAT(race.candidates[*race.standard].varied, Not(HasSubstr("every:30")));
  if (*race.standard == race.winner) {
    EXPECT_TRUE(race.judged_standard.regrets.empty());
    return;
  }
  ASSERT_EQ(race.judged_standard.regrets.size(), kJudged);
  double difference = 0.0, squares = 0.0;
  for (std::size_t r = 0; r < kJudged; ++r)
    difference += (regrets[*race.standard][r] - regrets[race.winner][r]) / kJudged;
  for (std::size_t r = 0; r < kJudged; ++r)
    squares += std::pow(regrets[*race.standard][r] - regrets[race.winner][r] - difference, 2.0);
  EXPECT_EQ(race.lost.n, kJudged);
  EXPECT_NEAR(race.lost.difference.mean, difference, 1e-9);
  EXPECT_NEAR(race.lost.difference.half_width_95, 3.18244630528 * std::sqrt(squares / 3.0 / 4.0), 1e-7);
}

void expect_choice_by_hand(const std::vector<PlannedSetting>& settings, std::uint64_t budget, std::size_t races) {
  TuneOptions options;
  options.budget = budget;
  std::size_t last_done = 0, last_total = 0;
  options.sweep.progress = [&](std::size_t done, std::size_t total) {
    EXPECT_GE(done, last_done);
    last_done = done, last_total = total;
  };
  const Tuning tuning = tune(settings, options);
  EXPECT_EQ(last_done, last_total);
  EXPECT_EQ(tuning.races.size(), races);
  std::size_t used = 0;
  int all = 0;
  for (const TuneRound& round : tuning.rounds) used += round.lanes, all += round.replications;
  EXPECT_LE(used, options.budget);
  std::vector<WholeSweep> sweeps;
  for (const PlannedSetting& setting : settings) sweeps.emplace_back(setting, all);
  for (const TuneRace& race : tuning.races) {
    SCOPED_TRACE(race.policy + " " + race.reward);
    std::vector<std::vector<double>> regrets;
    for (const TuneCandidate& c : race.candidates)
      regrets.push_back(regrets_by_hand(sweeps[c.setting], race.policy, race.reward, c.hyperparameter));
    std::set<std::size_t> left;
    for (std::size_t c = 0; c < regrets.size(); ++c) left.insert(c);
    std::size_t seen = kJudged;
    std::vector<int> out(regrets.size(), 0);
    std::vector<std::size_t> ran(regrets.size(), 0);
    for (std::size_t k = 0; k < tuning.rounds.size() && left.size() > 1; ++k) {
      seen += static_cast<std::size_t>(tuning.rounds[k].replications);
      for (const std::size_t c : left) ran[c] = seen - kJudged;
      for (std::size_t drop = left.size() / 2; drop > 0; --drop) {
        std::size_t worst = *left.begin();
        for (const std::size_t c : left)
          if (mean(regrets[c], kJudged, seen) > mean(regrets[worst], kJudged, seen)) worst = c;
        left.erase(worst);
        out[worst] = static_cast<int>(k) + 1;
      }
    }
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(race.winner, *left.begin());
    for (std::size_t c = 0; c < regrets.size(); ++c) {
      const TuneCandidate& candidate = race.candidates[c];
      EXPECT_EQ(candidate.out, out[c]);
      ASSERT_EQ(candidate.regrets.size(), ran[c]);
      for (std::size_t r = 0; r < ran[c]; ++r) EXPECT_NEAR(candidate.regrets[r], regrets[c][kJudged + r], 1e-9);
      EXPECT_EQ(candidate.failed(), 0);
    }
    ASSERT_EQ(race.judged.regrets.size(), kJudged);
    for (std::size_t r = 0; r < kJudged; ++r) EXPECT_NEAR(race.judged.regrets[r], regrets[race.winner][r], 1e-9);
    EXPECT_NEAR(race.judged.regret().mean, mean(regrets[race.winner], 0, kJudged), 1e-9);
    expect_default_beside_the_winner(race, regrets);
  }
}

TEST(Tune, EqualsTheChoiceByHand) {
  expect_choice_by_hand(settings_of("dow", "3,0.02,0.1,1", ""), 300, 2);
}

TEST(Tune, ChoosesAmongKeysThatVaryToo) {
  expect_choice_by_hand(
      settings_of("online_plugin,dow", "0.1", "[vary]\n\"estimation.refit\" = [\"every:30\", \"geometric:1.5\"]\n"),
      200, 4);
}

TEST(Tune, JudgesNoDefaultWhereTheStudyHasNone) {
  for (const TuneRace& race : tune(settings_of("dow", "0.3,3", ""), {200, {}}).races) {
    EXPECT_FALSE(race.standard);
    EXPECT_TRUE(race.judged_standard.regrets.empty());
  }
}

// FrugalGPT has only one choice. It is judged all the same, but not at T_0 = 0.
TEST(Tune, JudgesWhatHasNoChoice) {
  const Tuning tuning = tune(settings_of("dow,frugalgpt", "0.1,1", ""), {200, {}});
  ASSERT_EQ(tuning.races.size(), 3u);
  const TuneRace& frugal = tuning.races[2];
  EXPECT_EQ(frugal.policy, "frugalgpt");
  EXPECT_TRUE(frugal.candidates[0].regrets.empty());
  EXPECT_EQ(frugal.judged.regrets.size(), kJudged);
  EXPECT_EQ(frugal.judged.lanes.size(), 1u);
  EXPECT_EQ(tuning.cells, 8u);
}

// A candidate that fails is dropped before one that does not, whatever its regret elsewhere.
TEST(Tune, DropsWhatFails) {
  std::vector<PlannedSetting> settings = settings_of("dow", "0.1,1,3", "");
  for (PlannedLane& lane : settings[0].plan.lanes)
    if (lane.variant.reward == "known" && lane.variant.hyperparameter.starts_with("c_rho=0.1"))
      lane.variant.lane = [](const Replication&, int) -> LaneSpec { throw std::runtime_error("cannot"); };
  const Tuning tuning = tune(settings, {400, {}});
  const TuneRace& known = tuning.races[0];
  EXPECT_EQ(known.candidates[0].out, 1);
  EXPECT_EQ(known.candidates[0].failed(), tuning.rounds[0].replications);
  EXPECT_EQ(known.judged.failed(), 0);
}

TEST(Tune, RefusesWhatCannotBeCompared) {
  const auto message = [](const std::vector<PlannedSetting>& settings) {
    return test::refusal([&] { tune(settings, {1000, {}}); });
  };
  EXPECT_THAT(message(settings_of("dow", "0.1,1", "[vary]\n\"dimensions.context\" = [4, 8]\n")),
              HasSubstr("[vary] dimensions.context: regrets under its values belong to different problems"));
  EXPECT_THAT(message(settings_of("dow", "0.1", "")), HasSubstr("no policy of the study has two hyperparameters"));
  std::vector<PlannedSetting> settings = settings_of("dow", "0.1,1", "");
  settings[0].setting.study.regret = false;
  EXPECT_THAT(message(settings), HasSubstr("output.regret = false"));
}

class TuneCommand : public test::RunStudyTest {
 protected:
  test::ProgramResult tuned(const test::Words& more) {
    return run(joined({"tune", "study.toml", "--threads", "2", "--policy", "dow", "--quiet"}, more));
  }
};

// The printed options make a study with the judged lanes.
TEST_F(TuneCommand, SaysHowToRunTheWinners) {
  const test::ProgramResult result = tuned({"--budget", "100", "--set", "regimes=B"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const test::ProgramResult csv = tuned({"--budget", "100", "--set", "regimes=B", "--format", "csv"});
  EXPECT_THAT(
      csv.out,
      testing::StartsWith(
          "policy,reward,setting,hyperparameters,replications,failed,regret_x1000,half_width_95_x1000,out_after_round,"
          "chosen,judged_replications,judged_failed,judged_regret_x1000,judged_half_width_95_x1000,default,"
          "minus_chosen_x1000,minus_chosen_half_width_95_x1000\n"));
  const auto chosen = test::rows_of(csv.out).at(0);
  EXPECT_EQ(chosen.at("chosen"), "1");
  const std::string values = "hyperparameters.dow." + chosen.at("hyperparameters");
  EXPECT_THAT(result.out, HasSubstr("dow, known: --policy dow --set " + values));
  // The better of two values is always an end of the grid.
  EXPECT_THAT(result.out, HasSubstr("wider grid"));

  ASSERT_EQ(run(words("winner", {"--policy", "dow", "--set", "regimes=B", "--set", values})).exit_code, 0);
  double sum = 0.0;
  int rows = 0;
  for (const auto& row : test::rows_of(text("winner/summary.csv"))) {
    if (row.at("policy") != "dow" || row.at("reward") != "known") continue;
    sum += std::stod(row.at("regret_x1000"));
    ++rows;
  }
  EXPECT_EQ(rows, 4);  // two environments, two T_0
  EXPECT_NEAR(std::stod(chosen.at("judged_regret_x1000")), sum / rows, 1e-5);
}

TEST_F(TuneCommand, KeepsWhatItFoundInAFile) {
  const test::ProgramResult result =
      tuned({"--budget", "100", "--regime", "B", "--out", "t.json", "--set", "hyperparameters.c_rho=[0.1,3]"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("numbers 1000000000 to 10000000"));
  const std::string bytes = text("t.json");
  const nlohmann::json json = nlohmann::json::parse(bytes);
  EXPECT_EQ(json["first_replication_of_choice"], 1000000000);
  EXPECT_EQ(json["judged_replications"], 4);
  const nlohmann::json& race = json["races"][0];
  EXPECT_EQ(race["policy"], "dow");
  ASSERT_EQ(race["candidates"].size(), 2u);
  EXPECT_EQ(race["candidates"][1]["hyperparameters"], "c_rho=3");
  EXPECT_EQ(race["default"], 0);
  EXPECT_EQ(race["judged"]["regrets_x1000"].size(), 4u);
  EXPECT_THAT(race["run_options"].get<std::string>(), HasSubstr("--policy dow --set hyperparameters.dow.c_rho="));
  // The study in the output is the tuned one.
  write("again.toml", json["study_toml"].get<std::string>());
  ASSERT_EQ(run({"tune", "again.toml", "--threads", "1", "--quiet", "--budget", "100", "--out", "u.json"}).exit_code,
            0);
  EXPECT_EQ(text("u.json"), bytes);

  const test::Words again = {"tune", "study.toml", "--quiet", "--budget", "100", "--policy", "dow", "--out", "t.json"};
  expect_refusal(again, 2, {"--out t.json: is there already", "--force"});
  EXPECT_EQ(text("t.json"), bytes);
  EXPECT_EQ(run(joined(again, {"--force", "--periods", "40"})).exit_code, 0);
  EXPECT_NE(text("t.json"), bytes);
  expect_refusal({"tune", "study.toml", "--budget", "100", "--out", "study.toml", "--force"}, 2,
                 {"is the input study.toml itself"});
  expect_refusal({"tune", "study.toml", "--budget", "100", "--out", "nowhere/t.json"}, 2, {"cannot be written"});
  expect_refusal({"tune", "study.toml", "--budget", "100", "--out", ""}, 2, {"--out: names no file"});
}

TEST_F(TuneCommand, RefusesBadOptions) {
  expect_refusal({"tune", "study.toml"}, 2, {"--budget"});
  expect_refusal({"tune", "study.toml", "--budget", "0"}, 2, {"--budget 0: give the lanes"});
  expect_refusal({"tune", "study.toml", "--budget", "10", "--policy", "dow"}, 2,
                 {"--budget 10: 1 round of halving needs"});
  expect_refusal({"tune", "study.toml", "--budget", "100", "--format", "pdf"}, 2, {"pdf"});
  expect_refusal({"tune", "nowhere.toml", "--budget", "100"}, 2, {"nowhere.toml"});
  expect_refusal({"tune", "study.toml", "--budget", "100", "--policy", "frugalgpt"}, 2, {"no policy of the study"});
}

}  // namespace
}  // namespace pandora
