// What routing pays on tables that real models made, where they are (../shared/data beside the repository).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "host/cascades/fits/trace_check.hpp"
#include "host/outcomes/routing/routing.hpp"
#include "host/outcomes/tables/read_trace.hpp"

namespace pandora {
namespace {

class HeadroomDataTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder_)) GTEST_SKIP() << folder_ << " is not here";
  }
  TraceTable read(const std::string& name) const { return read_trace(folder_ / (name + ".jsonl")); }
  static double mean_of_utility(const Routed& routed, double price) {
    double sum = 0.0;
    for (const double u : routed.utility(price)) sum += u;
    return sum / static_cast<double>(routed.calls.size());
  }

  const std::filesystem::path folder_ = std::filesystem::path(PANDORA_SOURCE) / "../shared/data/llm_traces";
};

// In hindsight, by a few lines of Python: the index policy above the best single model, and the bound above it.
TEST_F(HeadroomDataTest, FourModels) {
  const TraceTable table = read("paretobandit_test_k4");
  const std::vector<Headroom> headrooms = measure_headroom(table, "quality", {5.0, 50.0});
  const double gain[] = {0.033251734941, 0.023991464027}, below_bound[] = {0.008259190463, 0.020168634969};
  const Outcomes outcomes{table.models.size(), table.quality, table.quality, table.cost};
  const std::vector<std::size_t> rows = all_rows(table.rows());
  for (std::size_t p = 0; p < 2; ++p) {
    const Headroom& h = headrooms[p];
    const double index = mean_of_utility(evaluate(outcomes, fit_model_indices(outcomes, h.price, rows), rows), h.price);
    EXPECT_NEAR(index - h.single_in_hindsight.value, gain[p], 1e-9) << h.price;
    EXPECT_NEAR(h.bound.utility.value - index, below_bound[p], 1e-9) << h.price;
    EXPECT_NEAR(h.index_policy.gain.value, gain[p], 0.002) << h.price;  // out of sample
    EXPECT_GE(h.fixed_cascade.utility.value, h.index_policy.utility.value) << h.price;
    EXPECT_THAT(verdict(h, table, "quality"), testing::StartsWith("routing can pay up to")) << h.price;
  }
}

TEST_F(HeadroomDataTest, AJudgeThatIsCheaperDoesNotPayAndTheTruthDoes) {
  for (const char* name : {"paretobandit_judged_test_k3", "paretobandit_judged_val_k3"}) {
    const TraceTable table = read(name);
    const Headroom judged = measure_headroom(table, "score", {5.0})[0];
    EXPECT_THAT(verdict(judged, table, "score"),
                testing::StartsWith("no cascade is better than mistralai/mistral-large-2512"));
    EXPECT_TRUE(measure_headroom(table, "quality", {5.0})[0].pays());
  }
}

// Measured by another program: 0.9176 with indices of calibrated scores that were fitted on other prompts, 0.9197
// alone.
TEST_F(HeadroomDataTest, IndicesOfCalibratedScores) {
  const TraceTable table = read("paretobandit_judged_test_k3");
  const Headroom judged = measure_headroom(table, "score", {5.0})[0];
  EXPECT_NEAR(judged.index_policy.utility.value, 0.9176, 0.003);
  EXPECT_NEAR(judged.best_single.utility.value, 0.9197, 0.0001);
}

}  // namespace
}  // namespace pandora
