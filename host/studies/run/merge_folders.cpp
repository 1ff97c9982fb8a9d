// Finds the parts of one study in several folders and copies them into one.
#include "host/studies/run/merge_folders.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/ground/base/fail.hpp"
#include "host/studies/results/result_rows.hpp"
#include "host/studies/run/folder_record.hpp"

namespace pandora {
namespace {

using Folders = std::vector<ResultFolder>;

void end_merge_if_interrupted(const RunOptions& options) {
  if (options.interrupted != nullptr && options.interrupted->load())
    throw Error(ExitCode::interrupted, "interrupted; merge again, it goes on with what it wrote");
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

RunOutcome merge_folders(const std::vector<std::string>& folders, const RunOptions& options) {
  DamageLog damage(options.note);
  Folders sources;
  for (const std::string& folder : folders) sources.push_back(ResultFolder::read(folder, damage.note()));
  for (const ResultFolder& source : sources)
    if (std::error_code error; !options.out.empty() && std::filesystem::equivalent(options.out, source.path(), error))
      fail(ExitCode::usage, "{}: is one of the folders to merge; name another", option("out", options.out));
  const StudyConfig config = study_of_results(sources[0], false);
  require_one_study_of_this_build(sources);
  const std::vector<PlannedSetting> settings = make_plans(config);
  const std::vector<Part> parts = make_parts(settings);
  const std::vector<ResultFolder*> source_of = find_parts(sources, settings, parts, options);
  ResultFolder folder = open_target(sources, options, damage.note());
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

}  // namespace pandora
