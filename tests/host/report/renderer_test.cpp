// How the script that makes reports is found and started, and the messages if it fails. Small programs take the place
// of Python.
#include "host/report/renderer.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "host/studies/results/result_folder.hpp"
#include "tests/host/expect_error.hpp"
#include "tests/host/folder_test.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Renderer : public test::FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    fs::create_directory(folder());
  }
  void TearDown() override {
    ::unsetenv("PANDORA_PYTHON");
    ::unsetenv("PANDORA_RENDERER");
    FolderTest::TearDown();
  }

  fs::path folder() const { return base_ / "a report"; }
  RenderResult render_with(const std::string& text) const {
    const fs::path file = base_ / "program";
    std::ofstream(file) << "#!/bin/sh\n" << text;
    fs::permissions(file, fs::perms::owner_all);
    ::setenv("PANDORA_PYTHON", file.c_str(), 1);
    return render(folder(), {{"title", "a\xff\x1b title"}}, {{"svg", "pdf"}, 7});
  }
};

TEST_F(Renderer, GetsTheFolderFormatsAndT0) {
  for (const char* name : {"report.html", "report.tex", "report.json"}) std::ofstream(folder() / name) << "of before";
  const RenderResult result = render_with("echo \"$@\" > \"" + (base_ / "words").string() + "\"; echo 3 figures\n");
  EXPECT_EQ(result.message, "");
  EXPECT_EQ(result.said, "3 figures\n");
  EXPECT_THAT(test::read_file(base_ / "words"),
              AllOf(HasSubstr("python/src/pandora/rendering/render.py"), HasSubstr("a report"),
                    HasSubstr("--format svg,pdf --t0 7 --processes ")));
  for (const char* name : {"report.html", "report.tex", "report.json"}) EXPECT_FALSE(fs::exists(folder() / name));
  const nlohmann::json numbers = nlohmann::json::parse(test::read_file(folder() / "numbers.json"));
  EXPECT_EQ(numbers["of"], "study");  // for any texts
  EXPECT_TRUE(holds_report(folder()));
}

TEST_F(Renderer, SaysWhatItSaidAndHowItEnded) {
  const RenderResult result = render_with("echo sorry >&2; exit 1\n");
  EXPECT_THAT(result.message,
              AllOf(HasSubstr("sorry; the renderer ended with code 1"),
                    testing::ContainsRegex("run `python3 .*render.py --format .svg,pdf. --t0 7 .*a report'`")));
  EXPECT_EQ(result.message.find('\n'), std::string::npos);
  EXPECT_THAT(render_with("kill -SEGV $$\n").message, HasSubstr("the renderer was ended by signal 11"));
  EXPECT_THAT(render_with("cat; echo none\n").said, "none\n");  // the script gets no input
}

// Code 3 says that modules are missing, and 6 that a file could not be written. The script's own output says which.
TEST_F(Renderer, SaysWhatIsMissingOrNotWritten) {
  EXPECT_THAT(render_with("echo matplotlib is not there >&2; exit 3\n").message,
              AllOf(HasSubstr("not all was rendered: matplotlib is not there; its numbers are in numbers.json"),
                    Not(HasSubstr("code 3"))));
  EXPECT_THAT([&] { render_with("echo the disk is full >&2; exit 6\n"); },
              testing::Throws<Error>(AllOf(testing::Property(&Error::code, ExitCode::output_lost),
                                           testing::Property(&Error::what, testing::StrEq("the disk is full")))));
}

TEST_F(Renderer, IsNamedByAVariable) {
  ::setenv("PANDORA_RENDERER", "/nowhere/render.py", 1);
  EXPECT_THAT(render_with("exit 0\n").message, HasSubstr("PANDORA_RENDERER names its file"));
  std::ofstream(base_ / "mine.py") << "";
  ::setenv("PANDORA_RENDERER", (base_ / "mine.py").c_str(), 1);
  EXPECT_EQ(render_with("case \"$*\" in *mine.py*) exit 0;; esac; exit 1\n").message, "");
}

// A process that the script leaves behind may keep the output open. It is not waited for.
TEST_F(Renderer, AProcessThatIsLeftBehindIsNotWaitedFor) {
  EXPECT_EQ(render_with("sleep 60 &\n").message, "");
}

TEST_F(Renderer, GivesTablesAndGetsLatex) {
  (void)render_with("cat\n");
  EXPECT_EQ(latex_of({{"title", "x"}}), "{\"title\":\"x\"}");
  (void)render_with("echo no >&2; exit 1\n");
  EXPECT_THROW(latex_of({}), Error);
}

TEST_F(Renderer, AFolderOfSomethingElseIsLeftAlone) {
  const fs::path out = base_ / "mine";
  fs::create_directories(out / "figures");
  std::ofstream(out / "thesis.txt") << "precious";
  EXPECT_THROW(claim_report(out), Error);
  EXPECT_EQ(test::read_file(out / "thesis.txt"), "precious");
  fs::remove(out / "thesis.txt");
  std::ofstream(out / "figures" / "photo.jpg") << "precious";
  EXPECT_THROW(claim_report(out), Error);
  // Files that a killed report has left are replaced.
  fs::rename(out / "figures" / "photo.jpg", out / "figures" / "depth-uniform-A.csv");
  std::ofstream(out / "report.tex") << "half a report";
  EXPECT_NO_THROW(claim_report(out));
  std::ofstream(out / "report.json") << "{\"of\": \"somebody\"}";
  EXPECT_THROW(claim_report(out), Error);
  std::ofstream(out / "report.json") << "{\n \"generator\": \"pandora report 1\"}";
  EXPECT_NO_THROW(claim_report(out));
}

}  // namespace
}  // namespace pandora
