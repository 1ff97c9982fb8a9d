// Estimates of qualities for fits whose value is read out of fold: a held-out row says nothing of other rows.
#include <gtest/gtest.h>

#include <cmath>

#include "host/outcomes/logs/labels.hpp"
#include "tests/host/outcomes/tables/made_up_traces.hpp"

namespace pandora {
namespace {

TraceTable labelled_table() {
  test::Random random(7);
  TraceTable table = test::TraceLaw(0.3).draw(200, random);
  for (double& quality : table.quality)
    if (random.uniform(0.0, 1.0) < 0.5) quality = NAN;
  return table;
}

TEST(QualityEstimates, OfNoHeldOutRowAreThoseOfTheTable) {
  const TraceTable table = labelled_table();
  EXPECT_EQ(QualityEstimates(table, "score").without(std::vector<bool>(table.rows(), false)),
            with_estimated_quality(table, "score")->quality);
}

TEST(QualityEstimates, OfOtherRowsDoNotSeeLabelsThatAreHeldOut) {
  const TraceTable table = labelled_table();
  const std::size_t models = table.models.size();
  std::vector<bool> held_out(table.rows());
  for (std::size_t row = 0; row < table.rows(); row += 3) held_out[row] = true;
  TraceTable changed = table;
  for (std::size_t at = 0; at < changed.quality.size(); ++at)
    if (held_out[at / models]) changed.quality[at] = 1.0 - changed.quality[at];
  const std::vector<double> before = QualityEstimates(table, "score").without(held_out),
                            after = QualityEstimates(changed, "score").without(held_out);
  std::size_t moved = 0;
  for (std::size_t at = 0; at < before.size(); ++at) {
    const bool own = held_out[at / models] && !std::isnan(table.quality[at]);
    if (!own) {
      EXPECT_EQ(after[at], before[at]) << at;
    }
    moved += after[at] != before[at];
  }
  EXPECT_GT(moved, 50u);  // a held-out cell's own label counts
  const std::vector<double> seen = QualityEstimates(changed, "score").without(std::vector<bool>(table.rows(), false));
  std::size_t others = 0;  // with all labels in use, other rows do see them
  for (std::size_t at = 0; at < seen.size(); ++at) others += !held_out[at / models] && seen[at] != before[at];
  EXPECT_GT(others, 50u);
}

}  // namespace
}  // namespace pandora
