#include "host/studies/run/trial.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <utility>

#include "host/ground/base/in_parallel.hpp"
#include "host/ground/base/quotas.hpp"
#include "host/studies/sweep/prepare_replication.hpp"

namespace pandora {
namespace {

// Sizes of a trial at the most: what a plan takes must not grow with the study, which is scaled up from them.
constexpr int kMostContext = 200, kMostContexts = 100000, kMostSamples = 1000000, kMostNodes = 101, kMostT0 = 10000,
              kFirstPeriods = 250, kLonger = 4;
constexpr std::size_t kMostCells = 8, kLanesOfStratum = 3;
// Powers of the horizon. A step with all lanes is worth it where it leaves the rest of the seconds for longer ones.
constexpr double kLeastPower = 0.8, kGreatestPower = 3.0, kShareOfMany = 4.0;

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Lanes of a policy and a reward setting whose time grows alike, of which the trial plays some.
struct Stratum {
  std::size_t first = 0, count = 0;  // of the trial's plan
  double all = 0.0,
         played = 0.0;  // periods, calibrations too, of the plan's lanes and of the trial's at the whole horizon
  int power_of_context = 2;
  std::vector<TrialPoint> points;

  std::size_t middle() const { return count / 2; }
};

double periods_of(const PlannedLane& lane, int periods) {
  return static_cast<double>(lane.T0) + periods;
}

class Trial {
 public:
  Trial(const PlannedSweep& sweep, const std::vector<LaneGroup>& groups, int threads)
      : whole_(sweep), study_(sweep.study), threads_(static_cast<std::size_t>(std::clamp(threads, 1, usable_cores()))) {
    study_.instances = false;
    shrink();
    choose_units();
    plan_.estimation = sweep.plan.estimation;
    plan_.calibration_periods = std::min(sweep.plan.calibration_periods, kMostT0);
    if (study_.regret) choose_lanes(groups);
    more_.assign(1 + strata_.size(), 1.0);
  }

  // One period, which shows what does not depend on the horizon; then longer and longer horizons as far as the seconds go,
  // in the end with fewer units and lanes: of what time grows with, the horizon is least known.
  void play(double seconds, TrialSize& size) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const double most = study_.regret ? whole_.study.periods : 1.0;
    step(1.0);
    size.lanes += plan_.units.size() * plan_.lanes.size();
    for (double horizon = 1.0, used = spent_; horizon < most; used += spent_) {
      const double next = std::min<double>(most, horizon == 1.0 ? kFirstPeriods : kLonger * horizon),
                   longer = next / horizon;
      if (horizon > 1.0 && !thin_ && used + kShareOfMany * longer * spent_ > seconds) become_thin();
      if (horizon > 1.0 && used + longer * spent_ > seconds) break;
      step(horizon = next);
    }
    size.units += plan_.units.size();
    size.periods = std::max(size.periods, study_.periods);
    size.seconds += std::chrono::duration<double>(Clock::now() - start).count();
  }

  UnitTime time() const {
    const double periods = study_.regret ? whole_.study.periods : 1.0;
    UnitTime out;
    out.rough = rough_;
    const double fixed = preparing_.front().seconds, grows = extrapolated(preparing_, periods) - fixed;
    const double longer = study_.regret
                              ? (periods + whole_.plan.calibration_periods) / (periods + plan_.calibration_periods)
                              : 1.0;  // no tape
    out.preparing = longer * (fixed_more_ * fixed + wider_ * grows);
    for (const Stratum& stratum : strata_)
      out.playing += std::pow(wider_, stratum.power_of_context) * stratum.all / stratum.played *
                     extrapolated(stratum.points, periods);
    const std::size_t chunk = static_cast<std::size_t>(study_.engine.chunk), lanes = whole_.plan.lanes.size();
    if (study_.regret) out.chunks = std::max<std::size_t>(1, (lanes + chunk - 1) / chunk);
    return out;
  }

