#include "host/run/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "pandora/error.hpp"

namespace pandora {
namespace {

// Keys that change what policies do and no draw.
bool keeps_tapes(const std::string& key) {
  return key.starts_with("estimation.") || key.starts_with("theory.") || key.starts_with("hyperparameters.") ||
         key.starts_with("engine.");
}

void require_comparable(const std::vector<PlannedSetting>& settings) {
  for (const PlannedSetting& planned : settings) {
    if (!planned.setting.study.regret)
      throw Error(ExitCode::usage, "tune: output.regret = false: there are no regrets to choose by; set it to true");
    for (const auto& [key, value] : planned.setting.varied)
      if (!keeps_tapes(key))
        throw Error(ExitCode::usage,
                    fmt::format("tune: [vary] {}: regrets under its values are of different problems; vary keys of "
                                "estimation, theory, hyperparameters or engine, or tune each value by itself",
                                key));
  }
}

std::vector<TuneRace> races_of(const std::vector<PlannedSetting>& settings) {
  std::vector<TuneRace> races;
  for (std::size_t s = 0; s < settings.size(); ++s) {
    const std::vector<PlannedLane>& lanes = settings[s].plan.lanes;
    for (std::size_t k = 0; k < lanes.size(); ++k) {
      const std::string &policy = lanes[k].policy->name, &reward = lanes[k].variant.reward;
      if (policy == "oracle") continue;
      auto race = std::find_if(races.begin(), races.end(),
                               [&](const TuneRace& r) { return r.policy == policy && r.reward == reward; });
      if (race == races.end()) race = races.insert(races.end(), {policy, reward, {}});
      const std::string& hyperparameter = lanes[k].variant.hyperparameter;
      auto candidate = std::find_if(race->candidates.begin(), race->candidates.end(), [&](const TuneCandidate& c) {
        return c.setting == s && c.hyperparameter == hyperparameter;
      });
      if (candidate == race->candidates.end())
        candidate =
            race->candidates.insert(race->candidates.end(), {s, settings[s].setting.label(), hyperparameter, {}});
      candidate->lanes.push_back(k);
    }
  }
  return races;
}

// Runs candidates on replications and gives each its regrets.
class Runner {
 public:
  Runner(const std::vector<PlannedSetting>& settings, const TuneOptions& options, std::size_t total)
      : settings_(settings), options_(options), total_(total) {}

  void run(const std::vector<TuneCandidate*>& candidates, std::uint32_t first, int replications) {
    for (TuneCandidate* candidate : candidates)
      candidate->regrets.resize(candidate->regrets.size() + static_cast<std::size_t>(replications));
    for (std::size_t s = 0; s < settings_.size(); ++s) {
      std::vector<TuneCandidate*> here;
      std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(here),
                   [s](const TuneCandidate* c) { return c->setting == s; });
      if (!here.empty()) run_setting(settings_[s], here, first, static_cast<std::size_t>(replications));
    }
  }

 private:
  void run_setting(const PlannedSetting& planned, const std::vector<TuneCandidate*>& candidates, std::uint32_t first,
                   std::size_t replications) {
    Study study = planned.setting.study;
    study.order = study.instances = study.estimates = false;
    Plan plan = planned.plan;
    plan.lanes = {planned.plan.lanes[0]};  // the oracle
    for (const TuneCandidate* candidate : candidates)
      for (const std::size_t lane : candidate->lanes) plan.lanes.push_back(planned.plan.lanes[lane]);
    plan.units = {};
    for (const Environment& environment : study.environments)
      for (const Regime regime : study.regimes) plan.units.append({environment, regime, first}, replications);
    const double groups = static_cast<double>(study.environments.size() * study.regimes.size());
    const std::size_t lanes = (plan.lanes.size() - 1) * plan.units.size();
    SweepOptions sweep = options_.sweep;
    if (sweep.progress)
      sweep.progress = [&](std::size_t done, std::size_t all) {  // the oracle's lanes are not counted
        options_.sweep.progress(done_ + done * lanes / all, total_);
      };
    run_sweep(study, plan, sweep, [&](std::size_t unit, UnitResult&& result) {
      std::size_t lane = 1;
      for (TuneCandidate* candidate : candidates) {
        double& regret = *(candidate->regrets.end() - static_cast<std::ptrdiff_t>(replications - unit % replications));
        const double cells = groups * static_cast<double>(candidate->lanes.size());
        for (std::size_t k = 0; k < candidate->lanes.size(); ++k, ++lane)
          regret += 1000.0 * regret_of(result, lane) / cells;
      }
    });
    done_ += lanes;
  }

  // Per period; NaN where the lane or the oracle's failed.
  static double regret_of(const UnitResult& result, std::size_t lane) {
    if (!counts(result, lane)) return std::numeric_limits<double>::quiet_NaN();
    return (result.lanes[0].utility - result.lanes[lane].utility) / result.lanes[lane].periods;
  }

