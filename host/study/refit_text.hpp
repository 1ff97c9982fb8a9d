// Schedules of exact solves as studies name them.
#pragma once

#include <string>

#include "kernels/rules/refit_schedule.hpp"

namespace pandora {

/// "every_period", "every:k" (k >= 1), "geometric:g" (g > 1), "tracking"; throws Error (usage) otherwise.
RefitSchedule parse_refit(const std::string& text);
std::string refit_text(const RefitSchedule& schedule);

}  // namespace pandora
