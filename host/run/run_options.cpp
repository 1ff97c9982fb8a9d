#include "host/run/run_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "pandora/error.hpp"

namespace pandora {

Shard Shard::parse(const std::string& text) {
  Shard shard;
  const char *begin = text.data(), *end = begin + text.size(), *slash = std::find(begin, end, '/');
  const auto index = std::from_chars(begin, slash, shard.index);
  const auto count = slash == end ? index : std::from_chars(slash + 1, end, shard.count);
  if (index.ec != std::errc() || index.ptr != slash || slash == end || count.ec != std::errc() || count.ptr != end ||
      shard.index < 0 || shard.count < 1 || shard.index >= shard.count)
    throw Error(ExitCode::usage, fmt::format("--shard {}: give i/n with i from 0 to n - 1, such as 0/4", text));
  return shard;
}

}  // namespace pandora
