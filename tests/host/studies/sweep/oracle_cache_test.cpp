// A stored table equals the computed one in every bit. Any other file in its place is named, and the table is computed
// again and replaces it.
#include "host/studies/sweep/oracle_cache.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "host/ground/files/sealed_file.hpp"
#include "pandora/error.hpp"
#include "tests/host/folder_test.hpp"
#include "tests/reference/small_problem.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Property;
using testing::Throws;

struct Problem {
  Instance instance;
  Contexts contexts;
  OracleOptions options = test::small_oracle();
  int first_row = 1;
  mutable int builds = 0;

  explicit Problem(Regime regime = Regime::B, int periods = 200) {
    instance = draw_instance(test::small_dimensions(3, 6, 4), paper_environments()[1], regime, 2, 5);
    contexts = draw_contexts(instance, {{Purpose::initial_context, 0, 1},
                                        {Purpose::online_context, 0, static_cast<std::uint32_t>(periods)}});
  }
  OracleTable build() const {
    ++builds;
    return oracle_table(instance, draw_shock_sample(instance, options.samples), contexts, options, first_row);
  }
  OracleTable get(OracleCache& cache) const {
    return cache.get(instance, contexts, options, first_row, [this] { return build(); });
  }
  fs::path path(const OracleCache& cache) const {
    return cache.path_of(cache.key_text(instance, contexts, options, first_row));
  }
};

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

void expect_same(const OracleTable& a, const OracleTable& b) {
  EXPECT_TRUE(same_bits({a.projection_norm, a.output_cost.least(), a.output_cost.greatest()},
                        {b.projection_norm, b.output_cost.least(), b.output_cost.greatest()}));
  EXPECT_TRUE(same_bits(a.output_cost.values(), b.output_cost.values()));
  EXPECT_TRUE(same_bits(a.sigma, b.sigma));
  ASSERT_EQ(a.grid.has_value(), b.grid.has_value());
  if (!a.grid) return;
  EXPECT_TRUE(same_bits(a.grid->values(), b.grid->values()));
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(a.grid->axes()[k].nodes, b.grid->axes()[k].nodes);
    EXPECT_TRUE(same_bits({a.grid->axes()[k].first, a.grid->axes()[k].step},
                          {b.grid->axes()[k].first, b.grid->axes()[k].step}));
  }
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class OracleCacheTest : public test::FolderTest {
 protected:
  OracleCache cache(const std::string& numerics = "test") {
    return OracleCache(base_ / "cache", numerics, [this](const std::string& note) { notes_.push_back(note); });
  }
  std::vector<std::string> notes_;
};

TEST_F(OracleCacheTest, AHitIsTheMissInEveryBit) {
  for (const Regime regime : {Regime::A, Regime::B}) {
    const Problem p(regime);
    OracleCache first = cache();
    const OracleTable computed = p.get(first);
    expect_same(computed, p.build());
    EXPECT_EQ(first.hits(), 0u);
    EXPECT_EQ(first.misses(), 1u);
    const std::string bytes = test::read_file(p.path(first));
    EXPECT_NE(bytes, "");
    OracleCache second = cache();
    p.builds = 0;
    const OracleTable stored = p.get(second);
    EXPECT_EQ(p.builds, 0);
    EXPECT_EQ(second.hits(), 1u);
    EXPECT_EQ(second.misses(), 0u);
    expect_same(stored, computed);
    EXPECT_TRUE(same_bits(stored.indices(p.instance, p.contexts), computed.indices(p.instance, p.contexts)));
    EXPECT_EQ(test::read_file(p.path(second)), bytes);
    fs::remove(p.path(second));
    OracleCache third = cache();
    p.get(third);
    EXPECT_EQ(test::read_file(p.path(third)), bytes);  // the file depends on nothing else
  }
  EXPECT_TRUE(notes_.empty());
}

