#include "host/ground/base/printable.hpp"

#include <fmt/format.h>

namespace pandora {
namespace {

struct Character {
  std::size_t bytes = 0;  // 0: none begins here
  char32_t value = 0;
};

// The first code point, without surrogates, overlong forms and what is beyond U+10FFFF.
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
  // What is wrong stands at the beginning, the remedy at the end. A stray byte is no character to be kept whole.
  std::size_t head = most / 2, tail = text.size() - (most - most / 2);
  for (int k = 0; k < 3 && head > 0 && inside_a_character(text, head); ++k) --head;
  for (int k = 0; k < 3 && inside_a_character(text, tail); ++k) ++tail;
  return fmt::format("{}...({} bytes left out)...{}", escaped(text.substr(0, head), true), tail - head,
                     escaped(text.substr(tail), true));
}

std::string printable_lines(std::string_view text) {
  return escaped(text, false);
}

}  // namespace pandora
