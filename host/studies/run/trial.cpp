#include "host/studies/run/trial.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <mutex>

#include "host/ground/base/in_parallel.hpp"
#include "host/ground/base/quotas.hpp"
#include "host/studies/sweep/prepare_replication.hpp"

namespace pandora {
namespace {

// Sizes of a trial at the most: what a plan takes must not grow with the study, which is scaled up from them.
constexpr int kMostContext = 200, kMostContexts = 100000, kMostSamples = 1000000, kMostNodes = 101, kMostT0 = 10000,
              kFirstPeriods = 250, kLonger = 4;
constexpr std::size_t kMostCells = 8, kLanesOfStratum = 4;
constexpr double kLeastPower = 0.7, kGreatestPower = 3.0;

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Lanes of a policy and a reward setting whose time grows alike, of which the trial plays some.
struct Stratum {
  std::size_t first = 0, count = 0;  // of the trial's plan
  double all = 0.0,
         played = 0.0;  // periods with calibrations, of the plan's lanes and of the trial's at the whole horizon
  int power_of_context = 2;
  std::vector<TrialPoint> points;
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
  }

  // One period, which shows what does not depend on the horizon; then longer and longer horizons as far as the seconds go.
  void play(double seconds, TrialSize& size) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const auto elapsed = [&start] { return std::chrono::duration<double>(Clock::now() - start).count(); };
    const int most = study_.regret ? whole_.study.periods : 1;
    double now = 0.0;
    for (double periods = 1.0;; periods = std::min<double>(most, periods == 1.0 ? kFirstPeriods : kLonger * periods)) {
      study_.periods = static_cast<int>(periods);
      step();
      const double before = std::exchange(now, elapsed());
      if (study_.periods == most || (periods > 1.0 && now + kLonger * (now - before) > seconds)) break;
    }
    size.units += plan_.units.size();
    size.lanes += plan_.units.size() * plan_.lanes.size();
    size.periods = std::max(size.periods, study_.periods);
    size.seconds += now;
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

  // All units to the horizon that the study has now.
  void step() {
    const std::size_t units = plan_.units.size();
    std::mutex mutex;
    double preparing = 0.0;
    std::vector<double> playing(strata_.size(), 0.0);
    in_parallel(threads_, units, [&](std::size_t u) {
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
      std::vector<double> own = {passed()};
      for (const Stratum& stratum : strata_) {
        if (!done) run_planned_lanes(study_, plan_, replication, stratum.first, stratum.first + stratum.count, result);
        own.push_back(passed());
      }
      const std::lock_guard guard(mutex);
      preparing += own[0];
      for (std::size_t s = 0; s < strata_.size(); ++s) playing[s] += own[s + 1];
    });
    const double periods = study_.periods, n = static_cast<double>(units);
    preparing_.push_back({periods, preparing / n});
    for (std::size_t s = 0; s < strata_.size(); ++s) strata_[s].points.push_back({periods, playing[s] / n});
  }

  const PlannedSweep& whole_;
  Study study_;
  const std::size_t threads_;
  Plan plan_;
  double wider_ = 1.0, fixed_more_ = 1.0;
  bool rough_ = false;
  std::vector<TrialPoint> preparing_;
  std::vector<Stratum> strata_;
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
