// What both writers of documents share.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace pandora {

/// Text in pieces, each with whether it is code; a backquote without its fellow is text.
inline std::vector<std::pair<std::string, bool>> pieces_of(const std::string& text) {
  std::vector<std::pair<std::string, bool>> pieces;
  std::size_t at = 0;
  for (;;) {
    const std::size_t open = text.find('`', at), close = open == text.npos ? text.npos : text.find('`', open + 1);
    if (close == text.npos) break;
    if (open > at) pieces.emplace_back(text.substr(at, open - at), false);
    pieces.emplace_back(text.substr(open + 1, close - open - 1), true);
    at = close + 1;
  }
  if (at < text.size()) pieces.emplace_back(text.substr(at), false);
  return pieces;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace pandora
