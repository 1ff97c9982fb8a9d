// What a call costs by its tokens: the one place where prices and counts of tokens become dollars.
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

/// Dollars for a million tokens. NaN: there is no price of its own, and the one that is named behind it holds.
struct TokenPrice {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double in = 0.0, out = 0.0;                  ///< of prompts and of answers
  double cached = kNone;                       ///< of a prompt's tokens that were read from a cache (in)
  double cache_write = kNone;                  ///< of a prompt's tokens that were written to one (in)
  double reasoning = kNone;                    ///< of an answer's tokens that are thoughts (out)
  double batch_in = kNone, batch_out = kNone;  ///< of calls in a batch (in, out)
  double above = 0.0;                          ///< tokens that a prompt has to exceed, of one of `longer`
  std::vector<TokenPrice> longer{};            ///< by `above`; the last that a prompt exceeds holds for it all
};
using TokenPrices = std::map<std::string, TokenPrice>;  ///< by the model's name

/// Tokens of a call, as OpenAI's interface counts them.
struct TokenUsage {
  double prompt = 0.0, completion = 0.0;   ///< of the prompt, whether cached or not; of the answer
  double cached = 0.0, cache_write = 0.0;  ///< of `prompt`
  double reasoning = 0.0;                  ///< of `completion`, or beyond it where `total` says so
  double total = 0.0;                      ///< 0: not known
  double batch = 0.0;                      ///< 1: a call in a batch

  /// Tokens of the answer that the total alone shows, which are thoughts.
  double hidden() const { return std::max(0.0, total - prompt - completion); }
  /// Why these counts cannot be, with a remedy; nullptr where nothing is wrong.
  const char* fault() const;
  /// The count of that name: "batch", or what canonical_count() gives; nullptr of another.
  static double TokenUsage::*member(std::string_view name);
};

/// "cached_tokens" of "prompt_tokens_details.cached_tokens" and "cache_read_input_tokens", and so on for each count that
/// a provider gives under several names; empty of what is no count of tokens.
std::string_view canonical_count(std::string_view name);
/// Whether a member of that name holds an object of counts: usage, prompt_tokens_details and the like.
bool holds_counts(std::string_view name);

/// Dollars of a call, by the prices for prompts of its length. With u.hidden() among the thoughts and prices that are not
/// given as TokenPrice says:
///
///   (in (prompt - cached - cache_write) + cached' cached + cache_write' cache_write + out (answer - thoughts) +
///    reasoning' thoughts) / 10^6
///
/// In a batch all prices of the prompt fall as `in` does, and all of the answer as `out` does.
double dollars_of(const TokenPrice& price, const TokenUsage& usage);

/// The price that these names say: in, out, cached, cache_write, reasoning, batch_in and batch_out, dollars for a
/// million tokens; batch, the share of all prices that a call in a batch pays; or LiteLLM's names of them, such as
/// input_cost_per_token and, for longer prompts, input_cost_per_token_above_200k_tokens, in dollars for a token. Nothing
/// without a price of both in and out, and for an unknown name, unless there are LiteLLM's, whose lists say much more of
/// a model.
std::optional<TokenPrice> price_named(std::span<const std::pair<std::string, double>> named);

}  // namespace pandora
