// A store's files: no prompt in them that no feature needs, for their owner alone, and none of them a link or pipe.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "host/outcomes/tables/features.hpp"
#include "pandora/error.hpp"
#include "pandora/store.hpp"
#include "tests/host/cascades/live/exploring.hpp"
#include "tests/host/folder_test.hpp"
#include "tests/host/outcomes/tables/made_up_traces.hpp"
#include "tests/host/outcomes/tables/naive_ngrams.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::HasSubstr;

// Its features are of a prompt's text and of a column.
CascadeOptions with_features() {
  TraceTable table = test::drawn_table(test::TraceLaw(0.2), 200, 3);
  PromptColumn text{"prompt", PromptColumn::Kind::text, 1, {}, test::some_texts(200)},
      kind{"kind", PromptColumn::Kind::text, 1, {}, {}};
  for (std::size_t row = 0; row < table.rows(); ++row) kind.texts.push_back(row % 2 == 0 ? "code" : "prose");
  table.columns = {text, kind};
  table.text_column = 0;
  CascadeOptions out = test::exploring_learner(0.2);
  out.features = FeatureMap::fit(table, {"text:3", "kind"}).to_json().dump();
  out.index_features = 1;
  return out;
}

class PrivateFilesTest : public test::FolderTest {
 protected:
  StoreOptions options(const CascadeOptions& of) const {
    StoreOptions out;
    out.folder = kept();
    out.text = Cascade(of).text();
    return out;
  }
  fs::path kept() const { return base_ / "kept"; }
  // All files under the folder, as text.
  std::string written() const {
    std::string out;
    for (const auto& entry : fs::recursive_directory_iterator(kept()))
      if (entry.is_regular_file()) out += entry.path().filename().string() + "\n" + test::read_file(entry.path());
    return out;
  }
  std::string refused(const StoreOptions& of) const {
    try {
      Store store(of);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage) << error.what();
      return error.what();
    }
    return "";
  }
};

// Requests from begin to feedback, whose prompts are all words that stand nowhere else.
void serve(Store& store) {
  for (int k = 0; k < 20; ++k) {
    const Json prompt = {{"op", "begin"},
                         {"text", "confidential sentence " + std::to_string(k % 3)},
                         {"columns", {{"kind", k % 2 == 0 ? "code" : "unheardof"}}},
                         {"note", "unasked"}};
    Json step = Json::parse(store.call(prompt.dump()));
    const Json request = step["request"];
    while (!step["next"].is_null()) {
      const double score = 0.1 * (k % 10);
      step = Json::parse(store.call(Json{
          {"op", "observe"},
          {"request", request},
          {"model", step["next"]},
          {"dollars", 0.1},
          {"score", score},
          {"answer",
           "confidential answer"}}.dump()));
    }
    store.call(Json{{"op", "deploy"}, {"request", request}}.dump());
    if (k % 4 != 0) store.call(Json{{"op", "feedback"}, {"request", request}, {"quality", 0.5}}.dump());
  }
}

TEST_F(PrivateFilesTest, HoldFeaturesInThePlaceOfPrompts) {
  StoreOptions of = options(with_features());
  of.decisions = true;
  Store store(of);
  serve(store);
  EXPECT_THAT(written(), HasSubstr("\"psi\":["));
  for (const char* word : {"confidential", "unheardof", "unasked", "kind\":\"code"})
    EXPECT_THAT(written(), Not(HasSubstr(word))) << word;
  const std::string text = store.cascade().text();
  fs::copy(kept(), base_ / "killed", fs::copy_options::recursive);
  of.folder = base_ / "killed";
  Store again(of);
  EXPECT_GT(again.calls_made_again(), 60u);
  EXPECT_TRUE(again.cascade().text() == text);
}

// What a store does with a prompt is what a cascade does with it.
TEST_F(PrivateFilesTest, FeaturesAreThoseOfThePrompt) {
  Cascade plain(with_features());
  StoreOptions of = options(with_features());
  Store store(of);
  Prompt prompt;
  prompt.text = "a proof of the theorem";
  prompt.columns["kind"] = "code";
  store.call(R"({"op": "begin", "text": "a proof of the theorem", "columns": {"kind": "code"}})");
  const std::uint64_t own = plain.begin(prompt), kept = store.cascade().open_requests().at(0);
  const CascadeExplanation one = plain.explain(own), other = store.cascade().explain(kept);
  for (std::size_t model = 0; model < one.models.size(); ++model) {
    EXPECT_EQ(one.models[model].width, other.models[model].width);
    EXPECT_EQ(one.models[model].score, other.models[model].score);
  }
  EXPECT_THROW(store.call(R"({"op": "begin", "text": "without its column"})"), Error);
}