  const std::vector<PlannedSetting>& settings_;
  const TuneOptions& options_;
  const std::size_t total_;
  std::size_t done_ = 0;
};

// The candidates of a race that are left, the best first; among equals the one that the study names first.
std::vector<TuneCandidate*> ranking(TuneRace& race) {
  std::vector<TuneCandidate*> left;
  for (TuneCandidate& candidate : race.candidates)
    if (candidate.out == 0) left.push_back(&candidate);
  std::stable_sort(left.begin(), left.end(), [](const auto* a, const auto* b) { return better(*a, *b); });
  return left;
}

std::size_t half(std::size_t candidates) {
  return (candidates + 1) / 2;
}

}  // namespace

int TuneCandidate::failed() const {
  return static_cast<int>(std::count_if(regrets.begin(), regrets.end(), [](double r) { return std::isnan(r); }));
}

Estimate TuneCandidate::regret() const {
  std::vector<double> there;
  std::copy_if(regrets.begin(), regrets.end(), std::back_inserter(there), [](double r) { return !std::isnan(r); });
  return estimate(there);
}

bool better(const TuneCandidate& a, const TuneCandidate& b) {
  if (a.failed() != b.failed()) return a.failed() < b.failed();
  return a.regret().mean < b.regret().mean;
}

std::vector<TuneRound> halving_rounds(const std::vector<std::size_t>& candidates, const std::vector<std::size_t>& lanes,
                                      std::uint64_t budget) {
  std::vector<std::size_t> left = candidates;
  std::vector<TuneRound> rounds;
  const auto per_replication = [&] {
    std::size_t sum = 0;
    for (std::size_t r = 0; r < left.size(); ++r)
      if (left[r] > 1) sum += left[r] * lanes[r];
    return sum;
  };
  std::vector<std::size_t> wanted;  // lanes of one replication, round by round
  for (std::size_t sum = per_replication(); sum > 0; sum = per_replication()) {
    wanted.push_back(sum);
    for (std::size_t& n : left) n = half(n);
  }
  if (wanted.empty()) return rounds;
  if (const std::uint64_t least = wanted.size() * wanted[0]; budget < least)
    throw Error(
        ExitCode::usage,
        fmt::format("--budget {}: {} round{} of halving need{} {} lanes at the least, one replication each; "
                    "give that or more, or fewer policies, hyperparameters or cells",
                    budget, wanted.size(), wanted.size() == 1 ? "" : "s", wanted.size() == 1 ? "s" : "", least));
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const std::uint64_t replications = budget / (wanted.size() - k) / wanted[k];
    constexpr std::uint64_t kMost = 100000000;  // as for a study
    if (replications > kMost)
      throw Error(ExitCode::usage, fmt::format("--budget {}: {} replications in a round; give at most {} lanes", budget,
                                               replications, kMost * wanted[0] * wanted.size()));
    rounds.push_back({static_cast<int>(replications), static_cast<std::size_t>(replications) * wanted[k]});
    budget -= rounds.back().lanes;
  }
  return rounds;
}

Tuning tune(const std::vector<PlannedSetting>& settings, const TuneOptions& options) {
  require_comparable(settings);
  const Study& study = settings[0].setting.study;
  const std::size_t groups = study.environments.size() * study.regimes.size();
  Tuning out;
  out.races = races_of(settings);
  out.judged_replications = study.replications;
  out.first_replication = static_cast<std::uint32_t>(study.replications);
  std::vector<std::size_t> sizes, lanes;
  for (const TuneRace& race : out.races) {
    sizes.push_back(race.candidates.size());
    lanes.push_back(race.candidates[0].lanes.size() * groups);
    out.cells = std::max(out.cells, lanes.back());
  }
  out.rounds = halving_rounds(sizes, lanes, options.budget);
  if (out.rounds.empty())
    throw Error(ExitCode::usage,
                "tune: no policy of the study has two hyperparameters to choose from; give several values under "
                "[hyperparameters], or vary a key of [estimation]");

  std::size_t total =
      static_cast<std::size_t>(study.replications) * std::accumulate(lanes.begin(), lanes.end(), std::size_t{0});
  for (const TuneRound& round : out.rounds) total += round.lanes;
  Runner runner(settings, options, total);
  std::uint32_t next = out.first_replication;
  for (std::size_t k = 0; k < out.rounds.size(); ++k) {
    std::vector<TuneCandidate*> running;
    for (TuneRace& race : out.races)
      if (const std::vector<TuneCandidate*> left = ranking(race); left.size() > 1)
        running.insert(running.end(), left.begin(), left.end());
    runner.run(running, next, out.rounds[k].replications);
    next += static_cast<std::uint32_t>(out.rounds[k].replications);
    for (TuneRace& race : out.races) {
      const std::vector<TuneCandidate*> left = ranking(race);
      for (std::size_t place = half(left.size()); place < left.size(); ++place)
        left[place]->out = static_cast<int>(k) + 1;
    }
  }
  std::vector<TuneCandidate*> winners;
  for (TuneRace& race : out.races) {
    race.winner = static_cast<std::size_t>(ranking(race)[0] - race.candidates.data());
    race.judged = race.candidates[race.winner];
    race.judged.regrets.clear();
    winners.push_back(&race.judged);
  }
  runner.run(winners, 0, study.replications);
  return out;
}

}  // namespace pandora
