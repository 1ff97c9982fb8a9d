// Studies as text: those that the program writes, its defaults, the documents, and the studies that come with it.
#include <gmock/gmock.h>

#include <filesystem>
#include <set>

#include "pandora/policy.hpp"
#include "tests/experiments/rivals/rivals.hpp"
#include "tests/host/folder_test.hpp"
#include "tests/host/studies/study/study_texts.hpp"

namespace pandora {
namespace {
using test::parsed;
using test::study_of;
using testing::HasSubstr;

// The study beside the results must be the same study, whatever its keys came from.
TEST(StudyConfig, WhatItWritesReadsBackToTheSame) {
  StudyConfig config = parsed(
      "title = \"a \\\"b\\\" \\\\ \\u0007 ü\"\nenvironments = [\"heavy\"]\n[environment.heavy]\nlaw = \"uniform\"\nu = "
      "0.1\nstream = 200\ntruncation_radius = inf\n[vary]\nestimation.eta_index = [0.1, 1e-5, 3]\nperiods = [5, 6]");
  config.set("replications", "2", "");
  test::expect_kept(config);
  const std::vector<Setting> again = parsed(config.toml()).settings();
  EXPECT_EQ(again.size(), 6u);
  EXPECT_EQ(again[2].label(), config.settings()[2].label());
}

TEST(StudyConfig, IdentityHasWhatNumbersDependOnAndNothingElse) {
  const auto with = [](const std::string& key, const std::string& value) {
    StudyConfig config;
    config.set(key, value, "");
    return config.identity();
  };
  const auto standard = StudyConfig().identity();
  for (const char* key : {"seed", "replications", "periods", "oracle.bins", "oracle.order_contexts", "engine.block",
                          "environment.uniform.u", "estimation.eta_index"})
    EXPECT_NE(with(key, "7"), standard) << key;
  EXPECT_NE(with("estimation.refit", "tracking"), standard);
  EXPECT_EQ(with("engine.chunk", "2"), standard);
  EXPECT_EQ(with("title", "x"), standard);
  EXPECT_EQ(with("output.hdf5", "false"), standard);
  EXPECT_NE(with("output.instances", "false"), standard);  // because parts hold instances
  EXPECT_THAT(parsed("title = \"x\"\n[output]\nhdf5 = false").toml(),
              AllOf(HasSubstr("title = \"x\""), HasSubstr("hdf5 = false")));
  EXPECT_NE(parsed("[vary]\nperiods = [1, 2]").identity(), parsed("[vary]\nperiods = [1, 3]").identity());
  EXPECT_EQ(parsed("[estimation]\neta_index = 2").identity(), parsed("[estimation]\neta_index = 2.0").identity());
}

TEST(StudyConfig, PrintsDefaultsThatAreTheDefaults) {
  const std::string text = commented_defaults();
  const StudyConfig config = StudyConfig::parse(text, "defaults");
  for (const StudyKey& key : study_keys()) {
    EXPECT_THAT(text, HasSubstr("\n" + key.name.substr(key.name.rfind('.') + 1) + " = " + key.standard + "\n"));
    EXPECT_THAT(text, HasSubstr(key.meaning));
    EXPECT_FALSE(key.type.empty() || key.meaning.empty()) << key.name;
  }
  EXPECT_THAT(text, HasSubstr("two with one stream have the same draws"));
  EXPECT_NO_THROW(parsed("[environment.gaussian]\nstream = 0"));  // the stream of uniform, so they share draws
  const Study study = config.settings()[0].study, standard = study_of("");
  EXPECT_EQ(study.environments, standard.environments);
  EXPECT_EQ(study.T0, standard.T0);
}

const std::filesystem::path kRoot = PANDORA_SOURCE;

// The exceptions are hyperparameters of rivals, which `pandora run --print-defaults` prints.
TEST(StudyConfig, EveryKeyIsDocumented) {
  const std::string text = test::read_file(kRoot / "docs" / "keys.md") + test::read_file(kRoot / "docs" / "studies.md");
  std::set<std::string> of_rivals;
  for (const std::string& name : test::names_of_rivals())
    for (const Hyperparameter& h : find_policy(name)->hyperparameters) of_rivals.insert("hyperparameters." + h.name);
  for (const StudyKey& key : study_keys()) {
    if (of_rivals.contains(key.name)) continue;
    const bool of_environment = key.name.starts_with("environment.");
    EXPECT_THAT(text, HasSubstr(of_environment ? "`environment.NAME." + key.name.substr(key.name.rfind('.') + 1) + "`"
                                               : "`" + key.name + "`"));
  }
}

TEST(StudyConfig, ShippedStudiesAreValid) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / "experiments"))
    if (entry.path().extension() == ".toml") {
      names.insert(entry.path().stem().string());
      const StudyConfig config = read_study_file(entry.path().string());
      EXPECT_FALSE(config.values().at("title").texts[0].empty()) << entry.path();
    }
  EXPECT_THAT(names, testing::IsSupersetOf({"paper", "quick", "scaling-horizon", "scaling-dimensions", "scaling-boxes",
                                            "refit-schedules"}));
}

// `reproduce` runs exactly the paper's study.
TEST(StudyConfig, TheShippedPaperStudyIsTheDefault) {
  auto shipped = read_study_file((kRoot / "experiments" / "paper.toml").string()).identity(),
       standard = StudyConfig().identity();
  shipped.erase("title");
  standard.erase("title");
  EXPECT_EQ(shipped, standard);
}

}  // namespace
}  // namespace pandora
