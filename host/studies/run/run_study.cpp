// The steps of a run, which all ranks of one mpirun take together, and of a merge.
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

// The parts number first, first + step, and so on.
std::vector<Part> every(int step, int first, const std::vector<Part>& parts) {
  std::vector<Part> out;
  for (std::size_t p = static_cast<std::size_t>(first); p < parts.size(); p += static_cast<std::size_t>(step))
    out.push_back(parts[p]);
  return out;
}

// The steps of a run. Ranks wait for each other in agree, broadcast, greatest and gather, which all call in the same
// order. Between two of these calls nothing may throw, or the others would wait for ever.
class StudyRun {
 public:
  StudyRun(const StudyConfig& config, const RunOptions& options, const Ranks& ranks)
      : config_(config), options_(options), ranks_(ranks), note_(keeping(damage_, options.note)) {}

  RunOutcome run() {
    plan();
    agree_on_identity();
    open_folder();
    const std::vector<Part> share = every(ranks_.size(), ranks_.rank(), missing_parts());
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
        cache_ = std::make_unique<OracleCache>(options_.oracle_cache, cpu_numerics(), note_);
    }));
    of_shard_ = every(options_.shard.count, options_.shard.index, parts_);
  }

  void agree_on_identity() {
    const Identity of_first = json::parse(ranks_.broadcast(json(identity_).dump())).get<Identity>();
    ranks_.agree(caught([&] {
      if (const std::vector<std::string> found = differences(of_first, identity_); !found.empty())
        fail(ExitCode::mismatch, "rank {} computes differently from rank 0: {} (\"there\" is rank 0)", ranks_.rank(),
             fmt::join(found, "; "));
    }));
  }

  void open_folder() {
    ranks_.agree(caught([&] {
      if (!first()) return;
      folder_.emplace(ResultFolder::open(options_.out, options_.mode, identity_, note_));
      if (options_.mode == ResultFolder::Mode::extend || folder_->unknown()) folder_->require_among(parts_);
    }));
    const std::string path = ranks_.broadcast(folder_ ? folder_->path().string() : "");
    if (!folder_) folder_.emplace(path, identity_, note_);
    record_.emplace(*folder_, config_, parts_.size(), options_, settings_, ranks_.size(), damage_);
    outcome_.folder = folder_->path();
    outcome_.parts = parts_.size();
  }

  // The shard's missing parts. Rank 0 finds them for all ranks, because these must agree.
  std::vector<Part> missing_parts() {
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
    const std::vector<std::string> all = split(ranks_.broadcast(names), '\n');
    const std::set<std::string> wanted(all.begin(), all.end());
    std::vector<Part> out;
    std::ranges::copy_if(of_shard_, std::back_inserter(out),
                         [&](const Part& part) { return wanted.contains(part.name); });
    return out;
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
      fail(ExitCode::output_lost, "{}: parts that were written have disappeared; run again with {}",
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
  std::vector<std::string> damage_;  // what note_ was told
  const DamageNote note_;
  std::vector<PlannedSetting> settings_;
  std::vector<Part> parts_, of_shard_;
  Identity identity_;
  std::unique_ptr<OracleCache> cache_;
  std::optional<ResultFolder> folder_;
  std::optional<FolderRecord> record_;
  RunOutcome outcome_;
};

using Folders = std::vector<ResultFolder>;

void end_merge_if_interrupted(const RunOptions& options) {
  if (options.interrupted != nullptr && options.interrupted->load())
    throw Error(ExitCode::interrupted, "interrupted; merge again to continue");
}

// As for resuming, this program must be the one that made the results.
void require_one_study_of_this_build(const Folders& sources) {
  const Identity& first = sources[0].identity();
  const std::string name = sources[0].path().string();
  if (const auto found = differences(build_of_results(first), build_parts_of_identity()); !found.empty())
    fail(ExitCode::mismatch, "{}: was made by another build: {}; merge with that one", name, fmt::join(found, "; "));
  for (const ResultFolder& source : sources)
    if (const auto found = differences(source.identity(), first); !found.empty())
      fail(ExitCode::mismatch, "{} and {} do not belong together: {}", source.path().string(), name,
           fmt::join(found, "; "));
}

// Finds the folder of each part. All parts must exist before anything is written.
std::vector<ResultFolder*> find_parts(Folders& sources, const std::vector<PlannedSetting>& settings,
                                      const std::vector<Part>& parts, const RunOptions& options) {
  std::vector<ResultFolder*> found;
  std::vector<std::string> missing;
  for (const Part& part : parts) {
    end_merge_if_interrupted(options);
    const auto source = std::ranges::find_if(sources, [&](ResultFolder& folder) {
      const auto there = folder.load(settings[part.setting], part);
      return there && there->whole();
    });
    if (source == sources.end())
      missing.push_back(part.name);
    else
      found.push_back(&*source);
  }
  if (!missing.empty())
    fail(ExitCode::bad_data, "{} of {} parts are in none of the folders, the first is {}; finish the shards with {}",
         missing.size(), parts.size(), missing[0], option("resume"));
  return found;
}

// A merge that did not finish is repeated into the same folder.
ResultFolder open_target(const Folders& sources, const RunOptions& options, const DamageNote& note) {
  using Mode = ResultFolder::Mode;
  const bool again = options.mode == Mode::fresh && ResultFolder::is_unfinished(options.out);
  ResultFolder folder =
      ResultFolder::open(options.out, again ? Mode::resume : options.mode, sources[0].identity(), note);
  for (const ResultFolder& source : sources)
    for (const nlohmann::json& earlier : source.sessions())
      if (std::ranges::count(folder.sessions(), earlier) == 0) folder.add_session(earlier);
  return folder;
}

}  // namespace

