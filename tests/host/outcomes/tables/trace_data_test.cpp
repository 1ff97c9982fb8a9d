// Tables of real models, if they are there (../shared/data beside the repository).
#include <Eigen/Dense>
#include <filesystem>

#include "host/outcomes/tables/features.hpp"
#include "tests/host/outcomes/tables/trace_files.hpp"

namespace pandora {
namespace {

class TraceDataTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder_)) GTEST_SKIP() << folder_ << " is not here";
  }
  TraceTable read(const std::string& name) const { return read_trace(folder_ / (name + ".jsonl")); }
  static double correlation(const std::vector<double>& x, const std::vector<double>& y) {
    Eigen::Map<const Eigen::ArrayXd> a(x.data(), static_cast<Eigen::Index>(x.size())), b(y.data(), a.size());
    const Eigen::VectorXd of_x = a - a.mean(), of_y = b - b.mean();
    return of_x.normalized().dot(of_y.normalized());
  }

  const std::filesystem::path folder_ = std::filesystem::path(PANDORA_SOURCE) / "../shared/data/llm_traces";
};

TEST_F(TraceDataTest, FourModels) {
  const TraceTable val = read("paretobandit_val_k4"), test = read("paretobandit_test_k4");
  EXPECT_EQ(val.rows(), 1766u);
  EXPECT_EQ(test.rows(), 1793u);
  EXPECT_THAT(test.models, testing::ElementsAre("meta-llama/llama-3.1-8b-instruct", "mistralai/mistral-large-2512",
                                                "google/gemini-2.5-pro", "google/gemini-2.5-flash"));
  EXPECT_TRUE(test.scores.empty());
  EXPECT_EQ(test.columns[0].name, "prompt");
  std::size_t with_lines = 0;
  for (std::size_t row = 0; row < test.rows(); ++row) with_lines += test.text(row).find('\n') != std::string_view::npos;
  EXPECT_EQ(with_lines, 1206u);
  require_apart(val, test);
  EXPECT_THROW(require_apart(val, val), Error);
}

TEST_F(TraceDataTest, ThreeModelsWithJudges) {
  const TraceTable val = read("paretobandit_judged_val_k3"), test = read("paretobandit_judged_test_k3");
  EXPECT_EQ(val.rows(), 672u);
  EXPECT_EQ(test.rows(), 1328u);
  ASSERT_EQ(test.scores.size(), 2u);
  EXPECT_EQ(find_score(test, "2").name, "score_2");
  // The data's description has a number for both tables together. Each table is near it.
  EXPECT_NEAR(correlation(test.quality, test.scores[0].values), 0.69, 0.05);
  EXPECT_NEAR(correlation(test.quality, test.scores[1].values), 0.72, 0.05);
  require_apart(val, test);
}

TEST_F(TraceDataTest, FeaturesCarryOver) {
  const TraceTable val = read("paretobandit_val_k4"), test = read("paretobandit_test_k4");
  const FeatureMap map = FeatureMap::fit(val, {"text:16", "length", "source"});
  EXPECT_EQ(map.size(), 16u + 1 + kMostClasses + 1);
  const std::vector<double> features = map.apply(test);
  const Eigen::Map<const Eigen::ArrayXXd> by_row(features.data(), static_cast<Eigen::Index>(map.size()),
                                                 static_cast<Eigen::Index>(test.rows()));
  for (Eigen::Index j = 0; j < 17; ++j) {  // as on the fitted table: mean 0, standard deviation 1/2 or less
    EXPECT_NEAR(by_row.row(j).mean(), 0, 0.1) << j;
    EXPECT_NEAR(std::sqrt(by_row.row(j).square().mean()), 0.4, 0.15) << j;
  }
}

}  // namespace
}  // namespace pandora
