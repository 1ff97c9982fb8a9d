// Results outlive the build that wrote them: kept/ was written by the program at commit 657e9c7 and stays as it is.
#include "host/studies/results/stored_results.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "host/ground/base/printable.hpp"
#include "host/ground/files/sealed_file.hpp"
#include "host/studies/results/result_rows.hpp"
#include "kernels/rules/checkpoints.hpp"
#include "pandora/error.hpp"
#include "tests/host/folder_test.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

const fs::path kKept = fs::path(PANDORA_SOURCE) / "tests" / "host" / "results" / "kept";

struct Read {
  std::vector<std::string> notes;
  StoredResults results;

  explicit Read(const fs::path& folder)
      : results(folder.string(), [this](const std::string& note) { notes.push_back(note); }) {}
};

class OlderResults : public test::FolderTest {
 protected:
  fs::path copy() const {
    const fs::path to = base_ / "copy";
    fs::remove_all(to);
    fs::copy(kKept, to, fs::copy_options::recursive);
    return to;
  }

  // Every part with its content changed, and sealed again.
  template <class Change>
  static void change_parts(const fs::path& results, Change&& change) {
    for (const auto& entry : fs::directory_iterator(results / "parts")) {
      json content = read_sealed("part", entry.path(), 1 << 20);
      change(content);
      std::ofstream(entry.path(), std::ios::binary) << seal("part", content);
    }
  }

  // As summary.csv has them.
  static std::string summary_of(StoredResults& results) {
    ResultRows rows({}, results.settings()[0].plan, "pandora");
    for (const SettingSummary& setting : results.summaries()) rows.add_summary(setting.summary, {});
    return rows.csv("summary");
  }
};

std::string with_standard_error(std::string half_width) {
  return half_width.replace(half_width.find("half_width_95"), 13, "standard_error");
}

// The rows of the kept summary.csv, to which columns have been added. Its half-widths are 1.96 standard errors; what
// is made of the same parts now are those of Student's t for two replications.
void expect_kept_rows(const std::string& summary) {
  const std::vector<std::string> kept = split(test::read_file(kKept / "summary.csv"), '\n'), now = split(summary, '\n');
  ASSERT_EQ(now.size(), kept.size());
  const std::vector<std::string> names = split(kept[0], ','), names_now = split(now[0], ',');
  for (std::size_t k = 1; k < kept.size() && !kept[k].empty(); ++k) {
    const std::vector<std::string> cells = split(kept[k], ','), cells_now = split(now[k], ',');
    const auto found = [&](const std::string& name) {
      return cells_now.at(static_cast<std::size_t>(std::ranges::find(names_now, name) - names_now.begin()));
    };
    for (std::size_t c = 0; c < names.size(); ++c) {
      if (names[c].find("half_width_95") == std::string::npos || names[c].starts_with("published_") ||
          cells[c].empty()) {
        EXPECT_EQ(found(names[c]), cells[c]) << names[c];
        continue;
      }
      const double error = std::stod(found(with_standard_error(names[c])));
      EXPECT_NEAR(std::stod(cells[c]), 1.96 * error, 1e-6) << names[c];
      EXPECT_NEAR(std::stod(found(names[c])), 12.706204736 * error, 1e-5) << names[c];
    }
  }
}

TEST_F(OlderResults, HaveTheirNumbers) {
  Read read(kKept);
  EXPECT_THAT(read.notes, testing::IsEmpty());
  EXPECT_EQ(read.results.unfinished(), "");
  EXPECT_EQ(read.results.settings()[0].setting.study.dimensions.radius_draws, 131072);  // the default of a later key
  expect_kept_rows(summary_of(read.results));
}

// The earlier version knew the first path of the parts alone; their gaps are unknown, and empty cells.
TEST_F(OlderResults, HaveNoGapsBetweenPaths) {
  Read read(kKept);
  const std::vector<SettingSummary> summaries = read.results.summaries();
  for (const SummaryRow& row : summaries[0].summary.rows) {
    EXPECT_TRUE(std::isfinite(row.parts[0].mean));
    for (const Estimate& gap : row.gaps) EXPECT_TRUE(std::isnan(gap.mean));
  }
  for (const std::string& line : split(summary_of(read.results), '\n'))
    if (line.find("/dow/") != std::string::npos) {
      EXPECT_THAT(line, testing::ContainsRegex("[0-9],,,,,,,[05]/dow/"));
    }
}