 private:
  void shrink() {
    const auto limit = [](int& value, int most) {
      const double factor = static_cast<double>(std::max(value, 1)) / most;
      value = std::min(value, most);
      return std::max(factor, 1.0);
    };
    // A table of outcomes decides its contexts itself.
    if (!of_table(study_)) wider_ = limit(study_.dimensions.context, kMostContext);
    auto& [shift, scale, cost] = study_.oracle.grid;
    fixed_more_ =
        std::max({wider_, limit(study_.order_contexts, kMostContexts), limit(study_.oracle.samples, kMostSamples),
                  limit(shift, kMostNodes) * limit(scale, kMostNodes) * limit(cost, kMostNodes)});
    rough_ = fixed_more_ > 1.0 || whole_.plan.calibration_periods > kMostT0;
  }

  // As many of each (environment, regime), and at least one for each thread.
  void choose_units() {
    const Units& all = whole_.plan.units;
    const std::size_t cells = std::min(kMostCells, study_.environments.size() * study_.regimes.size()),
                      n = std::min(all.size(), cells * ((threads_ + cells - 1) / cells));
    for (std::size_t k = 0; k < n; ++k) plan_.units.push_back(all[(2 * k + 1) * all.size() / (2 * n)]);
  }

  void choose_lanes(const std::vector<LaneGroup>& groups) {
    for (std::size_t g = 0; g < groups.size();) {
      const PlannedLane& first = whole_.plan.lanes[groups[g].first];
      Stratum stratum;
      stratum.power_of_context = groups[g].power_of_context();
      std::vector<PlannedLane> lanes;
      for (; g < groups.size() && stratum.power_of_context == groups[g].power_of_context(); ++g) {
        const PlannedLane* const some = &whole_.plan.lanes[groups[g].first];
        if (some->policy != first.policy || some->variant.reward != first.variant.reward) break;
        lanes.insert(lanes.end(), some, some + groups[g].count);
      }
      for (const PlannedLane& lane : lanes) stratum.all += periods_of(lane, whole_.study.periods);
      // Those that fit; where none does, one with the longest calibration that is played.
      const PlannedLane longest = lanes[0];
      std::erase_if(lanes, [](const PlannedLane& lane) { return lane.T0 > kMostT0; });
      if (lanes.empty()) {
        lanes = {longest};
        lanes[0].T0 = kMostT0;
      }
      const std::size_t n = std::min(kLanesOfStratum, lanes.size());
      stratum.first = plan_.lanes.size();
      stratum.count = n;
      for (std::size_t k = 0; k < n; ++k) {
        plan_.lanes.push_back(lanes[(2 * k + 1) * lanes.size() / (2 * n)]);
        stratum.played += periods_of(plan_.lanes.back(), whole_.study.periods);
      }
      strata_.push_back(std::move(stratum));
    }
  }

  // What a replication takes of this thread: preparing it, then each lane that is played.
  std::vector<double> times_of(std::size_t u) const {
    double last = thread_seconds();
    const auto passed = [&last] {
      const double before = std::exchange(last, thread_seconds());
      return last - before;
    };
    UnitResult result;
    result.resize(plan_.lanes.size());
    const Unit unit = plan_.units[u];
    const Replication replication = prepare_replication(study_, plan_, unit, study_.order ? &result.order : nullptr);
    keep_prompts(study_, plan_, unit, result);
    const bool done = plan_.lanes.empty() || fail_all_if_not_finite(replication, plan_.lanes.size(), result);
    std::vector<double> out = {passed()};
    for (const Stratum& stratum : strata_)
      for (std::size_t k = 0; k < stratum.count; ++k) {
        const std::size_t lane = stratum.first + k;
        if (!done && (!thin_ || k == stratum.middle()))
          run_planned_lanes(study_, plan_, replication, lane, lane + 1, result);
        out.push_back(passed());
      }
    return out;
  }

  // All units that are played, to a horizon.
  void step(double horizon) {
    study_.periods = static_cast<int>(horizon);
    times_.assign(plan_.units.size(), {});
    in_parallel(threads_, plan_.units.size(), [&](std::size_t u) {
      if (!thin_ || is_of_few(u)) times_[u] = times_of(u);
    });
    spent_ = 0.0;
    for (const std::vector<double>& unit : times_)
      for (const double seconds : unit) spent_ += seconds / static_cast<double>(threads_);
    preparing_.push_back({horizon, more_[0] * mean_of(nullptr, thin_)});
    for (std::size_t s = 0; s < strata_.size(); ++s)
      strata_[s].points.push_back({horizon, more_[s + 1] * mean_of(&strata_[s], thin_)});
  }

