// Values of studies as TOML.
#include "host/studies/study/study_keys.hpp"

namespace pandora {
namespace {

template <class Items, class Text>
std::string list_of(const Items& items, Text&& text) {
  std::vector<std::string> words;
  for (const auto& item : items) words.push_back(text(item));
  return fmt::format("[{}]", fmt::join(words, ", "));
}

// Shortest digits that are read back as the same number. What looks like an integer is read as one, which has no -0.
std::string number_text(double x) {
  return x == 0.0 && std::signbit(x) ? "-0.0" : std::isnan(x) ? "nan" : fmt::format("{}", x);
}

}  // namespace

std::string toml_of(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\u{:04X}", byte);
    else
      out += c;
  }
  return out + "\"";
}

std::string toml_of(const std::vector<std::string>& texts) {
  return list_of(texts, [](const std::string& text) { return toml_of(text); });
}

std::string StudyValue::toml() const {
  const auto plain = [](auto x) { return fmt::format("{}", x); };
  switch (kind) {
    case Kind::text:
      return toml_of(texts[0]);
    case Kind::integer:
      return plain(integers[0]);
    case Kind::number:
      return number_text(numbers[0]);
    case Kind::boolean:
      return boolean ? "true" : "false";
    case Kind::seed:
      return seed >> 63 ? fmt::format("\"{}\"", seed) : plain(seed);
    case Kind::texts:
      return toml_of(texts);
    case Kind::integers:
      return list_of(integers, plain);
    default:
      return list_of(numbers, number_text);
  }
}

}  // namespace pandora
