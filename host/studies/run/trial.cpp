// Plays replications for longer and longer horizons until the allowed seconds are used.
#include "host/studies/run/trial.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "host/ground/base/in_parallel.hpp"
#include "host/ground/base/quotas.hpp"
#include "host/studies/results/parts.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "host/studies/sweep/sound.hpp"

namespace pandora {
namespace {

// Upper bounds on the sizes of a trial. The cost of a plan must not grow with the study, so a trial is scaled up
// instead.
constexpr int kMostContext = 200, kMostContexts = 100000, kMostSamples = 1000000, kMostNodes = 101, kMostT0 = 10000,
              kMostPeriods = 64000, kFewSamples = 20000, kFirstPeriods = 250, kLonger = 4;
constexpr std::size_t kMostCells = 8, kLanesOfStratum = 3;
// Powers of the horizon, and when a step with all lanes is worth its time: it must leave the rest of the seconds for
// longer steps.
constexpr double kLeastPower = 0.8, kGreatestPower = 3.0, kShareOfMany = 4.0, kPatience = 3.0;

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Lanes of a policy and a reward setting whose time grows in the same way. The trial plays some of them. Preparing a
// replication is a stratum too, with one time and no lane.
struct Stratum {
  std::size_t first = 0, count = 1;  // among the times of a replication, of which preparing is the first
  double all = 0.0,
         played = 0.0;  // periods, with calibrations, of the plan's lanes and of the trial's over the whole horizon
  int power_of_context = 2;
  std::vector<TrialPoint> points = {};
  double more = 1.0;  // all units against the few that play on

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
  }

  // First plays one period, which shows the time that does not depend on the horizon. Then it plays longer and longer
  // horizons until the seconds are used, in the end with fewer units and lanes, because the growth with the horizon is
  // the least certain.
  void play(double seconds, TrialSize& size) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const double most = study_.regret ? std::min(whole_.study.periods, kMostPeriods) : 1.0;
    step(1.0);
    size.lanes += plan_.units.size() * plan_.lanes.size();
    fixed_ = strata_[0].points.front().seconds;
    double used = spent_;
    if (most > 1.0) lighten();
    for (double horizon = 1.0; horizon < most; used += spent_) {
      const double next = std::min<double>(most, horizon == 1.0 ? kFirstPeriods : kLonger * horizon);
      // The expected time of a thread for the next step, if playing grows with the horizon and preparing hardly does.
      const auto wanted = [&] { return spent_ + (next / horizon - 1.0) * spent_playing_; };
      if (horizon > 1.0 && !thin_ && used + kShareOfMany * wanted() > seconds) become_thin();
      // Two horizons tell little, because early samples bring more solves. So the third may take longer.
      const double patience = horizon > kFirstPeriods ? 1.0 : kPatience;
      if (horizon > 1.0 && used + wanted() > patience * seconds) break;
      step(horizon = next);
    }
    if (study_.regret) storing_ = seconds_of_storing();
    size.units += plan_.units.size();
    size.periods = std::max(size.periods, study_.periods);
    size.seconds += std::chrono::duration<double>(Clock::now() - start).count();
  }

  UnitTime time() const {
    const double periods = study_.regret ? whole_.study.periods : 1.0;
    UnitTime out;
    out.rough = rough_;
    const std::vector<TrialPoint>& preparing = strata_[0].points;
    const double grows = extrapolated(preparing, periods) - preparing.front().seconds;
    const double longer = study_.regret
                              ? (periods + whole_.plan.calibration_periods) / (periods + plan_.calibration_periods)
                              : 1.0;  // no tape
    out.preparing = longer * (fixed_more_ * fixed_ + wider_ * grows);
    for (const Stratum& stratum : playing())
      out.playing += std::pow(wider_, stratum.power_of_context) * stratum.all / stratum.played *
                     extrapolated(stratum.points, periods);
    out.storing = storing_;
    const std::size_t chunk = static_cast<std::size_t>(study_.engine.chunk), lanes = whole_.plan.lanes.size();
    if (study_.regret) out.chunks = std::max<std::size_t>(1, (lanes + chunk - 1) / chunk);
    return out;
  }

