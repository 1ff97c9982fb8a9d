#include "host/report/panels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "host/report/cells.hpp"
#include "host/report/control_variates.hpp"

namespace pandora {
namespace {

constexpr double kNotThere = std::numeric_limits<double>::quiet_NaN();

// What c_{1,a} is weighted by in a cost level.
double weight_of_output_cost(const std::string& regime) {
  return regime == "A" ? 0.5 : 1.0;
}

std::size_t count_of(const std::vector<double>& values) {
  return values.size() - static_cast<std::size_t>(std::count_if(values.begin(), values.end(),
                                                                [](double value) { return std::isnan(value); }));
}

std::vector<double> some_of(const std::vector<double>& values, const std::vector<std::size_t>& which) {
  std::vector<double> out;
  if (values.empty()) return out;
  out.reserve(which.size());
  for (const std::size_t r : which) out.push_back(values[r]);
  return out;
}

// A panel that is being read: all replications of the study, NaN where one is not there.
class PanelReader {
 public:
  PanelReader(std::size_t setting, const PlannedSetting& planned, const Unit& unit) : planned_(&planned) {
    const Study& study = planned.setting.study;
    panel_.setting = setting;
    panel_.environment = unit.environment.name;
    panel_.regime = regime_name(unit.regime);
    panel_.replications = study.replications;
    panel_.comparable = comparable(study, unit.environment);
    Study of_paper = study;  // the horizon does not enter Table 3
    of_paper.periods = kPaperPeriods;
    panel_.comparable_order = comparable(of_paper, unit.environment) && study.order_contexts == kPaperOrderContexts;
    const std::vector<double> nothing(static_cast<std::size_t>(study.replications), kNotThere);
    if (study.regret) {
      panel_.utility = panel_.boxes = nothing;
      regrets_.assign(planned.plan.lanes.size(), nothing);
    }
    if (study.order) panel_.order.fill(nothing);
    if (study.instances) panel_.costs.fill(nothing);
    panel_.expected_costs = mean_least_greatest(study.dimensions.boxes, 0.5 * unit.environment.cost_level,
                                                weight_of_output_cost(panel_.regime) * unit.environment.cost_level);
  }

  bool is(std::size_t setting, const Unit& unit) const {
    return panel_.setting == setting && panel_.environment == unit.environment.name &&
           panel_.regime == regime_name(unit.regime);
  }

  void add(std::size_t r, const UnitResult& unit) {
    if (!panel_.utility.empty() && counts(unit, 0)) {
      const auto utility = [](const LaneTally& tally) { return 1000.0 * tally.utility / tally.periods; };
      panel_.utility[r] = utility(unit.lanes[0]);
      panel_.boxes[r] = unit.lanes[0].queries() / unit.lanes[0].periods;
      for (std::size_t lane = 0; lane < unit.lanes.size(); ++lane)
        if (counts(unit, lane)) regrets_[lane][r] = panel_.utility[r] - utility(unit.lanes[lane]);
    }
    if (!panel_.order[0].empty() && unit.order.permutations > 0.0) {
      panel_.order[0][r] = unit.order.permutations;
      panel_.order[1][r] = unit.order.max_mass;
      panel_.order[2][r] = unit.order.min_mass;
    }
    if (!panel_.costs[0].empty() && unit.instance) add_costs(r, *unit.instance);
  }

  // What is there of it: the replications in which nothing is missing.
  Panel taken() {
    add_entries();
    std::vector<const std::vector<double>*> needed;
    for (const RegretEntry& entry : panel_.entries)
      for (const std::vector<double>& regrets : entry.choices) needed.push_back(&regrets);
    if (!panel_.utility.empty()) needed.push_back(&panel_.utility);
    if (!panel_.order[0].empty()) needed.push_back(&panel_.order[0]);
    std::vector<std::size_t> which;
    for (std::size_t r = 0; r < static_cast<std::size_t>(panel_.replications); ++r)
      if (std::none_of(needed.begin(), needed.end(),
                       [r](const std::vector<double>* values) { return std::isnan((*values)[r]); }))
        which.push_back(r);
    Panel out = panel_.of(which);
    if (count_of(out.costs[0]) < which.size())
      for (std::vector<double>& costs : out.costs) costs.clear();
    return out;
  }

