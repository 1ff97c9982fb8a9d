// What a stream of the process is connected to.
#pragma once

#include <cstddef>

namespace pandora::cli {

/// Whether the file descriptor, such as STDERR_FILENO, is a terminal.
bool is_terminal(int fd);

/// Columns of the terminal; if it is none, or does not know, those of the variable COLUMNS if it holds an integer from
/// 1 to 10000, else 80.
std::size_t terminal_width(int fd);

}  // namespace pandora::cli
