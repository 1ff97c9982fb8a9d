// The findings of Section 6.2 on what learns: the price of an unknown reward, and optimism against plug-in.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "host/ground/statistics/statistics.hpp"
#include "host/ground/statistics/student_t.hpp"
#include "host/report/contrasts.hpp"

namespace pandora {
namespace {

constexpr double kLargestIncrease = 0.17;  // percent of the oracle's utility, as the paper says

Finding small_price(const std::vector<Panel>& panels) {
  Finding out{
      5,
      "",
      fmt::format("not knowing the reward costs the online Weitzman policies at most {}% of the oracle's utility",
                  kLargestIncrease),
      "unknown less known",
      {}};
  for (const Panel& panel : panels)
    for (const int T0 : calibrations(panel))
      for (const std::string policy : {"online_plugin", "dow"}) {
        const RegretEntry *known = panel.find(policy + "/known", T0), *unknown = panel.find(policy + "/unknown", T0);
        if (known == nullptr || unknown == nullptr) continue;
        const Values price = less(unknown->regrets(), known->regrets());
        const std::optional<double> a = published_mean(panel, *unknown), b = published_mean(panel, *known);
        std::optional<double> published;
        if (a && b) published = *a - *b - 0.01 * kLargestIncrease * published_panel(panel).oracle->utility_x1000.value;
        out.cells.push_back(cell_of(panel_text(panel, T0), policy, price,
                                    less(price, panel.utility, 0.01 * kLargestIncrease), published));
      }
  return out;
}

// By how much DOW is ahead of the plug-in; empty where one of them is not there.
struct Advantage {
  Values values;
  std::optional<double> published;
};
Advantage advantage(const Panel& panel, const std::string& reward, int T0) {
  const RegretEntry *dow = panel.find("dow/" + reward, T0), *plug_in = panel.find("online_plugin/" + reward, T0);
  if (dow == nullptr || plug_in == nullptr) return {};
  Advantage out{less(plug_in->regrets(), dow->regrets()), std::nullopt};
  const std::optional<double> a = published_mean(panel, *plug_in), b = published_mean(panel, *dow);
  if (a && b) out.published = *a - *b;
  return out;
}

Finding dow_ahead(const std::vector<Panel>& panels) {
  Finding out{6, "a", "regime A: DOW has less regret than Online Plug-in Weitzman", "DOW less plug-in", {}};
  for (const Panel& panel : panels)
    for (const int T0 : calibrations(panel))
      for (const std::string reward : {"known", "unknown"})
        if (const Advantage own = advantage(panel, reward, T0); panel.regime == "A" && !own.values.empty()) {
          const Values margin = less(Values(panel.n(), 0.0), own.values);
          out.cells.push_back(
              cell_of(panel_text(panel, T0), reward, margin, margin, difference_of(0.0, own.published)));
        }
  return out;
}

Finding most_at_small(const std::vector<Panel>& panels) {
  Finding out{6,
              "b",
              fmt::format("regime A: DOW is further ahead of the plug-in at each T_0 up to {} than at {}",
                          kSmallCalibration, kLargeCalibration),
              fmt::format("DOW's advantage at T_0 less that at {}", kLargeCalibration),
              {}};
  for (const Panel& panel : panels)
    for (const std::string reward : {"known", "unknown"}) {
      const Advantage late = advantage(panel, reward, kLargeCalibration);
      for (const int T0 : calibrations(panel)) {
        const Advantage early = advantage(panel, reward, T0);
        if (panel.regime != "A" || T0 > kSmallCalibration || early.values.empty() || late.values.empty()) continue;
        out.cells.push_back(cell_of(panel_text(panel, T0), reward, less(early.values, late.values),
                                    less(late.values, early.values), difference_of(late.published, early.published)));
      }
    }
  return out;
}

// The regimes share no draws: not paired, and the two variances add.
FindingCell smaller_in_b(std::string name, std::string reward, const Advantage& a, const Advantage& b) {
  const double sign = mean_of_values(b.values) < 0.0 ? -1.0 : 1.0;
  const Estimate in_a = student_t_interval(a.values), in_b = student_t_interval(b.values);
  FindingCell out;
  out.cell = std::move(name);
  out.compared = std::move(reward);
  out.difference = {in_a.mean - sign * in_b.mean, std::hypot(in_a.half_width_95, in_b.half_width_95)};
  out.holds = below_zero({-out.difference.mean, out.difference.half_width_95});
  out.mean_agrees = out.difference.mean > 0.0;
  if (a.published && b.published) out.published = std::abs(*b.published) < std::abs(*a.published);
  return out;
}

Finding less_in_b(const std::vector<Panel>& panels) {
  Finding out{6,
              "c",
              "DOW and the plug-in differ less in regime B than DOW is ahead in regime A",
              "DOW's advantage in A less the absolute difference in B, not paired",
              {}};
  for (const Panel& a : panels)
    for (const Panel& b : panels) {
      if (a.regime != "A" || b.regime != "B" || a.environment != b.environment) continue;
      for (const int T0 : calibrations(a))
        for (const std::string reward : {"known", "unknown"})
          if (const Advantage in_a = advantage(a, reward, T0), in_b = advantage(b, reward, T0);
              !in_a.values.empty() && !in_b.values.empty())
            out.cells.push_back(smaller_in_b(fmt::format("{}, T0={}", a.environment, T0), reward, in_a, in_b));
    }
  return out;
}

// Of one panel: the mean over its T_0 of unknown less known, by replication, and the published one.
Advantage price_in(const Panel& panel, const std::string& policy, std::size_t& cells) {
  Values sum(panel.n(), 0.0);
  std::optional<double> published = 0.0;
  cells = 0;
  for (const int T0 : calibrations(panel)) {
    const RegretEntry *known = panel.find(policy + "/known", T0), *unknown = panel.find(policy + "/unknown", T0);
    if (known == nullptr || unknown == nullptr) continue;
    ++cells;
    sum = less(sum, less(known->regrets(), unknown->regrets()));
    const std::optional<double> own = difference_of(published_mean(panel, *unknown), published_mean(panel, *known));
    published = own && published ? std::optional(*published + *own) : std::nullopt;
  }
  return {sum, published};
}

}  // namespace

std::vector<Finding> findings_of_learning(const std::vector<Panel>& panels) {
  return {small_price(panels), dow_ahead(panels), most_at_small(panels), less_in_b(panels)};
}

std::vector<PriceOfUnknown> prices_of_unknown(const std::vector<Panel>& panels) {
  std::vector<PriceOfUnknown> out;
  for (const char* policy : {"online_plugin", "dow"})
    for (const char* regime : {"A", "B"}) {
      PriceOfUnknown price{policy, regime, 0, {}, Estimate{}, std::nan(""), std::nan("")};
      double variance = 0.0, of_fifty = 0.0;
      for (const Panel& panel : panels) {
        if (panel.regime != regime) continue;
        std::size_t cells = 0;
        const Advantage own = price_in(panel, policy, cells);
        if (cells == 0) continue;
        price.cells += cells;
        price.ours.mean += mean_of_values(own.values);
        const double error = estimate(own.values).half_width_95 / 1.96, n = static_cast<double>(own.values.size());
        variance += error * error;
        of_fifty += error * error * n / kPaperReplications;
        if (!own.published) price.published.reset();
        if (price.published) price.published->mean += *own.published;
      }
      if (price.cells == 0) continue;
      const double cells = static_cast<double>(price.cells);
      price.ours = {price.ours.mean / cells, 1.96 * std::sqrt(variance) / cells};
      if (price.published) {
        *price.published = {price.published->mean / cells, 1.96 * std::sqrt(of_fifty) / cells};
        price.z = 1.96 * (price.ours.mean - price.published->mean) /
                  std::hypot(price.ours.half_width_95, price.published->half_width_95);
        price.p = normal_p_value(price.z);
      }
      out.push_back(price);
    }
  return out;
}

}  // namespace pandora
