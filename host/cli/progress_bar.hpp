// Progress and remaining time on standard error.
#pragma once

#include <chrono>
#include <cstddef>

namespace pandora::cli {

/// A bar that is redrawn in place on a terminal, a line at each tenth otherwise.
class ProgressBar {
 public:
  explicit ProgressBar(bool quiet);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(std::size_t done, std::size_t total);

 private:
  using Clock = std::chrono::steady_clock;
  bool quiet_, terminal_;
  bool drawn_ = false;
  int tenths_ = 0;
  Clock::time_point start_ = Clock::now(), last_ = start_;
};

}  // namespace pandora::cli
