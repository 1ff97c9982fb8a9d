// `--plan` with `--extend` and `--resume` plans the missing lanes of a folder, and changes nothing in it.
#include "host/ground/files/system_limits.hpp"
#include "host/studies/run/forecast.hpp"
#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;
using test::Words;
using testing::HasSubstr;

class PlanOfMissing : public test::ManyRunsTest {
 protected:
  // The number behind a word of the plan.
  static double number(const std::string& plan, const std::string& word) {
    const std::size_t at = plan.find("\n" + word);
    EXPECT_NE(at, std::string::npos) << plan;
    return at == std::string::npos ? -1.0 : std::stod(plan.substr(at + 1 + word.size()));
  }
  std::string plan(const Words& more) {
    const test::ProgramResult result =
        run(joined({"run", "study.toml", "--threads", "2", "--plan", "--regime", "A"}, test::kFewSolves, more));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }
  void expect_plan(const Words& more, int units, int lanes, int parts) {
    SCOPED_TRACE(testing::PrintToString(more));
    const std::string found = plan(more);
    EXPECT_EQ(number(found, "units"), units) << found;
    EXPECT_EQ(number(found, "lanes"), lanes) << found;
    EXPECT_EQ(number(found, "policy-periods"), lanes * 40.0) << found;
    EXPECT_EQ(number(found, "parts"), parts) << found;
  }
};

TEST_F(PlanOfMissing, CountsWhatTheFolderLacks) {
  ASSERT_EQ(run(words("out", {"--regime", "A", "--replications", "2", "--policy", "dow"}, test::kFewSolves)).exit_code,
            0)
      << test::read_file(base_ / "err");
  const auto before = files(work() / "out");
  const std::string manifest = text("out/manifest.json");
  // There are two environments. A replication has lanes of the oracle and of DOW, with (2 + 2) choices at two T_0.
  const Words dow = {"--policy", "dow", "--replications"}, extend = {"--out", "out", "--extend"};
  expect_plan(joined(dow, {"2"}), 4, 4 * 9, 4);
  expect_plan(joined(dow, {"5"}, extend), 6, 6 * 9, 6);
  expect_plan(joined(dow, {"2", "--out", "out", "--resume"}), 0, 0, 0);
  // Adds a policy with known and unknown reward at two T_0 to the four existing units, and one replication to each
  // environment.
  expect_plan(joined({"--policy", "dow,online_plugin", "--replications", "3"}, extend), 6, 4 * 4 + 2 * 13, 6);
  expect_plan(joined(dow, {"2", "--out", "fresh"}, {"--extend"}), 4, 4 * 9, 4);
  EXPECT_THAT(plan(joined(dow, {"5"}, extend)), HasSubstr("missing           in out: 6 of 10 parts;"));
  EXPECT_FALSE(fs::exists(work() / "fresh"));
  EXPECT_EQ(files(work() / "out"), before);
  EXPECT_EQ(text("out/manifest.json"), manifest);
}

TEST_F(PlanOfMissing, RefusesWhatTheRunWouldRefuse) {
  const auto planned = [this](const std::string& folder, const std::string& policy) {
    return words(folder, {"--regime", "A", "--replications", "2", "--policy", policy}, test::kFewSolves);
  };
  const Words extended = {"--extend", "--plan"};
  ASSERT_EQ(run(planned("out", "dow")).exit_code, 0) << test::read_file(base_ / "err");
  expect_refusal(joined(planned("out", "dow"), extended, {"--seed", "6"}), 5, {"study.seed is 5 there and 6 here"});
  expect_refusal(joined(planned("out", "online_plugin"), extended), 5, {"dow", "results can grow but not shrink"});
  fs::create_directory(work() / "full");
  std::ofstream(work() / "full" / "letter.txt") << "dear\n";
  expect_refusal(joined(planned("full", "dow"), extended), 2, {"holds no results of this program"});
}

