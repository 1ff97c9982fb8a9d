// `pandora cascade new`, as its users meet it.
#include <gmock/gmock.h>

#include "pandora/cascade.hpp"
#include "tests/host/run_program.hpp"

namespace pandora {
namespace {

using testing::HasSubstr;

class CascadeCommand : public test::ProgramTest {
 protected:
  test::ProgramResult begun(std::vector<std::string> more) {
    more.insert(more.begin(), {"cascade", "new", "--models", "a,b", "--price", "1"});
    return run(more);
  }
  void expect_refused(const std::vector<std::string>& more, const std::string& part) {
    const test::ProgramResult result = begun(more);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_EQ(result.error_lines(), 1) << result.err;
    EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_EQ(result.out, "");
  }
};

TEST_F(CascadeCommand, ACascadeThatHasLearnedNothing) {
  const test::ProgramResult result =
      begun({"--evaluator", "score", "--psi", "2", "--forget", "50", "--explore", "0.05", "--out", "n.json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("n.json: 2 models, evaluator score, nothing learned yet"));
  const CascadeOptions options = Cascade::load(work() / "n.json").options();
  EXPECT_EQ(options.models, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options.index_features, 2);
  EXPECT_EQ(options.explore, 0.05);
  EXPECT_EQ(options.estimation.forgetting.half_life, 50.0);
}

TEST_F(CascadeCommand, RefusesWhatItIsNotGivenRight) {
  expect_refused({}, "no evaluator is given");
  expect_refused({"--evaluator", "score", "--psi", "3", "--features", "f.json"}, "--features excludes --psi");
  std::ofstream(work() / "f.json") << "x";
  for (const char* out : {"f.json", "./f.json"})
    expect_refused({"--evaluator", "quality", "--features", "f.json", "--out", out, "--force"},
                   "is the input f.json itself; name another file");
  EXPECT_EQ(test::read_file(work() / "f.json"), "x");
  std::ofstream(work() / "cascade.json") << "mine";
  expect_refused({"--evaluator", "score"}, "--out cascade.json: is there already");
  EXPECT_EQ(test::read_file(work() / "cascade.json"), "mine");
}

TEST_F(CascadeCommand, NamesItsSubcommands) {
  EXPECT_THAT(run({"cascade"}).err, HasSubstr("subcommand"));
  EXPECT_THAT(run({"cascade", "fitt", "val.csv"}).err, HasSubstr("cascade fitt: unknown command; the nearest is fit"));
  EXPECT_THAT(run({"trace", "chek"}).err, HasSubstr("trace chek: unknown command; the nearest is check"));
}

}  // namespace
}  // namespace pandora
