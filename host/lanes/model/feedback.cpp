#include "host/lanes/model/feedback.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <tuple>

#include "host/ground/base/printable.hpp"
#include "kernels/random/distributions.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

constexpr double kLongest = 1e9;  // periods

[[noreturn]] void refuse(const char* what) {
  throw Error(ExitCode::usage, what);
}

// Reads "FIRST:SECOND", two whole numbers from 1 on.
std::optional<std::pair<int, int>> two_periods(const std::string& text) {
  constexpr int kMost = 1000000000;
  const std::vector<std::string> words = split(text, ':');
  const std::optional<int> first = whole_within(words[0], 1, kMost),
                           second = words.size() == 2 ? whole_within(words[1], 1, kMost) : std::nullopt;
  if (!first || !second) return std::nullopt;
  return std::pair(*first, *second);
}

// The delay of a period, from two uniform words.
double drawn_delay(const DelayLaw& law, std::uint32_t radial, std::uint32_t angular) {
  switch (law.kind) {
    case DelayLaw::Kind::constant:
      return law.mean;
    case DelayLaw::Kind::geometric:  // P(D >= k) = (mean / (1 + mean))^k
      return std::floor(std::log(open_uniform(radial)) / (std::log(law.mean) - std::log1p(law.mean)));
    case DelayLaw::Kind::lognormal: {
      float z, other;
      two_normals(radial, angular, z, other);
      return std::floor(
          std::exp(law.sigma * static_cast<double>(z) + std::log(law.mean) - 0.5 * law.sigma * law.sigma));
    }
  }
  return 0.0;
}

}  // namespace

DelayLaw parse_delay(const std::string& text) {
  constexpr const char* kForms =
      "give periods, such as 100, or geometric:MEAN, such as geometric:100, or lognormal:MEAN:SIGMA, such as "
      "lognormal:100:1.5; periods from 0 and means from 0.001 to 1e9, sigma from 0.01 to 5";
  const std::vector<std::string> words = split(text, ':');
  DelayLaw law;
  const auto take = [&](std::size_t which, double least, double most) {
    const std::optional<double> number = number_within(words[which], least, most);
    if (!number) refuse(kForms);
    return *number;
  };
  if (words.size() == 1 || (words.size() == 2 && words[0] == "constant")) {
    law.mean = take(words.size() - 1, 0.0, kLongest);
    if (law.mean != std::floor(law.mean)) refuse(kForms);
  } else if (words.size() == 2 && words[0] == "geometric") {
    law.kind = DelayLaw::Kind::geometric;
    law.mean = take(1, 1e-3, kLongest);
  } else if (words.size() == 3 && words[0] == "lognormal") {
    law.kind = DelayLaw::Kind::lognormal;
    law.mean = take(1, 1e-3, kLongest);
    law.sigma = take(2, 0.01, 5.0);
  } else {
    refuse(kForms);
  }
  return law;
}

std::string delay_text(const DelayLaw& delay) {
  switch (delay.kind) {
    case DelayLaw::Kind::constant:
      return fmt::format("{}", delay.mean);
    case DelayLaw::Kind::geometric:
      return fmt::format("geometric:{}", delay.mean);
    case DelayLaw::Kind::lognormal:
      return fmt::format("lognormal:{}:{}", delay.mean, delay.sigma);
  }
  return "";
}

void parse_poison(const std::string& text, FeedbackRules& rules) {
  rules.poison_from = rules.poison_to = 0;
  if (text.empty()) return;
  const auto found = two_periods(text);
  if (!found || found->first > found->second)
    refuse("give the first and the last period, such as 2000:3000, or leave it empty");
  std::tie(rules.poison_from, rules.poison_to) = *found;
}

void parse_restart(const std::string& text, FeedbackRules& rules) {
  rules.restart_at = rules.lost = 0;
  if (text.empty()) return;
  const auto found = two_periods(text);
  if (!found)
    refuse(
        "give the period after which policies start again and how many they lose, from 1 on, such as 5000:500, or leave it empty");
  std::tie(rules.restart_at, rules.lost) = *found;
}

std::string poison_text(const FeedbackRules& rules) {
  return rules.poison_from == 0 ? "" : fmt::format("{}:{}", rules.poison_from, rules.poison_to);
}

std::string restart_text(const FeedbackRules& rules) {
  return rules.restart_at == 0 ? "" : fmt::format("{}:{}", rules.restart_at, rules.lost);
}

void draw_feedback(const Stream& stream, const FeedbackRules& rules, Tape& tape) {
  if (rules.plain()) return;
  const int T = tape.online_rows;
  const std::size_t A = static_cast<std::size_t>(tape.boxes());
  Feedback& out = tape.feedback;
  out.restarts = rules.restart_at > 0;
  out.late = !(rules.delay == DelayLaw{});
  const bool wrong_at_times = rules.flip > 0.0 || rules.poison_from > 0;
  if (wrong_at_times) out.told = tape.reward;
  const bool at_once = rules.delay == DelayLaw{} && !(rules.share < 1.0);
  std::vector<int> comes(static_cast<std::size_t>(T), T);  // T: never
  if (!at_once) out.first.assign(static_cast<std::size_t>(T) + 1, 0);
  for (int t = 0; t < T; ++t) {
    std::uint32_t words[4][1];
    philox<1>(stream, {0}, {static_cast<std::uint32_t>(t)}, {0}, words);
    const bool poisoned = t + 1 >= rules.poison_from && t + 1 <= rules.poison_to;
    if (wrong_at_times && (poisoned || open_uniform(words[1][0]) < rules.flip))
      for (std::size_t at = tape.at(tape.online_row(t), 0), end = at + A; at < end; ++at)
        out.told[at] = 1.0f - out.told[at];
    if (at_once || !(open_uniform(words[0][0]) < rules.share)) continue;
    const double at = t + drawn_delay(rules.delay, words[2][0], words[3][0]);
    const bool lost = t < rules.restart_at && t >= rules.restart_at - rules.lost && at >= rules.restart_at;
    if (at < T && !lost)
      ++out.first[static_cast<std::size_t>(comes[static_cast<std::size_t>(t)] = static_cast<int>(at)) + 1];
  }
  if (at_once) return;
  for (std::size_t t = 0; t < static_cast<std::size_t>(T); ++t) out.first[t + 1] += out.first[t];
  out.period.resize(static_cast<std::size_t>(out.first.back()));
  std::vector<int> next(out.first.begin(), out.first.end() - 1);
  for (int t = 0; t < T; ++t)
    if (const int at = comes[static_cast<std::size_t>(t)]; at < T)
      out.period[static_cast<std::size_t>(next[static_cast<std::size_t>(at)]++)] = t;
}

}  // namespace pandora
