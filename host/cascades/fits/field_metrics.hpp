// What the literature measures routers and judges by, of plain numbers. docs/cascades.md#metrics-of-the-field says where
// each definition stands. Not a number where something is not defined.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pandora {

/// What one policy costs and brings, on average.
struct CostQuality {
  double usd = 0.0;  ///< dollars per 1,000 prompts
  double quality = 0.0;
};

/// Corners of the least concave function above the points that does not decrease, the cheapest first; beyond the best
/// point it is flat.
std::vector<CostQuality> non_decreasing_hull(std::vector<CostQuality> points);

/// Area under the non-decreasing hull from its cheapest point to `dearest`, divided by that range or, `as_code`, by
/// `dearest`.
double average_improvement(const std::vector<CostQuality>& points, double dearest, bool as_code);

/// Dollars on the hull at which its quality reaches `quality`.
double cost_of_quality(const std::vector<CostQuality>& points, double quality);

/// A router between two models: the share of prompts for which the strong one is called, and the quality.
struct StrongShare {
  double share = 0.0, quality = 0.0;
};

/// Area under quality over share by trapezoids, in the order of the shares.
double strong_share_area(std::vector<StrongShare> points);
/// The area's place between those of the weak and of the strong model alone, over the same shares.
double performance_gap_recovered(const std::vector<StrongShare>& points, double weak, double strong);
/// The first share at which quality reaches weak + recovered x (strong - weak), interpolated.
double share_that_recovers(std::vector<StrongShare> points, double weak, double strong, double recovered);

/// Area under quality over dollars as shares of `dearest`, from 0 to `up_to`, divided by it: points in the order of
/// their dollars, constant before the first and after the last.
double deferral_area(std::vector<CostQuality> points, double dearest, double up_to);
/// Least dollars among the points of at least `quality`.
double least_cost_at(const std::vector<CostQuality>& points, double quality);
inline constexpr double kArenaDearest = 200.0, kArenaCheapest = 0.0044;
/// (1 + beta) A C / (beta A + C) with beta = 0.1, A the quality and C = log(dearest / dollars) / log(dearest / cheapest).
double arena_score(const CostQuality& point);
double greatest_quality(const std::vector<CostQuality>& points);
/// Mean distance of the points to those that none of `everyone` beats, both axes divided by everyone's range.
double pareto_distance(const std::vector<CostQuality>& points, const std::vector<CostQuality>& everyone);

/// Answers with a judge's forecast in [0, 1] of what each is worth, sorted once for any weights of the rows.
class ForecastAnswers {
 public:
  static constexpr std::size_t kBins = 15;

  ForecastAnswers(std::span<const double> forecast, std::span<const double> truth, std::size_t per_row);

  /// Weights: of each row, whole numbers, how often it counts.
  double calibration_error(std::span<const std::uint32_t> weights) const;  ///< kBins of one width
  /// That a right answer (truth of at least 0.5) has the greater forecast, ties counted half.
  double area_under_roc(std::span<const std::uint32_t> weights) const;
  /// The mean over k of the mean loss (1 - truth) of the k answers of the greatest forecasts; equal ones lose alike.
  double area_under_risk(std::span<const std::uint32_t> weights) const;
  /// The mean loss of the share of answers with the greatest forecasts.
  double risk_at(double coverage, std::span<const std::uint32_t> weights) const;

 private:
  struct Answer {
    double forecast, truth;
    std::size_t row;
  };
  // Answers of one forecast, the greatest first: how many there are and what they lose, both with weights.
  struct Tie {
    double count = 0.0, loss = 0.0, right = 0.0;
  };
  template <class PerTie>
  void for_ties(std::span<const std::uint32_t> weights, const PerTie& per_tie) const;

  std::vector<Answer> answers_;  // the greatest forecast first
};

/// The quantile by linear interpolation between order statistics. Not a number of nothing.
double quantile_of(std::vector<double> values, double share);

}  // namespace pandora
