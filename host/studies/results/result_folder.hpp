// A folder of results: parts as they are finished, what they belong to, and what is made of them in the end.
//
//   study.toml       the resolved study            manifest.json   provenance, identity, state
//   parts/*.part     results, sealed               *.csv, results.h5, checksums.sha256   when all parts are there
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "host/ground/files/output_folder.hpp"
#include "host/studies/results/parts.hpp"

namespace pandora {

/// Told of everything in the folder that was found damaged and is made anew.
using DamageNote = std::function<void(const std::string& message)>;

class ResultFolder {
 public:
  enum class Mode { fresh, resume, extend, replace };

  /// fresh: claims an empty or new folder (an empty path: the next free results/NNN). replace: removes the program's
  /// own files from an earlier run first. resume: takes what is there if its identity is the given one; on an empty or
  /// missing folder it is `fresh`. extend: likewise, but the identities may differ in what results grow by
  /// (fixed_part). A folder counts as the program's own by a sound manifest or a part in it. Throws Error (usage) for a
  /// folder that cannot be used or is used by another process, Error (mismatch) naming every difference.
  static ResultFolder open(const std::string& path, Mode mode, const Identity& identity, DamageNote note);

  /// What open() would find there under `resume` or `extend`, to be looked at alone: nothing is claimed, locked or
  /// written. Throws as open() does; a folder that is not there holds nothing.
  static ResultFolder look(const std::string& path, Mode mode, const Identity& identity, DamageNote note);

  /// Whether the folder holds results of this program that are not complete, or what a process left that was killed
  /// before it wrote any.
  static bool is_unfinished(const std::string& path);

  /// Whether a file of results has this name.
  static bool writes(const std::string& name);

  /// A folder that is only read, by merge. Throws Error (bad_data) if it holds no readable manifest.
  static ResultFolder read(const std::string& path, DamageNote note);

  /// A folder that another rank of the same run has opened.
  ResultFolder(std::filesystem::path path, Identity identity, DamageNote note);

  const std::filesystem::path& path() const { return path_; }
  const Identity& identity() const { return identity_; }

  /// What is there of the part, perhaps not all of it after the study grew. One that is damaged is reported, once, and
  /// counts as absent; Error (bad_data) if it cannot be read; Error (mismatch) if it is sound but of another identity
  /// or has what the study has not.
  std::optional<PartContents> load(const PlannedSetting& planned, const Part& part);

  /// Whether it is read to be shown alone: what the study has not is passed over.
  bool is_shown = false;

  /// The names of the lanes that the part has; none if it is not there or damaged.
  std::vector<std::string> lanes_of(const PlannedSetting& planned, const Part& part) const;

  /// Refuses parts that none of `parts` is: Error (mismatch).
  void require_among(const std::vector<Part>& parts) const;

  /// Thread-safe. Throws Error (output_lost).
  void store(const PlannedSetting& planned, const Part& part, const std::vector<UnitResult>& results);

  /// Writes a file of results; one of that name with other contents, left by an earlier run, is reported as damaged.
  void write(const std::string& name, const std::string& contents);

  /// Removes files that are to be written anew with other contents.
  void forget(std::initializer_list<const char*> names);

  /// Whether what is there was made for a smaller study.
  bool grows() const { return grows_; }

  /// Whether the manifest that says what the parts belong to was damaged.
  bool unknown() const { return unknown_; }

  /// Removes the report of what was there before the results grew.
  void forget_report();

  /// Writes checksums.sha256 over everything that write() wrote, in the format of sha256sum.
  void write_checksums();

  /// The manifest as it was read.
  const nlohmann::json& manifest() const { return manifest_; }

  /// What earlier processes recorded of themselves in the manifest.
  const nlohmann::json& sessions() const { return sessions_; }

  /// Adds one that another folder recorded.
  void add_session(nlohmann::json session) { sessions_.push_back(std::move(session)); }

  /// Writes manifest.json: `manifest` with the identity, and with its "session" appended to the earlier ones.
  void write_manifest(nlohmann::json manifest);

 private:
  void remove_results();
  void check_manifest(Mode mode);

  std::filesystem::path path_;
  Identity identity_;
  DamageNote note_;
  FolderLock lock_;  // nothing if the folder is not ours
  nlohmann::json manifest_;
  nlohmann::json sessions_ = nlohmann::json::array();
  bool grows_ = false, unknown_ = false;
  bool whole_ = false;  // complete when it was opened: then a file with other contents is damaged, not of before
  std::map<std::string, std::string> written_;  // name and sha256
  std::set<std::string> reported_;
};

/// Whether numbers.json, report.json or report.html in the folder is one that `pandora report` made.
bool holds_report(const std::filesystem::path& folder);

}  // namespace pandora
