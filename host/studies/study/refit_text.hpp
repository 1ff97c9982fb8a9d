// Schedules of exact solves as studies name them.
#pragma once

#include <string>

#include "kernels/rules/refit_schedule.hpp"

namespace pandora {

/// "every_period", "every:k" (k >= 1), "geometric:g" (g > 1), "tracking"; throws Error (usage) otherwise.
RefitSchedule parse_refit(const std::string& text);
std::string refit_text(const RefitSchedule& schedule);

/// `tracking` (a step at every sample, a solve at 5% growth) or `geometric:g` with g >= 1 (solves alone). Throws Error.
RewardSchedule parse_reward_refit(const std::string& text);

}  // namespace pandora