TEST_F(PrivateFilesTest, PromptsThatAreAskedForAreInTheLogOfDecisionsAlone) {
  StoreOptions of = options(with_features());
  of.decisions = of.prompts = true;
  Store store(of);
  serve(store);
  std::string log;
  for (const auto& entry : fs::directory_iterator(kept() / "decisions")) log += test::read_file(entry.path());
  EXPECT_THAT(log, HasSubstr("confidential sentence 1"));
  for (const auto& entry : fs::directory_iterator(kept()))
    if (entry.is_regular_file()) {
      EXPECT_THAT(test::read_file(entry.path()), Not(HasSubstr("confidential"))) << entry.path();
    }
}

// A journal of before, with prompts.
TEST_F(PrivateFilesTest, PromptsOfAnOlderJournalAreMadeAgain) {
  StoreOptions of = options(with_features());
  std::string text;
  {
    Store store(of);
    fs::copy(kept(), base_ / "older");
    store.call(R"({"op": "begin", "text": "a proof", "columns": {"kind": "code"}})");
    text = store.cascade().text();
    const std::string calls = test::read_file(kept() / "calls-0.jsonl");
    std::ofstream(base_ / "older" / "calls-0.jsonl")
        << calls.substr(0, calls.find('\n') + 1) << R"({"op": "begin", "text": "a proof", "columns": {"kind": "code"}})"
        << "\n";
  }
  of.folder = base_ / "older";
  EXPECT_TRUE(Store(of).cascade().text() == text);
}

TEST_F(PrivateFilesTest, AreTheirOwnersAlone) {
  for (const mode_t mask : {mode_t{0}, mode_t{0022}, mode_t{0277}}) {
    fs::remove_all(kept());
    const mode_t before = ::umask(mask);
    fs::create_directories(kept());
    fs::permissions(kept(), fs::perms::owner_all);  // of the folder it makes none of its own
    fs::create_directories(kept() / "decisions");
    fs::permissions(kept() / "decisions", fs::perms::owner_all);
    StoreOptions of = options(with_features());
    of.decisions = true;
    {
      Store store(of);
      serve(store);
      store.save();
      ::umask(before);
      std::size_t files = 0;
      for (const auto& entry : fs::recursive_directory_iterator(kept())) {
        if (!entry.is_regular_file()) continue;
        ++files;
        EXPECT_EQ(entry.status().permissions(), fs::perms::owner_read | fs::perms::owner_write) << entry.path();
      }
      EXPECT_EQ(files, 4u);  // lock, a snapshot, its calls, a log
    }
  }
}

// What is opened for writing is never what a link names, and nobody waits for a pipe.
TEST_F(PrivateFilesTest, ALinkOrAPipeInTheirPlaceIsRefused) {
  const StoreOptions of = options(test::exploring_learner(0.2));
  const fs::path precious = base_ / "precious";
  std::ofstream(precious) << "of somebody else\n";
  for (const std::string name : {"lock", "calls-"})
    for (const char* kind : {"link", "hard link", "pipe", "dangling link"}) {
      SCOPED_TRACE(name + " as " + kind);
      fs::remove_all(kept());
      { Store store(of); }
      std::string path;
      for (const auto& entry : fs::directory_iterator(kept()))
        if (entry.path().filename().string().starts_with(name)) path = entry.path().string();
      fs::remove(path);
      if (std::string(kind) == "link")
        fs::create_symlink(precious, path);
      else if (std::string(kind) == "hard link")
        fs::create_hard_link(precious, path);
      else if (std::string(kind) == "dangling link")
        fs::create_symlink(base_ / "made", path);
      else
        ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
      EXPECT_THAT(refused(of), testing::AllOf(HasSubstr(path + ": cannot be written"),
                                              HasSubstr(std::string(kind) == "dangling link" ? "link" : kind),
                                              HasSubstr("name another folder")));
      EXPECT_EQ(test::read_file(precious), "of somebody else\n");
      EXPECT_EQ(fs::status(precious).permissions() & fs::perms::others_read, fs::perms::others_read);
      EXPECT_FALSE(fs::exists(base_ / "made"));
      fs::remove(path);
      EXPECT_EQ(refused(of), "");  // and goes on as if nothing had been
    }
}

// Likewise where it is put there while the store is open: a snapshot fails, and calls go on.
TEST_F(PrivateFilesTest, ALinkThatComesLaterIsRefusedToo) {
  Store store(options(test::exploring_learner(0.2)));
  store.call(R"({"op": "begin", "psi": [1.0, 0.5]})");
  const fs::path precious = base_ / "precious";
  std::ofstream(precious) << "of somebody else\n";
  fs::create_symlink(precious, kept() / "calls-2.jsonl");
  try {
    store.save();
    ADD_FAILURE() << "it was followed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("calls-2.jsonl: cannot be written (there is a link"));
  }
  EXPECT_EQ(test::read_file(precious), "of somebody else\n");
  store.call(R"({"op": "begin", "psi": [1.0, 0.5]})");
  fs::remove(kept() / "calls-2.jsonl");
  store.save();
  EXPECT_EQ(store.cascade().open_requests().size(), 2u);
}

}  // namespace
}  // namespace pandora
