// Text that must not reach the parser, and the conversion of its results.
#include "host/studies/study/toml_text.hpp"

#include "host/studies/study/study_keys.hpp"

namespace pandora {
namespace {

struct Unfit {
  std::size_t line = 0;  // from 1; 0: nothing is wrong
  bool deep = false;     // a dotted key, whose depth toml++ 3.3 does not limit; else a bad character
};

// Finds the first control character, or character beyond ASCII outside strings and comments, or dotted key that is too
// deep. The point in a number in a list (1.5) counts as one in a key.
Unfit unfit_in(const std::string& text) {
  std::size_t line = 1;
  std::string quote;  // the text that ends the current string or, "\n", the current comment
  int points = 0;
  bool in_value = false;
  for (std::size_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0; at < text.size(); ++at) {
    const char c = text[at];
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f) return {line};
    if (quote.empty()) {
      if (byte >= 0x80) return {line};
      if (c == '.' && !in_value && ++points >= kDeepestNesting) return {line, true};
      if (std::string_view("\n,=[{").find(c) != std::string_view::npos) points = 0, in_value = c == '=';
      if (c == '#') quote = "\n";
      if (c == '"' || c == '\'') {
        const std::string triple(3, c);
        quote = text.compare(at, 3, triple) == 0 ? triple : std::string(1, c);
        at += quote.size() - 1;
      }
    } else if (c == '\\' && quote[0] == '"') {
      ++at;
      if (at < text.size() && text[at] == '\n') ++line;
      continue;
    } else if (text.compare(at, quote.size(), quote) == 0) {
      at += quote.size() - 1;
      for (int own = 0; quote.size() == 3 && own < 2 && at + 1 < text.size() && text[at + 1] == c; ++own)
        ++at;  // quotes inside the string, before those that end it
      quote.clear();
    } else if (c == '\n' && quote.size() == 1) {
      quote.clear();  // an unfinished string
    }
    if (c == '\n') ++line;
    if (c == '\n' && quote.empty()) points = 0, in_value = false;
  }
  return {};
}

void require_size(const std::string& text, const std::string& where) {
  if (text.size() > kMostStudyBytes)
    refuse(where, "has {} bytes, and a study at most {} (1 MiB); leave out what is no study", text.size(),
           kMostStudyBytes);
}

[[noreturn]] void refuse_depth(const std::string& where) {
  refuse(where,
         "keys and values nest deeper than {}; no key of a study does (`pandora run --print-defaults` lists them)",
         kDeepestNesting);
}

bool is_of_depth(const toml::parse_error& error) {
  return error.description().find("maximum nested value depth") != std::string_view::npos;
}

}  // namespace

toml::table table_of(const std::string& text, const std::string& name) {
  require_size(text, name);
  if (const auto [line, deep] = unfit_in(text); deep)
    refuse_depth(fmt::format("{}:{}", name, line));
  else if (line > 0)
    refuse(fmt::format("{}:{}", name, line),
           "not TOML: a control character, or one beyond ASCII outside quotes; mend the line");
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    const std::string where = fmt::format("{}:{}", name, error.source().begin.line);
    if (is_of_depth(error)) refuse_depth(where);
    refuse(where, "not TOML: {}; mend the line", error.description());
  } catch (const BrokenAssertion& error) {
    refuse(name, "not TOML: {}; mend the file", error.what());
  }
}

toml::table table_of_word(const std::string& word, const std::string& where) {
  require_size(word, where);
  const std::string text = "v = " + word;
  const auto [line, deep] = unfit_in(text);
  if (deep) refuse_depth(where);
  try {
    if (line == 0 && word.find_first_of("\n\r") == std::string::npos)
      if (toml::table table = toml::parse(text); table.size() == 1) return table;
  } catch (const toml::parse_error& error) {
    if (is_of_depth(error)) refuse_depth(where);
  } catch (const BrokenAssertion&) {
  }
  return toml::table{{"v", word}};
}

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
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(toml_of(text));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

std::string StudyValue::toml() const {
  // The shortest digits that are read back as the same number. An integer's digits would be read as an integer, which
  // has no -0.
  std::vector<std::string> digits;
  for (const double x : numbers)
    digits.push_back(x == 0.0 && std::signbit(x) ? "-0.0" : std::isnan(x) ? "nan" : fmt::format("{}", x));
  switch (kind) {
    case Kind::text:
      return toml_of(texts[0]);
    case Kind::integer:
      return fmt::format("{}", integers[0]);
    case Kind::number:
      return digits[0];
    case Kind::boolean:
      return boolean ? "true" : "false";
    case Kind::seed:
      return seed >> 63 ? fmt::format("\"{}\"", seed) : fmt::format("{}", seed);
    case Kind::texts:
      return toml_of(texts);
    case Kind::integers:
      return fmt::format("[{}]", fmt::join(integers, ", "));
    default:
      return fmt::format("[{}]", fmt::join(digits, ", "));
  }
}

}  // namespace pandora
