#include "host/cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace pandora::cli {

bool is_terminal(int fd) {
  return ::isatty(fd) == 1;
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

}  // namespace pandora::cli
