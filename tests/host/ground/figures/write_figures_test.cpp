// Figures to files, and what happens where gnuplot fails or is not there. Needs gnuplot.
#include "host/ground/figures/write_figures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <chrono>
#include <optional>
#include <stdexcept>

#include "host/ground/figures/gnuplot_script.hpp"
#include "host/ground/figures/run_gnuplot.hpp"
#include "pandora/error.hpp"
#include "tests/host/folder_test.hpp"
#include "tests/host/ground/figures/small_figures.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;

using Kind = Figure::Kind;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// A variable of the environment for the length of a test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = ::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

class WriteFigures : public test::FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    folder_ = base_ / "it's a \"folder\" of $figures";
    fs::create_directory(folder_);
  }
  bool has(const std::string& name) const { return fs::exists(folder_ / name); }
  std::string begin_of(const std::string& name) const { return test::read_file(folder_ / name).substr(0, 200); }

  // A program in gnuplot's place.
  std::string program(const std::string& text) const {
    const fs::path path = base_ / "fake";
    std::ofstream(path) << "#!/bin/sh\n" << text;
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }

  static std::string printf_text(std::string text) {
    for (std::size_t at = 0; (at = text.find('%', at)) != std::string::npos; at += 2) text.insert(at, 1, '%');
    return text;
  }

  fs::path folder_;
};

TEST_F(WriteFigures, DrawsEveryKindInEveryFormat) {
  const std::vector<Figure> figures = test::figures_of_every_kind();
  const FigureResult result = write_figures(folder_, figures, {.threads = 2});
  EXPECT_TRUE(result.rendered) << result.message;
  EXPECT_EQ(result.message, "");
  for (const Figure& figure : figures) {
    EXPECT_EQ(test::read_file(folder_ / (figure.name + ".dat")), figure_data(figure));
    EXPECT_EQ(test::read_file(folder_ / (figure.name + ".gp")), figure_script(figure));
    EXPECT_THAT(begin_of(figure.name + ".pdf"), StartsWith("%PDF"));
    EXPECT_THAT(begin_of(figure.name + ".png"), StartsWith("\x89PNG"));
    EXPECT_THAT(begin_of(figure.name + ".svg"), HasSubstr("<svg"));
  }
}

// Labels are text: nothing of them is run, replaced or taken for markup.
TEST_F(WriteFigures, DrawsLabelsAsTheyStand) {
  Figure figure = test::small_figure(Kind::bars, "f");
  const std::string trap = (folder_ / "trap").string();
  figure.title = "It's `touch '" + trap + "'` @x T₀ {a}_b^c %d \\n \"q\" <b>";
  figure.series[0].label = "a_1^{2} ± ρ";
  figure.series[1].label = "''model''";  // gnuplot 5.4 takes no two doubled quotes in a row, and none at the start
  figure.categories[0] = "'";
  const FigureResult result = write_figures(folder_, {figure}, {.pdf = false, .png = false});
  EXPECT_TRUE(result.rendered) << result.message;
  EXPECT_FALSE(has("trap"));
  const std::string svg = test::read_file(folder_ / "f.svg");
  EXPECT_THAT(svg, AllOf(HasSubstr(">a_1^{2} ± ρ<"), HasSubstr("10% more"), HasSubstr("T₀ {a}_b^c %d \\n")));
}

TEST_F(WriteFigures, DrawsSeriesWithoutAnyPoint) {
  Figure figure = test::small_figure(Kind::lines, "f");
  for (Series& series : figure.series)
    series = {.label = "nothing", .x = {}, .y = {}, .low = {}, .high = {}, .x_low = {}, .x_high = {}};
  const FigureResult result = write_figures(folder_, {figure});
  EXPECT_TRUE(result.rendered) << result.message;
}

