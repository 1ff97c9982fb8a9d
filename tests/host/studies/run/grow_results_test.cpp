// Results that grow: whatever the steps to a study's full size, the bytes are those of a single run.
#include <fmt/ranges.h>

#include <algorithm>
#include <random>

#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;
using test::Words;
using testing::HasSubstr;

using GrowResults = test::ManyRunsTest;

// A study may grow by items of its lists, and by R.
struct Size {
  std::vector<std::string> T0, environments, regimes, policies, c_rho, c_theta;
  int replications = 1;

  std::vector<std::vector<std::string>*> lists() { return {&T0, &environments, &regimes, &policies, &c_rho, &c_theta}; }
  Words options() const {
    Words out = {"--replications", std::to_string(replications), "--set", "output.estimates=true",
                 "--set",          "output.decisions=true"};
    for (const auto& [key, items] :
         {std::pair("T0", &T0), std::pair("environments", &environments), std::pair("regimes", &regimes),
          std::pair("policies", &policies), std::pair("hyperparameters.c_rho", &c_rho),
          std::pair("hyperparameters.c_theta", &c_theta)})
      out = joined(out, {"--set", fmt::format("{}={}", key, fmt::join(*items, ","))});
    return out;
  }
};

Size whole(int replications = 5) {
  return {{"0", "7", "3"}, {"uniform", "student_t5"},
          {"A", "B"},      {"online_plugin", "dow", "frugalgpt", "best_single"},
          {"0.1", "1"},    {"0.1", "1"},
          replications};
}

// A random sequence of studies from a small one to the whole. Their lists have any order.
std::vector<Size> way(std::mt19937_64& random, const Size& to) {
  Size now = to;
  std::vector<Size> back = {now};
  const auto pick = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int step = 0; step < 3; ++step) {
    for (int items = 0; items < 3; ++items) {
      std::vector<std::string>& list = *now.lists()[pick(6)];
      if (list.size() > 1) list.erase(list.begin() + static_cast<std::ptrdiff_t>(pick(list.size())));
    }
    now.replications = 1 + static_cast<int>(pick(static_cast<std::size_t>(now.replications)));
    back.push_back(now);
    for (std::vector<std::string>* list : back.back().lists()) std::shuffle(list->begin(), list->end(), random);
  }
  std::reverse(back.begin(), back.end());
  return back;
}

TEST_F(GrowResults, InTenRandomOrdersToTheSameBytes) {
  // Draws take most of the time, so there are only as many replications as three steps need.
  const Size all = whole(3);
  Words light = joined(test::kFewSolves, {"--set", "dimensions.context=4", "--set", "dimensions.output=4"});
  run_reference(joined(all.options(), light));
  for (int seed = 0; seed < 10; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const std::string folder = "grown" + std::to_string(seed);
    for (const Size& size : way(random, all)) {
      const test::ProgramResult result = run(words(folder, joined(size.options(), light, {"--extend"})));
      ASSERT_EQ(result.exit_code, 0) << result.err;
      EXPECT_EQ(result.err, "");  // nothing counts as damaged
    }
    expect_same(work() / folder, work() / "reference");
    EXPECT_EQ(manifest(folder)["identity"], manifest("reference")["identity"]);
    EXPECT_EQ(manifest(folder)["sessions"].size(), 4u);
    fs::remove_all(work() / folder);
  }
}

TEST_F(GrowResults, RunsOnlyWhatIsMissing) {
  Size size = whole();
  size.T0 = {"0"};
  ASSERT_EQ(run(words("out", size.options())).exit_code, 0);
  size.T0 = {"0", "7"};
  Words more = words("out", size.options(), {"--extend"});
  std::erase(more, "--quiet");
  const test::ProgramResult result = run(more);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  // At T_0 = 7 there are 2 lanes of the plug-in, 2 and 4 of DOW, and 1 of FrugalGPT, in 4 groups of 5 replications.
  EXPECT_THAT(result.err, HasSubstr(" of " + std::to_string((2 + 2 + 4 + 1) * 4 * 5) + " lanes"));
}

// A run that is killed half way has extended only some parts.
TEST_F(GrowResults, AMixtureOfGrownAndOldPartsResumes) {
  Size small = whole();
  small.policies = {"dow"};
  small.replications = 3;
  ASSERT_EQ(run(words("small", small.options())).exit_code, 0);
  ASSERT_EQ(run(words("reference", whole().options())).exit_code, 0);
  fs::copy(work() / "reference", work() / "mixed", fs::copy_options::recursive);
  for (const char* part : {"000-uniform-A-00000.part", "000-student_t5-B-00002.part"})
    fs::copy_file(work() / "small" / "parts" / part, work() / "mixed" / "parts" / part,
                  fs::copy_options::overwrite_existing);
  fs::remove(work() / "mixed" / "parts" / "000-uniform-B-00004.part");
  ASSERT_EQ(run(joined(words("mixed", whole().options()), {"--resume"})).exit_code, 0);
  expect_same(work() / "mixed", work() / "reference");
}