// The key has every input of a table.
TEST_F(OracleCacheTest, EveryInputGivesAnotherKey) {
  OracleCache c = cache();
  const auto key = [&c](const Problem& p) { return c.key_text(p.instance, p.contexts, p.options, p.first_row); };
  const Problem base;
  using Change = std::function<void(Problem&)>;
  const std::vector<std::pair<const char*, Change>> changes = {
      {"seed", [](Problem& p) { p.instance.seed += 1ull << 40; }},
      {"replication", [](Problem& p) { ++p.instance.replication; }},
      {"regime", [](Problem& p) { p.instance.regime = Regime::A; }},
      {"environment", [](Problem& p) { ++p.instance.environment.id; }},
      {"law", [](Problem& p) { p.instance.environment.law = Law::student_t5; }},
      {"shock scale", [](Problem& p) { p.instance.environment.shock_scale = std::nextafter(1.0f, 2.0f); }},
      {"radius", [](Problem& p) { p.instance.environment.truncation_radius += 0.01f; }},
      {"no radius", [](Problem& p) { p.instance.environment.truncation_radius = INFINITY; }},
      {"cost level", [](Problem& p) { p.instance.environment.cost_level += 1e-15; }},
      {"boxes", [](Problem& p) { ++p.instance.dimensions.boxes; }},
      {"context", [](Problem& p) { ++p.instance.dimensions.context; }},
      {"output", [](Problem& p) { ++p.instance.dimensions.output; }},
      {"reward features", [](Problem& p) { ++p.instance.dimensions.reward_features; }},
      {"index features", [](Problem& p) { p.instance.dimensions.index_features = IndexFeatures::affine_and_squares; }},
      {"theta", [](Problem& p) { p.instance.theta[3] = std::nextafter(p.instance.theta[3], 9.0); }},
      {"D", [](Problem& p) { p.instance.D.back() = -p.instance.D.back(); }},
      {"beta1", [](Problem& p) { p.instance.beta1[0] += 1e-12; }},
      {"c1", [](Problem& p) { p.instance.c1[2] += 1e-12; }},
      {"samples", [](Problem& p) { ++p.options.samples; }},
      {"bins", [](Problem& p) { ++p.options.bins; }},
      {"shift nodes", [](Problem& p) { ++p.options.grid.shift; }},
      {"scale nodes", [](Problem& p) { ++p.options.grid.scale; }},
      {"cost nodes", [](Problem& p) { ++p.options.grid.cost; }},
      {"periods", [](Problem& p) { p.contexts = Problem(Regime::B, 199).contexts; }},
      {"first row", [](Problem& p) { ++p.first_row; }},
      {"purpose",
       [](Problem& p) {
         p.contexts = draw_contexts(p.instance, {{Purpose::initial_context, 0, 1}, {Purpose::order_context, 0, 200}});
       }},
      {"a shift", [](Problem& p) { p.contexts.reward_shift.back() += 1e-12; }},
      {"a scale", [](Problem& p) { p.contexts.scale.back() += 1e-12; }},
      {"a cost", [](Problem& p) { p.contexts.context_cost.back() += 1e-12; }}};
  std::set<std::string> keys = {key(base)}, paths = {base.path(c)};
  for (const auto& [name, change] : changes) {
    Problem changed;
    change(changed);
    EXPECT_TRUE(keys.insert(key(changed)).second) << name;
    EXPECT_TRUE(paths.insert(changed.path(c)).second) << name;
  }
  OracleCache other = cache("another build");
  EXPECT_TRUE(keys.insert(other.key_text(base.instance, base.contexts, base.options, base.first_row)).second);
}

// The calibration rows depend on the values of T_0 in a run.
TEST_F(OracleCacheTest, EarlierRowsAndNamesDoNotMatter) {
  OracleCache c = cache();
  const Problem base;
  Problem other;
  other.contexts = draw_contexts(
      other.instance,
      {{Purpose::initial_context, 0, 1}, {Purpose::calibration_context, 0, 50}, {Purpose::online_context, 0, 200}});
  other.first_row = 51;
  other.instance.environment.name = "of another name";
  EXPECT_EQ(base.path(c), other.path(c));
  const OracleTable table = base.get(c);
  expect_same(other.get(c), table);
  EXPECT_EQ(c.hits(), 1u);
  expect_same(other.build(), table);
}

