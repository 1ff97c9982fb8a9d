// Compares the embedded tables with the files from which they come, which a separate parser reads.
#include <gtest/gtest.h>

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "host/studies/results/summary.hpp"
#include "tests/host/folder_test.hpp"

namespace pandora {
namespace {

// The rows of experiments/published/<name>.csv as lists of cells, without the header.
std::vector<std::vector<std::string>> published_file(const std::string& name) {
  std::ifstream file(std::filesystem::path(PANDORA_SOURCE) / "experiments" / "published" / (name + ".csv"));
  std::vector<std::vector<std::string>> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

// The numbers in the cells of a row from `first` on.
std::vector<double> numbers_from(const std::vector<std::string>& row, std::size_t first) {
  std::vector<double> numbers;
  for (std::size_t k = first; k < row.size(); ++k) numbers.push_back(std::stod(row[k]));
  return numbers;
}

TEST(Published, All174RegretsAreFound) {
  const auto rows = published_file("regret");
  ASSERT_EQ(rows.size(), 174u);
  std::set<std::string> keys;
  for (const auto& row : rows) {
    std::string reward = row[3];  // the name in the program's results
    if (reward == "unstated") reward = row[2] == "static_plugin" ? "unknown" : "none";
    const auto found = published_regret(row[0], row[1], std::stoi(row[4]), row[2], reward);
    ASSERT_TRUE(found) << row[0] << " " << row[1] << " " << row[2] << " " << reward << " " << row[4];
    EXPECT_EQ(found->value, std::stod(row[5]));
    EXPECT_EQ(found->half_width_95, std::stod(row[6]));
    EXPECT_GT(found->half_width_95, 0.0);
    keys.insert(row[0] + row[1] + row[2] + reward + row[4]);
  }
  EXPECT_EQ(keys.size(), 174u);
}

TEST(Published, CellsThatThePaperDoesNotPrintAreAbsent) {
  EXPECT_FALSE(published_regret("A", "uniform", 0, "static_plugin", "unknown"));
  EXPECT_FALSE(published_regret("A", "uniform", 0, "linucb_static", "none"));
  EXPECT_FALSE(published_regret("A", "uniform", 0, "frugalgpt", "known"));
  EXPECT_FALSE(published_regret("A", "uniform", 10, "dow", "known"));
  for (const char* policy : {"static_plugin", "oracle", "query_all"})
    EXPECT_FALSE(published_regret("A", "uniform", 50, policy, "known")) << policy;
  EXPECT_FALSE(published_regret("A", "cauchy", 50, "dow", "known"));
  EXPECT_FALSE(published_regret("C", "uniform", 50, "dow", "known"));
}

TEST(Published, OraclePanelsAndOrders) {
  const auto panels = published_file("oracle"), orders = published_file("oracle_order");
  ASSERT_EQ(panels.size(), 6u);
  for (const auto& row : panels) {
    const auto found = published_oracle(row[0], row[1]);
    ASSERT_TRUE(found);
    const PublishedValue& utility = found->utility_x1000;
    EXPECT_EQ((std::vector{found->u, utility.value, utility.half_width_95, found->boxes_queried.value}),
              numbers_from(row, 2));
  }
  ASSERT_EQ(orders.size(), 6u);
  for (const auto& row : orders) {
    const auto found = published_order(row[1], row[0]);
    ASSERT_TRUE(found);
    std::vector<double> numbers;
    for (const PublishedValue& v : {found->permutations, found->max_mass, found->min_mass})
      numbers.insert(numbers.end(), {v.value, v.half_width_95});
    EXPECT_EQ(numbers, numbers_from(row, 2));
  }
  EXPECT_FALSE(published_oracle("A", "cauchy"));
  EXPECT_FALSE(published_order("C", "uniform"));
}

// A locale with a decimal comma. Qt, and a call of setlocale(LC_ALL, "") in Germany, leave a process in such a locale.
// The test makes the locale, because a machine may not have it.
class PublishedWithADecimalComma : public test::FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    const std::string make = "localedef -i de_DE -f UTF-8 '" + (base_ / "de_DE.UTF-8").string() + "'";
    ASSERT_EQ(std::system(make.c_str()), 0) << "without the package locales?";
    ::setenv("LOCPATH", base_.c_str(), 1);
    ASSERT_NE(std::setlocale(LC_ALL, "de_DE.UTF-8"), nullptr);
    ASSERT_EQ(std::strtod("9.31", nullptr), 9.0);  // this locale reads it so
  }
  void TearDown() override {
    std::setlocale(LC_ALL, "C");
    ::unsetenv("LOCPATH");
    FolderTest::TearDown();
  }
};

TEST_F(PublishedWithADecimalComma, NumbersAreThoseOfTheirFiles) {
  EXPECT_EQ(published_regret("A", "uniform", 0, "online_plugin", "known")->value, 9.31);
  EXPECT_EQ(published_oracle("A", "uniform")->u, 0.23);
  EXPECT_EQ(published_oracle("A", "uniform")->boxes_queried.value, 1.69);
  EXPECT_EQ(published_regret("A", "uniform", 0, "online_plugin", "known")->half_width_95, 0.35);
}

TEST(InsideJoint95, ComparesWithTheJointHalfWidth) {
  const PublishedValue five{5.0, 0.3};
  // Both sides count with 1.96 standard errors, as in the paper: hypot(0.3, 0.4) = 0.5. Our own half-width does not
  // matter.
  const auto inside = [&](double mean) { return inside_joint_95({mean, 9.0, 0.4 / 1.96}, five); };
  EXPECT_TRUE(inside(5.49));
  EXPECT_FALSE(inside(5.51));
  EXPECT_TRUE(inside(4.51));
  EXPECT_FALSE(inside(4.49));
}

TEST(InsideJoint95, AllowsForRoundingWhereBothSidesAreExact) {
  const PublishedValue one{1.0, 0.0};
  EXPECT_TRUE(inside_joint_95({1.0, 0.0, 0.0}, one));
  EXPECT_TRUE(inside_joint_95({1.0049, 0.0, 0.0}, one));
  EXPECT_FALSE(inside_joint_95({1.0051, 0.0, 0.0}, one));
  EXPECT_TRUE(inside_joint_95({1.0049, 0.001, 0.0005}, one));
}

TEST(CsvRows, DropsTheHeaderAndEmptyLines) {
  EXPECT_EQ(csv_rows("a,b\n1,2\n\n3,4\n"), (std::vector<std::vector<std::string>>{{"1", "2"}, {"3", "4"}}));
}

}  // namespace
}  // namespace pandora
