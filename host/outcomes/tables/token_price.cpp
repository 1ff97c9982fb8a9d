#include "host/outcomes/tables/token_price.hpp"

#include <cmath>

#include "host/ground/base/printable.hpp"

namespace pandora {
namespace {

double given_or(double price, double other) {
  return std::isnan(price) ? other : price;
}

// Splits input_cost_per_token_above_200k_tokens into input_cost_per_token and 200,000; any other name into itself and
// 0.
std::pair<std::string, double> without_length(const std::string& name) {
  constexpr std::string_view kAbove = "_above_", kTokens = "k_tokens";
  const std::size_t at = name.find(kAbove), end = name.find(kTokens, at);
  if (end == std::string::npos || name.find("_token") > at) return {name, 0.0};
  const std::size_t digits = at + kAbove.size();
  const std::optional<double> thousands = number_of(std::string_view(name).substr(digits, end - digits));
  if (!thousands || !(*thousands > 0.0)) return {name, 0.0};
  return {name.substr(0, at) + name.substr(end + kTokens.size()), 1000.0 * *thousands};
}

}  // namespace

const char* TokenUsage::fault() const {
  if (cached + cache_write > prompt)
    return "has more cached tokens than prompt_tokens, which count the cached ones too; add them";
  if (reasoning > completion + hidden())
    return "has more reasoning_tokens than completion_tokens, which count them too; add them, or give total_tokens";
  return nullptr;
}

double TokenUsage::*TokenUsage::member(std::string_view name) {
  static constexpr std::pair<std::string_view, double TokenUsage::*> kCounts[] = {
      {"prompt_tokens", &TokenUsage::prompt},
      {"completion_tokens", &TokenUsage::completion},
      {"cached_tokens", &TokenUsage::cached},
      {"cache_write_tokens", &TokenUsage::cache_write},
      {"reasoning_tokens", &TokenUsage::reasoning},
      {"total_tokens", &TokenUsage::total},
      {"batch", &TokenUsage::batch}};
  for (const auto& [known, count] : kCounts)
    if (name == known) return count;
  return nullptr;
}

bool holds_counts(std::string_view name) {
  return name == "usage" || name == "prompt_tokens_details" || name == "completion_tokens_details" ||
         name == "input_tokens_details" || name == "output_tokens_details";
}

std::string_view canonical_count(std::string_view name) {
  for (std::size_t dot = name.find('.'); dot != name.npos && holds_counts(name.substr(0, dot)); dot = name.find('.'))
    name.remove_prefix(dot + 1);
  if (name == "cache_read_input_tokens") return "cached_tokens";
  if (name == "cache_creation_input_tokens" || name == "cache_creation_tokens") return "cache_write_tokens";
  return name.ends_with("_tokens") && TokenUsage::member(name) != nullptr ? name : std::string_view();
}

double dollars_of(const TokenPrice& price, const TokenUsage& usage) {
  for (auto longer = price.longer.rbegin(); longer != price.longer.rend(); ++longer)
    if (usage.prompt > longer->above) return dollars_of(*longer, usage);
  const bool batch = usage.batch > 0.5;
  const double in = batch ? given_or(price.batch_in, price.in) : price.in;
  const double out = batch ? given_or(price.batch_out, price.out) : price.out;
  const double of_in = price.in > 0.0 ? in / price.in : 1.0, of_out = price.out > 0.0 ? out / price.out : 1.0;
  // Tokens without a price of their own are added to the others before multiplying, so that dollars agree in the last
  // digit.
  const double cached = std::isnan(price.cached) ? 0.0 : usage.cached;
  const double written = std::isnan(price.cache_write) ? 0.0 : usage.cache_write;
  const double answer = usage.completion + usage.hidden();
  const double thoughts = std::isnan(price.reasoning) ? 0.0 : std::max(usage.reasoning, usage.hidden());
  return ((usage.prompt - cached - written) * in + cached * given_or(price.cached, 0.0) * of_in +
          written * given_or(price.cache_write, 0.0) * of_in + (answer - thoughts) * out +
          thoughts * given_or(price.reasoning, 0.0) * of_out) /
         1e6;
}

std::optional<TokenPrice> price_named(std::span<const std::pair<std::string, double>> named) {
  struct Name {
    const char *ours, *of_litellm;
    double TokenPrice::*price;
  };
  static constexpr Name kNames[] = {{"in", "input_cost_per_token", &TokenPrice::in},
                                    {"out", "output_cost_per_token", &TokenPrice::out},
                                    {"cached", "cache_read_input_token_cost", &TokenPrice::cached},
                                    {"cache_write", "cache_creation_input_token_cost", &TokenPrice::cache_write},
                                    {"reasoning", "output_cost_per_reasoning_token", &TokenPrice::reasoning},
                                    {"batch_in", "input_cost_per_token_batches", &TokenPrice::batch_in},
                                    {"batch_out", "output_cost_per_token_batches", &TokenPrice::batch_out}};
  std::map<double, std::vector<std::pair<double TokenPrice::*, double>>> found;  // by the length of a prompt in tokens
  double batch = TokenPrice::kNone;
  bool of_litellm = false, unknown = false;
  for (const auto& [given, usd] : named) {
    const auto [name, above] = without_length(given);
    const auto is_it = [&name = name](const Name& known) { return name == known.ours || name == known.of_litellm; };
    const Name* const known = std::find_if(std::begin(kNames), std::end(kNames), is_it);
    if (known == std::end(kNames)) {
      name == "batch" ? void(batch = usd) : void(unknown = true);
      continue;
    }
    const bool by_token = name == known->of_litellm;
    of_litellm |= by_token;
    // 1.4e-6 is 1.4 to the last digit
    found[above].emplace_back(known->price, by_token ? std::round(usd * 1e18) / 1e12 : usd);
  }
  TokenPrice out{TokenPrice::kNone, TokenPrice::kNone};
  for (const auto& [above, prices] : found) {
    TokenPrice here = out.longer.empty() ? out : out.longer.back();  // other prices stay the same
    here.above = above;
    for (const auto& [price, usd] : prices) here.*price = usd;
    if (!std::isnan(batch)) here.batch_in = batch * here.in, here.batch_out = batch * here.out;
    above > 0.0 ? out.longer.push_back(here) : void(out = here);
  }
  if (std::isnan(out.in) || std::isnan(out.out) || (unknown && !of_litellm)) return {};
  return out;
}

}  // namespace pandora
