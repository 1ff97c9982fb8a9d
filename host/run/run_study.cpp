#include "host/run/run_study.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "host/base/split.hpp"
#include "host/machine/build.hpp"
#include "host/results/manifest.hpp"
#include "host/results/result_rows.hpp"
#include "host/results/stored_results.hpp"
#include "host/results/write_results.hpp"
#include "host/run/run_parts.hpp"
#include "host/run/session_record.hpp"
#include "host/sweep/oracle_cache.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

json manifest_of(const StudyConfig& config, const char* state, std::size_t parts, std::size_t there, json session) {
  return {{"program", program_json()},
          {"study", study_json(config)},
          {"study_toml", config.toml()},
          {"state", state},
          {"parts", parts},
          {"parts_there", there},
          {"session", std::move(session)}};
}

std::vector<Part> missing_of(ResultFolder& folder, const std::vector<PlannedSetting>& settings,
                             const std::vector<Part>& parts) {
  std::vector<Part> missing;
  for (const Part& part : parts)
    if (const auto there = folder.load(settings[part.setting], part); !there || !there->whole())
      missing.push_back(part);
  return missing;
}

// A study read from the place where its resolved form will stand must not be lost.
void protect_study(const RunOptions& options, const StudyConfig& config) {
  const fs::path target = fs::path(options.out) / "study.toml", file(options.study_file);
  std::error_code error;
  if (!options.out.empty() && ResultFolder::writes(file.filename().string()) &&
      fs::equivalent(file, fs::path(options.out) / file.filename(), error) && file.filename() != target.filename())
    throw Error(ExitCode::usage, fmt::format("--out {}: the results would replace the study, {}; name another folder",
                                             options.out, options.study_file));
  if (options.study_file.empty() || options.out.empty() || !fs::equivalent(options.study_file, target, error)) return;
  const StudyConfig there = read_study_file(options.study_file);
  const bool grows = options.mode == ResultFolder::Mode::extend;
  if ((!grows && there.identity() != config.identity()) || read_study_text(target.string()) != there.toml())
    throw Error(ExitCode::usage, fmt::format("--out {}: the resolved study would replace {}; name another folder",
                                             options.out, options.study_file));
}

// Another title, or results.h5 left out, is no damage: the files that say so are made anew.
void forget_other_title(ResultFolder& folder, const StudyConfig& config) {
  const fs::path file = folder.path() / "study.toml";
  try {
    const StudyConfig there = read_study_file(file.string());
    const bool whole = there.identity() == config.identity() && there.toml() == read_study_text(file.string());
    if (whole && there.toml() != config.toml()) folder.forget({"results.h5", "checksums.sha256", "study.toml"});
  } catch (const Error&) {  // it is not there, or damaged
  }
}

