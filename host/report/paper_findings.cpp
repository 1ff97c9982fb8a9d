// The findings of Section 6.2 as statements about cells: the first four, which set policies against baselines.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "host/report/contrasts.hpp"

namespace pandora {
namespace {

constexpr double kSubstantially = 1.5;  // times a regret: "substantially worse" from here on, "comparable" below

const std::vector<std::string> kOnline = {"online_plugin/known", "online_plugin/unknown", "dow/known", "dow/unknown"},
                               kLinUcb = {"linucb_online", "linucb_static"},
                               kBaselines = {"linucb_online", "linucb_static", "frugalgpt/known"};

using Entries = std::vector<const RegretEntry*>;
Entries rows_in(const Panel& panel, const std::vector<std::string>& rows, const std::function<bool(int)>& at) {
  Entries out;
  for (const RegretEntry& entry : panel.entries)
    if (at(entry.T0) && std::find(rows.begin(), rows.end(), entry.row.name()) != rows.end()) out.push_back(&entry);
  return out;
}

// The entry with the greatest (or least) mean, and the greatest (least) published mean.
struct Extreme {
  const RegretEntry* entry = nullptr;
  std::optional<double> published;
};
Extreme extreme(const Panel& panel, const Entries& entries, bool greatest) {
  Extreme out;
  double best = 0.0;
  for (const RegretEntry* entry : entries) {
    const double mean = mean_of_values(entry->regrets());
    const std::optional<double> published = published_mean(panel, *entry);
    if (out.entry == nullptr || (greatest ? mean > best : mean < best)) {
      out.entry = entry;
      best = mean;
    }
    if (published && (!out.published || (greatest ? *published > *out.published : *published < *out.published)))
      out.published = published;
  }
  return out;
}

// "Every one of these has less regret, `factor` times, than every one of those": the worst against the best, which the
// choice of both makes harder to establish.
void add_order(Finding& finding, const Panel& panel, const Entries& these, const Entries& those, double factor) {
  if (these.empty() || those.empty()) return;
  const Extreme worst = extreme(panel, these, true), best = extreme(panel, those, false);
  std::optional<double> published;
  if (worst.published && best.published) published = factor * *worst.published - *best.published;
  const RegretEntry &a = *worst.entry, &b = *best.entry;
  const std::string when = a.T0 == b.T0 ? "" : fmt::format(" at T0={}", b.T0);
  finding.cells.push_back(
      cell_of(panel_text(panel, a.T0), fmt::format("{} less {}{}", a.row.name(), b.row.name(), when),
              less(a.regrets(), b.regrets()), less(a.regrets(), b.regrets(), 1.0 / factor), published));
}

// The same for each T_0 of `at`.
void add_orders(Finding& finding, const Panel& panel, const std::vector<std::string>& these,
                const std::vector<std::string>& those, double factor, const std::function<bool(int)>& at) {
  for (const int T0 : calibrations(panel)) {
    if (!at(T0)) continue;
    const auto here = [T0](int other) { return other == T0; };
    add_order(finding, panel, rows_in(panel, these, here), rows_in(panel, those, here), factor);
  }
}

const auto kAlways = [](int) { return true; };

Finding outperform(const std::vector<Panel>& panels, bool static_one) {
  Finding out{1,
              static_one ? "b" : "a",
              static_one ? "Static Plug-in Weitzman has less regret than LinUCB and FrugalGPT"
                         : "the four online Weitzman policies have less regret than LinUCB and FrugalGPT",
              static_one ? "Static Plug-in less the best baseline" : "the worst of the four less the best baseline",
              {}};
  for (const Panel& panel : panels)
    add_orders(out, panel, static_one ? std::vector<std::string>{"static_plugin"} : kOnline, kBaselines, 1.0, kAlways);
  return out;
}

Finding cold_start(const std::vector<Panel>& panels) {
  Finding out{
      2,
      "",
      fmt::format("DOW at T_0 = 0 has less regret than Static Plug-in, LinUCB and FrugalGPT at any T_0 up to {}",
                  kSmallCalibration),
      "DOW less the best of these",
      {}};
  const auto small = [](int T0) { return T0 <= kSmallCalibration; };
  for (const Panel& panel : panels)
    for (const char* name : {"dow/known", "dow/unknown"})
      add_order(out, panel, rows_in(panel, {name}, [](int T0) { return T0 == 0; }),
                rows_in(panel, {"static_plugin", "linucb_online", "linucb_static", "frugalgpt/known"}, small), 1.0);
  return out;
}

// Within a factor of each other.
Finding comparable_frugal(const std::vector<Panel>& panels) {
  Finding out{3,
              "a",
              fmt::format("regime A, T_0 = {}: FrugalGPT and DOW, known, are within a factor {} of each other",
                          kLargeCalibration, kSubstantially),
              "FrugalGPT less DOW",
              {}};
  for (const Panel& panel : panels) {
    const RegretEntry *dow = panel.find("dow/known", kLargeCalibration),
                      *frugal = panel.find("frugalgpt/known", kLargeCalibration);
    if (panel.regime != "A" || dow == nullptr || frugal == nullptr) continue;
    const std::optional<double> a = published_mean(panel, *dow), b = published_mean(panel, *frugal);
    std::optional<double> published[2];
    if (a && b) {
      published[0] = *a - kSubstantially * *b;
      published[1] = *b - kSubstantially * *a;
    }
    const std::string name = panel_text(panel, kLargeCalibration), compared = "frugalgpt/known less dow/known";
    const Values shown = less(frugal->regrets(), dow->regrets());
    const FindingCell above =
        cell_of(name, compared, shown, less(dow->regrets(), frugal->regrets(), kSubstantially), published[0]);
    FindingCell cell =
        cell_of(name, compared, shown, less(frugal->regrets(), dow->regrets(), kSubstantially), published[1]);
    cell.holds = above.holds == Holds::no || cell.holds == Holds::no     ? Holds::no
                 : above.holds == Holds::yes && cell.holds == Holds::yes ? Holds::yes
                                                                         : Holds::open;
    cell.mean_agrees = cell.mean_agrees && above.mean_agrees;
    if (cell.published) cell.published = *cell.published && *above.published;
    out.cells.push_back(cell);
  }
  return out;
}

Finding worse_frugal(const std::vector<Panel>& panels, bool contextual) {
  Finding out{3,
              contextual ? "c" : "b",
              fmt::format("regime {}, {}: FrugalGPT has at least {} times the regret of every online Weitzman policy",
                          contextual ? "B" : "A", contextual ? "every T_0" : "T_0 below 1000", kSubstantially),
              "the worst online Weitzman policy less FrugalGPT",
              {}};
  for (const Panel& panel : panels)
    if (panel.regime == (contextual ? "B" : "A"))
      add_orders(out, panel, kOnline, {"frugalgpt/known"}, kSubstantially,
                 [contextual](int T0) { return contextual || T0 < kLargeCalibration; });
  return out;
}

Finding order_varies(const std::vector<Panel>& panels) {
  Finding out{3,
              "d",
              "regime B: the oracle's order varies with the context: more than one permutation occurs",
              "permutations less 1",
              {}};
  for (const Panel& panel : panels) {
    if (panel.regime != "B" || panel.order[0].empty()) continue;
    const Values one(panel.n(), 1.0);
    const std::optional<PublishedOrder> paper = published_panel(panel).order;
    out.cells.push_back(cell_of(panel_text(panel), "oracle", less(panel.order[0], one), less(one, panel.order[0]),
                                paper ? std::optional(1.0 - paper->permutations.value) : std::nullopt));
  }
  return out;
}

Finding one_shot(const std::vector<Panel>& panels) {
  Finding out{
      4,
      "a",
      fmt::format("both LinUCB have at least {} times the regret of every online Weitzman policy", kSubstantially),
      "the worst online Weitzman policy less the better LinUCB",
      {}};
  for (const Panel& panel : panels) add_orders(out, panel, kOnline, kLinUcb, kSubstantially, kAlways);
  return out;
}

Finding several_boxes(const std::vector<Panel>& panels) {
  Finding out{4, "b", "the oracle opens more than one box per period", "boxes less 1", {}};
  for (const Panel& panel : panels) {
    if (panel.boxes.empty()) continue;
    const Values one(panel.n(), 1.0);
    const std::optional<PublishedOracle> paper = published_panel(panel).oracle;
    out.cells.push_back(cell_of(panel_text(panel), "oracle", less(panel.boxes, one), less(one, panel.boxes),
                                paper ? std::optional(1.0 - paper->boxes_queried.value) : std::nullopt));
  }
  return out;
}

}  // namespace

std::size_t Finding::count(Holds holds) const {
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(), [holds](const FindingCell& cell) { return cell.holds == holds; }));
}

std::vector<Finding> paper_findings(const std::vector<Panel>& panels) {
  std::vector<Finding> out = {
      outperform(panels, false),   outperform(panels, true),   cold_start(panels),   comparable_frugal(panels),
      worse_frugal(panels, false), worse_frugal(panels, true), order_varies(panels), one_shot(panels),
      several_boxes(panels)};
  for (Finding& finding : findings_of_learning(panels)) out.push_back(std::move(finding));
  out.erase(std::remove_if(out.begin(), out.end(), [](const Finding& f) { return f.cells.empty(); }), out.end());
  return out;
}

}  // namespace pandora
