#include "host/studies/study/former_spellings.hpp"

#include <fmt/format.h>

#include "host/ground/base/printable.hpp"
#include "kernels/tape/instance.hpp"

namespace pandora {

std::string in_todays_spelling(std::string_view key, std::string value) {
  const std::string_view option = key.substr(key.rfind('.') + 1);  // all of the key where there is no dot
  if (option != "arrives" && option != "leaves") return value;
  constexpr std::string_view kDigits = "0123456789", kLead = "box ";
  for (std::size_t colon = 0; (colon = value.find(':', colon)) != std::string::npos; ++colon) {
    const std::string before = value.substr(0, colon);
    const std::size_t first = before.find_last_not_of(kDigits) + 1;
    const auto box = whole_within(before.substr(first), 0, kMaxBoxes - 1);
    if (!box || std::string_view(before).substr(0, first).ends_with(kLead)) continue;
    const std::string today = fmt::format("{}{}", kLead, *box + 1);
    value.replace(first, colon - first, today);
    colon = first + today.size();
  }
  return value;
}

std::string label_in_todays_spelling(const std::string& label) {
  std::string out, key;
  for (const std::string& piece : split(label, '=')) {  // a value, which may have blanks, and the next key
    out += (out.empty() ? "" : "=") + in_todays_spelling(key, piece);
    key = piece.substr(piece.rfind(' ') + 1);
  }
  return out + (label.ends_with('=') ? "=" : "");
}

std::string study_in_todays_spelling(const std::string& toml) {
  constexpr std::string_view kBetween = " = ";
  std::string out;
  for (const std::string& line : split(toml, '\n')) {
    const std::size_t at = line.find(kBetween), value = at == std::string::npos ? line.size() : at + kBetween.size();
    out += line.substr(0, value) + in_todays_spelling(line.substr(0, std::min(at, line.size())), line.substr(value)) +
           "\n";
  }
  return toml.ends_with('\n') || toml.empty() ? out : out.substr(0, out.size() - 1);
}

}  // namespace pandora