 private:
  // The strata of lanes.
  std::span<const Stratum> playing() const { return std::span(strata_).subspan(1); }

  void shrink() {
    const auto limit = [](int& value, int most) {
      const double factor = static_cast<double>(std::max(value, 1)) / most;
      value = std::min(value, most);
      return std::max(factor, 1.0);
    };
    // A table of outcomes has its own contexts.
    if (!of_table(study_)) wider_ = limit(study_.dimensions.context, kMostContext);
    auto& [shift, scale, cost] = study_.oracle.grid;
    fixed_more_ =
        std::max({wider_, limit(study_.order_contexts, kMostContexts), limit(study_.oracle.samples, kMostSamples),
                  limit(shift, kMostNodes) * limit(scale, kMostNodes) * limit(cost, kMostNodes)});
    rough_ = fixed_more_ > 1.0 || whole_.plan.calibration_periods > kMostT0;
  }

  // Chooses equally many units of each (environment, regime), and at least one for each thread.
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
      // The lanes whose calibration fits; if none does, one with the longest calibration that is played.
      const PlannedLane longest = lanes[0];
      std::erase_if(lanes, [](const PlannedLane& lane) { return lane.T0 > kMostT0; });
      if (lanes.empty()) {
        lanes = {longest};
        lanes[0].T0 = kMostT0;
      }
      const std::size_t n = std::min(kLanesOfStratum, lanes.size());
      stratum.first = 1 + plan_.lanes.size();
      stratum.count = n;
      for (std::size_t k = 0; k < n; ++k) {
        plan_.lanes.push_back(lanes[(2 * k + 1) * lanes.size() / (2 * n)]);
        stratum.played += periods_of(plan_.lanes.back(), whole_.study.periods);
      }
      strata_.push_back(std::move(stratum));
    }
  }

  // The times of a replication on this thread: preparing it, then each lane that is played.
  std::vector<double> times_of(std::size_t u) {
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
    for (const Stratum& stratum : playing())
      for (std::size_t k = 0; k < stratum.count; ++k) {
        const std::size_t lane = stratum.first - 1 + k;
        if (!done && (!thin_ || k == stratum.middle()))
          run_planned_lanes(study_, plan_, replication, lane, lane + 1, result);
        out.push_back(passed());
      }
    if (u == 0 && !thin_ && !plan_.lanes.empty()) {
      kept_ = std::move(result);
      kept_periods_ = study_.periods;
    }
    return out;
  }

  // Plays all units to a horizon.
  void step(double horizon) {
    study_.periods = static_cast<int>(horizon);
    times_.assign(plan_.units.size(), {});
    in_parallel(threads_, plan_.units.size(), [&](std::size_t u) {
      if (!thin_ || is_of_few(u)) times_[u] = times_of(u);
    });
    count_spent();
    for (Stratum& stratum : strata_) stratum.points.push_back({horizon, stratum.more * mean_of(stratum, thin_)});
  }

  // A unit's results are written once, and read when the folder is opened, for the tables and for results.h5. This time
  // grows with lanes and, in a table of outcomes, with periods.
  double seconds_of_storing() const {
    constexpr int kReads = 3;
    Study study = study_;
    study.periods = kept_periods_;
    const PlannedSetting planned{{{}, study}, plan_};
    const Part part{0, 0, 1, "trial"};
    const double start = thread_seconds();
    const nlohmann::json content = part_content(planned, part, {}, {kept_});
    const std::vector<std::uint8_t> bytes = nlohmann::json::to_cbor(content);
    const double written = thread_seconds();
    (void)part_contents(planned, part, nlohmann::json::from_cbor(bytes));
    const double read = thread_seconds();
    const double more = static_cast<double>(unit_bytes(whole_.study, whole_.plan).kept) /
                        static_cast<double>(unit_bytes(study, plan_).kept);
    return more * (written - start + kReads * (read - written));
  }

  // The time of preparing that does not depend on the horizon is now known: the sample and the orders. Longer steps can
  // do without them, unless costs move or a budget binds, which need the sample in every period.
  void lighten() {
    study_.order = false;
    const auto moving = [](const Environment& environment) { return moves(environment); };
    if (std::ranges::any_of(study_.environments, moving) || study_.budget.of != Pacing::Of::nothing) return;
    study_.oracle.samples = std::min(study_.oracle.samples, kFewSamples);
    std::vector<PlannedLane> lanes;
    std::vector<Stratum> strata = {Stratum{}};
    plan_.lanes.swap(lanes);
    strata_.swap(strata);
    step(1.0);
    plan_.lanes.swap(lanes);
    strata_.swap(strata);
    strata_[0] = strata[0];
  }

  // Whether the unit is among the few that play on: as many as there are threads, spread over all.
  bool is_of_few(std::size_t u) const {
    const std::size_t n = times_.size(), few = std::min(threads_, n);
    return u * few / n != (u + 1) * few / n;
  }

  // A stratum's mean over units in the last step: over all units, or over the few that play on.
  double mean_of(const Stratum& stratum, bool few) const {
    double sum = 0.0, n = 0.0;
    for (std::size_t u = 0; u < times_.size(); ++u) {
      if (times_[u].empty() || (few && !is_of_few(u))) continue;
      n += 1.0;
      for (std::size_t k = 0; k < stratum.count; ++k)
        if (!few || k == stratum.middle()) sum += times_[u][stratum.first + k];
    }
    return sum / n;
  }

  // From here on a few units, and the middle lane of each stratum, stand for all, in proportion to the last step's
  // times.
  void become_thin() {
    for (Stratum& stratum : strata_)
      if (const double few = mean_of(stratum, true); few > 0.0) stratum.more = mean_of(stratum, false) / few;
    thin_ = true;
    count_spent();
  }

  // Counts the time of the units that play, in the last step.
  void count_spent() {
    double units = 0.0;
    for (std::size_t u = 0; u < times_.size(); ++u) units += !thin_ || is_of_few(u) ? 1.0 : 0.0;
    const double share = units / static_cast<double>(threads_);
    spent_playing_ = 0.0;
    for (const Stratum& stratum : playing()) spent_playing_ += share * mean_of(stratum, thin_);
    spent_ = spent_playing_ + share * mean_of(strata_[0], thin_);
  }

  const PlannedSweep& whole_;
  Study study_;
  const std::size_t threads_;
  Plan plan_;
  double wider_ = 1.0, fixed_more_ = 1.0;
  bool rough_ = false;
  UnitResult kept_;  // of the first unit, when all lanes played
  int kept_periods_ = 0;
  double storing_ = 0.0;
  double fixed_ = 0.0;                         // seconds of preparing a tape of one period
  std::vector<Stratum> strata_ = {Stratum{}};  // preparing, then the lanes'
  bool thin_ = false;
  std::vector<std::vector<double>> times_;    // in the last step, by unit
  double spent_ = 0.0, spent_playing_ = 0.0;  // in the last step: processor seconds per thread
};

}  // namespace