RunOutcome run_study(const StudyConfig& config, const RunOptions& options, const Ranks& ranks) {
  return StudyRun(config, options, ranks).run();
}

RunOutcome merge_folders(const std::vector<std::string>& folders, const RunOptions& options) {
  std::vector<std::string> damage;
  const DamageNote note = keeping(damage, options.note);
  Folders sources;
  for (const std::string& folder : folders) sources.push_back(ResultFolder::read(folder, note));
  for (const ResultFolder& source : sources)
    if (std::error_code error; !options.out.empty() && std::filesystem::equivalent(options.out, source.path(), error))
      fail(ExitCode::usage, "{}: is one of the folders to merge; name another", option("out", options.out));
  const StudyConfig config = study_of_results(sources[0], false);
  require_one_study_of_this_build(sources);
  const std::vector<PlannedSetting> settings = make_plans(config);
  const std::vector<Part> parts = make_parts(settings);
  const std::vector<ResultFolder*> source_of = find_parts(sources, settings, parts, options);
  ResultFolder folder = open_target(sources, options, note);
  FolderRecord record(folder, config, parts.size(), options, settings, 1, damage);
  record.begin(0);
  RunOutcome outcome{folder.path(), parts.size(), parts.size(), false, {}};
  std::size_t copied = 0;
  const std::exception_ptr failure = caught([&] {
    for (; copied < parts.size(); ++copied) {
      end_merge_if_interrupted(options);
      const Part& part = parts[copied];
      const auto results = source_of[copied]->load(settings[part.setting], part);
      if (!results)
        fail(ExitCode::bad_data, "{}: vanished while it was merged; merge again",
             (source_of[copied]->path() / "parts" / part.name).string());
      folder.store(settings[part.setting], part, results->units);
    }
    end_merge_if_interrupted(options);
    outcome.findings = write_results(folder, config, settings, parts, options.program);
    outcome.complete = true;
  });
  const std::exception_ptr untold =
      caught([&] { record.end(outcome.complete ? "complete" : "interrupted", {process_json(options, 0)}, copied); });
  rethrow({failure, untold});
  return outcome;
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
