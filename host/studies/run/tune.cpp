// Successive halving: in each round the worse half of the candidates is dropped.
#include "host/studies/run/tune.hpp"

#include <limits>
#include <numeric>

#include "host/ground/base/fail.hpp"
#include "host/studies/study/study_keys.hpp"

namespace pandora {
namespace {

// Keys that change what policies do, but no random draws.
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
        fail(ExitCode::usage,
             "tune: {}: regrets under its values belong to different problems; vary keys of estimation, theory, "
             "hyperparameters or engine, or tune each value by itself{}",
             key == "scenario" ? "scenario" : "[vary] " + key,
             key == "scenario" ? ", such as " + option("set", "scenario=" + value) : "");
  }
}

std::vector<TuneRace> races_of(const std::vector<PlannedSetting>& settings) {
  std::vector<TuneRace> races;
  for (std::size_t s = 0; s < settings.size(); ++s) {
    const std::vector<PlannedLane>& lanes = settings[s].plan.lanes;
    for (std::size_t k = 0; k < lanes.size(); ++k) {
      const std::string &policy = lanes[k].policy->name, &reward = lanes[k].variant.reward;
      if (policy == "oracle") continue;
      auto race = std::ranges::find_if(races, [&](const auto& r) { return r.policy == policy && r.reward == reward; });
      if (race == races.end()) race = races.insert(races.end(), {policy, reward, {}});
      const std::string& hyperparameter = lanes[k].variant.hyperparameter;
      std::vector<TuneCandidate>& all = race->candidates;
      auto candidate = std::ranges::find_if(
          all, [&](const auto& c) { return c.setting == s && c.hyperparameter == hyperparameter; });
      if (candidate == all.end())
        candidate = all.insert(all.end(), {s, settings[s].setting.label(), hyperparameter, {}});
      candidate->lanes.push_back(k);
    }
  }
  return races;
}

// Runs candidates on replications and stores their regrets.
class Runner {
 public:
  Runner(const std::vector<PlannedSetting>& settings, const TuneOptions& options, std::size_t total)
      : settings_(settings), options_(options), total_(total) {}

  void run(const std::vector<TuneCandidate*>& candidates, std::uint32_t first, int replications) {
    const auto R = static_cast<std::size_t>(replications);
    for (TuneCandidate* candidate : candidates) candidate->regrets.resize(candidate->regrets.size() + R);
    for (std::size_t s = 0; s < settings_.size(); ++s) {
      std::vector<TuneCandidate*> here;
      std::ranges::copy_if(candidates, std::back_inserter(here), [s](const auto* c) { return c->setting == s; });
      if (!here.empty()) run_setting(settings_[s], here, first, R);
    }
  }

  /// Lowers the total number of lanes.
  void expect_less(std::size_t lanes) { total_ -= lanes; }

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
    // Units come in any order; they are added in a fixed one, so that sums do not depend on it.
    std::vector<std::vector<double>> regrets(plan.units.size());
    run_sweep(study, plan, sweep, [&](std::size_t unit, UnitResult&& result) {
      std::size_t lane = 1;
      for (const TuneCandidate* candidate : candidates) {
        double sum = 0.0;
        for (std::size_t k = 0; k < candidate->lanes.size(); ++k, ++lane) sum += 1000.0 * regret_of(result, lane);
        regrets[unit].push_back(sum / (groups * static_cast<double>(candidate->lanes.size())));
      }
    });
    for (std::size_t unit = 0; unit < regrets.size(); ++unit)
      for (std::size_t c = 0; c < candidates.size(); ++c)
        *(candidates[c]->regrets.end() - static_cast<std::ptrdiff_t>(replications - unit % replications)) +=
            regrets[unit][c];
    done_ += lanes;
  }

  // Per period; NaN where the lane or the oracle's failed.
  static double regret_of(const UnitResult& result, std::size_t lane) {
    return counts(result, lane) ? (result.lanes[0].utility - result.lanes[lane].utility) / result.lanes[lane].periods
                                : std::numeric_limits<double>::quiet_NaN();
  }

  const std::vector<PlannedSetting>& settings_;
  const TuneOptions& options_;
  std::size_t total_;
  std::size_t done_ = 0;
};

// The remaining candidates of a race, best first; among equals the one that the study names first.
std::vector<TuneCandidate*> ranking(TuneRace& race) {
  std::vector<TuneCandidate*> left;
  for (TuneCandidate& candidate : race.candidates)
    if (candidate.out == 0) left.push_back(&candidate);
  std::ranges::stable_sort(left, [](const auto* a, const auto* b) { return stayed_longer(*a, *b); });
  return left;
}

// Whether the values are among the defaults of the policy, or of another policy that has the hyperparameter.
bool has_default_values(const std::string& policy, const std::string& hyperparameter) {
  std::vector<Hyperparameter> known =
      find_policy(policy) != nullptr ? find_policy(policy)->hyperparameters : std::vector<Hyperparameter>();
  for (Hyperparameter& h : all_hyperparameters()) known.push_back(std::move(h));
  for (const auto& [name, value] : hyperparameter_values(hyperparameter)) {
    const auto h = std::ranges::find(known, name, &Hyperparameter::name);
    if (h == known.end()) return false;
    const bool is_text = std::ranges::count(h->texts, value) > 0;
    if (!is_text && std::ranges::none_of(h->grid, [&v = value](double x) { return fmt::format("{}", x) == v; }))
      return false;
  }
  return true;
}