double extrapolated(std::span<const TrialPoint> points, double horizon) {
  const TrialPoint& last = points.back();
  if (horizon <= last.horizon) return last.seconds;
  if (points.size() == 1) return last.seconds * horizon / last.horizon;
  const TrialPoint& middle = points[points.size() - 2];
  const double late = std::max(last.seconds - middle.seconds, 0.0),
               early = points.size() > 2 ? middle.seconds - points[points.size() - 3].seconds : 0.0;
  // The growth from a to b relative to that from b to c determines the power.
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
  // Rounds of pieces that run side by side; they take longer if more threads share a core.
  const auto wall = [&](double seconds, std::size_t pieces) {
    const double beside = static_cast<double>(std::min<std::size_t>(static_cast<std::size_t>(threads), pieces));
    return pieces == 0 ? 0.0
                       : seconds * std::ceil(static_cast<double>(pieces) / beside) * std::max(1.0, beside / cores);
  };
  return wall(unit.preparing, units) + wall(unit.playing / static_cast<double>(unit.chunks), units * unit.chunks) +
         unit.storing * static_cast<double>(units);
}

UnitTime time_of_unit(const PlannedSweep& sweep, const std::vector<LaneGroup>& groups, int threads, double seconds,
                      TrialSize& size) {
  Trial trial(sweep, groups, threads);
  trial.play(seconds, size);
  return trial.time();
}

}  // namespace pandora
