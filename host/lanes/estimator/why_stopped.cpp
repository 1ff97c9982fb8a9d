#include "host/lanes/estimator/why_stopped.hpp"

#include <fmt/format.h>

namespace pandora {

std::string why_stopped(const LaneSpec& spec, const PeriodRules& rules, const PeriodOutcome& outcome, int A,
                        const double* score, const double* estimate, const std::function<std::string(int)>& name) {
  const int opened = outcome.queried;
  std::string why = rules.order != spec.order ? "exploring in a random order, " : "";
  if (opened == outcome.ranked && rules.stop != Stop::after_first) {
    why += rules.stop != spec.stop ? "exploring, it opens all: " : "";
    return why + (opened == A ? "every box is open" : "the cascade is at its end");
  }
  const int last = outcome.order[opened - 1];
  int left = last;  // the unopened box with the largest score, if there is one
  for (int k = opened; k < outcome.ranked; ++k) {
    const int a = outcome.order[k];
    if (left == last || score[a] > score[left] || (score[a] == score[left] && a < left)) left = a;
  }
  const std::string scored = score_name(spec.score);
  return why + fmt::format(fmt::runtime(stop_pattern(rules.stop)), fmt::arg("best", estimate[outcome.deployed]),
                           fmt::arg("best_box", name(outcome.deployed)), fmt::arg("last", estimate[last]),
                           fmt::arg("last_box", name(last)), fmt::arg("score", scored.empty() ? "score" : scored),
                           fmt::arg("left", score[left]), fmt::arg("left_box", name(left)),
                           fmt::arg("threshold", spec.threshold[opened - 1]));
}

}  // namespace pandora
