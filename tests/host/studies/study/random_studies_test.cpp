// Random studies: the study that the program writes is the same one, to every digit of its identity.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>

#include "tests/host/studies/run/run_study_fixture.hpp"
#include "tests/host/studies/study/study_texts.hpp"

namespace pandora {
namespace {

// Makes texts in TOML. If one is no valid study, the program refuses it, and it does not count.
class RandomStudy {
 public:
  explicit RandomStudy(std::uint64_t seed) : engine_(seed) {}

  std::string text() {
    std::string out;
    const auto maybe = [&](const std::string& key, const std::string& value) {
      if (below(3) > 0) out += key + " = " + value + "\n";
    };
    maybe("title", title());
    maybe("seed", below(2) ? std::to_string(engine_() >> 1) : '"' + std::to_string(engine_()) + '"');
    maybe("replications", std::to_string(1 + below(1000)));
    maybe("periods", below(2) ? std::to_string(1 + below(50000)) : fmt::format("{}e2", 1 + below(100)));
    maybe("T0", list([&] { return std::to_string(below(500)); }));
    maybe("environments", some({"\"uniform\"", "\"gaussian\"", "\"student_t5\"", "\"own\""}));
    maybe("regimes", some({"\"A\"", "\"B\""}));
    maybe("policies", some({"\"dow\"", "\"query_all\"", "\"online_plugin\"", "\"static_plugin\"", "\"frugalgpt\""}));
    out += "[dimensions]\n";
    maybe("boxes", std::to_string(1 + below(6)));
    maybe("context", std::to_string(1 + below(40)));
    maybe("output", std::to_string(1 + below(40)));
    maybe("reward_features", std::to_string(1 + below(10)));
    out += "[hyperparameters]\n";
    maybe("c_rho", list([&] { return number(); }));
    maybe("c_theta", list([&] { return number(); }));
    out += "[estimation]\n";
    maybe("refit", below(2) ? "\"tracking\"" : fmt::format("\"geometric:{}\"", 1.0 + uniform()));
    maybe("refit_reward", below(2) ? "\"tracking\"" : fmt::format("\"geometric:{}\"", 1.0 + uniform()));
    maybe("eta_index", ridge());
    maybe("eta_slopes", below(2) ? "0" : ridge());
    maybe("eta_reward", ridge());
    out += "[oracle]\n";
    maybe("samples", std::to_string(100 + below(1000000)));
    maybe("bins", std::to_string(below(50)));
    out += fmt::format("[environment.own]\nstream = {}\n", 3 + below(50));
    out += fmt::format("truncation_radius = {}\n", below(2) ? "inf" : "20");
    out += fmt::format("u = {}\n", 0.1 + 0.2 * uniform());
    out += fmt::format("scale = {}\n", 0.5 + uniform());
    out += fmt::format("law = \"{}\"\n", below(2) ? "gaussian" : "uniform");
    out += "[output]\n";
    maybe("order", below(2) ? "true" : "false");
    if (below(2)) out += "[vary]\n\"estimation.eta_index\" = " + list([&] { return ridge(); }) + "\n";
    if (below(2)) out += "[scenario.as-it-is]\n[scenario.other]\nestimation.eta_reward = " + ridge() + "\n";
    return out;
  }

 private:
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

  std::string ridge() { return fmt::format("{:.17g}", std::ldexp(1.0 + uniform(), static_cast<int>(below(30)) - 9)); }

  std::string number() {
    switch (below(4)) {
      case 0:
        return std::to_string(1 + below(10));
      case 1:
        return fmt::format("{:.17g}", std::ldexp(1.0 + uniform(), static_cast<int>(below(60)) - 40));
      default:
        return fmt::format("{:.3}", 0.01 + uniform());
    }
  }

  template <class Make>
  std::string list(Make&& make) {
    std::vector<std::string> items;
    for (std::uint64_t n = 1 + below(4); n > 0; --n) items.push_back(make());
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
    return fmt::format("[{}]", fmt::join(items, ", "));
  }

  std::string some(std::vector<std::string> of) {
    std::shuffle(of.begin(), of.end(), engine_);
    of.resize(1 + below(of.size()));
    return fmt::format("[{}]", fmt::join(of, ", "));
  }

  std::string title() {
    static const std::vector<std::string> titles = {R"("")", R"("β \"quoted\" \\ tab\t")", R"('single \ quoted')",
                                                    R"("line\nend # no comment")", R"("\u0001\u007f\U0001F600")"};
    return titles[below(titles.size())];
  }

  std::mt19937_64 engine_;
};

TEST(RandomStudies, AreWrittenAsTheyWereRead) {
  int valid = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const std::string text = RandomStudy(seed).text();
    SCOPED_TRACE(text);
    StudyConfig config;
    try {
      config = StudyConfig::parse(text, "random");
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ExitCode::usage) << error.what();
      continue;
    }
    ++valid;
    test::expect_kept(config);
    const StudyConfig again = test::parsed(config.toml());
    const std::map<std::string, StudyValue> values = config.values(), read = again.values();
    ASSERT_EQ(read.size(), values.size());
    for (const auto& [key, value] : values) ASSERT_EQ(read.at(key).toml(), value.toml());
    const std::vector<Setting> settings = config.settings(), same = again.settings();
    ASSERT_EQ(same.size(), settings.size());
    for (std::size_t s = 0; s < same.size(); ++s) ASSERT_EQ(same[s].label(), settings[s].label());
  }
  EXPECT_GT(valid, 500);
}

using test::Words;
using RandomStudiesRun = test::RunStudyTest;

TEST_F(RandomStudiesRun, ResultsBelongToTheStudyThatWasWritten) {
  const Words small =
      joined({"--quiet", "--threads", "1"},
             test::set({"replications=1", "periods=9", "T0=0,3", "dimensions.boxes=2", "dimensions.context=3",
                        "dimensions.output=3", "dimensions.radius_draws=2000", "oracle.samples=1000",
                        "oracle.grid=3,3,3", "oracle.bins=20", "oracle.order_contexts=9"}));
  int ran = 0;
  for (std::uint64_t seed = 0; ran < 5; ++seed) {
    ASSERT_LT(seed, 60u);
    const std::string folder = "v" + std::to_string(seed), text = RandomStudy(seed).text();
    SCOPED_TRACE(text);
    write("random.toml", text);
    const test::ProgramResult first = run(joined({"run", "random.toml", "--out", folder}, small));
    if (first.exit_code == 2) continue;          // no valid study
    ASSERT_LE(first.exit_code, 1) << first.err;  // 1: lanes failed because of tiny ridges
    ++ran;
    const nlohmann::json identity = manifest(folder)["identity"];
    const test::ProgramResult again = run({"run", folder + "/study.toml", "--out", folder, "--resume", "--quiet"});
    ASSERT_EQ(again.exit_code, first.exit_code) << again.err;
    EXPECT_EQ(manifest(folder)["sessions"].back()["parts_computed"], 0);
    ASSERT_EQ(run({"run", folder + "/study.toml", "--out", "again", "--force", "--quiet", "--threads", "1"}).exit_code,
              first.exit_code);
    EXPECT_EQ(manifest("again")["identity"], identity);
  }
}

}  // namespace
}  // namespace pandora
