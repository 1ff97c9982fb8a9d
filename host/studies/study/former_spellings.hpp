// What earlier versions wrote otherwise in the studies that they kept with their results. Everything reads as what it
// meant. Studies that people write are refused instead (parse_box_changes): of 2:1000 nobody knows who counted how.
#pragma once

#include <string>
#include <string_view>

namespace pandora {

/// The value of a study's key, as TOML or a plain text: boxes that come or go were counted from 0, so that 2:1000 is
/// box 3:1000 now. Of other keys, and in today's spelling, the value as it is.
std::string in_todays_spelling(std::string_view key, std::string value);

/// The same of every value in Setting::label().
std::string label_in_todays_spelling(const std::string& label);

/// The same of every value in StudyConfig::toml().
std::string study_in_todays_spelling(const std::string& toml);

}  // namespace pandora
