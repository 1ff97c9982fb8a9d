// The published numbers one by one, row by row, and how many lie inside.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <tuple>

#include "host/report/control_variates.hpp"
#include "host/report/verdict.hpp"

namespace pandora {
namespace {

constexpr double kUnknownNumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kPrinted = 0.01;  // the unit of the last published place

std::vector<Covariate> cost_covariates(const Panel& panel) {
  std::vector<Covariate> out;
  if (!panel.costs[0].empty())
    for (int k = 0; k < 3; ++k) out.push_back({panel.costs[k], panel.expected_costs[k], 0.0});
  return out;
}

std::vector<Covariate> header_covariates(const Panel& panel, const PublishedPanel& theirs) {
  if (!theirs.oracle) return {};
  return {{panel.utility, theirs.oracle->utility_x1000.value, kPrinted},
          {panel.boxes, theirs.oracle->boxes_queried.value, kPrinted}};
}

double deviation(const std::vector<double>& about_zero) {
  double squares = 0.0;
  for (const double value : about_zero) squares += value * value;
  return std::sqrt(squares / (static_cast<double>(about_zero.size()) - 1.0));
}

// `published`: its value, and its half-width for this comparison; `rounding`: half-width on top of it.
Judgement judgement_of(AdjustedMean mean, const PublishedValue& published, double rounding) {
  Judgement out;
  out.ours = mean.mean;
  out.published_half_width_95 = published.half_width_95;
  const double difference = mean.mean.mean - published.value,
               joint = std::hypot(mean.mean.half_width_95, published.half_width_95, rounding);
  out.inside = std::abs(difference) <= joint;
  if (joint == 0.0)  // Table 3 in regime A: no replication differs
    out.z = difference == 0.0 ? 0.0 : std::copysign(std::numeric_limits<double>::infinity(), difference);
  else
    out.z = 1.96 * difference / joint;
  out.error = std::move(mean.error);
  out.residual = std::move(mean.residual);
  return out;
}

void judge_number(JudgedNumber& number, const std::vector<double>& values, const std::vector<Covariate>& header,
                  const std::vector<Covariate>& costs) {
  const bool told = values.size() >= static_cast<std::size_t>(kLeastForComparison);
  AdjustedMean plain = adjusted_mean(values, {}, {});
  if (number.assumed_error && !plain.residual.empty())
    number.published.half_width_95 = 1.96 * deviation(plain.residual) / std::sqrt(kPaperReplications);
  const double scatter = plain.residual.empty() ? 0.0 : deviation(plain.residual);
  number.plain = judgement_of(std::move(plain), number.published, 0.0);
  if (!told) number.plain.z = kUnknownNumber;
  number.adjusted = {{kUnknownNumber, kUnknownNumber}, kUnknownNumber, kUnknownNumber, false, {}, {}};
  if (values.size() < kLeastForAdjustment) return;
  AdjustedMean adjusted = adjusted_mean(values, header, costs);
  // What the header explains of the scatter of our replications it explains of the paper's.
  PublishedValue given = number.published;
  if (scatter > 0.0) given.half_width_95 *= deviation(adjusted.residual) / scatter;
  const double rounding = 1.96 * adjusted.rounding_error;
  number.adjusted = judgement_of(std::move(adjusted), given, rounding);
}

double rounded(double value) {
  return std::round(value / kPrinted) * kPrinted;
}

PublishedValue printed(const std::vector<double>& values) {
  const Estimate e = estimate(values);
  return {rounded(e.mean), rounded(e.half_width_95)};
}

// A sum of errors of several entries, replication by replication.
void add_to(std::vector<double>& sum, const std::vector<double>& values, double factor) {
  sum.resize(values.size(), 0.0);
  for (std::size_t r = 0; r < values.size(); ++r) sum[r] += factor * values[r];
}

// The mean ratio over the cells of a row, and its error; see RowVerdict.
Estimate mean_ratio(const std::vector<const JudgedNumber*>& cells, Judgement JudgedNumber::*which) {
  const double count = static_cast<double>(cells.size());
  Estimate out;
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> errors;  // by panel: ours, the paper's
  for (const JudgedNumber* cell : cells) {
    const Judgement& judged = cell->*which;
    const double published = cell->published.value, ratio = judged.ours.mean / published;
    out.mean += ratio / count;
    auto& [ours, theirs] = errors[cell->environment + " " + cell->regime];
    add_to(ours, judged.error, 1.0 / (count * published));
    const double scatter = judged.residual.empty() ? 0.0 : deviation(judged.residual);
    if (scatter > 0.0)
      add_to(theirs, judged.residual, ratio / (count * published) * judged.published_half_width_95 / 1.96 / scatter);
  }
  double variance = 0.0;
  for (const auto& [panel, both] : errors) {
    const double n = static_cast<double>(both.first.size());
    variance +=
        std::pow(deviation(both.first), 2) / n + (both.second.empty() ? 0.0 : std::pow(deviation(both.second), 2));
  }
  out.half_width_95 = 1.96 * std::sqrt(variance);
  return out;
}

// How many of the numbers are inside, and the root mean square of z.
struct NumbersInside {
  std::size_t of = 0;
  int inside = 0;
  double rms_z = 0.0;
};
NumbersInside numbers_inside(const std::vector<JudgedNumber>& numbers, bool all, Judgement JudgedNumber::*which) {
  NumbersInside out;
  for (const JudgedNumber& number : numbers) {
    if (!all && number.kind != NumberKind::regret) continue;
    const Judgement& judged = number.*which;
    ++out.of;
    out.inside += judged.inside ? 1 : 0;
    out.rms_z += judged.z * judged.z;
  }
  out.rms_z = std::sqrt(out.rms_z / static_cast<double>(out.of));
  return out;
}

// Replications of a panel.
using Wanted = std::function<bool(std::size_t)>;

Panel part_of(const Panel& panel, const Wanted& wanted) {
  std::vector<std::size_t> which;
  for (std::size_t r = 0; r < panel.n(); ++r)
    if (wanted(r)) which.push_back(r);
  return panel.of(which);
}

// The numbers if `ours` were our replications, and `theirs` had been published; without `theirs` the paper's.
std::vector<JudgedNumber> judge_parts(const std::vector<Panel>& panels, const Wanted& ours, const Wanted& theirs) {
  std::vector<JudgedNumber> out;
  for (const Panel& panel : panels) {
    const PublishedPanel paper = published_panel(panel);
    std::vector<JudgedNumber> own =
        judge(part_of(panel, ours), theirs ? as_published(part_of(panel, theirs), paper) : paper);
    std::move(own.begin(), own.end(), std::back_inserter(out));
  }
  return out;
}

}  // namespace

std::string JudgedNumber::name() const {
  switch (kind) {
    case NumberKind::regret:
      return fmt::format("{}, T0={}", row.name(), T0);
    case NumberKind::utility:
      return "oracle's utility";
    case NumberKind::boxes:
      return "boxes opened by the oracle";
    case NumberKind::permutations:
      return "permutations";
    case NumberKind::greatest_mass:
      return "greatest mass";
    case NumberKind::least_mass:
      return "least mass";
  }
  return "";
}

std::optional<PublishedValue> published_value(const Panel& panel, const RegretEntry& entry) {
  if (!panel.comparable) return std::nullopt;
  return published_regret(panel.regime, panel.environment, entry.T0, entry.row.policy,
                          *entry.row.reward == 0 ? "unknown" : entry.row.reward);
}

PublishedPanel published_panel(const Panel& panel) {
  PublishedPanel out;
  if (panel.comparable && !panel.utility.empty()) out.oracle = published_oracle(panel.regime, panel.environment);
  if (panel.comparable_order && !panel.order[0].empty()) out.order = published_order(panel.regime, panel.environment);
  for (const RegretEntry& entry : panel.entries) out.regrets.push_back(published_value(panel, entry));
  return out;
}

PublishedPanel as_published(const Panel& few, const PublishedPanel& paper) {
  PublishedPanel out = paper;
  if (out.oracle) {
    out.oracle->utility_x1000 = printed(few.utility);
    out.oracle->boxes_queried.value = rounded(estimate(few.boxes).mean);
  }
  if (out.order) *out.order = {printed(few.order[0]), printed(few.order[1]), printed(few.order[2])};
  for (std::size_t e = 0; e < out.regrets.size(); ++e)
    if (out.regrets[e]) out.regrets[e] = printed(few.entries[e].regrets());
  return out;
}

std::vector<JudgedNumber> judge(const Panel& ours, const PublishedPanel& theirs) {
  std::vector<JudgedNumber> out;
  const std::vector<Covariate> header = header_covariates(ours, theirs), costs = cost_covariates(ours);
  const auto add = [&](NumberKind kind, const PublishedValue& published, const std::vector<double>& values,
                       const RegretEntry* entry = nullptr) {
    JudgedNumber number;
    number.kind = kind;
    number.environment = ours.environment;
    number.regime = ours.regime;
    if (entry != nullptr) {
      number.row = entry->row;
      number.T0 = entry->T0;
    }
    number.published = published;
    number.assumed_error = kind == NumberKind::boxes;
    judge_number(number, values, entry != nullptr ? header : std::vector<Covariate>{}, costs);
    out.push_back(std::move(number));
  };
  for (std::size_t e = 0; e < ours.entries.size(); ++e)
    if (theirs.regrets[e]) add(NumberKind::regret, *theirs.regrets[e], ours.entries[e].regrets(), &ours.entries[e]);
  if (theirs.oracle) {
    add(NumberKind::utility, theirs.oracle->utility_x1000, ours.utility);
    add(NumberKind::boxes, theirs.oracle->boxes_queried, ours.boxes);
  }
  if (theirs.order) {
    add(NumberKind::permutations, theirs.order->permutations, ours.order[0]);
    add(NumberKind::greatest_mass, theirs.order->max_mass, ours.order[1]);
    add(NumberKind::least_mass, theirs.order->min_mass, ours.order[2]);
  }
  return out;
}

std::vector<RowVerdict> row_verdicts(const std::vector<JudgedNumber>& numbers) {
  std::vector<RowVerdict> out;
  for (const PaperRow& row : kPaperRows) {
    std::vector<const JudgedNumber*> cells;
    RowVerdict verdict;
    verdict.row = row;
    for (const JudgedNumber& number : numbers) {
      if (number.kind != NumberKind::regret || number.row.name() != row.name()) continue;
      cells.push_back(&number);
      verdict.inside += number.plain.inside ? 1 : 0;
      verdict.adjusted_inside += number.adjusted.inside ? 1 : 0;
      verdict.rms_z += number.plain.z * number.plain.z;
      verdict.adjusted_rms_z += number.adjusted.z * number.adjusted.z;
    }
    if (cells.empty()) continue;
    verdict.cells = cells.size();
    verdict.rms_z = std::sqrt(verdict.rms_z / static_cast<double>(cells.size()));
    verdict.adjusted_rms_z = std::sqrt(verdict.adjusted_rms_z / static_cast<double>(cells.size()));
    verdict.ratio = mean_ratio(cells, &JudgedNumber::plain);
    verdict.adjusted_ratio = mean_ratio(cells, &JudgedNumber::adjusted);
    out.push_back(verdict);
  }
  return out;
}

std::vector<CountVerdict> count_verdicts(const std::vector<Panel>& panels, const std::vector<JudgedNumber>& numbers) {
  struct Kind {
    const char* what;
    bool all, adjusted, alone;  // alone: a set of ours, not all replications
  };
  constexpr Kind kCounted[] = {{"regrets", false, false, false},
                               {"regrets", false, true, false},
                               {"all numbers", true, false, false},
                               {"all numbers", true, true, false},
                               {"regrets, 50 of ours", false, false, true},
                               {"regrets, 50 of ours", false, true, true}};
  const auto inside = [](const Kind& kind, const std::vector<JudgedNumber>& judged) {
    return numbers_inside(judged, kind.all, kind.adjusted ? &JudgedNumber::adjusted : &JudgedNumber::plain);
  };
  std::vector<CountVerdict> out;
  for (const Kind& kind : kCounted) {
    const NumbersInside found = inside(kind, numbers);
    out.push_back({kind.what, kind.adjusted, found.of, 0.0, 0.0, {}, {}});
    if (!kind.alone) std::tie(out.back().published, out.back().rms_z) = std::pair(found.inside, found.rms_z);
  }
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const Panel& panel : panels) least = std::min(least, panel.n());
  const std::size_t sets = least / kPaperReplications < 2 ? 0 : least / kPaperReplications;
  for (std::size_t set = 0; set < sets; ++set) {
    const Wanted own = [set](std::size_t r) { return r / kPaperReplications == set; },
                 others = [set](std::size_t r) { return r / kPaperReplications != set; },
                 next = [set, sets](std::size_t r) { return r / kPaperReplications == (set + 1) % sets; };
    const std::vector<JudgedNumber> against_others = judge_parts(panels, others, own),
                                    against_next = judge_parts(panels, next, own),
                                    against_paper = judge_parts(panels, own, {});
    for (std::size_t k = 0; k < out.size(); ++k) {
      const NumbersInside found = inside(kCounted[k], kCounted[k].alone ? against_next : against_others);
      out[k].sets.push_back(found.inside);
      out[k].sets_rms_z.push_back(found.rms_z);
      if (!kCounted[k].alone) continue;
      const NumbersInside paper = inside(kCounted[k], against_paper);
      out[k].published += paper.inside / static_cast<double>(sets);
      out[k].rms_z += paper.rms_z / static_cast<double>(sets);
    }
  }
  std::size_t k = 0;
  std::erase_if(out, [&](const CountVerdict& count) { return (kCounted[k++].alone && sets == 0) || count.of == 0; });
  return out;
}

}  // namespace pandora
