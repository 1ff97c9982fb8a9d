#include "host/ground/base/split.hpp"

#include <algorithm>
#include <charconv>

namespace pandora {

std::vector<std::string> split(std::string_view text, char mark) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(mark), text.size());
    pieces.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return pieces;
}

std::vector<std::string> words_of(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  std::vector<std::string> words;
  for (std::size_t begin = text.find_first_not_of(kBlanks); begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

std::optional<double> number_of(std::string_view text) {
  double value = 0.0;
  const char* const all = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), all, value);
  return error == std::errc() && end == all ? std::optional(value) : std::nullopt;
}

}  // namespace pandora
