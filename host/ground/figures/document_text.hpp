// What both writers of documents share.
#pragma once

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

}  // namespace pandora
