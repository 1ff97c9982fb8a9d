#include "host/studies/study/refit_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "pandora/error.hpp"

namespace pandora {
namespace {

template <class T>
bool parse_number(const std::string& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// As the integers of a study, 1e3 is one.
bool parse_integer(const std::string& text, int& value) {
  double number = 0.0;
  if (!parse_number(text, number) || number != std::floor(number) || std::abs(number) > std::numeric_limits<int>::max())
    return false;
  value = static_cast<int>(number);
  return true;
}

}  // namespace

RefitSchedule parse_refit(const std::string& text) {
  using Kind = RefitSchedule::Kind;
  RefitSchedule schedule;
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const std::string argument = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (text == "tracking") {
    schedule.kind = Kind::tracking;
    return schedule;
  }
  if (text == "every_period") {
    schedule.kind = Kind::every;
    return schedule;
  }
  if (kind == "every" && parse_integer(argument, schedule.every) && schedule.every >= 1) {
    schedule.kind = Kind::every;
    return schedule;
  }
  if (kind == "geometric" && parse_number(argument, schedule.growth) && schedule.growth > 1.0 &&
      schedule.growth <= 1e6) {
    schedule.kind = Kind::geometric;
    return schedule;
  }
  throw Error(ExitCode::usage,
              fmt::format("\"{}\" is not a schedule; use every_period, every:k with an integer k >= 1, geometric:g "
                          "with g > 1, or tracking",
                          text));
}

RewardSchedule parse_reward_refit(const std::string& text) {
  RewardSchedule schedule;
  if (text == "tracking") return schedule;
  schedule.steps = false;
  const std::string kind = text.substr(0, text.find(':') + 1);
  if (kind == "geometric:" && parse_number(text.substr(kind.size()), schedule.growth) && schedule.growth >= 1.0 &&
      schedule.growth <= 1e6)
    return schedule;
  throw Error(ExitCode::usage,
              fmt::format("\"{}\" is not a schedule of theta_hat; use tracking, or geometric:g with g >= 1", text));
}

std::string refit_text(const RefitSchedule& schedule) {
  if (schedule.kind == RefitSchedule::Kind::tracking) return "tracking";
  if (schedule.kind == RefitSchedule::Kind::geometric) return fmt::format("geometric:{}", schedule.growth);
  return schedule.every == 1 ? "every_period" : fmt::format("every:{}", schedule.every);
}

}  // namespace pandora
