// What a stream of the process is connected to; progress and remaining time on standard error.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace pandora::cli {

/// Whether the file descriptor, such as STDERR_FILENO, is a terminal that somebody looks at: none of an MPI rank is.
bool is_terminal(int fd);

/// Columns of the terminal; if it is none, or does not know, those of the variable COLUMNS if it holds an integer from
/// 1 to 10000, else 80.
std::size_t terminal_width(int fd);

/// How far `done` of `total` lanes, or what they are called, are after some seconds, in at most `width` columns: the
/// numbers before the bar, fewer of them where even they do not fit. total >= done >= 1.
std::string progress_line(std::size_t done, std::size_t total, double seconds, std::size_t width,
                          const char* what = "lanes");

/// A bar that is redrawn in place on a terminal, a line at each tenth otherwise.
class ProgressBar {
 public:
  explicit ProgressBar(bool quiet, const char* what = "lanes");
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(std::size_t done, std::size_t total);
  /// In MiB; `total` may be less than what came.
  void update_bytes(std::uint64_t done, std::uint64_t total);

 private:
  using Clock = std::chrono::steady_clock;
  bool quiet_, terminal_;
  const char* what_;
  bool drawn_ = false;
  int tenths_ = 0;
  std::size_t columns_ = 0;  // of the line that stands there
  Clock::time_point start_ = Clock::now(), last_ = start_;
};

}  // namespace pandora::cli
