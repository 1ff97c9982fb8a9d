// A folder of results: finished parts, their identity, and the files that are made from them in the end.
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

/// Called for everything in the folder that is damaged and will be made anew.
using DamageNote = std::function<void(const std::string& message)>;

class ResultFolder {
 public:
  enum class Mode { fresh, resume, extend, replace };

  /// Opens a folder in one of these modes. fresh: claims an empty or new folder (an empty path: the next free
  /// results/NNN). replace: first removes the program's own files from an earlier run. resume: takes the existing
  /// results if their identity is the given one; an empty or missing folder is treated as with `fresh`. extend: the
  /// same, but only the fixed part of the identity must agree (fixed_part): results may grow in replications, policies,
  /// hyperparameters, T_0, environments and regimes. A valid manifest or part shows that a folder
  /// is the program's own. Throws Error (usage) if the folder cannot be used or another process uses it, and Error
  /// (mismatch) with every difference.
  static ResultFolder open(const std::string& path, Mode mode, const Identity& identity, DamageNote note);

  /// What open() would find there under `resume` or `extend`. It only looks: nothing is claimed, locked or written.
  /// Throws as open() does; a folder that does not exist holds nothing.
  static ResultFolder look(const std::string& path, Mode mode, const Identity& identity, DamageNote note);

  /// Whether the folder holds incomplete results of this program, or the files of a process that was killed before it
  /// wrote any results.
  static bool is_unfinished(const std::string& path);

  /// Whether this class writes files of this name.
  static bool writes(const std::string& name);

  /// Opens a folder for reading only, for merge. Throws Error (bad_data) if it holds no readable manifest.
  static ResultFolder read(const std::string& path, DamageNote note);

  /// A folder that another rank of the same run has opened.
  ResultFolder(std::filesystem::path path, Identity identity, DamageNote note);

  const std::filesystem::path& path() const { return path_; }
  const Identity& identity() const { return identity_; }

  /// The existing data of the part; after the study grew it may be incomplete. A damaged part is reported, once, and
  /// counts as absent. Throws Error (bad_data) if it cannot be read, and Error (mismatch) if it is intact but has
  /// another identity or has something that the study does not have.
  std::optional<PartContents> load(const PlannedSetting& planned, const Part& part);

  /// Whether results are read merely to be shown (`show`, `compare`, `report`); lanes and replications that the study
  /// lacks are then skipped.
  bool is_shown = false;

  /// The names of the lanes in the part; none if it does not exist or is damaged.
  std::vector<std::string> lanes_of(const PlannedSetting& planned, const Part& part) const;

  /// Throws Error (mismatch) for parts that are not among `parts`.
  void require_among(const std::vector<Part>& parts) const;

  /// Writes the part's file. Thread-safe. Throws Error (output_lost).
  void store(const PlannedSetting& planned, const Part& part, const std::vector<UnitResult>& results);

  /// Writes a file of results. If an earlier run left one of that name with other contents, that one is reported as
  /// damaged.
  void write(const std::string& name, const std::string& contents);

  /// Removes files that will be written anew with other contents.
  void forget(std::initializer_list<const char*> names);

  /// Whether the existing results were made for a smaller study.
  bool grows() const { return grows_; }

  /// Whether the identity of the existing parts is unknown, because the manifest that states it was damaged.
  bool unknown() const { return unknown_; }

  /// Removes the report of the results before they grew.
  void forget_report();

  /// Writes checksums.sha256 over all files from write(), in the format of sha256sum.
  void write_checksums();

  /// The manifest as it was read.
  const nlohmann::json& manifest() const { return manifest_; }

  /// The sessions that earlier processes recorded in the manifest.
  const nlohmann::json& sessions() const { return sessions_; }

  /// Adds a session that another folder recorded.
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
  bool whole_ = false;  // complete when it was opened: a file with other contents is then damaged
  std::map<std::string, std::string> written_;  // name and sha256
  std::set<std::string> reported_;
};

/// Whether numbers.json, report.json or report.html in the folder was made by `pandora report`.
bool holds_report(const std::filesystem::path& folder);

}  // namespace pandora
