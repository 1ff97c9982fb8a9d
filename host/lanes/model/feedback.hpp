// When the rewards of a replication are told, and which.
#pragma once

#include <string>

#include "kernels/tape/tape.hpp"
#include "pandora/feedback.hpp"

namespace pandora {

/// Reads "100", "geometric:100", "lognormal:100:1.5". Throws Error (usage).
DelayLaw parse_delay(const std::string& text);
std::string delay_text(const DelayLaw& delay);

/// Reads "2000:3000", the first and last period; empty: none. Throws Error (usage).
void parse_poison(const std::string& text, FeedbackRules& rules);
std::string poison_text(const FeedbackRules& rules);

/// Reads "5000:500", FeedbackRules::restart_at and lost; empty: none. Throws Error (usage).
void parse_restart(const std::string& text, FeedbackRules& rules);
std::string restart_text(const FeedbackRules& rules);

/// Draws the tape's Feedback under these rules. A period's delay, and whether its reward is told or told wrong, depend
/// on the replication and the period alone, so that all lanes share them.
void draw_feedback(const Stream& stream, const FeedbackRules& rules, Tape& tape);

}  // namespace pandora
