// Results of another program that uses the package are shown, and those of another format are refused.
#include "host/studies/results/stored_results.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "host/ground/files/sealed_file.hpp"
#include "host/studies/results/result_rows.hpp"
#include "pandora/error.hpp"
#include "tests/host/report/made_up_results.hpp"

namespace pandora {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class OfAnotherProgram : public test::MadeUpResults {
 protected:
  void SetUp() override {
    MadeUpResults::SetUp();
    write(study_of("\"query_all\", \"frugalgpt\"", "T0 = [5]\n"),
          test::by_name({{"5/frugalgpt/known", {1.0, 2.0, 3.0, 6.0}}}));
    const auto manifest = base_ / "results" / "manifest.json";
    json content = json::parse(test::read_file(manifest));
    content["identity"]["build.sources"] = "another";
    content.erase("sha256");
    std::ofstream(manifest) << manifest_text(content);
    change_parts([](json& part) { part["identity"]["build.sources"] = "another"; });
  }

  // Changes the content of every part, and seals it again.
  template <class Change>
  void change_parts(Change&& change) const {
    for (const auto& entry : std::filesystem::directory_iterator(base_ / "results" / "parts")) {
      json content = read_sealed("part", entry.path(), 1 << 20);
      change(content);
      std::ofstream(entry.path(), std::ios::binary) << seal("part", content);
    }
  }

  std::string summary() {
    notes_.clear();
    StoredResults results(path(), [this](const std::string& note) { notes_.push_back(note); });
    unfinished_ = results.unfinished();
    ResultRows rows({}, results.settings()[0].plan, "pandora");
    for (const SettingSummary& setting : results.summaries()) rows.add_summary(setting.summary, {});
    return rows.csv("summary");
  }

  std::vector<std::string> notes_;
  std::string unfinished_;
};

// A message names keys that this program does not have, and results are shown without them.
TEST_F(OfAnotherProgram, KeysThatAreNotKnownAreNamed) {
  const std::string before = summary();
  EXPECT_THAT(notes_, testing::IsEmpty());
  std::ofstream(base_ / "results" / "study.toml", std::ios::app) << "\n[future]\nkey = 3\n";
  EXPECT_EQ(summary(), before);
  EXPECT_THAT(notes_, testing::ElementsAre(HasSubstr("does not know future.key")));
}

TEST_F(OfAnotherProgram, PoliciesAreKnownByTheirNames) {
  change_parts([](json& content) {
    for (json& name : content["lanes"])
      if (name == "5/frugalgpt/known") name = "5/mine/known/gain=2";
  });
  StoredResults results = read();
  const std::vector<SettingSummary> summaries = results.summaries();
  const auto& rows = summaries[0].summary.rows;
  const auto mine = std::ranges::find(rows, "mine", &SummaryRow::policy);
  ASSERT_NE(mine, rows.end());
  EXPECT_EQ(mine->replications, 4);
  EXPECT_EQ(mine->hyperparameter, "gain=2");
  EXPECT_NEAR(mine->regret.mean, -3.0, 1e-9);
  EXPECT_EQ(std::ranges::count_if(rows, [](auto& r) { return r.policy == "frugalgpt" && r.reward == "known"; }), 0);
}

TEST_F(OfAnotherProgram, ForgedLanesAreRefused) {
  for (const char* name : {"", "x/dow/known", "5//known", "5/dow", "-/oracle/unknown/c=1"}) {
    change_parts([&](json& content) { content["lanes"][0] = name; });
    EXPECT_THROW((void)read(), Error) << name;
  }
}

TEST_F(OfAnotherProgram, SumsOfAnotherVersionAreRefused) {
  for (const json& sums : {json({"utility", "latency"}), json(), json(3)}) {
    change_parts([&](json& content) { content["sums"] = sums; });
    (void)summary();
    EXPECT_EQ(unfinished_, "unfinished: 0 of 4 parts are complete");
    ASSERT_EQ(notes_.size(), 4u);
    EXPECT_THAT(notes_[0], HasSubstr(".part: was written by another version of the program; run the study again"));
  }
}

}  // namespace
}  // namespace pandora
