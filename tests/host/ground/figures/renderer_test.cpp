// How the renderer is found and started, and what is said where it fails. Programs in Python's place stand in for it.
#include <gmock/gmock.h>
#include <signal.h>

#include <fstream>

#include "host/ground/base/error.hpp"
#include "host/ground/figures/document.hpp"
#include "pandora/error.hpp"
#include "tests/host/folder_test.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class Renderer : public test::FolderTest {
 protected:
  void TearDown() override {
    ::unsetenv("PANDORA_PYTHON");
    ::unsetenv("PANDORA_RENDERER");
    FolderTest::TearDown();
  }

  std::string program(const std::string& text) const {
    const fs::path file = base_ / "program";
    std::ofstream(file) << "#!/bin/sh\n" << text;
    fs::permissions(file, fs::perms::owner_all);
    return file.string();
  }
  RenderResult render_with(const std::string& text, double most_seconds = 60) const {
    ::setenv("PANDORA_PYTHON", program(text).c_str(), 1);
    RenderOptions options;
    options.formats = {"svg", "pdf"};
    options.processes = 2;
    options.most_seconds = most_seconds;
    return render_document(base_ / "a report", options);
  }
};

TEST_F(Renderer, GetsTheFolderFormatsAndProcesses) {
  const RenderResult result = render_with("echo \"$@\" > \"" + (base_ / "words").string() + "\"\n");
  EXPECT_TRUE(result.rendered) << result.message;
  EXPECT_EQ(result.message, "");
  EXPECT_THAT(test::read_file(base_ / "words"),
              AllOf(HasSubstr("python/src/pandora/rendering/render.py"), HasSubstr("a report"),
                    HasSubstr("--format svg,pdf --processes 2")));
}

TEST_F(Renderer, SaysWhatItSaidAndHowItEnded) {
  EXPECT_THAT(render_with("echo sorry >&2; exit 1\n").message,
              AllOf(HasSubstr("sorry; the renderer ended with code 1"), HasSubstr("a report' --format svg,pdf`")));
  EXPECT_THAT(render_with("kill -SEGV $$\n").message, HasSubstr("the renderer was ended by signal 11"));
  EXPECT_THAT(render_with("exec sleep 100\n", 0.05).message, HasSubstr("the renderer took longer than 0.05 s"));
}

// 3 says that modules are missing: its own words say which.
TEST_F(Renderer, SaysWhichModulesAreMissing) {
  const RenderResult result = render_with("echo matplotlib is not there; exit 3\n");
  EXPECT_FALSE(result.rendered);
  EXPECT_THAT(result.message, AllOf(HasSubstr("not all was rendered: matplotlib is not there; report.json"),
                                    testing::Not(HasSubstr("code 3"))));
}

TEST_F(Renderer, IsNamedByAVariable) {
  ::setenv("PANDORA_RENDERER", "/nowhere/render.py", 1);
  EXPECT_THAT(render_with("exit 0\n").message, HasSubstr("PANDORA_RENDERER names its file"));
  std::ofstream(base_ / "mine.py") << "";
  ::setenv("PANDORA_RENDERER", (base_ / "mine.py").c_str(), 1);
  EXPECT_TRUE(render_with("case \"$*\" in *mine.py*) exit 0;; esac; exit 1\n").rendered);
}

TEST_F(Renderer, FormatsAreKnownOnes) {
  EXPECT_THAT(parse_figure_formats({"svg", "png"}), testing::ElementsAre("svg", "png"));
  try {
    parse_figure_formats({"gif"});
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("--figures gif"), HasSubstr("svg, pdf or png")));
  }
}

// What it starts and leaves behind may hold its output for as long as it likes.
TEST_F(Renderer, AProcessThatIsLeftBehindIsNotWaitedFor) {
  const ChildResult result = run_child({program("sleep 300 & echo $! > \"" + (base_ / "left").string() + "\"\n")}, 60);
  EXPECT_TRUE(result.in_time);
  EXPECT_EQ(result.status, 0);
  ::kill(std::stoi(test::read_file(base_ / "left")), SIGKILL);
}

TEST_F(Renderer, AProgramThatCannotBeStartedIsAProblem) {
  EXPECT_THAT(run_child({"/nowhere/at/all"}, 1).problem, HasSubstr("/nowhere/at/all cannot be started"));
}

}  // namespace
}  // namespace pandora