  // As many units as threads play on, spread over all.
  bool is_of_few(std::size_t u) const {
    const std::size_t n = times_.size(), few = std::min(threads_, n);
    return u * few / n != (u + 1) * few / n;
  }

  // The last step's mean over units: of a stratum's lanes, or of preparing; of all, or of the few that play on.
  double mean_of(const Stratum* stratum, bool few) const {
    double sum = 0.0, n = 0.0;
    for (std::size_t u = 0; u < times_.size(); ++u) {
      if (times_[u].empty() || (few && !is_of_few(u))) continue;
      n += 1.0;
      if (stratum == nullptr) sum += times_[u][0];
      for (std::size_t k = 0; stratum != nullptr && k < stratum->count; ++k)
        if (!few || k == stratum->middle()) sum += times_[u][1 + stratum->first + k];
    }
    return sum / n;
  }

  // From here on a few units and the middle lane of each stratum stand for all, by what the last step took.
  void become_thin() {
    const auto ratio = [&](const Stratum* stratum) {
      const double few = mean_of(stratum, true);
      return few > 0.0 ? mean_of(stratum, false) / few : 1.0;
    };
    more_[0] = ratio(nullptr);
    for (std::size_t s = 0; s < strata_.size(); ++s) more_[s + 1] = ratio(&strata_[s]);
    thin_ = true;
    spent_ = 0.0;
    for (std::size_t u = 0; u < times_.size(); ++u)
      if (is_of_few(u)) {
        spent_ += times_[u][0] / static_cast<double>(threads_);
        for (const Stratum& stratum : strata_)
          spent_ += times_[u][1 + stratum.first + stratum.middle()] / static_cast<double>(threads_);
      }
  }

  const PlannedSweep& whole_;
  Study study_;
  const std::size_t threads_;
  Plan plan_;
  double wider_ = 1.0, fixed_more_ = 1.0;
  bool rough_ = false;
  std::vector<TrialPoint> preparing_;
  std::vector<Stratum> strata_;
  bool thin_ = false;
  std::vector<std::vector<double>> times_;  // of the last step, by unit
  std::vector<double> more_;                // of preparing and each stratum: all against the few that play on
  double spent_ = 0.0;                      // by the last step: processor seconds per thread
};

}  // namespace

double extrapolated(std::span<const TrialPoint> points, double horizon) {
  const TrialPoint& last = points.back();
  if (horizon <= last.horizon) return last.seconds;
  if (points.size() == 1) return last.seconds * horizon / last.horizon;
  const TrialPoint& middle = points[points.size() - 2];
  const double late = std::max(last.seconds - middle.seconds, 0.0),
               early = points.size() > 2 ? middle.seconds - points[points.size() - 3].seconds : 0.0;
  // Growth from a to b, against that from b to c, is what a power says of it.
  const auto between = [](double a, double b, double power) { return std::pow(b, power) - std::pow(a, power); };
  double power = 1.0;
  if (early > 0.0 && late > 0.0) {
    const double first = points[points.size() - 3].horizon;
    double low = kLeastPower, high = kGreatestPower;
    while (high - low > 1e-3) {
      power = 0.5 * (low + high);
      const bool faster =
          between(middle.horizon, last.horizon, power) / between(first, middle.horizon, power) < late / early;
      (faster ? low : high) = power;
    }
  }
  return last.seconds + late * between(last.horizon, horizon, power) / between(middle.horizon, last.horizon, power);
}

double wall_seconds(const UnitTime& unit, std::size_t units, int threads, double cores) {
  // Rounds of pieces that run side by side, longer where more of them share a core.
  const auto wall = [&](double seconds, std::size_t pieces) {
    const double beside = static_cast<double>(std::min<std::size_t>(static_cast<std::size_t>(threads), pieces));
    return pieces == 0 ? 0.0
                       : seconds * std::ceil(static_cast<double>(pieces) / beside) * std::max(1.0, beside / cores);
  };
  return wall(unit.preparing, units) + wall(unit.playing / static_cast<double>(unit.chunks), units * unit.chunks);
}

UnitTime time_of_unit(const PlannedSweep& sweep, const std::vector<LaneGroup>& groups, int threads, double seconds,
                      TrialSize& size) {
  Trial trial(sweep, groups, threads);
  trial.play(seconds, size);
  return trial.time();
}

}  // namespace pandora
