// `pandora oracle grid` stores the tables that a sweep looks up, and it exports the tables that it stores.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "host/studies/sweep/oracle_cache.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "host/studies/sweep/sweep.hpp"
#include "pandora/environment.hpp"
#include "tests/host/cli/cli_words.hpp"
#include "tests/host/studies/run/hdf5_dataset.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;
using test::Words;
using testing::HasSubstr;

class CliOracleGrid : public test::ProgramTest {
 protected:
  // Makes the smallest tables of both regimes.
  static Words small(const Words& more = {}) {
    return joined(
        words_of(
            "oracle grid --environment gaussian --replications 2 --periods 60 --samples 1000 --grid 5x4x6 --bins 100 "
            "--seed 3 --set dimensions.radius_draws=2000"),
        more);
  }
  static Study study() {
    Study study;
    study.environments = {*find_environment("gaussian")};
    study.T0 = {0, 7};
    study.replications = 2;
    study.periods = 60;
    study.dimensions.radius_draws = 2000;
    study.seed = 3;
    study.oracle = {1000, {5, 4, 6}, 100};
    return study;
  }
};

std::vector<double> doubles_in(const fs::path& path, const std::string& name, const std::vector<hsize_t>& shape) {
  std::vector<hsize_t> found;
  const std::vector<double> out = test::dataset(path, name, found);
  EXPECT_EQ(found, shape) << name;
  return out;
}