TEST_F(WriteFigures, LeavesOutFormatsAndRemovesPicturesOfEarlierRuns) {
  std::ofstream(folder_ / "f.png") << "old";
  std::ofstream(folder_ / "f.svg") << "old";
  const FigureResult result =
      write_figures(folder_, {test::small_figure(Kind::lines, "f")}, {.pdf = false, .png = false});
  EXPECT_TRUE(result.rendered) << result.message;
  EXPECT_FALSE(has("f.png"));
  EXPECT_FALSE(has("f.pdf"));
  EXPECT_THAT(begin_of("f.svg"), HasSubstr("<svg"));
}

// As a reader would run it, in the folder and without our help.
TEST_F(WriteFigures, ScriptsRunByThemselves) {
  const Figure figure = test::small_figure(Kind::lines, "f");
  write_figures(folder_, {figure}, {.pdf = false, .svg = false, .png = false});
  EXPECT_FALSE(has("f.svg"));
  const std::string command = "cd \"$FIGURES\" && gnuplot f.gp";
  const Variable folder("FIGURES", folder_.string());
  ASSERT_EQ(::system(command.c_str()), 0);
  EXPECT_TRUE(has("f.pdf") && has("f.svg") && has("f.png"));
}

TEST_F(WriteFigures, WithoutGnuplotKeepsDataAndScripts) {
  const Variable path("PATH", base_.string());
  ::unsetenv("PANDORA_GNUPLOT");
  const FigureResult result = write_figures(folder_, {test::small_figure(Kind::lines, "first")});
  EXPECT_FALSE(result.rendered);
  EXPECT_TRUE(result.failures.empty());
  EXPECT_THAT(result.message,
              AllOf(HasSubstr("gnuplot is not installed (Debian: gnuplot-nox)"), HasSubstr("`gnuplot first.gp`")));
  EXPECT_TRUE(has("first.dat") && has("first.gp"));
  EXPECT_FALSE(has("first.svg"));
}

TEST_F(WriteFigures, NamesAProgramThatCannotBeRun) {
  const Variable named("PANDORA_GNUPLOT", (base_ / "absent").string());
  const FigureResult result = write_figures(folder_, {test::small_figure(Kind::lines, "f")});
  EXPECT_FALSE(result.rendered);
  EXPECT_THAT(result.message, AllOf(HasSubstr("PANDORA_GNUPLOT"), HasSubstr("absent")));
}

// One figure fails: it is named with gnuplot's own message, and all others are drawn.
TEST_F(WriteFigures, NamesTheFigureThatFails) {
  std::vector<Figure> figures;
  for (int i = 0; i < 5; ++i) figures.push_back(test::small_figure(Kind::lines, "f" + std::to_string(i)));
  const Variable real("REAL_GNUPLOT", find_gnuplot());
  const Variable fake("PANDORA_GNUPLOT",
                      program("case \"$*\" in *f2.gp*) rm -f f2.dat;; esac\nexec \"$REAL_GNUPLOT\" \"$@\"\n"));
  const FigureResult result = write_figures(folder_, figures, {.pdf = false, .png = false, .threads = 2});
  EXPECT_FALSE(result.rendered);
  ASSERT_EQ(result.failures.size(), 1u);
  EXPECT_EQ(result.failures[0].name, "f2");
  EXPECT_THAT(result.failures[0].message, HasSubstr("f2.dat"));
  EXPECT_THAT(result.message, AllOf(HasSubstr("1 of 5 figures were not drawn (f2)"), HasSubstr("f2.dat")));
  for (const char* name : {"f0.svg", "f1.svg", "f3.svg", "f4.svg"}) EXPECT_TRUE(has(name)) << name;
  EXPECT_FALSE(has("f2.svg"));
}

