// output.decisions: the decisions of lanes in each period, compared with `pandora explain` and with the lanes' sums.
#include <cmath>

#include "tests/host/studies/run/hdf5_dataset.hpp"
#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;
using test::Words;
using Decisions = test::RunStudyTest;

constexpr const char* kFile = "decisions/000-uniform-A-00001.h5";
const Words kKept = {"--set",   "output.decisions=true", "--regime", "A", "--environment",
                     "uniform", "--replications",        "2"};

TEST_F(Decisions, AreThoseThatExplainTells) {
  // There is one policy of each kind: rules that learn, a list, and code.
  write("study.toml", test::kStudy + "[output]\ninstances = false\n");
  const Words more = joined(kKept, {"--policy", "dow,frugalgpt,hindsight"});
  ASSERT_EQ(run(words("out", more)).exit_code, 0) << test::read_file(base_ / "err");
  std::vector<hsize_t> shape, of_lane;
  const std::vector<double> order = test::dataset(work() / "out" / kFile, "/order", shape),
                            reward = test::dataset(work() / "out" / kFile, "/reward", of_lane),
                            cost = test::dataset(work() / "out" / kFile, "/cost", of_lane);
  std::vector<std::string> lanes = split(run({"lanes", "out"}).out, '\n');
  std::erase_if(lanes, [](const std::string& lane) { return !lane.starts_with("uniform/A/1/"); });  // the replication's
  ASSERT_EQ(shape, (std::vector<hsize_t>{lanes.size(), 150, 3}));
  ASSERT_EQ(of_lane, (std::vector<hsize_t>{lanes.size(), 150}));
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    const auto told = nlohmann::json::parse(
        run({"explain", "out", "--lane", lanes[lane], "--period", "1:150", "--format", "json"}).out)["periods"];
    for (std::size_t t = 0; t < 150; ++t) {
      std::vector<double> wanted(3, 255.0);
      double spent = 0.0;
      for (std::size_t k = 0; k < told[t]["policy"]["queries"].size(); ++k) {
        const auto& query = told[t]["policy"]["queries"][k];
        wanted[k] = query["box"].get<double>() - 1.0 + (query["box"] == told[t]["policy"]["deployed"] ? 16.0 : 0.0);
        spent += query["cost"].get<double>();
      }
      const std::size_t at = lane * 150 + t;
      ASSERT_EQ(std::vector(order.begin() + static_cast<std::ptrdiff_t>(at * 3),
                            order.begin() + static_cast<std::ptrdiff_t>(at * 3 + 3)),
                wanted)
          << lanes[lane] << ", period " << t + 1;
      ASSERT_EQ(cost[at], static_cast<double>(static_cast<float>(spent)));
      ASSERT_EQ(reward[at], told[t]["reward"].get<double>());
    }
  }
}

TEST_F(Decisions, ChangeNoOtherNumberAndCountInTheChecksums) {
  ASSERT_EQ(run(words("with", kKept)).exit_code, 0);
  ASSERT_EQ(run(words("without", Words(kKept.begin() + 2, kKept.end()))).exit_code, 0);
  for (const std::string name : {"/summary.csv", "/curves.csv", "/boxes.csv", "/depth.csv", "/oracle.csv"})
    EXPECT_EQ(text("with" + name), text("without" + name)) << name;
  EXPECT_FALSE(fs::exists(work() / "without/decisions"));
  EXPECT_THAT(text("with/checksums.sha256"), testing::HasSubstr(kFile));
}

TEST_F(Decisions, AreMadeAnewWhereAFileIsDamagedAndGoWithTheirFolder) {
  ASSERT_EQ(run(words("reference", kKept)).exit_code, 0);
  ASSERT_EQ(run(words("out", kKept)).exit_code, 0);
  std::ofstream(work() / "out" / kFile) << "damaged";
  const test::ProgramResult mended = run(words("out", kKept, {"--resume"}));
  ASSERT_EQ(mended.exit_code, 0) << mended.err;
  EXPECT_NE(mended.err.find(kFile), std::string::npos) << mended.err;
  expect_same(work() / "out", work() / "reference");
  // A run that replaces it and keeps no decisions leaves none.
  ASSERT_EQ(run(words("out", {"--regime", "A"}, {"--force"})).exit_code, 0);
  EXPECT_TRUE(!fs::exists(work() / "out/decisions") || fs::is_empty(work() / "out/decisions"));
}

}  // namespace
}  // namespace pandora
