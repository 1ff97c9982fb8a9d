// Parts with right checksums and arbitrary numbers. Each counts as damaged, or its tables have only finite numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "host/ground/files/sealed_file.hpp"
#include "host/studies/results/other_tables.hpp"
#include "host/studies/results/parts.hpp"
#include "host/studies/results/regret_tables.hpp"
#include "host/studies/results/result_rows.hpp"
#include "host/studies/sweep/sweep.hpp"
#include "tests/host/studies/results/made_up_summary.hpp"

namespace pandora {
namespace {
using nlohmann::json;

class ForgedParts : public testing::Test {
 protected:
  void SetUp() override {
    settings_ = make_plans(StudyConfig::parse(
        "replications = 2\nperiods = 20\nT0 = [3]\nregimes = [\"A\"]\nenvironments = [\"uniform\"]\npolicies = "
        "[\"query_all\", \"frugalgpt\"]\n[dimensions]\ncontext = 2\noutput = 2\nreward_features = 2\nradius_draws = "
        "500\n[environment.uniform]\ntruncation_radius = inf\n[oracle]\nsamples = 1000\ngrid = [3, 3, 3]\nbins = "
        "20\norder_contexts = 10\n[output]\ninstances = false\n",
        "test"));
    part_ = make_parts(settings_)[0];
    results_ = run_sweep(settings_[0].setting.study, settings_[0].plan, {});
    content_ = part_content(settings_[0], part_, {}, {results_[0]});
    honest_ = tables_of(results_[0]);
  }

  // All tables from the results of one replication and of an honest one.
  std::string tables_of(const UnitResult& unit) const {
    const PlannedSetting& planned = settings_[0];
    const std::vector<UnitResult> results = {unit, results_[1]};
    Summary summary = summarise(planned.setting.study, planned.plan, results);
    ResultRows rows({}, planned.plan, "pandora");
    rows.add(planned.setting, planned.plan, results, summary);
    const std::vector<SettingSummary> all = {{planned.setting, summary}};
    std::string out = table_csv(overview_table(all, ""));
    for (const char* file : {"summary", "oracle", "oracle_order", "curves", "boxes", "depth", "choices"})
      out += rows.csv(file);
    for (const Table& table : study_tables(all, TableLayout::compact))
      for (const Row& row : table.rows)
        for (const Cell& cell : row.cells)
          if (cell.text.find("inf") != std::string::npos || cell.text.find("nan") != std::string::npos) out += "inf\n";
    return out;
  }

  static double number_of_any_kind(std::mt19937_64& random) {
    constexpr double kKinds[] = {0.0,      -0.0,         0.5,      1.0,       -1.0,   3.0,   20.0,  21.0,
                                 1e15,     1e99,         1e100,    1.01e100,  -1e100, 1e160, 1e300, DBL_MAX,
                                 -DBL_MAX, DBL_TRUE_MIN, HUGE_VAL, -HUGE_VAL, NAN,    -NAN};
    const std::size_t kind = random() % (std::size(kKinds) + 1);
    return kind < std::size(kKinds) ? kKinds[kind] : std::bit_cast<double>(random());
  }

  // A part in which one to three numbers of a list have changed.
  json forged(std::mt19937_64& random) const {
    json content = content_;
    json& unit = content["units"][0];
    const auto forge = [&](json& packed) {
      std::vector<double> numbers = unpack(packed);
      for (std::size_t k = 1 + random() % 3; k > 0; --k)
        numbers[random() % numbers.size()] = number_of_any_kind(random);
      packed = pack(numbers);
    };
    const std::size_t which = random() % 8;
    if (which == 0) {
      forge(unit["order"]);
    } else if (which == 1) {
      for (json& note : unit["notes"])
        if (note.contains("thresholds")) forge(note["thresholds"]);
    } else {
      forge(unit["tallies"]);
    }
    return content;
  }

  // Counts cells that readers would not take for numbers, and empty cells.
  static std::size_t bad_cells(const std::string& tables, std::size_t& empty) {
    std::size_t bad = 0;
    for (const std::string& line : test::lines_of(tables))
      for (const std::string& cell : split(line + ',', ',')) {  // without the mark, an empty last piece is left out
        empty += cell.empty() ? 1 : 0;
        char* after = nullptr;
        const double value = std::strtod(cell.c_str(), &after);
        bad += !cell.empty() && *after == '\0' && !std::isfinite(value) ? 1 : 0;
      }
    return bad;
  }

  void try_many(int count) {
    std::mt19937_64 random(5);
    std::size_t wanted_empty = 0, taken = 0;
    ASSERT_EQ(bad_cells(honest_, wanted_empty), 0u);
    for (int i = 0; i < count && !HasFailure(); ++i) {
      SCOPED_TRACE(i);
      const json content = unseal("part", seal("part", forged(random)));
      UnitResult unit;
      try {
        unit = part_contents(settings_[0], part_, content).units[0];
      } catch (const Damaged&) {
        continue;
      }
      ++taken;
      std::size_t empty = 0;
      const std::string tables = tables_of(unit);
      EXPECT_EQ(bad_cells(tables, empty), 0u);
      // A lane that is marked as failed is left out of the means, which may then have no half-width.
      const bool all_well = unit.order.permutations > 0.0 &&  // otherwise no orders were counted
                            std::ranges::all_of(unit.lanes, [](auto& t) { return t.failure == Failure::none; });
      EXPECT_EQ(all_well ? empty : wanted_empty, wanted_empty) << tables;
    }
    EXPECT_GT(taken, static_cast<std::size_t>(count / 50));
    EXPECT_LT(taken, static_cast<std::size_t>(count));
  }

  std::vector<PlannedSetting> settings_;
  Part part_;
  std::vector<UnitResult> results_;
  json content_;
  std::string honest_;
};

TEST_F(ForgedParts, MakeNoTableWithANumberThatIsNotFinite) {
  try_many(1500);
}

TEST_F(ForgedParts, SlowTwentyThousandMakeNoTableWithANumberThatIsNotFinite) {
  try_many(20000);
}

}  // namespace
}  // namespace pandora
