// The steps of a run, which all ranks of one mpirun take together.
#include "host/studies/run/run_study.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <climits>

#include "host/ground/base/fail.hpp"
#include "host/ground/base/printable.hpp"
#include "host/ground/files/hdf5_file.hpp"
#include "host/studies/results/result_rows.hpp"
#include "host/studies/run/folder_record.hpp"
#include "host/studies/run/forecast.hpp"
#include "host/studies/run/run_parts.hpp"
#include "host/studies/sweep/prepare_replication.hpp"
#include "host/studies/sweep/sweep.hpp"

namespace pandora {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

// The resolved study must not overwrite the file from which the study was read.
void protect_study(const RunOptions& options, const StudyConfig& config) {
  const fs::path target = fs::path(options.out) / "study.toml", file(options.study_file);
  std::error_code error;
  if (!options.out.empty() && ResultFolder::writes(file.filename().string()) &&
      fs::equivalent(file, fs::path(options.out) / file.filename(), error) && file.filename() != target.filename())
    fail(ExitCode::usage, "{}: the results would replace the study, {}; name another folder",
         option("out", options.out), options.study_file);
  if (options.study_file.empty() || options.out.empty() || !fs::equivalent(options.study_file, target, error)) return;
  const StudyConfig there = read_study_file(options.study_file);
  const bool grows = options.mode == ResultFolder::Mode::extend;
  if ((!grows && there.identity() != config.identity()) || read_study_text(target.string()) != there.toml())
    fail(ExitCode::usage, "{}: the resolved study would replace {}; name another folder", option("out", options.out),
         options.study_file);
}

// The steps of a run. Ranks wait for each other in agree, broadcast, greatest and gather, which all call in the same
// order. Between two of these calls nothing may throw, or the others would wait for ever.
class StudyRun {
 public:
  StudyRun(const StudyConfig& config, const RunOptions& options, const Ranks& ranks)
      : config_(config), options_(options), ranks_(ranks), damage_(options.note) {}

  RunOutcome run() {
    plan();
    agree_on_identity();
    open_folder();
    const std::vector<Part> share = share_of(missing_parts());
    std::size_t stored = 0;
    const std::exception_ptr failure =
        caught([&] { run_parts(*folder_, settings_, share, options_, cache_.get(), stored); });
    const bool all_well = ranks_.greatest(failure ? 1 : 0) == 0;
    std::vector<json> processes;
    for (const std::string& text : ranks_.gather(process_json(options_, stored).dump()))
      processes.push_back(json::parse(text));
    const std::exception_ptr last = caught([&] { conclude(all_well, processes); });
    outcome_.parts_there = std::stoull(ranks_.broadcast(std::to_string(outcome_.parts_there)));
    ranks_.agree(with_way_on(failure ? failure : last));
    return outcome_;
  }

 private:
  bool first() const { return ranks_.rank() == 0; }

  // Makes all checks that can refuse the run, before the folder is touched.
  void plan() {
    ranks_.agree(caught([&] {
      settings_ = make_plans(config_);
      parts_ = make_parts(settings_);
      identity_ = identity_for(config_, settings_, options_.backend);
      protect_study(options_, config_);
      if (settings_[0].setting.study.hdf5) start_hdf5();
      if (const std::string note = unkept_budgets(settings_); first() && options_.note && !note.empty())
        options_.note(note);
      if (!options_.oracle_cache.empty())
        cache_ = std::make_unique<OracleCache>(options_.oracle_cache, cpu_numerics(), damage_.note());
    }));
    for (std::size_t p = 0; p < parts_.size(); ++p)
      if (p % static_cast<std::size_t>(options_.shard.count) == static_cast<std::size_t>(options_.shard.index))
        of_shard_.push_back(parts_[p]);
  }

  void agree_on_identity() {
    const Identity of_first = json::parse(ranks_.broadcast(json(identity_).dump())).get<Identity>();
    ranks_.agree(caught([&] {
      if (const std::vector<std::string> found = differences(of_first, identity_); !found.empty())
        fail(ExitCode::mismatch, "rank {} does not compute what rank 0 does: {} (there is rank 0)", ranks_.rank(),
             fmt::join(found, "; "));
    }));
  }

  void open_folder() {
    ranks_.agree(caught([&] {
      if (!first()) return;
      folder_.emplace(ResultFolder::open(options_.out, options_.mode, identity_, damage_.note()));
      if (options_.mode == ResultFolder::Mode::extend || folder_->unknown()) folder_->require_among(parts_);
    }));
    const std::string path = ranks_.broadcast(folder_ ? folder_->path().string() : "");
    if (!folder_) folder_.emplace(path, identity_, damage_.note());
    record_.emplace(*folder_, config_, parts_.size(), options_, settings_, ranks_.size(), damage_);
    outcome_.folder = folder_->path();
    outcome_.parts = parts_.size();
  }

