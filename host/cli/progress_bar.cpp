#include "host/cli/progress_bar.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "host/ground/machine/ranks.hpp"

namespace pandora::cli {
namespace {

std::string clock_text(double seconds) {
  const auto s = std::lround(seconds);
  return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                  : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

// The numbers, all of them or the first few.
std::string numbers(std::size_t done, std::size_t total, double seconds, std::size_t most, const char* what) {
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const std::string left = clock_text(seconds * (1.0 - share) / share);
  std::string out;
  for (const std::string& text :
       {fmt::format("{:3.0f}%", 100.0 * share), fmt::format("{:3.0f}%  {} left", 100.0 * share, left),
        fmt::format("{:3.0f}%  {} of {} {}, {} left", 100.0 * share, done, total, what, left),
        fmt::format("{:3.0f}%  {} of {} {}, {} elapsed, {} left", 100.0 * share, done, total, what, clock_text(seconds),
                    left)})
    if (text.size() <= most) out = text;
  return out;
}

}  // namespace

bool is_terminal(int fd) {
  // mpirun gives its ranks terminals of its own and passes on to files what they write there.
  return ::isatty(fd) == 1 && !launched_by_mpi();
}

std::size_t terminal_width(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  constexpr std::size_t kUsual = 80, kMost = 10000;
  const char* const variable = std::getenv("COLUMNS");
  if (variable == nullptr) return kUsual;
  const std::string_view text = variable;
  std::size_t columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && columns >= 1 && columns <= kMost ? columns : kUsual;
}

std::string progress_line(std::size_t done, std::size_t total, double seconds, std::size_t width, const char* what) {
  std::string text = numbers(done, total, seconds, width, what);
  constexpr std::size_t kFrame = 3, kLeast = 10, kMost = 30;  // "[] ", and hashes
  if (width < text.size() + kFrame + kLeast) return text;
  const std::size_t length = std::min(kMost, width - text.size() - kFrame), filled = length * done / total;
  return fmt::format("[{}{}] {}", std::string(filled, '#'), std::string(length - filled, ' '), text);
}

ProgressBar::ProgressBar(bool quiet, const char* what)
    : quiet_(quiet), terminal_(is_terminal(STDERR_FILENO)), what_(what) {}

ProgressBar::~ProgressBar() {
  if (drawn_ && terminal_) std::fputs("\n", stderr);
}

void ProgressBar::update_bytes(std::uint64_t done, std::uint64_t total) {
  constexpr int kMebibyte = 20;
  if (done >> kMebibyte > 0) update(done >> kMebibyte, std::max(done, total) >> kMebibyte);
}

void ProgressBar::update(std::size_t done, std::size_t total) {
  if (quiet_) return;
  const Clock::time_point now = Clock::now();
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  if (terminal_) {
    if (done < total && now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    // Asked anew, for windows change; the last column stays free, for some terminals go on below after it.
    const std::size_t width = terminal_width(STDERR_FILENO) - 1;
    const std::string line = progress_line(done, total, elapsed, width, what_);
    const std::size_t rest = std::max(line.size(), std::min(columns_, width)) - line.size();  // of a longer line
    columns_ = line.size();
    std::fputs(("\r" + line + std::string(rest, ' ')).c_str(), stderr);
    std::fflush(stderr);
  } else if (static_cast<int>(10.0 * share) > tenths_) {
    tenths_ = static_cast<int>(10.0 * share);
    std::fputs((numbers(done, total, elapsed, std::string::npos, what_) + "\n").c_str(), stderr);
  }
  drawn_ = true;
}

}  // namespace pandora::cli