TEST_F(CliOracleGrid, StoresWhatASweepLooksUp) {
  const test::ProgramResult result = run(small({"--cache", "tables"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("4 tables: 0 were in tables, 4 are new"));
  EXPECT_EQ(test::names_in(work() / "tables").size(), 4u);
  OracleCache cache(work() / "tables", cpu_numerics());
  const Study settings = study();
  const Plan plan = make_plan(settings);
  for (const Unit& unit : plan.units) {
    const Replication replication = prepare_replication(settings, plan, unit, nullptr);
    const Contexts& contexts = replication.tape.contexts;
    const int first_row = replication.tape.online_row(0);
    EXPECT_GT(first_row, 1);
    const OracleTable table = cache.get(replication.instance, contexts, settings.oracle, first_row,
                                        []() -> OracleTable { throw std::runtime_error("it is not there"); });
    const std::vector<double> sigma = table.indices(replication.instance, contexts, first_row);
    ASSERT_EQ(sigma.size(), replication.sigma.size());
    const std::size_t first = static_cast<std::size_t>(first_row) * 3;
    EXPECT_EQ(
        std::memcmp(sigma.data() + first, replication.sigma.data() + first, (sigma.size() - first) * sizeof(double)),
        0);
  }
  EXPECT_EQ(cache.hits(), 4u);
  EXPECT_THAT(run(small({"--cache", "tables"})).out, HasSubstr("4 tables: 4 were in tables, 0 are new"));
}

TEST_F(CliOracleGrid, ExportsEveryTableWithItsMeaning) {
  ASSERT_EQ(run(small({"--out", "a.h5"})).exit_code, 0);
  EXPECT_EQ(test::names_in(work()).size(), 1u);
  const fs::path path = work() / "a.h5";
  const Study settings = study();
  const Plan plan = make_plan(settings);
  const std::vector<double> sigma_a = doubles_in(path, "/gaussian/A/sigma", {2, 3}),
                            sigma_b = doubles_in(path, "/gaussian/B/sigma", {2, 5, 4, 6}),
                            shift = doubles_in(path, "/gaussian/B/shift", {2, 5}),
                            scale = doubles_in(path, "/gaussian/B/scale", {2, 4}),
                            cost = doubles_in(path, "/gaussian/B/cost", {2, 6}),
                            norm = doubles_in(path, "/gaussian/B/projection_norm", {2}),
                            norm_a = doubles_in(path, "/gaussian/A/projection_norm", {2}),
                            s = doubles_in(path, "/gaussian/B/output_cost_scale", {2, 17}),
                            output_cost = doubles_in(path, "/gaussian/B/output_cost", {2, 3, 17});
  for (const Unit& unit : plan.units) {
    const Replication replication = prepare_replication(settings, plan, unit, nullptr);
    const ShockSample sample = draw_shock_sample(replication.instance, 1000);
    const std::size_t r = unit.replication;
    if (unit.regime == Regime::A) {
      EXPECT_EQ(norm_a[r], sample.projection_norm);
      for (std::size_t a = 0; a < 3; ++a)
        EXPECT_EQ(sigma_a[r * 3 + a],
                  replication.sigma[static_cast<std::size_t>(replication.tape.online_row(0)) * 3 + a]);
      continue;
    }
    EXPECT_EQ(norm[r], sample.projection_norm);
    // A node in the middle is solved directly.
    const ProjectedLaw law = compressed_law(sample.projected, 100);
    ReservationSolver solver(law);
    solver.evaluate(shift[r * 5 + 2], scale[r * 4 + 1]);
    EXPECT_NEAR(sigma_b[((r * 5 + 2) * 4 + 1) * 6 + 3], solver.index(cost[r * 6 + 3]), 1e-12);
    double mean = 0.0;
    for (const double term : sample.cost_terms[1]) mean += 1.0 / (1.0 + std::exp(-s[r * 17 + 4] * term)) / 1000.0;
    EXPECT_NEAR(output_cost[(r * 3 + 1) * 17 + 4], mean, 1e-7);
  }
  // A second run gives the same bytes, also from the cache and with any number of threads.
  const std::string bytes = test::read_file(path);
  for (int i = 0; i < 2; ++i) {
    const Words again = small({"--out", "b.h5", "--cache", "c", "--force", "--threads", std::to_string(1 + 2 * i)});
    ASSERT_EQ(run(again).exit_code, 0);
    EXPECT_EQ(test::read_file(work() / "b.h5"), bytes);
  }
}

// The exported file suffices to compute a context's index without this program.
TEST_F(CliOracleGrid, ExportsWhatTurnsAContextIntoItsIndex) {
  ASSERT_EQ(run(small({"--out", "a.h5", "--set", "environment.gaussian.reward_link=algebraic"})).exit_code, 0);
  const fs::path path = work() / "a.h5";
  Study settings = study();
  settings.environments[0].reward_link = RewardLink::algebraic;
  const Plan plan = make_plan(settings);
  for (const std::string regime : {"A", "B"}) {
    const std::string group = "/gaussian/" + regime;
    EXPECT_EQ(test::text_attribute(path, group, "reward_link"), "algebraic");
    EXPECT_EQ(test::text_attribute(path, group, "G"), "1/2 + z / (2 (2 + |z|))");
    EXPECT_EQ(test::text_attribute(path, group + "/contexts/expected_cost", "units"), "reward");
    const auto of = [&](const std::string& name, std::vector<hsize_t> shape) {
      shape.insert(shape.begin(), 2);
      return doubles_in(path, group + "/" + name, shape);
    };
    const std::vector<double> x = of("contexts/x", {60, 100}), shift = of("contexts/shift", {60}),
                              scale = of("contexts/scale", {60, 3}), cost = of("contexts/expected_cost", {60, 3}),
                              sigma = of("contexts/sigma", {60, 3}), theta_Q = of("theta_Q", {100}),
                              alpha = of("alpha", {3, 100}), beta0 = of("beta0", {3, 100}), c0 = of("c0", {3}),
                              c1 = of("c1", {3}), coefficients = of("output_cost_coefficients", {3, 17}),
                              domain = of("output_cost_domain", {2});
    const auto dot = [&x](const std::vector<double>& with, std::size_t row, std::size_t at) {
      double sum = 0.0;
      for (std::size_t j = 0; j < 100; ++j) sum += with[row * 100 + j] * x[at * 100 + j];
      return sum;
    };
    const auto logistic = [](double z) { return 1.0 / (1.0 + std::exp(-z)); };
    for (std::size_t r = 0; r < 2; ++r) {
      const Replication replication =
          prepare_replication(settings, plan, plan.units[(regime == "A" ? 0 : 2) + r], nullptr);
      for (std::size_t row = 0; row < 60; row += 7) {
        const std::size_t at = r * 60 + row;
        EXPECT_NEAR(shift[at], dot(theta_Q, r, at), 1e-5);
        for (std::size_t a = 0; a < 3; ++a) {
          const std::size_t box = r * 3 + a;
          EXPECT_NEAR(scale[at * 3 + a], 0.5 + logistic(dot(alpha, box, at)), 1e-6);
          const double place =  // from -1 to 1 within the domain
              (2.0 * scale[at * 3 + a] - domain[2 * r] - domain[2 * r + 1]) / (domain[2 * r + 1] - domain[2 * r]);
          const double angle = std::acos(std::clamp(place, -1.0, 1.0));
          double output = 0.0;
          for (int j = 0; j < 17; ++j)
            output += coefficients[box * 17 + static_cast<std::size_t>(j)] * std::cos(j * angle);
          EXPECT_NEAR(cost[at * 3 + a], c0[box] * logistic(dot(beta0, box, at)) + c1[box] * output, 1e-6);
          EXPECT_EQ(sigma[at * 3 + a],
                    replication.sigma[replication.tape.at(replication.tape.online_row(static_cast<int>(row)), 0) + a]);
        }
      }
    }
  }
}

TEST_F(CliOracleGrid, NamesDamagedEntriesAndReplacesThem) {
  ASSERT_EQ(run(small({"--cache", "c"})).exit_code, 0);
  const fs::path victim = fs::directory_iterator(work() / "c")->path();
  const std::string bytes = test::read_file(victim);
  fs::resize_file(victim, bytes.size() / 2);
  const test::ProgramResult result = run(small({"--cache", "c"}));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.error_lines(), 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr(victim.filename().string() + ": is truncated"));
  EXPECT_THAT(result.out, HasSubstr("3 were in c, 1 are new"));
  EXPECT_EQ(test::read_file(victim), bytes);
}

// The study's file decides which tables are made. Its settings share a cache, and stand side by side in the export.
TEST_F(CliOracleGrid, TakesAStudyAndServesItsRuns) {
  std::ofstream(work() / "study.toml") << R"(replications = 2
periods = 60
T0 = [0, 7]
environments = ["skewed"]
policies = ["query_all"]
[dimensions]
boxes = 4
context = 8
radius_draws = 2000
reward_features = 3
[oracle]
samples = 1000
grid = [5, 4, 6]
bins = 100
[output]
order = false
[environment.skewed]
law = "gaussian"
u = 0.1
stream = 30
[vary]
oracle.samples = [1000, 2000]
)";
  ASSERT_EQ(run({"run", "study.toml", "--quiet", "--out", "plain"}).exit_code, 0);
  EXPECT_THAT(output({"oracle", "grid", "study.toml", "--cache", "tables", "--out", "a.h5"}),
              HasSubstr("8 tables: 0 were in tables, 8 are new"));
  doubles_in(work() / "a.h5", "/001/skewed/B/sigma", {2, 5, 4, 6});
  EXPECT_EQ(doubles_in(work() / "a.h5", "/000/skewed/A/sigma", {2, 4}).size(), 8u);
  ASSERT_EQ(run({"run", "study.toml", "--quiet", "--out", "cached", "--oracle-cache", "tables"}).exit_code, 0);
  EXPECT_EQ(test::names_in(work() / "tables").size(), 8u);  // the run found every table
  EXPECT_EQ(test::read_file(work() / "cached" / "summary.csv"), test::read_file(work() / "plain" / "summary.csv"));
  // Table 3 and the check use the study too.
  EXPECT_THAT(output({"oracle", "order", "study.toml", "--contexts", "20"}),
              testing::AllOf(HasSubstr("==== oracle.samples=2000 ===="), HasSubstr("skewed, regime B")));
  EXPECT_THAT(output({"oracle", "check", "study.toml", "--contexts", "20", "--solves", "2", "--regime", "B"}),
              testing::AllOf(HasSubstr("whole sample of 2000; grid 5x4x6"), HasSubstr("skewed"),
                             HasSubstr("each of 3 replications")));
  expect_refusal({"oracle", "grid", "nowhere.toml", "--cache", "c"}, 2, {"nowhere.toml", "cannot be read"});
  expect_refusal({"oracle", "grid", "", "--cache", "c"}, 2, {"empty name"});
  EXPECT_THAT(
      output(words_of("oracle order --environment uniform --environment gaussian --replications 1 --contexts 20 "
                      "--samples 1000")),
      testing::AllOf(HasSubstr("uniform, regime A"), HasSubstr("gaussian, regime B")));
}