TEST_F(WriteFigures, SaysHowGnuplotEnded) {
  const auto message_of = [&](const std::string& text, double seconds) {
    const Variable fake("PANDORA_GNUPLOT", program(text));
    FigureOptions options;
    options.seconds_per_figure = seconds;
    const FigureResult result = write_figures(folder_, {test::small_figure(Kind::lines, "f")}, options);
    EXPECT_FALSE(result.rendered);
    return result.failures.empty() ? "" : result.failures[0].message;
  };
  EXPECT_EQ(message_of("echo sorry >&2; exit 3\n", 60), "sorry; gnuplot ended with code 3");
  EXPECT_EQ(message_of("kill -SEGV $$\n", 60), "gnuplot was ended by signal 11");
  EXPECT_EQ(message_of("exec sleep 100\n", 0.05), "gnuplot took longer than 0.05 s");
  EXPECT_EQ(message_of("exit 0\n", 60), "gnuplot wrote no picture");
  // It closes its output and stays.
  EXPECT_EQ(message_of("exec sleep 100 >/dev/null 2>&1\n", 0.05), "gnuplot took longer than 0.05 s");
}

// As a program leaves it that meets a full disk and ends well all the same.
TEST_F(WriteFigures, APartOfAPictureIsNone) {
  const std::string whole_svg = "<?xml?><svg></svg>", whole_pdf = "%PDF-1.5 %%EOF";
  for (const auto& [svg, pdf] : {std::pair<std::string, std::string>{"x", whole_pdf},
                                 {whole_svg, "x"},
                                 {"<?xml?><svg><g></g>", whole_pdf},
                                 {whole_svg, "%PDF-1.5 stream"},
                                 {"", whole_pdf}}) {
    const Variable fake("PANDORA_GNUPLOT",
                        program("printf '" + svg + "' > f.svg; printf '" + printf_text(pdf) + "' > f.pdf\n"));
    const FigureResult result = write_figures(folder_, {test::small_figure(Kind::lines, "f")}, {.png = false});
    ASSERT_EQ(result.failures.size(), 1u) << svg << " " << pdf;
    EXPECT_EQ(result.failures[0].message, "gnuplot wrote a part of a picture (is the disk full?)");
    EXPECT_FALSE(has("f.svg"));
    EXPECT_FALSE(has("f.pdf"));
  }
}

// What gnuplot starts and leaves behind may hold its output for as long as it likes.
TEST_F(WriteFigures, AProcessThatGnuplotLeavesBehindIsNotWaitedFor) {
  const Variable real("REAL_GNUPLOT", find_gnuplot());
  const Variable fake("PANDORA_GNUPLOT", program("sleep 300 & echo $! > left\nexec \"$REAL_GNUPLOT\" \"$@\"\n"));
  const FigureResult result =
      write_figures(folder_, {test::small_figure(Kind::lines, "f")}, {.pdf = false, .png = false});
  EXPECT_TRUE(result.rendered) << result.message;
  ::kill(std::stoi(test::read_file(folder_ / "left")), SIGKILL);
}

// The bytes of a picture are those of its script alone, wherever it stands among others.
TEST_F(WriteFigures, APictureDoesNotDependOnTheOthers) {
  const std::vector<Figure> figures = test::figures_of_every_kind();
  ASSERT_TRUE(write_figures(folder_, figures, {.pdf = false, .png = false}).rendered);
  fs::create_directory(base_ / "alone");
  for (const Figure& figure : figures) {
    ASSERT_TRUE(write_figures(base_ / "alone", {figure}, {.pdf = false, .png = false}).rendered);
    EXPECT_TRUE(test::read_file(base_ / "alone" / (figure.name + ".svg")) ==
                test::read_file(folder_ / (figure.name + ".svg")))
        << figure.name;
  }
}

TEST_F(WriteFigures, RefusesTwoFiguresOfOneNameBeforeItWritesAny) {
  const Figure figure = test::small_figure(Kind::lines, "f");
  EXPECT_THROW(write_figures(folder_, {figure, figure}), std::logic_error);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(WriteFigures, SaysThatTheFolderIsGone) {
  try {
    write_figures(folder_ / "gone", {test::small_figure(Kind::lines, "f")});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::output_lost);
    EXPECT_THAT(error.what(), HasSubstr("f.dat"));
  }
}

}  // namespace
}  // namespace pandora
