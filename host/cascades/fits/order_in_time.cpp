#include "host/cascades/fits/order_in_time.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "host/cascades/fits/worth.hpp"

namespace pandora {
namespace {

struct Found {
  FixedCascade cascade;
  double late = HUGE_VAL, worth = -HUGE_VAL;  // seconds beyond those that there are; mean utility

  bool operator<(const Found& other) const { return late != other.late ? late > other.late : worth < other.worth; }
};

}  // namespace

FixedCascade fit_order_in_time(const Outcomes& outcomes, double price, double seconds,
                               std::span<const std::size_t> rows) {
  constexpr int kSteps = 20;           // thresholds
  constexpr double kMostWork = 100e6;  // rows that are looked at, about
  const double models = static_cast<double>(outcomes.models);
  const double room = std::max(500.0, kMostWork / (kSteps * 2.0 * std::pow(models, 3.0)));
  std::vector<std::size_t> some;
  const std::size_t step = static_cast<std::size_t>(std::ceil(static_cast<double>(rows.size()) / room));
  for (std::size_t i = 0; i < rows.size(); i += step) some.push_back(rows[i]);
  const auto judged = [&](FixedCascade cascade, double more_than) {
    const Routed routed = evaluate(outcomes, cascade, some);
    const std::vector<double> utility = routed.utility(price);
    const double worth = std::accumulate(utility.begin(), utility.end(), 0.0) / static_cast<double>(some.size());
    if (worth <= more_than) return Found{};
    return Found{std::move(cascade), std::max(0.0, latency_p95(routed.latency) - seconds), worth};
  };
  Found best;
  for (std::size_t first = 0; first < outcomes.models; ++first) {
    Found now = judged({{first}, {}}, -HUGE_VAL);
    for (bool grows = now.late == 0.0; grows;) {
      const FixedCascade from = now.cascade;
      grows = false;
      for (std::size_t m = 0; m < outcomes.models; ++m)
        for (std::size_t at = 0; at <= from.order.size() && std::ranges::count(from.order, m) == 0; ++at)
          for (int k = 1; k <= kSteps; ++k) {
            FixedCascade more = from;
            more.order.insert(more.order.begin() + static_cast<std::ptrdiff_t>(at), m);
            more.thresholds.insert(
                more.thresholds.begin() + static_cast<std::ptrdiff_t>(std::min(at, from.thresholds.size())),
                static_cast<double>(k) / kSteps);
            if (Found next = judged(std::move(more), now.worth); now < next) {
              now = std::move(next);
              grows = true;
            }
          }
    }
    if (best < now) best = std::move(now);
  }
  return best.cascade;
}

}  // namespace pandora
