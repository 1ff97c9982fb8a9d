// The keys of [feedback].
#include "host/lanes/model/feedback.hpp"
#include "host/studies/study/study_keys.hpp"

namespace pandora {

std::vector<StudyKey> feedback_keys() {
  using Kind = StudyValue::Kind;
  std::vector<StudyKey> keys;
  const auto add = [&keys](StudyKey key) { keys.push_back(std::move(key)); };
  add({"feedback.delay",
       Kind::text,
       "periods, geometric:MEAN or lognormal:MEAN:SIGMA",
       "periods",
       "From a period to the one at whose end the reward of its deployed output is told (docs/scenarios.md#feedback).",
       "\"0\"",
       [](Study& s, const StudyValue& v) { s.feedback.delay = parsed(v, parse_delay); },
       StudyKey::Role::identity,
       true,
       false,
       {"law", "mean", "sigma"}});
  const auto probability = [&add](const char* name, const char* meaning, double FeedbackRules::*member) {
    add({name, Kind::number, "number from 0 to 1", "", meaning, fmt::format("{}", FeedbackRules{}.*member),
         [=](Study& s, const StudyValue& v) { s.feedback.*member = number_within(v, 0.0, 1.0); }});
  };
  probability("feedback.share", "Probability that the reward of a period's deployed output is ever told.",
              &FeedbackRules::share);
  probability("feedback.flip", "Probability that a reward r is told as 1 - r.", &FeedbackRules::flip);
  add({"feedback.poison",
       Kind::text,
       "FIRST:LAST",
       "periods",
       "Online periods whose rewards are all told as 1 - r; empty: none.",
       "\"\"",
       [](Study& s, const StudyValue& v) {
         parsed(v, [&s](const std::string& text) { return parse_poison(text, s.feedback), true; });
       },
       StudyKey::Role::identity,
       true,
       false,
       {"from", "to"}});
  return keys;
}

}  // namespace pandora
