// The cost of a call by its tokens. This is the only place where prices and counts of tokens become dollars.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pandora {

/// Dollars per million tokens. NaN: there is no separate price, and the one in parentheses holds.
struct TokenPrice {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double in = 0.0, out = 0.0;                  ///< for prompts and for answers
  double cached = kNone;                       ///< for a prompt's tokens that were read from a cache (in)
  double cache_write = kNone;                  ///< for a prompt's tokens that were written to a cache (in)
  double reasoning = kNone;                    ///< for an answer's reasoning tokens (out)
  double batch_in = kNone, batch_out = kNone;  ///< for calls in a batch (in, out)
  double above = 0.0;                          ///< in `longer`: the number of tokens that a prompt must exceed
  std::vector<TokenPrice> longer{};            ///< by `above`; the last that a prompt exceeds holds for all of it
};
using TokenPrices = std::map<std::string, TokenPrice>;  ///< by the model's name

/// The tokens of a call, as OpenAI's interface counts them.
struct TokenUsage {
  double prompt = 0.0, completion = 0.0;   ///< of the prompt, cached or not; of the answer
  double cached = 0.0, cache_write = 0.0;  ///< parts of `prompt`
  double reasoning = 0.0;                  ///< part of `completion`, or beyond it if `total` says so
  double total = 0.0;                      ///< 0: unknown
  double batch = 0.0;                      ///< 1: a call in a batch

  /// Tokens of the answer that only the total shows; they count as reasoning.
  double hidden() const { return std::max(0.0, total - prompt - completion); }
  /// Why these counts are impossible, with a remedy; nullptr if they are possible.
  const char* fault() const;
  /// The member for a count's name: "batch", or a result of canonical_count(); nullptr for other names.
  static double TokenUsage::*member(std::string_view name);
};

/// The common name of a count of tokens, which providers give under several names: "cached_tokens" for
/// "prompt_tokens_details.cached_tokens" and "cache_read_input_tokens", and so on. Empty for other names.
std::string_view canonical_count(std::string_view name);
/// Whether a member of that name holds an object of counts: usage, prompt_tokens_details and similar ones.
bool holds_counts(std::string_view name);

/// Dollars of a call, by the prices for prompts of its length. `thoughts` are the reasoning tokens with u.hidden();
/// missing prices are replaced as TokenPrice says:
///
///   (in (prompt - cached - cache_write) + cached' cached + cache_write' cache_write + out (answer - thoughts) +
///    reasoning' thoughts) / 10^6
///
/// In a batch, all prices of the prompt fall in proportion to `in`, and all of the answer in proportion to `out`.
double dollars_of(const TokenPrice& price, const TokenUsage& usage);

/// The price given by these names: in, out, cached, cache_write, reasoning, batch_in and batch_out, in dollars per
/// million tokens; batch, the share of all prices that a call in a batch pays; or LiteLLM's names for them, in dollars
/// per token, such as input_cost_per_token and, for longer prompts, input_cost_per_token_above_200k_tokens. Nothing if
/// in or out is missing, or if a name is unknown. Unknown names are ignored beside LiteLLM's names, whose lists say
/// much more about a model.
std::optional<TokenPrice> price_named(std::span<const std::pair<std::string, double>> named);

}  // namespace pandora
