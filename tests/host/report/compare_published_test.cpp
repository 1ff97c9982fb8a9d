// Made-up regrets against the paper's Tables 1 and 2, whose numbers are its own.
#include <gmock/gmock.h>

#include <cmath>

#include "host/report/compare.hpp"
#include "pandora/error.hpp"
#include "tests/host/report/made_up_results.hpp"

namespace pandora {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ComparePublished : public test::MadeUpResults {
 protected:
  // The plug-in's regrets alternate about 9.31 (known) and 9.17 (unknown) by one; the paper says 9.31±0.35, 10.17±0.35.
  StoredResults paper(int replications, const std::string& more = "") const {
    return results_of("replications = " + std::to_string(replications) +
                          "\nperiods = 30000\nT0 = [0]\nenvironments = [\"uniform\"]\nregimes = [\"A\"]\npolicies = "
                          "[\"online_plugin\"]\n[output]\norder = false\ninstances = false\n" +
                          more,
                      [](const std::string& lane, const Unit& unit) {
                        const double sign = unit.replication % 2 == 0 ? 1.0 : -1.0;
                        return lane == "-/oracle/known"          ? 520.0
                               : lane == "0/online_plugin/known" ? 520.0 - 9.31 - sign
                                                                 : 520.0 - 9.17 - sign;
                      });
  }
  static std::vector<std::string> texts(const Row& row) {
    std::vector<std::string> out;
    for (const Cell& cell : row.cells) out.push_back(cell.text);
    return out;
  }
};

// Of 24 replications, each 1 from the mean, the half-width is 1.96 sqrt(24 / 23 / 24) = 0.409.
TEST_F(ComparePublished, DifferencesAreInJointStandardErrors) {
  StoredResults results = paper(24);
  const Table table = compare_published(results, {});
  ASSERT_EQ(table.rows.size(), 2u);
  const double half = 1.96 * std::sqrt(24.0 / 23.0 / 24.0), z = -1.0 / (std::hypot(half, 0.35) / 1.96);
  char text[16];
  std::snprintf(text, sizeof text, "%.2f", z);
  EXPECT_THAT(texts(table.rows[0]),
              ElementsAre("uniform, A, T0=0, online_plugin/known", "9.31±0.41", "9.31±0.35", "0.00", "0.00", "1.0000"));
  EXPECT_EQ(table.rows[1].cells[1].text, "9.17±0.41");
  EXPECT_EQ(table.rows[1].cells[3].text, "-1.00");
  EXPECT_EQ(table.rows[1].cells[4].text, text);
  // Two rows: Holm doubles the smaller p value.
  std::snprintf(text, sizeof text, "%.4f", 2.0 * std::erfc(-z / std::sqrt(2.0)));
  EXPECT_EQ(table.rows[1].cells[5].text, text);
  EXPECT_TRUE(table.rows[1].cells[3].bold);  // below 0.05
  EXPECT_FALSE(table.rows[0].cells[3].bold);
  std::snprintf(text, sizeof text, "%.2f", std::abs(z) / std::sqrt(2.0));
  EXPECT_THAT(table.notes,
              ElementsAre(HasSubstr("|z| > 1.96 in 1 of 2 cells; root mean square of z " + std::string(text))));
}

// From ten replications on z is told, from twenty on without a warning.
TEST_F(ComparePublished, OfFewReplicationsLessIsSaid) {
  StoredResults nine = results_of(
      "replications = 9\nperiods = 30000\nT0 = [0]\nenvironments = [\"uniform\"]\nregimes = "
      "[\"A\"]\npolicies = [\"online_plugin\"]\n[output]\norder = false\n"
      "instances = false\n",
      test::by_name({}));
  const Table table = compare_published(nine, {});
  EXPECT_EQ(table.rows.at(0).cells[4].text, "---");
  EXPECT_EQ(table.rows[0].cells[5].text, "---");
  EXPECT_THAT(table.notes, ElementsAre(HasSubstr("z is told from 10 replications on")));
  std::filesystem::remove_all(path());
  StoredResults ten = paper(10);
  EXPECT_NE(compare_published(ten, {}).rows.at(0).cells[4].text, "---");
  EXPECT_THAT(compare_published(ten, {}).notes.at(1), HasSubstr("of 10 replications they are too narrow"));
}

TEST_F(ComparePublished, OnlyWhatIsAskedForAndPublished) {
  StoredResults results = paper(10);
  EXPECT_EQ(compare_published(results, {{"online_plugin/unknown"}, {0}, {"uniform"}, {"A"}}).rows.size(), 1u);
  EXPECT_THROW(compare_published(results, {{}, {}, {}, {"B"}}), Error);
  EXPECT_THROW(compare_published(results, {{}, {5}, {}, {}}), Error);
  EXPECT_THROW(compare_published(results, {{"dow"}, {}, {}, {}}), Error);
  std::filesystem::remove_all(path());
  StoredResults other = paper(10, "[dimensions]\ncontext = 99\n");
  try {
    compare_published(other, {});
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_THAT(error.what(), HasSubstr("has nothing that the paper publishes"));
  }
}

}  // namespace
}  // namespace pandora