// Whether all varying keys of the setting have their defaults. Lanes tell the values of hyperparameters.
bool has_default_keys(const Setting& setting) {
  const std::vector<StudyKey> keys = study_keys();
  for (const auto& [key, value] : setting.varied) {
    if (key.starts_with("hyperparameters.")) continue;
    const auto known = std::ranges::find(keys, key, &StudyKey::name);
    if (known == keys.end() || (known->standard != value && known->standard != '"' + value + '"')) return false;
  }
  return true;
}

// The default candidate that stayed longest, by its number in the race.
std::optional<std::size_t> standard_of(const TuneRace& race, const std::vector<PlannedSetting>& settings) {
  std::optional<std::size_t> found;
  for (std::size_t k = 0; k < race.candidates.size(); ++k) {
    const TuneCandidate& candidate = race.candidates[k];
    if (has_default_values(race.policy, candidate.hyperparameter) &&
        has_default_keys(settings[candidate.setting].setting) &&
        (!found || stayed_longer(candidate, race.candidates[*found])))
      found = k;
  }
  return found;
}

// The difference over the replications that both have.
PairedDifference paired(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> of_a, of_b;
  for (std::size_t r = 0; r < a.size(); ++r)
    if (!std::isnan(a[r]) && !std::isnan(b[r])) {
      of_a.push_back(a[r]);
      of_b.push_back(b[r]);
    }
  return paired_difference(of_a, of_b);
}

// Judges the winners and, beside them, the default values, on the study's own replications. `lanes`: how many lanes a
// candidate of each race has in one replication.
void judge(const std::vector<PlannedSetting>& settings, const std::vector<std::size_t>& lanes, Runner& runner,
           Tuning& out) {
  std::vector<TuneCandidate*> judged;
  const auto fresh = [&](const TuneCandidate& candidate, TuneCandidate& copy) {
    copy = candidate;
    copy.regrets.clear();
    judged.push_back(&copy);
  };
  const auto R = static_cast<std::size_t>(out.judged_replications);
  for (std::size_t r = 0; r < out.races.size(); ++r) {
    TuneRace& race = out.races[r];
    race.winner = static_cast<std::size_t>(ranking(race)[0] - race.candidates.data());
    fresh(race.candidates[race.winner], race.judged);
    race.standard = standard_of(race, settings);
    if (race.standard && *race.standard != race.winner)
      fresh(race.candidates[*race.standard], race.judged_standard);
    else if (race.standard)
      runner.expect_less(R * lanes[r]);
  }
  runner.run(judged, 0, out.judged_replications);
  for (TuneRace& race : out.races)
    if (!race.judged_standard.regrets.empty()) race.lost = paired(race.judged_standard.regrets, race.judged.regrets);
}

}  // namespace

int TuneCandidate::failed() const {
  return static_cast<int>(std::ranges::count_if(regrets, [](double r) { return std::isnan(r); }));
}

Estimate TuneCandidate::regret() const {
  std::vector<double> there;
  std::ranges::copy_if(regrets, std::back_inserter(there), [](double r) { return !std::isnan(r); });
  return estimate(there);
}

bool stayed_longer(const TuneCandidate& a, const TuneCandidate& b) {
  const auto stayed = [](const TuneCandidate& c) { return c.out == 0 ? std::numeric_limits<int>::max() : c.out; };
  if (stayed(a) != stayed(b)) return stayed(a) > stayed(b);
  return a.failed() != b.failed() ? a.failed() < b.failed() : a.regret().mean < b.regret().mean;
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
  std::vector<std::size_t> wanted;  // lanes in one replication, for each round
  for (std::size_t sum = per_replication(); sum > 0; sum = per_replication()) {
    wanted.push_back(sum);
    for (std::size_t& n : left) n = (n + 1) / 2;
  }
  if (wanted.empty()) return rounds;
  if (const std::uint64_t least = wanted.size() * wanted[0]; budget < least)
    fail(ExitCode::usage,
         "{}: {} round{} of halving need{} at least {} lanes, one replication each; give that or more, or fewer "
         "policies, hyperparameters or cells",
         option("budget", budget), wanted.size(), wanted.size() == 1 ? "" : "s", wanted.size() == 1 ? "s" : "", least);
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const std::uint64_t replications = budget / (wanted.size() - k) / wanted[k];
    constexpr std::uint64_t kMost = 100000000;  // as for a study
    if (replications > kMost)
      fail(ExitCode::usage, "{}: {} replications in a round; give at most {} lanes", option("budget", budget),
           replications, kMost * wanted[0] * wanted.size());
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

  const std::size_t R = static_cast<std::size_t>(study.replications);
  std::size_t total = R * std::accumulate(lanes.begin(), lanes.end(), std::size_t{0});
  for (const TuneRound& round : out.rounds) total += round.lanes;
  for (std::size_t r = 0; r < lanes.size(); ++r)  // lanes of default values that do not win
    if (standard_of(out.races[r], settings)) total += R * lanes[r];
  Runner runner(settings, options, total);
  std::uint32_t next = kFirstOfChoice;
  for (std::size_t k = 0; k < out.rounds.size(); ++k) {
    std::vector<TuneCandidate*> running;
    for (TuneRace& race : out.races)
      if (const std::vector<TuneCandidate*> left = ranking(race); left.size() > 1)
        running.insert(running.end(), left.begin(), left.end());
    runner.run(running, next, out.rounds[k].replications);
    next += static_cast<std::uint32_t>(out.rounds[k].replications);
    for (TuneRace& race : out.races) {
      const std::vector<TuneCandidate*> left = ranking(race);
      for (std::size_t place = (left.size() + 1) / 2; place < left.size(); ++place)
        left[place]->out = static_cast<int>(k) + 1;
    }
  }
  judge(settings, lanes, runner, out);
  return out;
}

}  // namespace pandora
