#include "host/studies/study/price_list.hpp"

#include <optional>

#include "host/ground/files/input_file.hpp"
#include "host/studies/study/study_keys.hpp"
#include "host/studies/study/toml_text.hpp"

namespace pandora {
namespace {

using NamedNumbers = std::vector<std::pair<std::string, double>>;

void add(NamedNumbers& to, const std::string& name, const toml::node& node) {
  const std::optional<double> number = node.value<double>();
  to.emplace_back(number ? name : "", number.value_or(0.0));  // an entry that is no number gets no known name
}

// Reads two numbers as a list, or a table of names that price_named() knows, in which `batch` may also be two numbers.
std::optional<TokenPrice> price_of(const toml::node& node) {
  NamedNumbers named;
  const auto add_pair = [&named](const toml::array& pair, const std::string& in, const std::string& out) {
    if (pair.size() != 2) return named.emplace_back("", 0.0), void();
    add(named, in, *pair.get(0));
    add(named, out, *pair.get(1));
  };
  if (node.is_array()) add_pair(*node.as_array(), "in", "out");
  if (const toml::table* const table = node.as_table()) {
    for (const auto& [key, value] : *table) {
      if (key.str() == "batch" && value.is_array())
        add_pair(*value.as_array(), "batch_in", "batch_out");
      else
        add(named, std::string(key.str()), value);
    }
  }
  return price_named(named);
}

// The dotted name that a file contains without quotes, as in gpt-4.1 = [2, 8]; empty if it is something else.
std::string undotted(const std::string& key, const toml::node& node) {
  const toml::table* const table = node.as_table();
  if (table == nullptr || table->empty()) return "";
  const auto first = table->begin();
  const std::string name = key + "." + std::string(first->first.str());
  return price_of(first->second) ? name : undotted(name, first->second);
}

}  // namespace

TokenPrices read_price_list(const std::filesystem::path& path) {
  const std::string name = printable(path.string());
  std::string text;
  try {
    text = read_file(path, kMostStudyBytes);
  } catch (const Unreadable& problem) {
    refuse(name, problem.what());
  }
  const toml::table whole = table_of(text, name);
  const toml::table* const inner = whole["prices"].as_table();
  TokenPrices prices;
  for (const auto& [key, node] : inner != nullptr ? *inner : whole) {
    const std::optional<TokenPrice> price = price_of(node);
    const std::string place = fmt::format("{}:{}", name, node.source().begin.line);
    if (const std::string dotted = undotted(std::string(key.str()), node); !price && !dotted.empty())
      refuse(place, "the price of {} is invalid: put a name with a dot in quotes, {} = ...", in_quotes(key.str()),
             in_quotes(dotted));
    if (!price)
      refuse(place,
             "the price of {} is invalid: give {{ in = 0.15, out = 0.6 }} or [0.15, 0.6], dollars per million "
             "tokens, with cached, cache_write, reasoning and batch if they have prices of their own; or LiteLLM's "
             "names, input_cost_per_token and output_cost_per_token, in dollars per token",
             in_quotes(key.str()));
    prices[std::string(key.str())] = *price;
  }
  if (prices.empty()) refuse(name, "has no price; give a line for each model, such as \"gpt\" = [0.15, 0.6]");
  return prices;
}

}  // namespace pandora