  // The names of the shard's missing parts. Rank 0 finds them for all ranks, because these must agree.
  std::vector<std::string> missing_parts() {
    std::string names;
    ranks_.agree(caught([&] {
      if (!first()) return;
      // Refuses results that the study does not have before anything is changed. Tables stay until the new ones are
      // made.
      if (folder_->grows()) (void)lacking_parts(*folder_, settings_, parts_);
      const std::vector<Part> missing = lacking_parts(*folder_, settings_, of_shard_);
      for (const Part& part : missing) names += part.name + "\n";
      record_->begin(outcome_.parts_there);
      if (options_.started) options_.started(folder_->path(), of_shard_.size() - missing.size(), of_shard_.size());
    }));
    return split(ranks_.broadcast(names), '\n');
  }

  // This rank's share of the missing parts.
  std::vector<Part> share_of(const std::vector<std::string>& missing) const {
    std::set<std::string> wanted;
    for (std::size_t k = static_cast<std::size_t>(ranks_.rank()); k < missing.size();
         k += static_cast<std::size_t>(ranks_.size()))
      wanted.insert(missing[k]);
    std::vector<Part> share;
    std::ranges::copy_if(of_shard_, std::back_inserter(share),
                         [&wanted](const Part& part) { return wanted.contains(part.name); });
    return share;
  }

  // Rank 0: makes the tables if all parts are there, and writes the final manifest.
  void conclude(bool all_well, const std::vector<json>& processes) {
    if (!first()) return;
    outcome_.parts_there = parts_.size() - lacking_parts(*folder_, settings_, parts_).size();
    const char* state = all_well ? "partial" : "interrupted";
    std::exception_ptr unwritten;
    if (all_well && outcome_.parts_there == outcome_.parts) {
      unwritten = caught([&] {
        outcome_.findings = write_results(*folder_, config_, settings_, parts_, options_.program);
        outcome_.complete = true;
        if (folder_->grows()) folder_->forget_report();
      });
      state = outcome_.complete ? "complete" : "interrupted";
    } else {
      for (const Part& part : of_shard_)
        if (const auto results = folder_->load(settings_[part.setting], part))
          outcome_.findings.failed_lanes += failed_lanes(results->units);
    }
    const std::exception_ptr untold = caught([&] { record_->end(state, processes, outcome_.parts_there); });
    rethrow({unwritten, untold});
    if (all_well && !outcome_.complete && !lacking_parts(*folder_, settings_, of_shard_).empty())
      fail(ExitCode::output_lost, "{}: parts that were written are not there; run again with {}",
           folder_->path().string(), option("resume"));
  }

  // Adds to an interruption how to continue; other failures stay as they are.
  std::exception_ptr with_way_on(const std::exception_ptr& failure) const {
    if (!failure) return failure;
    return caught([&] {
      try {
        std::rethrow_exception(failure);
      } catch (const Error& error) {
        if (error.code() != ExitCode::interrupted) throw;
        const std::string path = folder_->path().string();
        fail(ExitCode::interrupted, "interrupted; {} of {} parts are in {}; go on with {} {}", outcome_.parts_there,
             outcome_.parts, path, option("resume"), option("out", shell_word(path)));
      }
    });
  }

  const StudyConfig& config_;
  const RunOptions& options_;
  const Ranks& ranks_;
  DamageLog damage_;
  std::vector<PlannedSetting> settings_;
  std::vector<Part> parts_, of_shard_;
  Identity identity_;
  std::unique_ptr<OracleCache> cache_;
  std::optional<ResultFolder> folder_;
  std::optional<FolderRecord> record_;
  RunOutcome outcome_;
};

}  // namespace

RunOutcome run_study(const StudyConfig& config, const RunOptions& options, const Ranks& ranks) {
  return StudyRun(config, options, ranks).run();
}

Shard Shard::parse(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto count = slash == std::string::npos ? std::nullopt : whole_within(text.substr(slash + 1), 1, INT_MAX);
  const auto index = count ? whole_within(text.substr(0, slash), 0, *count - 1) : std::nullopt;
  if (!index) fail(ExitCode::usage, "{}: give i/n with i from 0 to n - 1, such as 0/4", option("shard", text));
  return {*index, *count};
}

BackendChoice backend_for(const std::string& backend, const std::string& devices,
                          const std::vector<PlannedSetting>& settings) {
  EngineSettings engine = settings[0].setting.study.engine;
  std::string cpu_only;
  for (const PlannedSetting& planned : settings) {
    const EngineSettings& other = planned.setting.study.engine;
    if (other.kind == EngineSettings::Kind::reference || other.precision == EngineSettings::Precision::fp64)
      engine = other;
    if (cpu_only.empty()) cpu_only = needs_cpu(planned.setting.study, planned.plan);
  }
  std::vector<FoundDevices> found;
  if (backend == "cpu")  // does not call the driver
    for (const Backend& one : backends()) found.push_back({&one, {}});
  else
    found = find_all_devices();
  return choose_backend(backend, devices, engine, found, cpu_only);
}

Identity identity_for(const StudyConfig& config, const std::vector<PlannedSetting>& settings,
                      const BackendChoice& backend) {
  std::vector<Setting> plain;
  for (const PlannedSetting& planned : settings) plain.push_back(planned.setting);
  return identity_of(config, plain, {backend.name, backend.hardware, fingerprint_of(plain, backend.devices)});
}

}  // namespace pandora