TEST_F(OracleCacheTest, DamagedEntriesAreNamedComputedAgainAndReplaced) {
  const Problem p;
  OracleCache first = cache();
  const OracleTable table = p.get(first);
  const fs::path path = p.path(first);
  const std::string bytes = test::read_file(path);
  const nlohmann::json content = unseal("oracle", bytes);
  const auto sealed_with = [&](const char* field, const nlohmann::json& value) {
    nlohmann::json changed = content;
    if (value.is_discarded())
      changed.erase(field);
    else
      changed[field] = value;
    return seal("oracle", changed);
  };
  std::string flipped = bytes;
  flipped[flipped.size() / 2] ^= 4;
  std::string key = content["key"];
  key[key.find("\"seed\":5") + 7] = '6';
  const nlohmann::json nothing(nlohmann::json::value_t::discarded);
  const std::vector<std::pair<std::string, std::string>> damages = {
      {"", "is truncated"},
      {bytes.substr(0, bytes.size() - 1), "is truncated"},
      {bytes.substr(0, 30), "is truncated"},
      {bytes + "\n", "goes on after its end"},
      {flipped, "its checksum differs"},
      {"regime,environment\n", "is not a pandora oracle"},
      {seal("part", content), "is not a pandora oracle"},
      {seal("oracle", nullptr), "its content has no key"},
      {sealed_with("key", key), "its settings are not those"},
      {sealed_with("key", nothing), "its content has no key"},
      {sealed_with("grid", nothing), "its content has no grid"},
      {sealed_with("grid", pack(std::vector<double>(7))), "its content has 7 numbers instead of 567"},
      {sealed_with("output_cost", 3), "another type"},
      {sealed_with("projection_norm", pack({})), "its content has 0 numbers instead of 1"},
      {sealed_with("sigma", pack(std::vector<double>(3))), "its content has 3 numbers instead of 0"},
      {sealed_with("output_cost_range", nlohmann::json::binary({1})), "an incomplete number"}};
  for (const auto& [damaged, what] : damages) {
    SCOPED_TRACE(what);
    write(path, damaged);
    notes_.clear();
    p.builds = 0;
    OracleCache again = cache();
    expect_same(p.get(again), table);
    EXPECT_EQ(p.builds, 1);
    EXPECT_EQ(again.hits(), 0u);
    EXPECT_EQ(again.misses(), 1u);
    ASSERT_EQ(notes_.size(), 1u);
    EXPECT_THAT(notes_[0], HasSubstr(path.string()));
    EXPECT_THAT(notes_[0], HasSubstr(what));
    EXPECT_EQ(test::read_file(path), bytes);
    expect_same(p.get(again), table);
    EXPECT_EQ(again.hits(), 1u);
    write(path, damaged);  // a second time there is no message
    expect_same(p.get(again), table);
    EXPECT_EQ(notes_.size(), 1u);
  }
}

TEST_F(OracleCacheTest, RefusesFoldersThatCannotBe) {
  const auto expect_refusal = [](const fs::path& folder, const std::string& said) {
    EXPECT_THAT(([&] { OracleCache(folder, "test"); }),
                Throws<Error>(AllOf(Property(&Error::code, ExitCode::usage), Property(&Error::what, HasSubstr(said)))));
  };
  write(base_ / "file", "mine");
  expect_refusal(base_ / "file", (base_ / "file").string() + ": is a file");
  expect_refusal(base_ / "file" / "below", "cannot be created");
  expect_refusal("/proc/pandora", "/proc/pandora: cannot be created");
  expect_refusal("/proc/self", "/proc/self: cannot be written");
  OracleCache(base_ / "a" / "b", "test");
  EXPECT_TRUE(fs::is_empty(base_ / "a" / "b"));
}

// A limit on the size of files acts like a full disk.
TEST_F(OracleCacheTest, AFullDiskIsNotedOnceAndTheRunGoesOn) {
  const Problem p(Regime::B), q(Regime::B, 100);
  OracleCache c = cache();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1024, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const OracleTable table = p.get(c);
  const OracleTable other = q.get(c);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, handler);
  expect_same(table, p.build());
  expect_same(other, q.build());
  EXPECT_EQ(c.misses(), 2u);
  EXPECT_FALSE(c.storing());
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_THAT(notes_[0], HasSubstr(p.path(c).string()));
  EXPECT_THAT(notes_[0], HasSubstr("File too large"));
  EXPECT_TRUE(fs::is_empty(base_ / "cache"));
}

TEST_F(OracleCacheTest, SeveralThreadsShareIt) {
  OracleCache c = cache();
  std::vector<Problem> problems;
  for (int periods : {20, 30, 40}) problems.emplace_back(Regime::B, periods);
  std::vector<OracleTable> expected;
  for (const Problem& p : problems) expected.push_back(p.build());
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 6; ++k) {
        const std::size_t at = static_cast<std::size_t>(t + k) % 3;
        const Problem mine = problems[at];
        if (!same_bits(mine.get(c).grid->values(), expected[at].grid->values())) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(c.hits() + c.misses(), 36u);
  EXPECT_GE(c.hits(), 18u);  // each thread computes each table at most once
  EXPECT_TRUE(notes_.empty());
  EXPECT_EQ(std::distance(fs::directory_iterator(base_ / "cache"), fs::directory_iterator()), 3);
}

TEST_F(OracleCacheTest, AFailureToComputeIsTheCallers) {
  const Problem p;
  OracleCache c = cache();
  EXPECT_THROW(c.get(p.instance, p.contexts, p.options, p.first_row,
                     []() -> OracleTable { throw Error(ExitCode::bad_data, "no"); }),
               Error);
  EXPECT_TRUE(fs::is_empty(base_ / "cache"));
  p.get(c);
  EXPECT_EQ(p.builds, 1);
}

}  // namespace
}  // namespace pandora
