// The keys of [feedback] and [budget].
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
  add({"feedback.restart",
       Kind::text,
       "AT:LOST",
       "periods",
       "After period AT a policy starts again without what it learned in the last LOST periods; empty: it does not.",
       "\"\"",
       [](Study& s, const StudyValue& v) {
         parsed(v, [&s](const std::string& text) { return parse_restart(text, s.feedback), true; });
         s.estimation.forgetting.restart_at = s.feedback.restart_at;
         s.estimation.forgetting.lost = s.feedback.lost;
       },
       StudyKey::Role::identity,
       true,
       false,
       {"at", "lost"}});
  return keys;
}

std::vector<StudyKey> budget_keys() {
  using Kind = StudyValue::Kind;
  std::vector<StudyKey> keys;
  const auto add = [&keys](StudyKey key) { keys.push_back(std::move(key)); };
  const auto budget = [&add](const char* name, const char* type, const char* unit, const char* meaning, Pacing::Of of,
                             double least) {
    add({name, Kind::number, type, unit, meaning, "0", [=](Study& s, const StudyValue& v) {
           if (v.numbers[0] == 0.0) return;
           if (s.budget.of != Pacing::Of::nothing)
             refuse(v.where, "is a second budget; give budget.queries or budget.cost");
           s.budget.of = of;
           s.budget.budget = number_within(v, least, 1e6);
         }});
  };
  budget("budget.queries", "0, or number from 1 on", "boxes",
         "Boxes that may be opened per period on average (docs/scenarios.md#budget); 0: any number.",
         Pacing::Of::queries, 1.0);
  budget("budget.cost", "0, or number from 1e-06 on", "reward",
         "What opened boxes may cost per period on average; 0: anything.", Pacing::Of::costs, 1e-6);
  const auto rule = [&add](const char* name, const char* meaning, double least, double most, double Pacing::*member) {
    add({name, Kind::number, fmt::format("number from {:g} to {:g}", least, most), "", meaning,
         fmt::format("{}", Pacing{}.*member),
         [=](Study& s, const StudyValue& v) { s.budget.*member = number_within(v, least, most); }});
  };
  rule("budget.step", "Step of the multiplier by which a policy paces itself.", 1e-6, 10.0, &Pacing::step);
  rule("budget.start", "The multiplier in the first period.", 0.0, 100.0, &Pacing::start);
  return keys;
}

}  // namespace pandora
