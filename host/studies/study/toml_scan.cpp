#include "host/studies/study/study_keys.hpp"

namespace pandora {
namespace {

// How deep the table is that a character outside strings and comments stands in. A value's own points (1.5) count as
// those of a key would where no `=` tells them apart: a limit may be off by a few, not by thousands.
class Depth {
 public:
  /// Returns whether it is still within the limit.
  bool take(char c) {
    switch (c) {
      case '[':
      case '{':
        if (open_.empty() && line_is_empty_) header_ = 0;  // of a table: what follows is no longer in the one before
        open_.push_back({points_ + 1, c == '{'});
        nested_ += open_.back().depth;
        points_ = 0;
        in_value_ = c == '[' && !line_is_empty_;
        break;
      case ']':
      case '}':
        close();
        break;
      case '.':
        if (!in_value_) ++points_;
        break;
      case '=':
        in_value_ = true;
        break;
      case ',':
        points_ = 0;
        in_value_ = !open_.empty() && !open_.back().table;
        break;
      case '\n':
        if (open_.empty()) {
          points_ = 0;
          in_value_ = false;
        }
        line_is_empty_ = open_.empty();
        return true;
      default:
        break;
    }
    if (c != ' ' && c != '\t' && c != '[') line_is_empty_ = false;
    return header_ + nested_ + points_ < kDeepestNesting;
  }

 private:
  struct Open {
    std::size_t depth;
    bool table;
  };

  void close() {
    if (open_.empty()) return;                                     // the parser will say so
    if (!in_value_ && !open_.back().table) header_ = points_ + 1;  // of [table] or [[table]]
    nested_ -= open_.back().depth;
    points_ = open_.back().depth - 1;
    open_.pop_back();
    in_value_ = true;
  }

  std::vector<Open> open_;
  std::size_t nested_ = 0, header_ = 0, points_ = 0;
  bool in_value_ = false, line_is_empty_ = true;
};

}  // namespace

TomlScan scan_toml(const std::string& text) {
  std::size_t line = 1;
  std::string quote;  // what ends the string or, "\n", the comment that we are in
  Depth depth;
  for (std::size_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0; at < text.size(); ++at) {
    const char c = text[at];
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f) return {line, 0};
    if (quote.empty()) {
      if (byte >= 0x80) return {line, 0};
      if (!depth.take(c)) return {0, line};
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
        ++at;  // quotes of the string, before those that end it
      quote.clear();
      if (c == '\n') (void)depth.take(c);
    } else if (c == '\n' && quote.size() == 1) {
      quote.clear();  // an unfinished string
      (void)depth.take(c);
    }
    if (c == '\n') ++line;
  }
  return {};
}

void require_size(const std::string& text, const std::string& where) {
  if (text.size() > kMostStudyBytes)
    refuse(where, fmt::format("has {} bytes, and a study at most {} (1 MiB); leave out what is no study", text.size(),
                              kMostStudyBytes));
}

void refuse_depth(const std::string& where) {
  refuse(where, fmt::format("keys and values nest deeper than {}; no key of a study does (`pandora run "
                            "--print-defaults` lists them)",
                            kDeepestNesting));
}

}  // namespace pandora
