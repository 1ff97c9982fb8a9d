// A cascade in a folder: what was answered is there when it is opened again.
#include "pandora/store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "pandora/error.hpp"
#include "tests/host/cascades/live/exploring.hpp"
#include "tests/host/folder_test.hpp"

namespace pandora {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

class StoreTest : public test::FolderTest {
 protected:
  StoreOptions options(const CascadeOptions& of = test::exploring_learner(0.2)) const {
    StoreOptions out;
    out.folder = base_ / "kept";
    out.text = Cascade(of).text();
    return out;
  }
  static Json ask(Store& store, const Json& call) { return Json::parse(store.call(call.dump())); }
  static std::string refused(Store& store, const Json& call) {
    try {
      ask(store, call);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  // A request from begin to feedback; what was answered.
  static std::string serve(Store& store, test::Random& random, bool told = true) {
    Json step = ask(store, {{"op", "begin"}, {"psi", {1.0, random.uniform(-1.0, 1.0)}}});
    const Json request = step["request"];
    std::string out;
    bool called = false;
    for (; !step["next"].is_null(); out += step.value("next", "-")) {
      const bool fails = random.uniform(0.0, 1.0) < 0.1;
      called |= !fails;
      step = fails ? ask(store, {{"op", "fail"}, {"request", request}, {"model", step["next"]}, {"reason", "busy"}})
                   : ask(store, {{"op", "observe"},
                                 {"request", request},
                                 {"model", step["next"]},
                                 {"dollars", 0.1},
                                 {"score", random.uniform(0.0, 1.0)}});
      if (step["next"].is_null()) break;
    }
    if (!called) return ask(store, {{"op", "cancel"}, {"request", request}}), out;
    out += ask(store, {{"op", "deploy"}, {"request", request}})["deployed"];
    if (told) ask(store, {{"op", "feedback"}, {"request", request}, {"quality", random.uniform(0.0, 1.0)}});
    return out;
  }
  // As kill -9 leaves the folder: what is written is there, and nobody has it open.
  std::filesystem::path killed() {
    const std::filesystem::path copy = base_ / ("killed" + std::to_string(copies_++));
    std::filesystem::copy(base_ / "kept", copy);
    return copy;
  }
  std::vector<std::string> names(const std::filesystem::path& folder) const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      out.push_back(entry.path().filename().string());
    std::sort(out.begin(), out.end());
    return out;
  }

  int copies_ = 0;
};

TEST_F(StoreTest, WhateverItsSnapshotsItIsWhatWasPlayed) {
  test::Random plainly(4), often(4);
  StoreOptions of = options();
  of.folder = base_ / "plain";
  Store plain(of);
  of = options();
  auto kept = std::make_unique<Store>(of);
  for (int t = 0; t < 120; t += 20) {
    {
      std::jthread beside([&](const std::stop_token& ends) {
        while (!ends.stop_requested()) kept->save();
      });
      for (int k = 0; k < 20; ++k) ASSERT_EQ(serve(*kept, often), serve(plain, plainly)) << t;
    }
    of.folder = killed();
    Store again(of);
    EXPECT_TRUE(again.resumed());
    EXPECT_TRUE(again.cascade().text() == plain.cascade().text());
    if (t % 40 == 0) continue;
    kept = nullptr;
    of.folder = base_ / "kept";
    kept = std::make_unique<Store>(of);
    EXPECT_EQ(kept->calls_made_again(), 0u);
  }
  EXPECT_TRUE(kept->cascade().text() == plain.cascade().text());
  kept = nullptr;
  EXPECT_EQ(names(base_ / "kept").size(), 3u);  // a snapshot, its calls, the lock
}

TEST_F(StoreTest, SnapshotsAreMadeBesideCalls) {
  StoreOptions of = options();
  of.calls_of_a_snapshot = 20;
  of.sync_seconds = 0.02;
  Store store(of);
  test::Random random(5);
  const auto is_first = [&] { return std::filesystem::exists(base_ / "kept" / "cascade-0.json"); };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (int t = 0; t < 30 || (is_first() && std::chrono::steady_clock::now() < until); ++t) serve(store, random);
  EXPECT_FALSE(is_first());
}

// What is decided depends on when estimates were adopted, which the journal says.
TEST_F(StoreTest, RefitsBesideCallsAreMadeAgainInTheirPlaces) {
  for (const LaneSpec& rules : {shrunk_rules(true, 0.2), dow_rules(true, 0.2, 0.1), shrunk_rules(false, 0.2)}) {
    std::filesystem::remove_all(base_ / "kept");
    CascadeOptions of_cascade = test::exploring_learner(0.1);
    of_cascade.rules = rules;
    if (!rules.learns_reward()) of_cascade.evaluator = "quality";
    StoreOptions of = options(of_cascade);
    of.beside = true;
    Store store(of);
    test::Random random(9);
    for (int round = 0; round < 3; ++round) {
      {
        std::jthread beside([&](const std::stop_token& ends) {
          while (!ends.stop_requested()) store.save();
        });
        for (int k = 0; k < 60; ++k) serve(store, random, k % 3 != 0);
        if (round == 1) ask(store, {{"op", "add_model"}, {"model", "late"}});
        if (round == 2) ask(store, {{"op", "set_price"}, {"price", 2.0}});
      }
      const std::string text = store.cascade().text();
      of.folder = killed();
      Store again(of);
      EXPECT_TRUE(again.cascade().text() == text) << round;
    }
    EXPECT_EQ(store.cascade().counts().unlearned, 0u);
    EXPECT_THAT(refused(store, {{"op", "adopt"}, {"more", 1}}), HasSubstr("cannot be adopted"));
  }
}

TEST_F(StoreTest, NumbersAndRequestsUnderWayOutliveAKill) {
  StoreOptions of = options();
  Store store(of);
  const Json begun = ask(store, {{"op", "begin"}, {"psi", {1.0, 0.5}}});
  store.save();
  of.folder = killed();
  Store again(of);
  EXPECT_EQ(ask(again, {{"op", "next"}, {"request", begun["request"]}})["next"], begun["next"]);
  EXPECT_EQ(again.cascade().open_requests(), std::vector<std::uint64_t>{begun["request"].get<std::uint64_t>()});
  EXPECT_NE(ask(again, {{"op", "begin"}, {"psi", {1.0, 0.5}}})["request"], begun["request"]);
}

// Lines that did not reach the disk in a file that is followed by another one: what comes after them is lost too.
TEST_F(StoreTest, AfterAPowerFailureItIsWhatItWasAtSomeMoment) {
  StoreOptions of = options();
  Store store(of);
  test::Random random(6);
  for (int t = 0; t < 5; ++t) serve(store, random);
  const std::string before = store.cascade().text();
  const std::filesystem::path first = base_ / "kept" / "calls-0.jsonl";
  const auto whole = std::filesystem::file_size(first);
  for (int t = 0; t < 5; ++t) serve(store, random);
  of.folder = killed();
  // As if a snapshot were under way: the lines of the second half stand in a file of their own, and some before it are lost.
  const std::string all = test::read_file(of.folder / "calls-0.jsonl");
  const auto lines = std::count(all.begin(), all.begin() + static_cast<long>(whole), '\n');
  std::ofstream(of.folder / ("calls-" + std::to_string(lines + 2) + ".jsonl")) << all.substr(whole);
  std::filesystem::resize_file(of.folder / "calls-0.jsonl", whole);
  Store again(of);
  EXPECT_TRUE(again.cascade().text() == before);
  EXPECT_EQ(names(of.folder).size(), 3u);
}

TEST_F(StoreTest, OneProcessAloneHasIt) {
  Store store(options());
  const auto second = [&] {
    try {
      Store other(options());
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(second(), HasSubstr("of process " + std::to_string(::getpid())));
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string said = refused(store, {{"op", "begin"}, {"psi", {1.0, 0.5}}});
    ::_exit(said.find("was forked") == std::string::npos);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(ask(store, {{"op", "counts"}})["requests"], 0);
}

TEST_F(StoreTest, WhatIsNoCallIsRefusedAndNotInTheJournal) {
  StoreOptions of = options();
  Store store(of);
  const auto size = [&] { return std::filesystem::file_size(base_ / "kept" / "calls-0.jsonl"); };
  const auto before = size();
  EXPECT_THAT(refused(store, {{"op", "epoch"}, {"epoch", 1}}), HasSubstr("unknown"));
  EXPECT_THAT(refused(store, {{"op", "deploy"}}), HasSubstr("number that begin has answered"));
  EXPECT_THAT(refused(store, {{"op", "observe"}, {"request", 5}}), HasSubstr("not a call"));
  EXPECT_THAT(refused(store, {{"op", "deploy"}, {"request", 5}}), HasSubstr("no request 5"));
  EXPECT_EQ(size(), before);
  (void)store.call("{\"op\": \"begin\",\n \"psi\": [1.0, 0.5]}");  // a call, of two lines
  of.folder = killed();
  EXPECT_EQ(Store(of).cascade().open_requests().size(), 1u);
}

TEST_F(StoreTest, RequestsThatNobodyEndsAreCancelled) {
  StoreOptions of = options();
  of.sync_seconds = 0.02;
  of.timeout_seconds = 0.05;
  Store store(of);
  for (int t = 0; t < 3; ++t) ask(store, {{"op", "begin"}, {"psi", {1.0, 0.5}}});
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (ask(store, {{"op", "counts"}})["cancelled"] != 3 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(ask(store, {{"op", "counts"}})["cancelled"], 3);
  of.folder = killed();
  of.timeout_seconds = 0.0;
  Store again(of);
  EXPECT_TRUE(again.cascade().open_requests().empty());
}

TEST_F(StoreTest, DecisionsAreLoggedOnce) {
  StoreOptions of = options();
  of.decisions = true;
  of.sync_seconds = 0.0;
  test::Random random(8);
  for (int start = 0; start < 3; ++start) {
    Store store(of);
    for (int t = 0; t < 10; ++t) serve(store, random);
    store.save();
  }
  std::size_t decisions = 0;
  for (const auto& entry : std::filesystem::directory_iterator(base_ / "kept" / "decisions")) {
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) decisions += line.find("\"calls\"") != std::string::npos;
  }
  Store last(of);
  EXPECT_EQ(decisions, ask(last, {{"op", "counts"}})["deployed"].get<std::size_t>());
}

TEST_F(StoreTest, SettingsThatAreNoneAreRefused) {
  for (const auto& change : std::vector<std::function<void(StoreOptions&)>>{
           [](StoreOptions& o) { o.text.clear(); }, [](StoreOptions& o) { o.text = "{}"; },
           [](StoreOptions& o) { o.sync_seconds = -1.0; }, [](StoreOptions& o) { o.calls_of_a_snapshot = 0; }}) {
    StoreOptions of = options();
    change(of);
    EXPECT_THROW(Store{of}, Error);
  }
  std::ofstream(base_ / "file") << "x";
  StoreOptions of = options();
  of.folder = base_ / "file";
  EXPECT_THROW(Store{of}, Error);
}

// What was written with refits beside calls is made again so, and the other way round, whatever the next start wants.
TEST_F(StoreTest, TheJournalSaysHowItWasMade) {
  for (const bool beside : {true, false}) {
    std::filesystem::remove_all(base_ / "kept");
    StoreOptions of = options();
    of.beside = beside;
    Store store(of);
    test::Random random(2);
    for (int t = 0; t < 40; ++t) serve(store, random);
    const std::string text = store.cascade().text();
    of.folder = killed();
    of.beside = !beside;
    Store again(of);
    EXPECT_TRUE(again.cascade().text() == text);
    for (int t = 0; t < 10; ++t) serve(again, random);
  }
}

TEST_F(StoreTest, AForkedChildLeavesTheStoreAlone) {
  for (const bool beside : {false, true}) {
    StoreOptions of = options();
    of.folder = base_ / (beside ? "beside" : "inline");
    of.beside = beside;
    auto store = std::make_unique<Store>(of);
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);  // as it must not hang
      store = nullptr;
      ::_exit(0);
    }
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(ask(*store, {{"op", "counts"}})["requests"], 0);
  }
}

TEST_F(StoreTest, AFolderThatIsGoneIsTold) {
  StoreOptions of = options();
  Store store(of);
  ask(store, {{"op", "begin"}, {"psi", {1.0, 0.5}}});
  std::filesystem::remove_all(base_ / "kept");
  EXPECT_THROW(store.save(), Error);
  EXPECT_THAT(refused(store, {{"op", "begin"}, {"psi", {1.0, 0.5}}}),
              testing::AnyOf(HasSubstr("is gone"), HasSubstr("cannot be written")));
  EXPECT_EQ(ask(store, {{"op", "counts"}})["requests"], 1);
}

TEST_F(StoreTest, CallsWithoutTheirSnapshotAreNoFreshStart) {
  StoreOptions of = options();
  { Store store(of); }
  for (const std::string& name : names(base_ / "kept"))
    if (name.starts_with("cascade-")) std::filesystem::remove(base_ / "kept" / name);
  EXPECT_THROW(Store{of}, Error);
}

TEST_F(StoreTest, ARequestMayBeOfOneModelAlone) {
  StoreOptions of = options(test::in_order({0, 1}, {0.8}, 0.5));
  Store store(of);
  for (const char* const how : {"answers", "fails"}) {
    const Json begun = ask(store, {{"op", "begin"}, {"psi", {1.0}}}), request = begun["request"];
    const std::string third = store.cascade().model_name(2);
    Json step = ask(store, {{"op", "only"}, {"request", request}, {"model", third}});
    EXPECT_EQ(step["next"], third);  // though it is not in the order
    if (std::string(how) == "answers") {
      step = ask(store, {{"op", "observe"}, {"request", request}, {"model", third}, {"dollars", 0.1}, {"score", 0.1}});
      EXPECT_TRUE(step["next"].is_null());
      EXPECT_EQ(ask(store, {{"op", "deploy"}, {"request", request}})["deployed"], third);
      EXPECT_THAT(refused(store, {{"op", "only"}, {"request", request}, {"model", third}}),
                  HasSubstr("has called a model"));
    } else {
      step = ask(store, {{"op", "fail"}, {"request", request}, {"model", third}});
      EXPECT_NE(step["next"], third);
      EXPECT_FALSE(step["next"].is_null());
      EXPECT_THAT(refused(store, {{"op", "only"}, {"request", request}, {"model", third}}),
                  HasSubstr("was passed over"));
    }
  }
}

}  // namespace
}  // namespace pandora
