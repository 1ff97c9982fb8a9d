#include "host/studies/run/folder_record.hpp"

#include "host/ground/machine/build.hpp"
#include "host/studies/results/manifest.hpp"
#include "pandora/error.hpp"

namespace pandora {

void FolderRecord::write_manifest(const char* state, const nlohmann::json& session, std::size_t parts_there) {
  folder_.write_manifest({{"program", program_json()},
                          {"study", study_json(config_)},
                          {"study_toml", config_.toml()},
                          {"state", state},
                          {"parts", parts_},
                          {"parts_there", parts_there},
                          {"session", session}});
}

void FolderRecord::begin(const nlohmann::json& session, std::size_t parts_there) {
  write_manifest("running", session, parts_there);
  forget_other_title();
  folder_.write("study.toml", config_.toml());
}

void FolderRecord::end(const char* state, const nlohmann::json& session, std::size_t parts_there) {
  write_manifest(state, session, parts_there);
}

void FolderRecord::forget_other_title() {
  const std::filesystem::path file = folder_.path() / "study.toml";
  try {
    const StudyConfig there = read_study_file(file.string());
    const bool whole = there.identity() == config_.identity() && there.toml() == read_study_text(file.string());
    if (whole && there.toml() != config_.toml()) folder_.forget({"results.h5", "checksums.sha256", "study.toml"});
  } catch (const Error&) {  // it is not there, or damaged
  }
}

}  // namespace pandora
