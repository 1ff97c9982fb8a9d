// Requests under way as members of a cascade's file, and what all of its members are read with.
#pragma once

#include <concepts>

#include "host/cascades/live/cascade_state.hpp"
#include "host/ground/files/sealed_file.hpp"

namespace pandora {

nlohmann::json request_json(std::uint64_t id, const CascadeRequest& request);
/// `m`: numbers of psi; `rules`: of the cascade, from which those of a request differ by its thresholds. Throws Damaged.
CascadeRequest request_of(const nlohmann::json& json, std::size_t m, std::size_t models, const LaneSpec& rules);

/// Throws Damaged unless it holds.
inline void require(bool holds, const std::string& problem) {
  if (!holds) throw Damaged(problem);
}

inline const nlohmann::json& member(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  require(found != json.end(), fmt::format("lacks \"{}\"", name));
  return *found;
}

// An integer that is written as another number, such as 1e40, has no value of its type.
template <class T>
constexpr bool kWhole = std::integral<T> && !std::same_as<T, bool>;
template <class T>
constexpr bool kWhole<std::vector<T>> = kWhole<T>;

template <class T>
T value_of(const nlohmann::json& json, const char* name) {
  try {
    const nlohmann::json& found = member(json, name);
    if constexpr (kWhole<T>) {
      const auto other = [](const nlohmann::json& number) { return number.is_number_float(); };
      require(!(found.is_array() ? std::any_of(found.begin(), found.end(), other) : other(found)),
              fmt::format("has a \"{}\" that is no integer", name));
    }
    return found.get<T>();
  } catch (const nlohmann::json::exception&) {
    throw Damaged(fmt::format("has a \"{}\" of another type", name));
  }
}

}  // namespace pandora
