#include "host/cli/progress_bar.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace pandora::cli {

ProgressBar::ProgressBar(bool quiet) : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (drawn_ && terminal_) std::fputs("\n", stderr);
}

void ProgressBar::update(std::size_t done, std::size_t total) {
  if (quiet_) return;
  const Clock::time_point now = Clock::now();
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const auto clock = [](double seconds) {
    const int s = static_cast<int>(seconds + 0.5);
    return fmt::format("{}:{:02}", s / 60, s % 60);
  };
  const std::string text = fmt::format("{:3.0f}%  {} of {} lanes, {} elapsed, {} left", 100.0 * share, done, total,
                                       clock(elapsed), clock(elapsed * (1.0 - share) / share));
  if (terminal_) {
    if (done < total && now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    const int filled = static_cast<int>(30.0 * share);
    std::fputs(fmt::format("\r[{}{}] {} ", std::string(filled, '#'), std::string(30 - filled, ' '), text).c_str(),
               stderr);
    std::fflush(stderr);
  } else if (static_cast<int>(10.0 * share) > tenths_) {
    tenths_ = static_cast<int>(10.0 * share);
    std::fputs((text + "\n").c_str(), stderr);
  }
  drawn_ = true;
}

}  // namespace pandora::cli
