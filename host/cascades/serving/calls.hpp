// Calls of a cascade as JSON (docs/serving.md).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "pandora/cascade.hpp"

namespace pandora {

/// Among Cascade::models(). Throws Error (usage) for a name that is none.
std::size_t position_of(const Cascade& cascade, const std::string& name);
/// In what a cascade is no later state of another, in a word: models that it never had, fit or evaluator; empty where it
/// may be one.
std::string difference(const Cascade& later, const Cascade& earlier);
/// Throws Error (usage) for what is no object with a known "op".
nlohmann::json parse_call(const std::string& line);
/// Whether it has to be made again after a restart.
bool changes(const nlohmann::json& call);
/// The call as a journal keeps it, to be made again: of a prompt its features alone, and nothing that no call reads.
/// None where the call is so already. Throws Error (usage) where the prompt lacks what features are made of.
std::optional<nlohmann::json> kept_form(const Cascade& cascade, const nlohmann::json& call);
/// Makes it. Throws Error (usage) for what is no call or is refused.
nlohmann::json make_call(Cascade& cascade, const nlohmann::json& call);

}  // namespace pandora
