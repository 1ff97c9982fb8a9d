// The width of a terminal, and the progress bar, which must fit into it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
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

// Sets COLUMNS for the duration of a test.
class Columns {
 public:
  explicit Columns(const char* value) {
    if (const char* before = std::getenv("COLUMNS")) before_ = before;
    set(value);
  }
  ~Columns() { set(before_ ? before_->c_str() : nullptr); }
  Columns(const Columns&) = delete;
  Columns& operator=(const Columns&) = delete;

 private:
  static void set(const char* value) {
    if (value == nullptr)
      ::unsetenv("COLUMNS");
    else
      ::setenv("COLUMNS", value, 1);
  }
  std::optional<std::string> before_;
};

TEST(Terminal, TellsItsWidthWhateverColumnsSays) {
  const Terminal terminal(57);
  if (terminal.terminal < 0) GTEST_SKIP() << "no pseudo-terminals here";
  const Columns columns("33");
  EXPECT_TRUE(is_terminal(terminal.terminal));
  EXPECT_EQ(terminal_width(terminal.terminal), 57u);
}

TEST(Terminal, OneThatDoesNotKnowItsWidthLeavesItToColumns) {
  const Terminal terminal(0);
  if (terminal.terminal < 0) GTEST_SKIP() << "no pseudo-terminals here";
  const Columns columns("33");
  EXPECT_EQ(terminal_width(terminal.terminal), 33u);
}

TEST(Terminal, ElseColumnsIfItIsSensibleElse80) {
  const int file = ::open("/dev/null", O_WRONLY);
  EXPECT_FALSE(is_terminal(file));
  const auto with = [&](const char* value) {
    const Columns columns(value);
    return terminal_width(file);
  };
  EXPECT_EQ(with("132"), 132u);
  for (const char* value : {"", "0", "-5", "wide", "100x", "99999999999999999999", "10001"})
    EXPECT_EQ(with(value), 80u) << value;
  EXPECT_EQ(with(nullptr), 80u);
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
