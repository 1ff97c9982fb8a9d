#include "host/studies/study/price_list.hpp"

#include <optional>

#include "host/ground/base/printable.hpp"
#include "host/ground/files/input_file.hpp"
#include "host/studies/study/study_keys.hpp"
#include "host/studies/study/toml_text.hpp"

namespace pandora {
namespace {

// Two numbers, as a list or as a table of `in` and `out`; nothing of what is something else.
std::optional<TokenPrice> price_of(const toml::node& node) {
  std::optional<double> in, out;
  if (const toml::array* const pair = node.as_array(); pair != nullptr && pair->size() == 2) {
    in = pair->get(0)->value<double>();
    out = pair->get(1)->value<double>();
  } else if (const toml::table* const table = node.as_table(); table != nullptr && table->size() == 2) {
    in = (*table)["in"].value<double>();
    out = (*table)["out"].value<double>();
  }
  return in && out ? std::optional(TokenPrice{*in, *out}) : std::nullopt;
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
    if (!price)
      refuse(fmt::format("{}:{}", name, node.source().begin.line),
             "the price of {} is none: give {{ in = 0.15, out = 0.6 }} or [0.15, 0.6], dollars for a million tokens; a "
             "name with a dot stands in quotes",
             in_quotes(key.str()));
    prices[std::string(key.str())] = *price;
  }
  if (prices.empty()) refuse(name, "has no price; give a line for each model, such as \"gpt\" = [0.15, 0.6]");
  return prices;
}

}  // namespace pandora
