// When which rewards of a replication are told.
#pragma once

#include <string>

#include "kernels/tape/tape.hpp"
#include "pandora/feedback.hpp"

namespace pandora {

/// "100", "geometric:100", "lognormal:100:1.5". Throws Error (usage).
DelayLaw parse_delay(const std::string& text);
std::string delay_text(const DelayLaw& delay);

/// "2000:3000", the first and last period; empty: none. Throws Error (usage).
void parse_poison(const std::string& text, FeedbackRules& rules);
std::string poison_text(const FeedbackRules& rules);

/// "5000:500", FeedbackRules::restart_at and lost; empty: none. Throws Error (usage).
void parse_restart(const std::string& text, FeedbackRules& rules);
std::string restart_text(const FeedbackRules& rules);

/// The tape's Feedback under these rules. A period's delay, whether it is told and whether it is told wrong depend on
/// the replication and the period alone, so that they are common to all lanes.
void draw_feedback(const Stream& stream, const FeedbackRules& rules, Tape& tape);

}  // namespace pandora
