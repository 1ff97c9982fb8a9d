#include "host/ground/figures/inline_svg.hpp"

#include <fmt/format.h>

#include <string_view>

#include "host/ground/tables/table.hpp"

namespace pandora {
namespace {

constexpr auto kNone = std::string::npos;

// The value of an attribute of the tag that the text begins with; empty where it has none.
std::string attribute(std::string_view tag, const std::string& name) {
  const std::size_t at = tag.find(" " + name + "=");
  if (at == kNone || at + name.size() + 2 >= tag.size()) return "";
  const std::size_t open = at + name.size() + 2, close = tag.find(tag[open], open + 1);
  if ((tag[open] != '"' && tag[open] != '\'') || close == kNone) return "";
  return std::string(tag.substr(open + 1, close - open - 1));
}

void cut_element(std::string& text, const std::string& element) {
  const std::size_t from = text.find("<" + element + ">"), to = text.find("</" + element + ">");
  if (from != kNone && to != kNone && to > from) text.erase(from, to + element.size() + 3 - from);
}

// In tags alone: a text may speak of ids too.
std::string with_prefixed_ids(const std::string& text, const std::string& prefix) {
  constexpr std::string_view before[] = {"\nid='", " id='", " id=\"", "href='#", "href=\"#", "url(#"};
  std::string out;
  bool in_tag = false;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t taken = 0;
    for (const std::string_view word : before)
      if (in_tag && text.compare(at, word.size(), word) == 0) taken = word.size();
    if (taken > 0) {
      std::string word = text.substr(at, taken);
      if (word.starts_with("href") && out.ends_with("xlink:")) out.resize(out.size() - 6);  // as HTML writes it
      out += word + prefix;
      at += taken;
      continue;
    }
    if (text[at] == '<') in_tag = true;
    if (text[at] == '>') in_tag = false;
    out += text[at++];
  }
  return out;
}

}  // namespace

std::string inline_svg(const std::string& svg, const std::string& name, const std::string& label) {
  const std::size_t begin = svg.find("<svg");
  const std::size_t open_end = begin == kNone ? kNone : svg.find('>', begin);
  const std::size_t end = svg.rfind("</svg>");
  if (open_end == kNone || end == kNone || end < open_end) return "";
  std::string tag = svg.substr(begin, open_end - begin);
  for (char& c : tag)
    if (c == '\n' || c == '\t') c = ' ';
  const std::string view = attribute(tag, "viewBox");
  std::string body = svg.substr(open_end + 1, end - open_end - 1);
  if (view.find_first_not_of("0123456789. -") != kNone || view.empty() || body.find("<script") != kNone) return "";
  cut_element(body, "title");
  cut_element(body, "desc");
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{}\" role=\"img\" aria-label=\"{}\">{}</svg>\n", view,
      html_escaped(label), with_prefixed_ids(body, name + "-"));
}

}  // namespace pandora
