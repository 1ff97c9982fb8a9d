// Folders of results whose studies count boxes from 0, as earlier versions wrote them: read as what they meant.
#include "host/ground/files/sealed_file.hpp"
#include "host/studies/results/parts.hpp"
#include "tests/host/studies/run/run_study_fixture.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kBoxes = R"(
[environment.uniform]
leaves = { box_number = 1, at = 30 }
[vary]
environment.uniform.arrives = ["box 3:20", { box_number = 2, at = 10 }]
)";

// Boxes from 0: "box 3:20" was "2:20".
std::string former(std::string text) {
  for (int box = 1; box <= 3; ++box) {
    const std::string today = "box " + std::to_string(box) + ":";
    for (std::size_t at; (at = text.find(today)) != std::string::npos;)
      text.replace(at, today.size(), std::to_string(box - 1) + ":");
  }
  return text;
}

nlohmann::json former(nlohmann::json values) {
  for (nlohmann::json& value : values)
    if (value.is_string()) value = former(value.get<std::string>());
  return values;
}

class FormerSpellings : public test::RunStudyTest {
 protected:
  void SetUp() override {
    test::RunStudyTest::SetUp();
    write("study.toml", test::small_study_text(2, 40, R"("uniform")", 500) + kBoxes);
  }

  // The folder as an earlier version wrote it.
  void make_former(const fs::path& folder) const {
    const std::string study = former(test::read_file(folder / "study.toml"));
    ASSERT_THAT(study, HasSubstr("leaves = \"0:30\"\n"));
    ASSERT_THAT(study, HasSubstr("environment.uniform.arrives = [\"2:20\", \"1:10\"]\n"));
    std::ofstream(folder / "study.toml") << study;
    nlohmann::json manifest = nlohmann::json::parse(test::read_file(folder / "manifest.json"));
    manifest["identity"] = former(manifest["identity"]);
    manifest["study_toml"] = study;
    manifest.erase("sha256");
    std::ofstream(folder / "manifest.json") << manifest_text(manifest);
    int labels = 0;
    for (const auto& entry : fs::directory_iterator(folder / "parts")) {
      nlohmann::json content = read_sealed("part", entry.path(), 1 << 20);
      nlohmann::json& place = content["place"];
      content["identity"] = former(content["identity"]);
      place["options"] = former(place["options"]);
      place["setting"] = former(place["setting"].get<std::string>());
      labels += place["setting"] == "environment.uniform.arrives=2:20";
      std::ofstream(entry.path(), std::ios::binary) << seal("part", content);
    }
    EXPECT_GT(labels, 0);
  }

  void expect_same_tables(const char* folder, const char* reference) {
    for (const char* file : {"study.toml", "summary.csv", "boxes.csv", "choices.csv", "results.h5"})
      EXPECT_EQ(test::read_file(work() / folder / file), test::read_file(work() / reference / file)) << file;
  }
};

TEST_F(FormerSpellings, OfResultsReadAsWhatTheyMeant) {
  run_reference();
  fs::copy(work() / "reference", work() / "kept", fs::copy_options::recursive);
  make_former(work() / "kept");
  const test::ProgramResult shown = run({"show", "kept", "--format", "csv"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_EQ(shown.err, "");
  EXPECT_EQ(shown.out, test::read_file(work() / "reference" / "summary.csv"));
  const test::ProgramResult compared = run({"compare", "kept", "reference", "--policy", "dow/known"});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_THAT(compared.out, Not(HasSubstr(" there and ")));

  fs::remove(work() / "kept" / "parts" / "000-uniform-A-00001.part");
  test::Words resumed = words("kept", {"--resume"});
  resumed[1] = "kept/study.toml";  // the study that the folder keeps is one of its own
  ASSERT_EQ(run(resumed).exit_code, 0) << test::read_file(base_ / "err");
  expect_same_tables("kept", "reference");
}

TEST_F(FormerSpellings, OfResultsGrowAndMerge) {
  run_reference({"--replications", "3"});
  ASSERT_EQ(run(words("kept")).exit_code, 0);
  make_former(work() / "kept");
  ASSERT_EQ(run(words("kept", {"--extend", "--replications", "3"})).exit_code, 0) << test::read_file(base_ / "err");
  expect_same_tables("kept", "reference");
  for (const char* shard : {"0", "1"})
    ASSERT_EQ(run(words(std::string("shard") + shard, {"--replications", "3", "--shard", std::string(shard) + "/2"}))
                  .exit_code,
              0);
  make_former(work() / "shard0");
  ASSERT_EQ(run({"merge", "shard0", "shard1", "--out", "merged", "--quiet"}).exit_code, 0);
  expect_same_tables("merged", "reference");
}

// Away from its results nobody knows whether it is of an earlier version or of somebody who counts so.
TEST_F(FormerSpellings, OfStudiesAreRefused) {
  run_reference();
  make_former(work() / "reference");
  fs::copy(work() / "reference" / "study.toml", work() / "copy.toml");
  const test::ProgramResult refused = run({"run", "copy.toml", "--out", "again"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("vary.environment.uniform.arrives = [\"2:20\", \"1:10\"]: write \"box 3:20\" or "
                                     "{ box_number = 3, at = 20 }; boxes are counted from 1"));
  fs::remove_all(work() / "reference" / "parts");  // such as a folder of something else with a manifest.json
  EXPECT_EQ(run({"run", "reference/study.toml", "--out", "again"}).exit_code, 2);
}

}  // namespace
}  // namespace pandora
