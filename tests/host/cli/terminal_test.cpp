// The width of a terminal, and the progress bar, which must fit into it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include "host/cli/progress_bar.hpp"
#include "tests/host/run_program.hpp"

namespace pandora::cli {
namespace {
using testing::HasSubstr;

// The two ends of a terminal with some width. `reader` reads the output to `terminal`.
struct Terminal {
  int reader = -1, terminal = -1;

  explicit Terminal(unsigned short columns) {
    reader = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (reader < 0 || ::grantpt(reader) != 0 || ::unlockpt(reader) != 0) return;
    terminal = ::open(::ptsname(reader), O_RDWR | O_NOCTTY);
    winsize size{};
    size.ws_row = 24;
    size.ws_col = columns;
    ::ioctl(terminal, TIOCSWINSZ, &size);
  }
  ~Terminal() {
    ::close(terminal);
    ::close(reader);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
};

// The width of a file or terminal while COLUMNS has a value, or none.
std::size_t width_with(const char* columns, int descriptor) {
  if (columns != nullptr) ::setenv("COLUMNS", columns, 1);
  const std::size_t width = terminal_width(descriptor);
  ::unsetenv("COLUMNS");
  return width;
}

TEST(Terminal, TellsItsWidthWhateverColumnsSays) {
  const Terminal terminal(57);
  if (terminal.terminal < 0) GTEST_SKIP() << "no pseudo-terminals here";
  EXPECT_TRUE(is_terminal(terminal.terminal));
  EXPECT_EQ(width_with("33", terminal.terminal), 57u);
}

TEST(Terminal, OneThatDoesNotKnowItsWidthLeavesItToColumns) {
  const Terminal terminal(0);
  if (terminal.terminal < 0) GTEST_SKIP() << "no pseudo-terminals here";
  EXPECT_EQ(width_with("33", terminal.terminal), 33u);
}

TEST(Terminal, ElseColumnsIfItIsSensibleElse80) {
  const int file = ::open("/dev/null", O_WRONLY);
  EXPECT_FALSE(is_terminal(file));
  EXPECT_EQ(width_with("132", file), 132u);
  for (const char* value : {"", "0", "-5", "wide", "100x", "99999999999999999999", "10001"})
    EXPECT_EQ(width_with(value, file), 80u) << value;
  EXPECT_EQ(width_with(nullptr, file), 80u);
  ::close(file);
}

TEST(ProgressLine, FitsIntoEveryWidth) {
  for (std::size_t width = 0; width <= 200; ++width)
    for (const std::size_t done : {std::size_t{1}, std::size_t{123456}, std::size_t{1000000}})
      EXPECT_LE(progress_line(done, 1000000, 7000.0, width).size(), width);
}

TEST(ProgressLine, KeepsTheNumbersThenTheBar) {
  EXPECT_EQ(progress_line(50, 100, 60.0, 200),
            "[###############               ]  50%  50 of 100 lanes, 1:00 elapsed, 1:00 left");
  EXPECT_EQ(progress_line(50, 100, 60.0, 61), "[######      ]  50%  50 of 100 lanes, 1:00 elapsed, 1:00 left");
  EXPECT_EQ(progress_line(50, 100, 60.0, 50), " 50%  50 of 100 lanes, 1:00 elapsed, 1:00 left");
  EXPECT_EQ(progress_line(50, 100, 60.0, 45), "[#####     ]  50%  50 of 100 lanes, 1:00 left");
  EXPECT_EQ(progress_line(50, 100, 60.0, 15), " 50%  1:00 left");
  EXPECT_EQ(progress_line(50, 100, 60.0, 5), " 50%");
  EXPECT_EQ(progress_line(50, 100, 60.0, 3), "");
  EXPECT_THAT(progress_line(1, 3, 3600.0, 100), HasSubstr("1:00:00 elapsed, 2:00:00 left"));
}

class ProgressBarTest : public test::ProgramTest {};

// In a narrow terminal, every redrawn bar fits into a line.
TEST_F(ProgressBarTest, StaysWithinTheTerminal) {
  const Terminal terminal(50);
  if (terminal.terminal < 0) GTEST_SKIP() << "no pseudo-terminals here";
  const std::string folder = (base_ / "results").string();
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    ::dup2(terminal.terminal, STDERR_FILENO);
    ::execl(PANDORA_PROGRAM, "pandora", "reproduce", "--environment", "uniform", "--regime", "A", "--periods", "50",
            "--samples", "2000", "--replications", "2", "--t0", "0,5", "--policy", "online_plugin", "--out",
            folder.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  std::string shown(100000, '\0');
  shown.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(terminal.reader, shown.data(), shown.size()))));
  EXPECT_THAT(shown, HasSubstr("100%"));
  std::istringstream lines(shown);
  for (std::string line; std::getline(lines, line, '\r');) EXPECT_LT(line.size(), 50u) << line;
}

}  // namespace
}  // namespace pandora::cli
