// Compares the search for u with a plain simulation of the oracle at the found u.
#include <algorithm>

#include "host/studies/results/summary.hpp"
#include "host/studies/run/oracle_alone.hpp"
#include "tests/host/studies/study/study_texts.hpp"
#include "tests/reference/naive_index.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {

CostSearch small_search(double wanted) {
  CostSearch search;
  search.dimensions = test::small_dimensions(3, 4, 3);
  search.wanted_boxes = wanted;
  search.replications = 6;
  search.contexts = 60;
  search.seed = 71;
  search.oracle = test::small_oracle();
  search.oracle.bins = search.oracle.samples;  // no compression, so that the plain simulation sees the same law
  return search;
}

// The sigma for which the mean of (G(l + s w) - sigma)^+ is the cost.
double plain_index(const ShockSample& sample, double shift, double scale, double cost) {
  std::vector<double> g;
  for (const float w : sample.projected) g.push_back(naive::G(shift + scale * static_cast<double>(w)));
  return naive::reservation_index(g, std::vector<double>(g.size(), 1.0 / static_cast<double>(g.size())), cost);
}

// The number of boxes that Weitzman's rule opens per period, in replications with costs drawn by this u.
double plain_boxes(const CostSearch& search, double u) {
  Environment environment = paper_environments()[0];
  environment.cost_level = u;
  double opened = 0.0;
  for (const Regime regime : search.regimes)
    for (int r = 0; r < search.replications; ++r) {
      const Instance instance =
          draw_instance(search.dimensions, environment, regime, static_cast<std::uint32_t>(r), search.seed);
      const ShockSample sample = draw_shock_sample(instance, search.oracle.samples);
      const Tape tape = draw_tape(instance, 0, search.contexts);
      const IndexInputs inputs = index_inputs(instance, sample, tape.contexts);
      std::vector<double> sigma(3);
      for (int row = 1; row <= search.contexts; ++row) {  // row 0 is x_0
        if (row == 1 || regime == Regime::B)
          for (int a = 0; a < 3; ++a)
            sigma[a] = plain_index(sample, tape.contexts.reward_shift[row], inputs.scale[tape.at(row, a)],
                                   inputs.cost[tape.at(row, a)]);
        std::vector<int> order = {0, 1, 2};
        std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return sigma[a] > sigma[b]; });
        double best = -1.0;
        for (int k = 0; k < 3 && (k == 0 || best < sigma[order[k]]); ++k) {
          opened += 1.0;
          best = std::max(best, tape.mu[tape.at(row, order[k])]);
        }
      }
    }
  return opened / (search.regimes.size() * search.replications * static_cast<double>(search.contexts));
}

TEST(CalibrateCost, OpensTheWantedNumberOfBoxes) {
  CostSearch search = small_search(1.5);
  const CostSearchResult found = calibrate_cost(paper_environments()[0], search);
  // With 12 replications of 60 periods, one decision counts 1/720.
  EXPECT_NEAR(found.boxes, 1.5, 4.0 / 720.0);
  EXPECT_NEAR(found.boxes, plain_boxes(search, found.u), 1.5 / 720.0);
  EXPECT_GT(found.half_width_95, 0.0);
  // The wanted number is crossed within the tolerance of u.
  EXPECT_GE(plain_boxes(search, found.u - 1e-3), 1.5 - 1e-9);
  EXPECT_LE(plain_boxes(search, found.u + 1e-3), 1.5 + 1e-9);
}

TEST(CalibrateCost, DearerBoxesAreOpenedLess) {
  const double few = calibrate_cost(paper_environments()[0], small_search(1.3)).u;
  const double middle = calibrate_cost(paper_environments()[0], small_search(1.6)).u;
  const double many = calibrate_cost(paper_environments()[0], small_search(2.0)).u;
  EXPECT_GT(few, middle);
  EXPECT_GT(middle, many);
}

// Progress reports each piece of work once, up to the last. The same seed gives the same result on any number of
// threads.
TEST(CalibrateCost, TellsItsProgressAndDoesNotDependOnThreads) {
  const CostSearchResult one = calibrate_cost(paper_environments()[0], small_search(1.5));
  for (const int threads : {1, 3}) {
    CostSearch search = small_search(1.5);
    search.threads = threads;
    std::size_t calls = 0, last = 0;
    search.progress = [&](std::size_t done, std::size_t total) {
      EXPECT_EQ(done, ++calls);
      last = total;
    };
    const CostSearchResult found = calibrate_cost(paper_environments()[0], search);
    EXPECT_EQ(found.u, one.u);
    EXPECT_EQ(found.boxes, one.boxes);
    EXPECT_EQ(found.half_width_95, one.half_width_95);
    EXPECT_EQ(calls, last);
    EXPECT_EQ(last, 12u * 18u);
  }
}

TEST(CalibrateCost, PoolsTheRegimesThatAreGiven) {
  CostSearch search = small_search(1.5);
  search.regimes = {Regime::A};
  const double A = calibrate_cost(paper_environments()[0], search).u;
  search.regimes = {Regime::B};
  const double B = calibrate_cost(paper_environments()[0], search).u;
  const double both = calibrate_cost(paper_environments()[0], small_search(1.5)).u;
  EXPECT_NE(A, B);
  EXPECT_GE(both, std::min(A, B) - 1e-3);
  EXPECT_LE(both, std::max(A, B) + 1e-3);
}

TEST(CalibrateCost, RefusesWhatCannotBeReached) {
  for (const double wanted : {0.5, 3.5})
    EXPECT_THAT(test::refusal([&] { calibrate_cost(paper_environments()[0], small_search(wanted)); }),
                testing::HasSubstr("--boxes"));
}

}  // namespace
}  // namespace pandora
