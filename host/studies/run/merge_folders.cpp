#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/studies/results/result_rows.hpp"
#include "host/studies/run/folder_record.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

class Merge {
 public:
  Merge(const std::vector<std::string>& folders, const RunOptions& options)
      : options_(options), damage_(options.note), sources_(open_sources(folders)), config_(config_of_sources()) {}

  RunOutcome run() {
    require_this_build();
    require_one_study();
    settings_ = make_plans(config_);
    parts_ = make_parts(settings_);
    find_parts();
    ResultFolder folder = open_target();
    FolderRecord record(folder, config_, parts_.size(), options_, settings_, 1, damage_);
    record.begin(0);
    RunOutcome outcome;
    outcome.folder = folder.path();
    outcome.parts = outcome.parts_there = parts_.size();
    std::size_t copied = 0;
    const std::exception_ptr failure = caught([&] {
      for (; copied < parts_.size(); ++copied) copy(copied, folder);
      end_if_interrupted();
      outcome.findings = write_results(folder, config_, settings_, parts_, options_.program);
      outcome.complete = true;
    });
    const std::exception_ptr untold =
        caught([&] { record.end(outcome.complete ? "complete" : "interrupted", {process_json(options_, 0)}, copied); });
    rethrow({failure, untold});
    return outcome;
  }

 private:
  std::vector<ResultFolder> open_sources(const std::vector<std::string>& folders) {
    std::vector<ResultFolder> sources;
    for (const std::string& folder : folders) sources.push_back(ResultFolder::read(folder, damage_.note()));
    return sources;
  }

  StudyConfig config_of_sources() const {
    for (const ResultFolder& source : sources_)
      if (std::error_code error; !options_.out.empty() && fs::equivalent(options_.out, source.path(), error))
        throw Error(ExitCode::usage,
                    fmt::format("--out {}: is one of the folders to merge; name another", options_.out));
    return study_of_results(sources_[0], false);
  }

  // The program must be the one that the results were made with, as for resuming.
  void require_this_build() const {
    const Identity of_build = build_of_results(sources_[0].identity());
    if (const std::vector<std::string> found = differences(of_build, build_parts_of_identity()); !found.empty())
      throw Error(ExitCode::mismatch, fmt::format("{}: was made by another build: {}; merge with that one",
                                                  sources_[0].path().string(), fmt::join(found, "; ")));
  }

  void require_one_study() const {
    for (const ResultFolder& source : sources_)
      if (const std::vector<std::string> found = differences(source.identity(), sources_[0].identity()); !found.empty())
        throw Error(ExitCode::mismatch, fmt::format("{} and {} do not belong together: {}", source.path().string(),
                                                    sources_[0].path().string(), fmt::join(found, "; ")));
  }

  // Which folder has which part. Everything must be there before anything is written.
  void find_parts() {
    std::vector<std::string> missing;
    for (const Part& part : parts_) {
      end_if_interrupted();
      const auto found = std::ranges::find_if(sources_, [&](ResultFolder& source) {
        const auto there = source.load(settings_[part.setting], part);
        return there && there->whole();
      });
      source_of_.push_back(static_cast<std::size_t>(found - sources_.begin()));
      if (found == sources_.end()) missing.push_back(part.name);
    }
    if (!missing.empty())
      throw Error(
          ExitCode::bad_data,
          fmt::format("{} of {} parts are in none of the folders, the first is {}; finish the shards with --resume",
                      missing.size(), parts_.size(), missing[0]));
  }

  // A merge that did not come to its end is repeated into the same folder.
  ResultFolder open_target() {
    using Mode = ResultFolder::Mode;
    const bool again = options_.mode == Mode::fresh && ResultFolder::is_unfinished(options_.out);
    ResultFolder folder =
        ResultFolder::open(options_.out, again ? Mode::resume : options_.mode, sources_[0].identity(), damage_.note());
    for (const ResultFolder& source : sources_)
      for (const json& earlier : source.sessions())
        if (std::ranges::count(folder.sessions(), earlier) == 0) folder.add_session(earlier);
    return folder;
  }

  void copy(std::size_t p, ResultFolder& folder) {
    end_if_interrupted();
    const PlannedSetting& planned = settings_[parts_[p].setting];
    ResultFolder& source = sources_[source_of_[p]];
    const auto results = source.load(planned, parts_[p]);
    if (!results)
      throw Error(ExitCode::bad_data, fmt::format("{}: vanished while it was merged; merge again",
                                                  (source.path() / "parts" / parts_[p].name).string()));
    folder.store(planned, parts_[p], results->units);
  }

  void end_if_interrupted() const {
    if (options_.interrupted != nullptr && options_.interrupted->load())
      throw Error(ExitCode::interrupted, "interrupted; merge again, it goes on with what it wrote");
  }

  const RunOptions& options_;
  DamageLog damage_;
  std::vector<ResultFolder> sources_;
  const StudyConfig config_;
  std::vector<PlannedSetting> settings_;
  std::vector<Part> parts_;
  std::vector<std::size_t> source_of_;  // index in sources_ of every part
};

}  // namespace

RunOutcome merge_folders(const std::vector<std::string>& folders, const RunOptions& options) {
  return Merge(folders, options).run();
}

}  // namespace pandora