template <class Body>
std::exception_ptr caught(Body&& body) {
  try {
    body();
    return {};
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

Shard Shard::parse(const std::string& text) {
  Shard shard;
  const char *begin = text.data(), *end = begin + text.size(), *slash = std::find(begin, end, '/');
  const auto index = std::from_chars(begin, slash, shard.index);
  const auto count = slash == end ? index : std::from_chars(slash + 1, end, shard.count);
  if (index.ec != std::errc() || index.ptr != slash || slash == end || count.ec != std::errc() || count.ptr != end ||
      shard.index < 0 || shard.count < 1 || shard.index >= shard.count)
    throw Error(ExitCode::usage, fmt::format("--shard {}: give i/n with i from 0 to n - 1, such as 0/4", text));
  return shard;
}

RunOutcome run_study(const StudyConfig& config, const RunOptions& options, const Ranks& ranks) {
  std::vector<std::string> damaged;
  const DamageNote note = [&](const std::string& message) {
    damaged.push_back(message);
    if (options.note) options.note(message);
  };
  // What can be refused is refused before the folder is touched. Between two meetings of the ranks nothing throws.
  std::vector<PlannedSetting> settings;
  std::vector<Part> parts;
  Identity identity;
  std::unique_ptr<OracleCache> cache;
  ranks.agree(caught([&] {
    settings = make_plans(config);
    parts = make_parts(settings);
    std::vector<Setting> plain;
    for (const PlannedSetting& planned : settings) plain.push_back(planned.setting);
    identity = identity_of(config, plain, options.backend);
    protect_study(options, config);
    if (!options.oracle_cache.empty())
      cache = std::make_unique<OracleCache>(options.oracle_cache, cpu_numerics(), note);
  }));
  const Identity of_first = json::parse(ranks.broadcast(json(identity).dump())).get<Identity>();
  ranks.agree(caught([&] {
    if (const std::vector<std::string> found = differences(of_first, identity); !found.empty())
      throw Error(ExitCode::mismatch, fmt::format("rank {} does not compute what rank 0 does: {} (there is rank 0)",
                                                  ranks.rank(), fmt::join(found, "; ")));
  }));
  std::optional<ResultFolder> folder;
  ranks.agree(caught([&] {
    if (ranks.rank() != 0) return;
    folder.emplace(ResultFolder::open(options.out, options.mode, identity, note));
    if (options.mode == ResultFolder::Mode::extend || folder->unknown()) folder->require_among(parts);
  }));
  const std::string path = ranks.broadcast(folder ? folder->path().string() : "");
  if (!folder) folder.emplace(ResultFolder::join(path, identity, note));

  RunOutcome outcome;
  outcome.folder = folder->path();
  outcome.parts = parts.size();
  const SessionRecord session(options, settings, ranks.size());
  std::size_t stored = 0;
  const auto write_manifest = [&](const char* state, const json& record) {
    folder->write_manifest(manifest_of(config, state, outcome.parts, outcome.parts_there, record));
  };
  std::vector<Part> mine;
  for (std::size_t p = 0; p < parts.size(); ++p)
    if (p % static_cast<std::size_t>(options.shard.count) == static_cast<std::size_t>(options.shard.index))
      mine.push_back(parts[p]);
  std::string names;  // of the missing parts, found by rank 0 for all: they must agree
  ranks.agree(caught([&] {
    if (ranks.rank() != 0) return;
    // Refuses what the study has not before anything is touched. Tables stay as they are until the new ones are made.
    if (folder->grows()) (void)missing_of(*folder, settings, parts);
    const std::vector<Part> missing = missing_of(*folder, settings, mine);
    for (const Part& part : missing) names += part.name + "\n";
    write_manifest("running", session.begun());
    forget_other_title(*folder, config);
    folder->write("study.toml", config.toml());
    if (options.started) options.started(folder->path(), mine.size() - missing.size(), mine.size());
  }));
  std::set<std::string> wanted;  // by this rank
  std::size_t number = 0;
  for (const std::string& name : split(ranks.broadcast(names), '\n'))
    if (number++ % static_cast<std::size_t>(ranks.size()) == static_cast<std::size_t>(ranks.rank()))
      wanted.insert(name);
  std::vector<Part> share;
  std::copy_if(mine.begin(), mine.end(), std::back_inserter(share),
               [&wanted](const Part& part) { return wanted.count(part.name) > 0; });

  std::exception_ptr failure = caught([&] { run_parts(*folder, settings, share, options, cache.get(), stored); });
  const bool all_well = ranks.greatest(failure ? 1 : 0) == 0;
  std::vector<json> processes;
  for (const std::string& text : ranks.gather(process_json(options, stored).dump()))
    processes.push_back(json::parse(text));
  const std::exception_ptr last = caught([&] {
    if (ranks.rank() != 0) return;
    outcome.parts_there = parts.size() - missing_of(*folder, settings, parts).size();
    const char* state = all_well ? "partial" : "interrupted";
    std::exception_ptr unwritten;
    if (all_well && outcome.parts_there == outcome.parts) {
      unwritten = caught([&] { outcome.findings = write_results(*folder, config, settings, parts, options.program); });
      outcome.complete = !unwritten;
      if (folder->grows() && !unwritten) folder->forget_report();
      state = outcome.complete ? "complete" : "interrupted";
    } else {
      for (const Part& part : mine)
        if (const auto results = folder->load(settings[part.setting], part))
          outcome.findings.failed_lanes += failed_lanes(results->units);
    }
    const std::exception_ptr untold = caught([&] { write_manifest(state, session.ended(processes, damaged)); });
    for (const std::exception_ptr& problem : {unwritten, untold})
      if (problem) std::rethrow_exception(problem);
    if (all_well && !outcome.complete && missing_of(*folder, settings, mine).size() > 0)
      throw Error(
          ExitCode::output_lost,
          fmt::format("{}: parts that were written are not there; run again with --resume", folder->path().string()));
  });
  if (!failure) failure = last;
  outcome.parts_there = std::stoull(ranks.broadcast(std::to_string(outcome.parts_there)));
  if (failure)
    failure = caught([&] {
      try {
        std::rethrow_exception(failure);
      } catch (const Error& error) {
        if (error.code() != ExitCode::interrupted) throw;
        throw Error(ExitCode::interrupted,
                    fmt::format("interrupted; {} of {} parts are in {}; go on with --resume --out {}",
                                outcome.parts_there, outcome.parts, path, shell_word(path)));
      }
    });
  ranks.agree(failure);
  return outcome;
}

namespace {

void end_if_interrupted(const RunOptions& options) {
  if (options.interrupted != nullptr && options.interrupted->load())
    throw Error(ExitCode::interrupted, "interrupted; merge again, it goes on with what it wrote");
}

}  // namespace

RunOutcome merge_folders(const std::vector<std::string>& folders, const RunOptions& options) {
  std::vector<std::string> damaged;
  const DamageNote note = [&](const std::string& message) {
    damaged.push_back(message);
    if (options.note) options.note(message);
  };
  std::vector<ResultFolder> sources;
  for (const std::string& folder : folders) sources.push_back(ResultFolder::read(folder, note));
  for (const ResultFolder& source : sources)
    if (std::error_code error; !options.out.empty() && fs::equivalent(options.out, source.path(), error))
      throw Error(ExitCode::usage, fmt::format("--out {}: is one of the folders to merge; name another", options.out));
  const StudyConfig config = study_of_results(sources[0], false);
  // The program must be the one that the results were made with, as for resuming.
  Identity of_build = sources[0].identity();
  const Identity here = build_parts_of_identity();
  std::erase_if(of_build, [](const auto& entry) { return !entry.first.starts_with("build."); });
  if (const std::vector<std::string> found = differences(of_build, here); !found.empty())
    throw Error(ExitCode::mismatch, fmt::format("{}: was made by another build: {}; merge with that one",
                                                sources[0].path().string(), fmt::join(found, "; ")));
  for (const ResultFolder& source : sources) {
    const std::vector<std::string> found = differences(source.identity(), sources[0].identity());
    if (!found.empty())
      throw Error(ExitCode::mismatch, fmt::format("{} and {} do not belong together: {}", source.path().string(),
                                                  sources[0].path().string(), fmt::join(found, "; ")));
  }
  const std::vector<PlannedSetting> settings = make_plans(config);
  const std::vector<Part> parts = make_parts(settings);
  // Everything must be there before anything is written.
  std::vector<std::size_t> source_of(parts.size());
  std::vector<std::string> missing;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    end_if_interrupted(options);
    const auto at = std::find_if(sources.begin(), sources.end(), [&](ResultFolder& source) {
      const auto there = source.load(settings[parts[p].setting], parts[p]);
      return there && there->whole();
    });
    source_of[p] = static_cast<std::size_t>(at - sources.begin());
    if (at == sources.end()) missing.push_back(parts[p].name);
  }
  if (!missing.empty())
    throw Error(
        ExitCode::bad_data,
        fmt::format("{} of {} parts are in none of the folders, the first is {}; finish the shards with --resume",
                    missing.size(), parts.size(), missing[0]));
  const SessionRecord session(options, settings, 1);
  // A merge that did not come to its end is repeated into the same folder.
  const bool again = options.mode == ResultFolder::Mode::fresh && ResultFolder::is_unfinished(options.out);
  ResultFolder folder =
      ResultFolder::open(options.out, again ? ResultFolder::Mode::resume : options.mode, sources[0].identity(), note);
  for (const ResultFolder& source : sources)
    for (const json& earlier : source.sessions())
      if (const json& there = folder.sessions(); std::find(there.begin(), there.end(), earlier) == there.end())
        folder.add_session(earlier);
  const auto write_manifest = [&](const char* state, const json& record, std::size_t there) {
    folder.write_manifest(manifest_of(config, state, parts.size(), there, record));
  };
  write_manifest("running", session.begun(), 0);  // first: it tells whose the folder is
  forget_other_title(folder, config);
  folder.write("study.toml", config.toml());
  RunOutcome outcome;
  outcome.folder = folder.path();
  outcome.parts = outcome.parts_there = parts.size();
  std::size_t done = 0;
  const std::exception_ptr failure = caught([&] {
    for (std::size_t p = 0; p < parts.size(); ++p) {
      end_if_interrupted(options);
      const PlannedSetting& planned = settings[parts[p].setting];
      const auto results = sources[source_of[p]].load(planned, parts[p]);
      if (!results)
        throw Error(ExitCode::bad_data, fmt::format("{}: vanished while it was merged; merge again",
                                                    (sources[source_of[p]].path() / "parts" / parts[p].name).string()));
      folder.store(planned, parts[p], results->units);
      ++done;
    }
    end_if_interrupted(options);
    outcome.findings = write_results(folder, config, settings, parts, options.program);
    outcome.complete = true;
  });
  const std::exception_ptr untold = caught([&] {
    write_manifest(outcome.complete ? "complete" : "interrupted", session.ended({process_json(options, 0)}, damaged),
                   done);
  });
  for (const std::exception_ptr& problem : {failure, untold})
    if (problem) std::rethrow_exception(problem);
  return outcome;
}

}  // namespace pandora