// Calibration periods are played and are part of every tape. The greater T_0 has 100,000 times the 10,000 periods of
// the probe.
TEST_F(PlanOfMissing, CountsCalibrationsInTimeAndMemoryAndWarnsOfTooMuch) {
  const Words few = {"--environment", "uniform", "--policy", "online_plugin", "--replications", "1"};
  const auto with_T0 = [&](const std::string& T0) { return plan(joined(few, {"--t0", T0})); };
  const std::string some = with_T0("10000"), many = with_T0("1000000000");
  EXPECT_GT(number(many, "estimated time"), 500.0 * std::max(number(some, "estimated time"), 0.02)) << many;
  EXPECT_GT(number(many, "memory"), 50.0) << many;
  EXPECT_THAT(some, Not(HasSubstr("this machine has")));
  const bool too_much = static_cast<double>(machine_memory()) < 50.0 * (1u << 30);
  EXPECT_EQ(many.find(" GiB per process at most, and this machine has ") != std::string::npos, too_much) << many;
}

// The plan has the memory that a lane by code declares. For a joint fit it has the size of its covariance.
TEST(PlannedMemoryOf, CodeAndJointFits) {
  const auto bytes = [](const std::string& policy) {
    StudyConfig config = StudyConfig::parse(test::kStudy, "study.toml");
    config.set("policies", policy, "");
    config.set("dimensions.context", "1500", "");
    config.set("T0", "0", "");
    const std::vector<PlannedSetting> settings = make_plans(config);
    const Study& study = settings[0].setting.study;
    return sweep_bytes(study, settings[0].plan, lane_groups(study, settings[0].plan), 1);
  };
  const std::uint64_t matrix = 1501 * 1501;
  EXPECT_GT(bytes("informed_weitzman"), 7 * 8 * matrix);
  EXPECT_LT(bytes("informed_weitzman"), 8 * 8 * matrix);
  EXPECT_GT(bytes("shrunk_weitzman"), 18 * 4 * matrix);
  EXPECT_LT(bytes("query_all"), 8 * 4 * matrix);
}

// A plan for a GPU that is not here. Replications go together if they fit into its memory, otherwise in halves.
TEST_F(PlanOfMissing, OfADeviceThatIsNotHere) {
  const Words base = {"--backend", "cuda", "--replications", "100", "--set", "engine.kind=blocked", "--device-memory"};
  const auto with = [&](const std::string& memory, const Words& more = {}) { return joined(base, {memory}, more); };
  const std::string large = plan(with("24")), small = plan(with("0.56"));
  EXPECT_THAT(large, HasSubstr("chunks            13 of up to 16 replications, 4 at a time"));
  EXPECT_THAT(large, HasSubstr("predicted from the machine code for an H100"));
  EXPECT_THAT(small, HasSubstr(", 1 at a time"));
  EXPECT_LE(number(small, "device memory"), 0.06) << small;
  EXPECT_GT(number(large, "device memory"), number(small, "device memory"));
  const auto refused = [&](const Words& more) {
    const test::ProgramResult result = run(joined({"run", "study.toml"}, more));
    EXPECT_NE(result.exit_code, 0);
    return result.err;
  };
  EXPECT_THAT(refused(with("0.5001", {"--plan"})), HasSubstr("one replication needs"));
  EXPECT_THAT(refused(with("24")), HasSubstr("goes with --plan --backend cuda"));
  EXPECT_THAT(refused({"--plan", "--device-memory", "24"}), HasSubstr("goes with --plan --backend cuda"));
  EXPECT_THAT(refused(with("24", {"--plan", "--precision", "double"})), HasSubstr("plan it with --backend cpu"));
  EXPECT_THAT(refused(with("24", {"--plan", "--shard", "0/2"})), HasSubstr("leave out --resume, --extend, --shard"));
  EXPECT_THAT(refused(with("inf", {"--plan"})), HasSubstr("up to 1e5"));
  EXPECT_THAT(refused(with("24", {"--plan", "--set", "output.regret=false"})), HasSubstr("simulates no lanes"));
}

}  // namespace
}  // namespace pandora