 private:
  void add_costs(std::size_t r, const Instance& instance) {
    std::vector<double> levels;
    for (int a = 0; a < instance.dimensions.boxes; ++a) levels.push_back(cost_level(instance, a));
    panel_.costs[0][r] = std::accumulate(levels.begin(), levels.end(), 0.0) / static_cast<double>(levels.size());
    panel_.costs[1][r] = *std::min_element(levels.begin(), levels.end());
    panel_.costs[2][r] = *std::max_element(levels.begin(), levels.end());
  }

  void add_entries() {
    if (panel_.utility.empty()) return;
    for (const int T0 : planned_->setting.study.T0)
      for (const PaperRow& row : kPaperRows) {
        // The paper prints the static plug-in of an unknown reward.
        const std::string reward = std::string(row.policy) == "static_plugin" ? "unknown" : row.reward;
        for (const Contender& who : contenders(planned_->plan, T0, row.policy, reward)) {
          RegretEntry entry{row, T0, {}, 0};
          std::size_t most = 1;
          for (const std::size_t lane : who.lanes) most = std::max(most, count_of(regrets_[lane]));
          for (const std::size_t lane : who.lanes)
            if (count_of(regrets_[lane]) == most) entry.choices.push_back(regrets_[lane]);
          if (!entry.choices.empty()) panel_.entries.push_back(std::move(entry));
        }
      }
  }

  const PlannedSetting* planned_;
  Panel panel_;
  std::vector<std::vector<double>> regrets_;  // of the plan's lanes
};

}  // namespace

void RegretEntry::choose() {
  std::vector<double> sums;
  for (const std::vector<double>& regrets : choices)
    sums.push_back(std::accumulate(regrets.begin(), regrets.end(), 0.0));
  best = static_cast<std::size_t>(std::min_element(sums.begin(), sums.end()) - sums.begin());
}

const RegretEntry* Panel::find(const std::string& row, int T0) const {
  for (const RegretEntry& entry : entries)
    if (entry.T0 == T0 && entry.row.name() == row) return &entry;
  return nullptr;
}

Panel Panel::of(const std::vector<std::size_t>& which) const {
  Panel out = *this;
  out.utility = some_of(utility, which);
  out.boxes = some_of(boxes, which);
  for (int k = 0; k < 3; ++k) {
    out.order[k] = some_of(order[k], which);
    out.costs[k] = some_of(costs[k], which);
  }
  for (std::size_t e = 0; e < entries.size(); ++e) {
    for (std::size_t h = 0; h < entries[e].choices.size(); ++h)
      out.entries[e].choices[h] = some_of(entries[e].choices[h], which);
    out.entries[e].choose();
  }
  return out;
}

double cost_level(const Instance& instance, int box) {
  const std::size_t a = static_cast<std::size_t>(box);
  return 0.5 * instance.c0[a] + weight_of_output_cost(regime_name(instance.regime)) * instance.c1[a];
}

std::vector<Panel> paper_panels(StoredResults& results) {
  std::vector<PanelReader> readers;
  const auto wanted = [](std::size_t, const Unit& unit) {
    const auto& paper = paper_environments();
    return std::find(paper.begin(), paper.end(), unit.environment) != paper.end();
  };
  results.for_each_part(wanted, [&](std::size_t s, const Unit& first, const std::vector<UnitResult>& units) {
    auto reader = std::find_if(readers.begin(), readers.end(), [&](const PanelReader& p) { return p.is(s, first); });
    if (reader == readers.end()) reader = readers.emplace(readers.end(), s, results.settings()[s], first);
    for (std::size_t u = 0; u < units.size(); ++u) reader->add(first.replication + u, units[u]);
  });
  std::vector<Panel> out;
  for (PanelReader& reader : readers)
    if (Panel panel = reader.taken(); panel.n() > 0) out.push_back(std::move(panel));
  return out;
}

}  // namespace pandora