// Above 50 replications a part has more than one. The last part grows with R.
TEST_F(GrowResults, APartThatWasCutShortGrows) {
  const Words tiny = {"--policy", "best_single", "--regime", "A",    "--environment",
                      "uniform",  "--periods",   "10",       "--t0", "0"};
  const auto sized = [&](const std::string& folder, const char* R) {
    return words(folder, joined(tiny, {"--replications", R, "--extend"}));
  };
  for (const char* R : {"51", "54", "57"}) ASSERT_EQ(run(sized("grown", R)).exit_code, 0);
  ASSERT_EQ(run(sized("once", "57")).exit_code, 0);
  expect_same(work() / "grown", work() / "once");
  EXPECT_TRUE(fs::exists(work() / "once" / "parts" / "000-uniform-A-00056.part"));
  EXPECT_FALSE(fs::exists(work() / "once" / "parts" / "000-uniform-A-00055.part"));
}

TEST_F(GrowResults, WhatCannotGrowIsRefusedAndNothingIsTouched) {
  ASSERT_EQ(run(words("out", whole().options())).exit_code, 0);
  const auto before = files(work() / "out");
  const auto expect_mismatch = [&](const Size& size, const Words& more, const std::vector<std::string>& parts) {
    expect_refusal(words("out", joined(size.options(), more, {"--extend"})), 5, parts);
    EXPECT_TRUE(files(work() / "out") == before) << more[0];
  };
  expect_mismatch(whole(), {"--seed", "6"}, {"study.seed is 5 there and 6 here"});
  expect_mismatch(whole(), {"--periods", "151"}, {"study.periods"});
  expect_mismatch(whole(), {"--set", "dimensions.context=13"}, {"study.dimensions.context"});
  expect_mismatch(whole(), {"--refit", "tracking"}, {"study.estimation.refit"});
  expect_mismatch(whole(), {"--set", "environment.uniform.u=0.5"}, {"[environment.uniform]"});
  Size fewer = whole();
  fewer.T0 = {"0", "7"};
  expect_mismatch(fewer, {"--quiet"},
                  {"lane 3/dow/known/c_rho=0.1, which the study does not have", "results can grow but not shrink"});
  fewer = whole();
  fewer.environments = {"uniform"};
  expect_mismatch(fewer, {"--quiet"}, {"000-student_t5-A-00000.part", "results can grow but not shrink"});
  fewer = whole();
  fewer.replications = 4;
  expect_mismatch(fewer, {"--quiet"}, {"5 replications there, 4 here", "results can grow but not shrink"});
  expect_refusal({"run", "study.toml", "--extend"}, 2, {"--extend", "--out"});
  expect_refusal({"run", "study.toml", "--extend", "--resume", "--out", "out"}, 2, {"--resume, --extend and --force"});
}

// Without its manifest, a folder does not shrink either. A report on its earlier results is removed.
TEST_F(GrowResults, ADamagedManifestDoesNotLetResultsShrink) {
  ASSERT_EQ(run(words("out", {"--replications", "3", "--environment", "uniform", "--report"})).exit_code, 0);
  EXPECT_TRUE(fs::exists(work() / "out" / "report" / "report.html"));
  ASSERT_EQ(run(words("out", {"--replications", "4", "--environment", "uniform", "--extend"})).exit_code, 0);
  EXPECT_FALSE(fs::exists(work() / "out" / "report" / "report.html"));
  std::ofstream(work() / "out" / "manifest.json", std::ios::app) << "x";
  const auto before = files(work() / "out");
  const test::ProgramResult result = run(words("out", {"--replications", "3", "--environment", "uniform", "--resume"}));
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.err,
              HasSubstr("00003.part: is of an environment, regime or replication that the study does not have"));
  EXPECT_TRUE(files(work() / "out") == before);
}

// A run may extend the resolved study in the folder.
TEST_F(GrowResults, FromTheFoldersOwnStudy) {
  ASSERT_EQ(run(words("out", {"--replications", "2"})).exit_code, 0);
  ASSERT_EQ(run(words("once", {"--replications", "3"})).exit_code, 0);
  ASSERT_EQ(run({"run", "out/study.toml", "--quiet", "--out", "out", "--extend", "--replications", "3"}).exit_code, 0);
  expect_same(work() / "out", work() / "once");
}

}  // namespace
}  // namespace pandora
