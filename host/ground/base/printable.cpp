#include "host/ground/base/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace pandora {
namespace {

struct Character {
  std::size_t bytes = 0;  // 0: none begins here
  char32_t value = 0;
};

// The first code point of a text; refuses surrogates, overlong forms and values beyond U+10FFFF.
Character first_of(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  char32_t value = lead & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3Fu);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kLeast[bytes] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return {};
  return {bytes, value};
}

bool steers(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF;
}

std::string escaped(std::string_view text, bool one_line) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Character c = first_of(text.substr(at));
    if (c.bytes == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at++]));
      continue;
    }
    if (c.value == '\n' || c.value == '\r' || c.value == '\t')
      out += one_line || c.value == '\r' ? ' ' : text[at];
    else if (steers(c.value))
      out += c.value < 0x80 ? fmt::format("\\x{:02x}", static_cast<unsigned>(c.value))
                            : fmt::format("\\u{{{:x}}}", static_cast<unsigned>(c.value));
    else
      out += text.substr(at, c.bytes);
    at += c.bytes;
  }
  return out;
}

bool inside_a_character(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
  if (text.size() <= most) return escaped(text, true);
  // Keeps both ends, because the problem stands at the beginning and the remedy at the end. A stray byte may be cut.
  std::size_t head = most / 2, tail = text.size() - (most - most / 2);
  for (int k = 0; k < 3 && head > 0 && inside_a_character(text, head); ++k) --head;
  for (int k = 0; k < 3 && inside_a_character(text, tail); ++k) ++tail;
  return fmt::format("{}...({} bytes left out)...{}", escaped(text.substr(0, head), true), tail - head,
                     escaped(text.substr(tail), true));
}

std::string printable_lines(std::string_view text) {
  return escaped(text, false);
}

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

std::optional<double> number_within(std::string_view text, double least, double most) {
  const std::optional<double> number = number_of(text);
  return number && *number >= least && *number <= most ? number : std::nullopt;
}

std::optional<int> whole_within(std::string_view text, int least, int most) {
  const std::optional<double> number = number_within(text, least, most);
  return number && *number == std::floor(*number) ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

}  // namespace pandora