// If each box has its own shift, theta_Q has a row for each box, and the indices are those of a run. The same holds for
// a linear mu*.
TEST_F(CliOracleGrid, ExportsTheLocationOfEachBox) {
  const std::string of = "environment.gaussian.";
  ASSERT_EQ(run(small({"--out", "a.h5", "--set", of + "location=own", "--set", of + "reward_link=linear"})).exit_code,
            0);
  const fs::path path = work() / "a.h5";
  EXPECT_EQ(test::text_attribute(path, "/gaussian/B", "G"), "min(max(1/2 + z / 10, 0), 1)");
  const std::vector<double> x = doubles_in(path, "/gaussian/B/contexts/x", {2, 60, 100}),
                            shift = doubles_in(path, "/gaussian/B/contexts/shift", {2, 60, 3}),
                            theta_Q = doubles_in(path, "/gaussian/B/theta_Q", {2, 3, 100}),
                            sigma = doubles_in(path, "/gaussian/B/contexts/sigma", {2, 60, 3});
  Study settings = study();
  for (Environment& own : settings.environments) own.location = Location::own, own.reward_link = RewardLink::linear;
  const Plan plan = make_plan(settings);
  for (std::size_t r = 0; r < 2; ++r) {
    const Replication replication = prepare_replication(settings, plan, plan.units[2 + r], nullptr);
    for (std::size_t row = 0; row < 60; row += 7)
      for (std::size_t a = 0; a < 3; ++a) {
        const std::size_t at = (r * 60 + row) * 3 + a;
        double sum = 0.0;
        for (std::size_t j = 0; j < 100; ++j) sum += theta_Q[(r * 3 + a) * 100 + j] * x[(r * 60 + row) * 100 + j];
        EXPECT_NEAR(shift[at], sum, 1e-5);
        EXPECT_EQ(sigma[at],
                  replication.sigma[replication.tape.at(replication.tape.online_row(static_cast<int>(row)), 0) + a]);
      }
  }
}

