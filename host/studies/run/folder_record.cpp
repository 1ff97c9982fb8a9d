// The manifest of a folder while it is being filled.
#include "host/studies/run/folder_record.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <ctime>

#include "host/ground/machine/build.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

using nlohmann::json;

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace

FolderRecord::FolderRecord(ResultFolder& folder, const StudyConfig& config, std::size_t parts,
                           const RunOptions& options, const std::vector<PlannedSetting>& settings, int ranks,
                           const std::vector<std::string>& damage)
    : folder_(folder),
      config_(config),
      parts_(parts),
      damage_(damage),
      session_{{"command", options.command},
               {"host", host_name()},
               {"backend", options.backend.name},
               {"backend_reason", options.backend.reason},
               {"threads", options.threads},
               {"ranks", ranks},
               {"shard", fmt::format("{}/{}", options.shard.index, options.shard.count)},
               {"started", utc_now()}} {
  std::set<std::string> engines;
  for (const PlannedSetting& planned : settings) engines.insert(planned.setting.study.engine.text());
  session_["engine"] = fmt::format("{}", fmt::join(engines, "; "));
  for (const char* unknown : {"ended", "wall_seconds", "parts_computed", "damaged", "processes"})
    session_[unknown] = nullptr;
}

void FolderRecord::end(const char* state, const std::vector<json>& processes, std::size_t parts_there) {
  json out = session_;
  out["ended"] = utc_now();
  out["wall_seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  std::size_t computed = 0;
  for (const json& process : processes) computed += process.at("parts_computed").get<std::size_t>();
  out["parts_computed"] = computed;
  out["processes"] = processes;
  out["damaged"] = damage_;
  write_manifest(state, out, parts_there);
}

json process_json(const RunOptions& options, std::size_t computed) {
  return {{"host", host_name()},
          {"backend", options.backend.name},
          {"threads", options.threads},
          {"parts_computed", computed}};
}

void FolderRecord::write_manifest(const char* state, const json& session, std::size_t parts_there) {
  folder_.write_manifest({{"program", program_json()},
                          {"study_toml", config_.toml()},
                          {"state", state},
                          {"parts", parts_},
                          {"parts_there", parts_there},
                          {"session", session}});
}

void FolderRecord::begin(std::size_t parts_there) {
  write_manifest("running", session_, parts_there);
  try {
    const std::string file = (folder_.path() / "study.toml").string();
    const StudyConfig there = read_study_file(file);
    const bool whole = there.identity() == config_.identity() && there.toml() == read_study_text(file);
    if (whole && there.toml() != config_.toml()) folder_.forget({"results.h5", "checksums.sha256", "study.toml"});
  } catch (const Error&) {  // it does not exist or is damaged
  }
  folder_.write("study.toml", config_.toml());
}

}  // namespace pandora
