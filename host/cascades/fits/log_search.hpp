// The best cascade of thresholds by a log's importance weights.
#pragma once

#include <algorithm>
#include <cmath>

#include "host/cascades/fits/log_reader.hpp"
#include "host/outcomes/routing/calibrated_evaluator.hpp"

namespace pandora {

/// A model's scores as qualities, by its known ones in these rows, each with its label_weight().
inline IsotonicMap calibrated(const TraceTable& log, const LogReader& reader, std::span<const double> shown,
                              std::size_t model, const std::vector<std::size_t>& rows) {
  std::vector<double> scores, qualities, weights;
  for (const std::size_t row : rows) {
    const std::size_t at = row * log.models.size() + model;
    if (std::isnan(shown[at] + log.quality[at])) continue;
    scores.push_back(shown[at]);
    qualities.push_back(log.quality[at]);
    weights.push_back(reader.label_weight(at));
  }
  return IsotonicMap::fit(scores, qualities, weights);
}

// Sums over decisions, of weights w, of w times the utility y, and of w times z, by which a decision moves the utility of the
// rules that made the log (0 where they are not known).
struct WeightedSums {
  double w = 0.0, wy = 0.0, ww = 0.0, wwy = 0.0, wwyy = 0.0, wz = 0.0, wyz = 0.0;
  LabelNoise labels;

  static WeightedSums of(double weight, double y, double z, const LabelNoise& labels) {
    const double ww = weight * weight;
    return {weight, weight * y, ww, ww * y, ww * y * y, weight * z, weight * y * z, labels};
  }
  WeightedSums& operator+=(const WeightedSums& o) {
    w += o.w, wy += o.wy, ww += o.ww, wwy += o.wwy, wwyy += o.wwyy, wz += o.wz, wyz += o.wyz, labels += o.labels;
    return *this;
  }
  WeightedSums minus(const WeightedSums& o) const {
    return {w - o.w, wy - o.wy, ww - o.ww, wwy - o.wwy, wwyy - o.wwyy, wz - o.wz, wyz - o.wyz, labels.minus(o.labels)};
  }
  double mean() const { return wy / w; }
  double effective() const { return w * w / (ww + labels.expected); }
  /// Of the mean less that of z over `decisions`, of which the sum of z^2 is given.
  double error(double decisions, double zz) const {
    const double own = wwyy - 2.0 * mean() * wwy + mean() * mean() * ww + labels.unseen(),
                 both = (wyz - mean() * wz) / (w * decisions);
    return std::sqrt(std::max(0.0, own / (w * w) - 2.0 * both + zz / (decisions * decisions)));
  }
  /// What is maximised: of many candidates the greatest mean flatters those of few decisions (Swaminathan and Joachims
  /// 2015). Held against what made the log, what is like it is the surest.
  /// `least`: effective decisions.
  double cautious(double decisions, double zz, double least) const {
    const double mean_weight = w / decisions, spread = std::sqrt(std::max(0.0, ww / w - mean_weight) / decisions);
    if (std::abs(mean_weight - 1.0) > 3.0 * spread + 1e-9) return -HUGE_VAL;  // makes calls that the log never makes
    return effective() < least ? -HUGE_VAL : mean() - kLogCaution * error(decisions, zz);
  }
};

struct RatedCascade {
  FixedCascade cascade;
  double rating = -HUGE_VAL;
};

// The search on some rows.
class LogSearch {
 public:
  static constexpr std::size_t kThresholds = 24, kLongest = 3;  ///< of each model; models of a cascade
  static constexpr std::size_t kLeastMade = 10;                 ///< decisions that make all calls of an order

  LogSearch(const TraceTable& log, const LogReader& reader, const CascadeFitSettings& settings,
            const std::vector<std::size_t>& rows)
      : log_(log), reader_(reader), settings_(settings), rows_(rows), models_(log.models.size()) {
    const CalibratedEvaluator evaluator(log, settings.evaluator);
    seen_.assign(evaluator.shown().begin(), evaluator.shown().end());
    for (std::size_t m = 0; m < models_; ++m) {
      if (!evaluator.is_truth()) calibrate(m);
      std::vector<double> seen;
      for (const std::size_t row : rows)
        if (const double value = seen_[row * models_ + m]; !std::isnan(value)) seen.push_back(value);
      thresholds_.push_back(thresholds_of(std::move(seen)));
    }
    running_.assign(log.rows(), 0.0);
    if (!reader.knows_running()) return;
    double sum = 0.0, weights = 0.0;
    for (const std::size_t row : rows) {
      running_[row] = reader.running_quality(row) - settings.aim.value * reader.running_usd(row);
      sum += reader.running_weight(row) * running_[row];
      weights += reader.running_weight(row);
    }
    for (const std::size_t row : rows) {
      running_[row] = reader.running_weight(row) * (running_[row] - sum / weights);
      spread_ += running_[row] * running_[row];
    }
  }

  const std::vector<IsotonicMap>& calibration() const { return calibration_; }

  FixedCascade best_single() const {
    RatedCascade best;
    for (std::size_t m = 0; m < models_; ++m) rate({m}, best);
    return best.cascade;
  }
  /// Effective decisions that call and deploy a model alone.
  double effective_alone(std::size_t model) const {
    WeightedSums sums;
    for (const std::size_t row : rows_)
      if (const double weight = reader_.ratio(row * models_ + model, 0); weight > 0.0)
        sums += WeightedSums::of(weight, 0.0, 0.0, reader_.label_noise(row * models_ + model, weight));
    return sums.w > 0.0 ? sums.effective() : 0.0;
  }
  FixedCascade best() const {
    RatedCascade best;
    std::vector<std::size_t> order;
    extend(order, best);
    return best.cascade;
  }

