#include "host/studies/study/problem_keys.hpp"

#include "host/lanes/model/feedback.hpp"
#include "host/lanes/model/ties.hpp"

namespace pandora {
namespace {

using Kind = StudyValue::Kind;
using Keys = KeyList<Study>;

}  // namespace

void add_actions(Keys& keys) {
  keys.words(
      "model.ties", "list of lists of boxes, such as [[1, 2], [3]]", "",
      "Boxes, counted from 1, that share the slopes of their index parameters (docs/wider.md#tied-boxes); empty: none.",
      {"boxes"}, [](const Study& s) { return ties_text(s.ties); },
      [](Study& s, const std::string& text) { s.ties = parse_ties(text); });
  keys.integer(
      "actions.openings", "openings",
      "N, how often a box may be opened in a period (docs/wider.md); each opening costs and shows a fresh output.", 1,
      kMaxBoxes, path(&Study::actions, &Actions::openings));
  keys.flag("actions.uninspected", "Whether a box may be deployed unopened, at no cost.",
            path(&Study::actions, &Actions::uninspected));
  keys.number("actions.outside", "reward",
              "The value of ending a period without a box; it need not open one. -inf: it must.",
              {"number from 0 to 1, or -inf", [](double x) { return x == kNoOutside || (x >= 0.0 && x <= 1.0); }},
              path(&Study::actions, &Actions::outside));
}

void add_feedback(Keys& keys) {
  keys.words(
      "feedback.delay", "periods, geometric:MEAN or lognormal:MEAN:SIGMA", "periods",
      "Periods until the reward of a deployed output is told (docs/scenarios.md#feedback).", {"law", "mean", "sigma"},
      [](const Study& s) { return delay_text(s.feedback.delay); },
      [](Study& s, const std::string& text) { s.feedback.delay = parse_delay(text); });
  const auto probability = [&keys](const char* name, const char* meaning, double FeedbackRules::*member) {
    keys.number(name, "", meaning, from_to(0, 1), path(&Study::feedback, member));
  };
  probability("feedback.share", "Probability that the reward of a period's deployed output is ever told.",
              &FeedbackRules::share);
  probability("feedback.flip", "Probability that a reward r is told as 1 - r.", &FeedbackRules::flip);
  keys.words(
      "feedback.poison", "FIRST:LAST", "periods",
      "Online periods in which 1 - r is told in place of the reward r; empty: none.", {"from", "to"},
      [](const Study& s) { return poison_text(s.feedback); },
      [](Study& s, const std::string& text) { parse_poison(text, s.feedback); });
  keys.words(
      "feedback.restart", "AT:LOST", "periods",
      "After period AT a policy starts again without what it learned in the last LOST periods; empty: it does not.",
      {"at", "lost"}, [](const Study& s) { return restart_text(s.feedback); },
      [](Study& s, const std::string& text) {
        parse_restart(text, s.feedback);
        s.estimation.forgetting.restart_at = s.feedback.restart_at;
        s.estimation.forgetting.lost = s.feedback.lost;
      });
}

void add_budget(Keys& keys) {
  const auto budget = [&keys](const char* name, const char* type, const char* unit, const char* meaning, Pacing::Of of,
                              double least) {
    keys.add({name, Kind::number, type, unit, meaning}, "0",
             [=, range = from_to(least, 1e6)](Study& s, const StudyValue& v) {
               if (v.numbers[0] == 0.0) return;
               if (s.budget.of != Pacing::Of::nothing)
                 refuse(v.where, "is a second budget; give budget.queries or budget.cost");
               if (!range.has(v.numbers[0])) refuse(v.where, "out of range; give " + range.wanted);
               s.budget.of = of;
               s.budget.budget = v.numbers[0];
             });
  };
  budget("budget.queries", "0, or number from 1 on", "boxes",
         "Boxes that may be opened per period on average (docs/scenarios.md#budget); 0: any number.",
         Pacing::Of::queries, 1.0);
  budget("budget.cost", "0, or number from 1e-06 on", "reward",
         "The cost of opened boxes per period that is allowed on average; 0: any.", Pacing::Of::costs, 1e-6);
  keys.number("budget.step", "", "Step of the multiplier by which a policy paces itself.", from_to(1e-6, 10),
              path(&Study::budget, &Pacing::step));
  keys.number("budget.start", "", "The multiplier in the first period.", from_to(0, 100),
              path(&Study::budget, &Pacing::start));
}

}  // namespace pandora