// What a later version says of other paths is passed over.
TEST_F(OlderResults, GapsOfOtherVersionsArePassedOver) {
  const fs::path folder = copy();
  change_parts(folder, [](json& content) {
    content["path_gaps"] = {"third_path_gap", "too_early_gap"};
    for (json& unit : content["units"]) {
      const std::vector<double> tallies = unpack(unit["tallies"]);
      const std::size_t lanes = content["lanes"].size(), size = tallies.size() / lanes,
                        numbers = 1 + checkpoints(20).size();
      std::vector<double> longer;
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const auto begin = tallies.begin() + static_cast<std::ptrdiff_t>(lane * size);
        longer.insert(longer.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
        longer.insert(longer.end(), numbers, 7.0);
        longer.insert(longer.end(), numbers, 0.5);
      }
      unit["tallies"] = pack(longer);
    }
  });
  Read read(folder);
  EXPECT_THAT(read.notes, testing::IsEmpty());
  const std::vector<SettingSummary> summaries = read.results.summaries();
  for (const SummaryRow& row : summaries[0].summary.rows) {
    EXPECT_TRUE(std::isnan(row.gaps[0].mean));
    EXPECT_EQ(row.gaps[1].mean, 1000.0 * 0.5 / 20.0);
  }
}

// A key that this version does not have is named, and the results are shown without it.
TEST_F(OlderResults, KeysThatAreNotKnownAreNamed) {
  const fs::path folder = copy();
  std::ofstream(folder / "study.toml", std::ios::app) << "\n[future]\nkey = 3\n";
  Read read(folder);
  ASSERT_EQ(read.notes.size(), 1u);
  EXPECT_THAT(read.notes[0], HasSubstr("does not know future.key"));
  expect_kept_rows(summary_of(read.results));
}

// Policies of another program are known by their names; sums of another version are passed over, absent ones unknown.
TEST_F(OlderResults, LanesAndSumsOfOtherProgramsAreRead) {
  const fs::path folder = copy();
  change_parts(folder, [](json& content) {
    for (json& name : content["lanes"])
      if (name == "5/frugalgpt/known") name = "5/mine/known/gain=2";
    json& unit = content["units"][0];
    const std::size_t lanes = content["lanes"].size();
    const std::vector<double> tallies = unpack(unit["tallies"]);
    const std::size_t size = tallies.size() / lanes;
    std::vector<double> with_latency;
    for (std::size_t lane = 0; lane < lanes; ++lane) {  // utility, ..., quality, [latency instead of realised_quality]
      const auto begin = tallies.begin() + static_cast<std::ptrdiff_t>(lane * size);
      with_latency.insert(with_latency.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
      with_latency[lane * size + 3 + 4] = 1e6;
    }
    unit["tallies"] = pack(with_latency);
    content["sums"] = {"utility", "utility_squares", "realised_utility", "quality", "latency", "cost"};
  });
  Read read(folder);
  const std::vector<SettingSummary> summaries = read.results.summaries();
  const auto row = [&](const std::string& policy) {
    const auto& rows = summaries[0].summary.rows;
    const auto at = std::find_if(rows.begin(), rows.end(), [&](const SummaryRow& r) {
      return r.policy == policy && r.reward == "known" && r.T0 == 5 && r.environment == "mine" && r.regime == "B";
    });
    return at == rows.end() ? SummaryRow{} : *at;
  };
  EXPECT_EQ(row("frugalgpt").policy, "");
  EXPECT_EQ(row("mine").replications, 2);
  EXPECT_EQ(row("mine").hyperparameter, "gain=2");
  EXPECT_NEAR(row("mine").regret.mean, 121.05, 0.005);  // what FrugalGPT had
  EXPECT_TRUE(std::isnan(row("mine").realised_quality.mean));
  EXPECT_NEAR(row("mine").regret.mean + row("mine").quality.mean - row("mine").cost.mean, 531.92, 0.02);
}

TEST_F(OlderResults, ForgedLanesAreRefused) {
  for (const char* name : {"", "x/dow/known", "5//known", "5/dow", "-/oracle/unknown/c=1"}) {
    const fs::path folder = copy();
    change_parts(folder, [&](json& content) { content["lanes"][0] = name; });
    EXPECT_THROW(Read read(folder), Error) << name;
  }
}

}  // namespace
}  // namespace pandora