 private:
  void calibrate(std::size_t m) {
    calibration_.push_back(calibrated(log_, reader_, seen_, m, rows_));
    for (const std::size_t row : rows_)
      if (double& score = seen_[row * models_ + m]; !std::isnan(score)) score = calibration_[m](score);
  }

  // Readable ones that accept some answers and not all, about equally many between two of them.
  static std::vector<double> thresholds_of(std::vector<double> seen) {
    std::sort(seen.begin(), seen.end());
    std::vector<double> out;
    for (std::size_t k = 1; k <= kThresholds && !seen.empty(); ++k) {
      const double value = std::round(100.0 * seen[k * (seen.size() - 1) / kThresholds]) / 100.0;
      if (value > seen.front() && (out.empty() || value > out.back())) out.push_back(value);
    }
    return out;
  }

  void extend(std::vector<std::size_t>& order, RatedCascade& best) const {
    if (!order.empty()) rate(order, best);
    for (std::size_t m = 0; m < models_ && order.size() < kLongest; ++m) {
      if (std::find(order.begin(), order.end(), m) != order.end() ||
          (!order.empty() && thresholds_[order.back()].empty()))
        continue;
      order.push_back(m);
      extend(order, best);
      order.pop_back();
    }
  }

  std::size_t accepting(std::size_t at) const {  // how many thresholds the answer reaches
    const std::vector<double>& of = thresholds_[at % models_];
    return static_cast<std::size_t>(std::upper_bound(of.begin(), of.end(), seen_[at]) - of.begin());
  }

  // All thresholds of an order at once: a decision adds to rectangles of them, by their corners.
  void rate(const std::vector<std::size_t>& order, RatedCascade& best) const {
    const std::size_t n = order.size(), I = n > 1 ? thresholds_[order[0]].size() : 1,
                      J = n > 2 ? thresholds_[order[1]].size() : 1;
    std::vector<WeightedSums> sums((I + 1) * (J + 1));
    const auto add = [&](std::size_t i0, std::size_t i1, std::size_t j0, std::size_t j1, double weight, double y,
                         std::size_t deployed) {
      if (i0 >= i1 || j0 >= j1 || weight == 0.0) return;
      const WeightedSums one =
          WeightedSums::of(weight, y, running_[deployed / models_], reader_.label_noise(deployed, weight));
      const auto corner = [&](std::size_t i, std::size_t j) -> WeightedSums& { return sums[i * (J + 1) + j]; };
      corner(i0, j0) += one;
      corner(i1, j0) = corner(i1, j0).minus(one);
      corner(i0, j1) = corner(i0, j1).minus(one);
      corner(i1, j1) += one;
    };
    std::size_t made = 0;  // decisions that make all of the order's calls
    for (const std::size_t row : rows_) {
      double weight = 1.0, spent = 0.0, most = -HUGE_VAL;
      std::size_t deployed = row * models_ + order[0],
                  from = 0;  // the first threshold of the first model that the answer does not reach
      for (std::size_t k = 0; k < n; ++k) {
        const std::size_t at = row * models_ + order[k];
        weight *= reader_.ratio(at, k);
        if (weight == 0.0) break;
        made += k + 1 == n;
        spent += log_.cost[at] + (n > 1 ? settings_.judge() : 0.0);
        if (seen_[at] > most) {
          most = seen_[at];
          deployed = at;
        }
        const double y = reader_.estimated_quality(deployed) - settings_.aim.value * spent;
        if (k + 1 == n) {
          const std::size_t second = n > 2 ? accepting(row * models_ + order[1]) : 0;
          add(from, I, second, J, weight, y, deployed);
        } else if (k == 0) {
          from = accepting(at);
          add(0, from, 0, J, weight, y, deployed);
        } else {
          add(from, I, 0, accepting(at), weight, y, deployed);
        }
      }
    }
    // Weights that are 0 for want of a call move their mean little where it is rarely made.
    if (made >= kLeastMade) pick(order, I, J, sums, best);
  }

  void pick(const std::vector<std::size_t>& order, std::size_t I, std::size_t J, std::vector<WeightedSums>& sums,
            RatedCascade& best) const {
    const double decisions = static_cast<double>(rows_.size());
    // The more decisions, the more rare openings are there to be chosen by chance.
    const double least = order.size() == 1 ? kLeastEffective : std::max(kLeastEffective, 2.0 * std::sqrt(decisions));
    for (std::size_t i = 0; i < I; ++i)
      for (std::size_t j = 0; j < J; ++j) {
        WeightedSums& here = sums[i * (J + 1) + j];
        if (i > 0) here += sums[(i - 1) * (J + 1) + j];
        if (j > 0) here += sums[i * (J + 1) + j - 1];
        if (i > 0 && j > 0) here = here.minus(sums[(i - 1) * (J + 1) + j - 1]);
        if (!(here.w > 0.0) || !(here.cautious(decisions, spread_, least) > best.rating)) continue;
        best = {{order, {}}, here.cautious(decisions, spread_, least)};
        if (order.size() > 1) best.cascade.thresholds.push_back(thresholds_[order[0]][i]);
        if (order.size() > 2) best.cascade.thresholds.push_back(thresholds_[order[1]][j]);
      }
  }

  const TraceTable& log_;
  const LogReader& reader_;
  const CascadeFitSettings& settings_;
  const std::vector<std::size_t>& rows_;
  const std::size_t models_;
  std::vector<double> seen_;  // of each answer: what is shown of it, calibrated
  std::vector<IsotonicMap> calibration_;
  std::vector<std::vector<double>> thresholds_;  // of each model
  std::vector<double> running_;                  // by row: WeightedSums' z
  double spread_ = 0.0;                          // the sum of their squares
};

}  // namespace pandora
