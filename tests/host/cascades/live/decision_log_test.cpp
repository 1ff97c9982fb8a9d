// What a cascade logs of its decisions, and what can be read from that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "host/outcomes/tables/read_trace.hpp"
#include "tests/host/cascades/live/exploring.hpp"
#include "tests/host/folder_test.hpp"
#include "tests/host/outcomes/tables/made_up_traces.hpp"

namespace pandora {
namespace {

using test::in_order;
using test::Random;
using test::TraceLaw;
using testing::HasSubstr;

TraceOptions holes() {
  TraceOptions out;
  out.holes = true;
  return out;
}

class DecisionLogTest : public test::FolderTest {
 protected:
  std::filesystem::path folder() const { return base_ / "log"; }

  // Requests that go through rows of the table, with feedback for some; what was done, by request.
  struct Done {
    std::vector<std::pair<std::size_t, double>> calls = {};  // model, latency
    std::size_t deployed = 0;
    bool fed = false;
    std::vector<float> psi = {};
  };
  std::map<std::string, Done> serve(Cascade& cascade, const TraceTable& table, double fed = 0.7) {
    std::map<std::string, Done> out;
    Random random(3);
    for (std::size_t row = 0; row < table.rows(); ++row) {
      Done done;
      for (std::size_t j = 0; j < std::max<std::size_t>(1, static_cast<std::size_t>(cascade.options().index_features));
           ++j)
        done.psi.push_back(j == 0 ? 1.0f : static_cast<float>(random.uniform(-1.0, 1.0)));
      const std::uint64_t request = cascade.begin(done.psi);
      while (const auto model = cascade.next(request)) {
        const std::size_t at = row * table.models.size() + *model;
        done.calls.emplace_back(*model, random.uniform(0.0, 2.0));
        cascade.observe(request, *model, {table.cost[at], {table.scores[0].values[at]}, done.calls.back().second});
      }
      done.deployed = cascade.deploy(request);
      done.fed = random.uniform(0.0, 1.0) < fed;
      if (done.fed) cascade.feedback(request, table.quality[row * table.models.size() + done.deployed]);
      out.emplace(std::to_string(request), done);
    }
    return out;
  }
  static void expect_same(const TraceTable& log, const TraceTable& table, const std::map<std::string, Done>& did) {
    ASSERT_EQ(log.rows(), did.size());
    std::map<std::string, std::size_t> column;
    for (std::size_t m = 0; m < log.models.size(); ++m) column[log.models[m]] = m;
    const PromptColumn* const psi = find_column(log, "psi");
    ASSERT_NE(psi, nullptr);
    std::size_t cells = 0;
    for (std::size_t row = 0; row < log.rows(); ++row) {
      const auto found = did.find(std::string(log.prompts[row]));
      ASSERT_NE(found, did.end());
      const Done& done = found->second;
      ASSERT_EQ(psi->length, done.psi.size());
      for (std::size_t j = 0; j < done.psi.size(); ++j)
        EXPECT_EQ(static_cast<float>(psi->numbers[row * psi->length + j]), done.psi[j]);
      for (std::size_t k = 0; k < done.calls.size(); ++k, ++cells) {
        const auto [model, latency] = done.calls[k];
        const std::size_t at = row * log.models.size() + column[table.models[model]],
                          of = row * table.models.size() + model;
        EXPECT_EQ(log.log->place[at], static_cast<double>(k + 1));
        EXPECT_EQ(log.cost[at], table.cost[of]);
        EXPECT_EQ(log.scores[0].values[at], table.scores[0].values[of]);
        EXPECT_EQ(log.latency[at], latency);
        if (model == done.deployed && done.fed)
          EXPECT_EQ(log.quality[at], table.quality[of]);
        else
          EXPECT_TRUE(std::isnan(log.quality[at]));
      }
    }
    EXPECT_EQ(cells, static_cast<std::size_t>(
                         std::count_if(log.cost.begin(), log.cost.end(), [](double x) { return !std::isnan(x); })));
  }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> out;
    for (const auto& entry : std::filesystem::directory_iterator(folder())) out.push_back(entry.path());
    std::sort(out.begin(), out.end());
    return out;
  }
};

TEST_F(DecisionLogTest, TwentyThousandRequestsAreReadAsTheyWere) {
  const TraceLaw law(0.3);
  const TraceTable table = test::drawn_table(law, 20'000, 5);
  Cascade cascade(in_order({0, 1, 2}, {0.8, 0.4}, 0.2));
  cascade.log_to({folder(), 1 << 20});
  const auto did = serve(cascade, table);
  EXPECT_EQ(cascade.counts().unlogged, 0u);
  EXPECT_GT(files().size(), 3u);
  const TraceTable log = read_trace(folder(), holes());
  expect_same(log, table, did);
}

TEST_F(DecisionLogTest, DecisionsThatCouldNotCallEveryModelAreLeftOut) {
  const TraceTable table = test::drawn_table(TraceLaw(0.3), 2000, 7);
  Cascade cascade(in_order({0, 1, 2}, {0.8, 0.4}, 0.2));
  cascade.log_to({folder()});
  for (int k = 0; k < 5;) {  // the first model fails, and rests
    const std::uint64_t request = cascade.begin(std::vector<float>{1.0f});
    if (cascade.next(request) == std::size_t{0}) {
      cascade.fail(request, 0, 0.0, "down");
      ++k;
    }
    while (const auto model = cascade.next(request)) cascade.observe(request, *model, {0.01, {0.5}});
    cascade.deploy(request);
  }
  const std::uint64_t control = cascade.begin(std::vector<float>{1.0f});
  cascade.only(control, 2);
  cascade.observe(control, 2, {0.01, {0.5}});
  cascade.deploy(control);
  serve(cascade, table, 1.0);
  const TraceTable log = read_trace(folder(), holes());
  EXPECT_LT(log.rows(), table.rows() - 50);  // those in which it rested are not there either
  EXPECT_GT(log.rows(), table.rows() - 150);
  EXPECT_THAT(log.notes, testing::Contains(HasSubstr("decisions in which a model failed, rested")));
}

TEST_F(DecisionLogTest, WhatALearnerDoesIsReadAsItWas) {
  const TraceTable table = test::drawn_table(TraceLaw(0.3), 400, 6);
  Cascade cascade(test::exploring_learner(0.1));
  cascade.log_to({folder()});
  const auto did = serve(cascade, table);
  expect_same(read_trace(folder(), holes()), table, did);
}

TEST_F(DecisionLogTest, ALogThatIsCutOffIsReadUpToThere) {
  const TraceTable table = test::drawn_table(TraceLaw(0.3), 6, 7);
  Cascade cascade(in_order({0, 1, 2}, {0.8, 0.4}, 0.5));
  cascade.log_to({folder()});
  serve(cascade, table);
  const std::string whole = test::read_file(files().at(0));
  const std::size_t first = whole.find('\n');
  for (std::size_t bytes = first; bytes <= whole.size(); ++bytes) {
    std::ofstream(base_ / "cut.jsonl", std::ios::binary) << whole.substr(0, bytes);
    std::size_t decisions = 0;
    for (std::size_t at = 0, end; at < bytes; at = end + 1) {
      end = std::min(whole.find('\n', at), whole.size());
      if (end <= bytes) decisions += whole.substr(at, end - at).find("\"calls\"") != std::string::npos;
    }
    EXPECT_EQ(read_trace(base_ / "cut.jsonl", holes()).rows(), decisions) << bytes;
  }
}

TEST_F(DecisionLogTest, FilesAreBounded) {
  Cascade cascade(in_order({0, 1, 2}, {0.8, 0.4}, 0.2));
  cascade.log_to({folder(), 4000, 20'000});
  serve(cascade, test::drawn_table(TraceLaw(0.3), 500, 8), 1.0);
  std::uintmax_t bytes = 0;
  for (const auto& file : files()) bytes += std::filesystem::file_size(file);
  EXPECT_LE(bytes, 20'000u);
  EXPECT_GT(bytes, 12'000u);
  const TraceTable log = read_trace(folder(), holes());
  EXPECT_GT(log.rows(), 10u);
  // One more process goes on with a file of its own.
  Cascade second(in_order({0, 1, 2}, {0.8, 0.4}, 0.2));
  second.log_to({folder(), 4000, 20'000});
  serve(second, test::drawn_table(TraceLaw(0.3), 2, 9));
  EXPECT_GT(files().back(), files().front());
  EXPECT_EQ(second.counts().unlogged, 0u);
}

TEST_F(DecisionLogTest, DecidingGoesOnWhereNothingCanBeWritten) {
  Cascade cascade(in_order({0, 1, 2}, {0.8, 0.4}, 0.2));
  cascade.log_to({folder()});
  std::filesystem::remove_all(folder());
  const TraceTable table = test::drawn_table(TraceLaw(0.3), 10, 8);
  serve(cascade, table, 1.0);
  EXPECT_EQ(cascade.counts().unlogged, 20u);
  EXPECT_EQ(cascade.counts().feedbacks, 10u);
  std::ofstream(base_ / "file") << "x";
  EXPECT_THROW(cascade.log_to({base_ / "file"}), Error);
  EXPECT_THROW(cascade.log_to({folder(), 0}), Error);
  EXPECT_THROW(cascade.log_to({folder(), 100, 99}), Error);
}

// With the evaluator quality each score is one, and a log of a cascade that does not explore says so.
TEST_F(DecisionLogTest, WhatScoresAreIsRead) {
  const TraceTable table = test::drawn_table(TraceLaw(0.3), 200, 8);
  CascadeOptions options = in_order({0, 1, 2}, {0.8, 0.4}, 0.0);
  Cascade judged(options);
  judged.log_to({folder()});
  serve(judged, table);
  const TraceTable log = read_trace(folder(), holes());
  EXPECT_TRUE(log.label_propensity.empty());
  EXPECT_THAT(testing::PrintToString(log.notes), HasSubstr("explore was 0"));
  options.evaluator = "quality";
  Cascade seeing(options);
  seeing.log_to({base_ / "truth"});
  serve(seeing, table);
  const TraceTable truth = read_trace(base_ / "truth", holes());
  EXPECT_TRUE(truth.scores.empty());
  for (std::size_t at = 0; at < truth.cost.size(); ++at)
    EXPECT_EQ(std::isnan(truth.cost[at]), std::isnan(truth.quality[at]));
}

TEST_F(DecisionLogTest, PromptsAreLoggedWhereThatIsAsked) {
  CascadeOptions options = in_order({0, 1, 2}, {0.8, 0.4}, 0.0);
  Cascade cascade(options);
  cascade.log_to({.folder = folder(), .prompts = true});
  for (int t = 0; t < 3; ++t) {
    Prompt prompt;
    prompt.text = "What is \"2\" + " + std::to_string(t) + "?\n";
    const std::uint64_t request = cascade.begin(prompt);
    while (const auto model = cascade.next(request)) cascade.observe(request, *model, {0.1, {0.5}});
    cascade.deploy(request);
  }
  const TraceTable log = read_trace(folder(), holes());
  ASSERT_EQ(log.rows(), 3u);
  EXPECT_EQ(log.text(2), "What is \"2\" + 2?\n");
}

}  // namespace
}  // namespace pandora