TEST_F(CliOracleGrid, RefusesBeforeAnyWork) {
  expect_refusal(small({"--out", "a.h5", "--set", "environment.gaussian.indices=linear"}), 2,
                 {"environment gaussian", "draws its indices", "leave it out"});
  expect_refusal(small(), 2, {"--cache", "--out", "nowhere"});
  expect_refusal(small({"--out", "gone/a.h5"}), 2, {"gone/a.h5", "cannot be written"});
  expect_refusal(small({"--out", "."}), 2, {"folder"});
  std::ofstream(work() / "b.h5") << "mine";
  expect_refusal(small({"--out", "b.h5"}), 2, {"--out b.h5: is there already", "--force"});
  fs::remove(work() / "b.h5");
  expect_refusal(small({"--cache", "/proc/pandora"}), 2, {"/proc/pandora", "cannot be created"});
  for (const auto& [option, part] :
       std::vector<std::pair<std::string, std::string>>{{"--replications 0", "at least 1"},
                                                        {"--periods 0", "at least 1"},
                                                        {"--samples 999", "at least 1000"},
                                                        {"--bins -1", "at least 0"},
                                                        {"--threads -1", "at least 0"},
                                                        {"--grid 5x5", "LxSxC"},
                                                        {"--seed -1", "2^64 - 1"},
                                                        {"--regime C", "use A, B"},
                                                        {"--environment cauchy", "gaussian"},
                                                        {"--set oracle.samples=1", "at least 1000"},
                                                        {"--set periods", "key=value"}})
    expect_refusal(words_of("oracle grid --cache c " + option), 2, {option, part});
  EXPECT_EQ(test::names_in(work()).size(), 0u);
}

TEST_F(CliOracleGrid, AFullDiskIsALoss) {
  const test::ProgramResult cache = run(small({"--cache", "c"}), 1500);
  EXPECT_EQ(cache.exit_code, 6);
  EXPECT_EQ(cache.error_lines(), 2) << cache.err;  // one line on the entry, and one on the end
  EXPECT_THAT(cache.err, HasSubstr("could not be written (File too large)"));
  EXPECT_THAT(cache.err, HasSubstr("--cache c"));
  const test::ProgramResult file = run(small({"--out", "a.h5"}), 1500);
  EXPECT_EQ(file.exit_code, 6);
  EXPECT_EQ(file.error_lines(), 1) << file.err;
  EXPECT_THAT(file.err, HasSubstr("a.h5: could not be written"));
  EXPECT_FALSE(fs::exists(work() / "a.h5"));
}

TEST_F(CliOracleGrid, InterruptKeepsWhatIsStored) {
  const pid_t child =
      start(words_of("oracle grid --environment uniform --regime A --replications 4000 --periods 10 "
                     "--samples 1000 --cache c --threads 1"));
  for (int i = 0; i < 1000 && (!fs::exists(work() / "c") || test::names_in(work() / "c").size() < 2); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ::kill(child, SIGINT);
  const test::ProgramResult result = wait_for(child);
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(result.error_lines(), 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("tables in c stay"));
  EXPECT_GE(test::names_in(work() / "c").size(), 2u);
}

}  // namespace
}  // namespace pandora
