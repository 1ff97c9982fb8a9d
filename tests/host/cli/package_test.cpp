// Commands that the Python package runs: which Python runs them, with which words, and the refusal without the package.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>

#include "tests/host/run_program.hpp"

namespace pandora {
namespace {

using testing::HasSubstr;

class PackageCommand : public test::ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    for (const char* name : {"PANDORA_PYTHON", "OPENBLAS_NUM_THREADS"}) ::unsetenv(name);
  }
  void TearDown() override {
    ::unsetenv("PANDORA_PYTHON");
    ProgramTest::TearDown();
  }
  // Makes a Python with or without the package, which prints its words.
  void use_python(bool has_package, const std::string& ends = "exit 7") {
    const std::filesystem::path file = work() / "python";
    std::ofstream(file) << "#!/bin/sh\nif [ \"$1\" = -c ]; then exit " << (has_package ? 0 : 1)
                        << "; fi\nprintf '%s|' \"$@\" $OPENBLAS_NUM_THREADS\n"
                        << ends << "\n";
    ::chmod(file.c_str(), 0755);
    ::setenv("PANDORA_PYTHON", file.c_str(), 1);
  }
};

TEST_F(PackageCommand, HandsItsWordsOnAndEndsAsThePackageDoes) {
  use_python(true);
  for (const test::Words& command : {test::Words{"cascade", "fit"},
                                     {"cascade", "test"},
                                     {"cascade", "frontier"},
                                     {"cascade", "show"},
                                     {"trace", "check"},
                                     {"import"},
                                     {"serve"}}) {
    test::Words words = command;
    std::string name;
    for (const std::string& word : command) name += word + "|";
    words.insert(words.end(), {"a b.csv", "--price", "-5", "--help", "--", "-x", ""});
    const test::ProgramResult result = run(words);
    EXPECT_EQ(result.exit_code, 7);
    EXPECT_EQ(result.out, "-m|pandora.offline|" + name + "a b.csv|--price|-5|--help|--|-x||1|");
    EXPECT_EQ(result.err, "");
  }
  use_python(true, "kill -TERM $$");
  EXPECT_EQ(run({"cascade", "show", "x"}).exit_code, -1);
}

TEST_F(PackageCommand, IsRefusedWithWhatToRunWhereThePackageIsMissing) {
  use_python(false);
  for (const std::string& python : {std::string(std::getenv("PANDORA_PYTHON")), std::string("/nonexistent")}) {
    ::setenv("PANDORA_PYTHON", python.c_str(), 1);
    const test::ProgramResult result = run({"cascade", "fit", "table.csv"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.error_lines(), 1) << result.err;
    EXPECT_THAT(result.err, HasSubstr("`pandora cascade fit` runs in pandora's Python package, which PANDORA_PYTHON="));
    EXPECT_THAT(result.err, HasSubstr("run `make package`"));
    EXPECT_THAT(run({"import", "promptfoo", "results.json"}).err, HasSubstr("`pandora import` runs in"));
  }
}

}  // namespace
}  // namespace pandora
