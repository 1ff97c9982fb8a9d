// A folder of results: who owns it, what is read from it, and how files are written to it.
#include "host/studies/results/result_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <string_view>

#include "host/ground/base/fail.hpp"
#include "host/ground/files/input_file.hpp"
#include "host/ground/files/output_folder.hpp"
#include "host/ground/files/sealed_file.hpp"
#include "host/ground/files/temporary_file.hpp"

namespace pandora {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

constexpr const char* kKind = "part";
constexpr const char* kManifest = "manifest.json";
constexpr const char* kChecksums = "checksums.sha256";
constexpr int kFormat = 2;  // of parts and manifest; format 1 named lanes by their numbers
// The kind of half-widths in the tables. Folders without this entry have 1.96 standard errors, and no standard errors
// beside them.
constexpr const char* kHalfWidths = "95%, Student's t";

// The files that are made from the parts when all are there.
constexpr const char* kResults[] = {kChecksums,  "summary.csv", "oracle.csv", "oracle_order.csv", "curves.csv",
                                    "boxes.csv", "choices.csv", "depth.csv",  "failures.csv",     "results.h5"};

constexpr std::uint64_t kMostManifest = std::uint64_t{64} << 20;

// The folders inside, and their files: decisions/ has one for each replication.
struct Inside {
  const char *name, *extension;
};
constexpr Inside kFolders[] = {{"parts", ".part"}, {"decisions", ".h5"}};

bool is_folder(const std::string& name) {
  return std::ranges::count(kFolders, name, &Inside::name) > 0;
}

// Whether the program writes files of this name in the folder, or tests with them whether it can write.
bool is_own_temporary(const std::string& name) {
  const std::optional<std::string> target = target_of_temporary(name);
  return target && (target->empty() || ResultFolder::writes(*target));
}

[[noreturn]] void refuse_unreadable(const fs::path& path, const std::string& reason) {
  fail(ExitCode::bad_data, "{}: {}; make it readable, or remove it", path.string(), reason);
}

std::vector<fs::path> found_in(const fs::path& folder) {
  try {
    return entries_of(folder);
  } catch (const Unreadable& problem) {
    refuse_unreadable(folder, problem.what());
  }
}

// Throws Damaged; or Error (bad_data) if it cannot be read, because it must not be replaced then.
json read_manifest(const fs::path& folder) {
  std::string text;
  try {
    text = read_file(folder / kManifest, kMostManifest);
  } catch (const Unreadable& problem) {
    if (problem.why == Unreadable::Why::absent) throw Damaged("is missing");
    if (problem.why == Unreadable::Why::large) throw Damaged("is too large for a manifest");
    refuse_unreadable(folder / kManifest, problem.what());
  }
  return parse_manifest(text);
}

bool begins_as_part(const fs::path& path) {
  constexpr std::string_view kBeginning = "pandora part";
  try {
    return path.extension() == ".part" && InputFile(path).read(kBeginning.size()) == kBeginning;
  } catch (const Unreadable& problem) {
    if (problem.why == Unreadable::Why::failed) refuse_unreadable(path, problem.what());
    return false;
  }
}

// Whether the folder holds nothing, or only what a run left that was killed before its first file was complete.
bool holds_leftovers_alone(const fs::path& folder) {
  const std::vector<fs::path> parts = found_in(folder / "parts"), entries = found_in(folder);
  const auto name_of = [](const fs::path& entry) { return entry.filename().string(); };
  return std::ranges::all_of(
             parts, [](const std::string& name) { return target_of_temporary(name).has_value(); }, name_of) &&
         std::ranges::all_of(
             entries, [](const auto& name) { return name == "parts" || is_own_temporary(name); }, name_of);
}

// Whether an earlier run of the program made this. Names alone prove nothing.
bool holds_results(const fs::path& folder) {
  try {
    (void)read_manifest(folder);
    return true;
  } catch (const Damaged&) {
  }
  return std::ranges::any_of(found_in(folder / "parts"), begins_as_part) || holds_leftovers_alone(folder);
}

// Otherwise the folder belongs to somebody else.
void require_empty(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error) && !found_in(path).empty())
    fail(ExitCode::usage, "{}: is not empty and holds no results of this program; name another folder",
         option("out", path));
}

[[noreturn]] void refuse_mismatch(const std::string& where, const std::vector<std::string>& found) {
  fail(ExitCode::mismatch,
       "{}: holds results that do not belong to this run: {}; run with the same, name another {}, or replace them "
       "with {}",
       where, fmt::join(found, "; "), option("out"), option("force"));
}

}  // namespace

bool ResultFolder::writes(const std::string& name) {
  return is_folder(name) || name == "study.toml" || name == kManifest || std::ranges::count(kResults, name) > 0;
}

ResultFolder::ResultFolder(fs::path path, Identity identity, DamageNote note)
    : path_(std::move(path)), identity_(std::move(identity)), note_(std::move(note)) {}

ResultFolder ResultFolder::open(const std::string& path, Mode mode, const Identity& identity, DamageNote note) {
  std::error_code error;
  const bool found = mode != Mode::fresh && fs::is_directory(path, error) && holds_results(path);
  const bool adds = mode == Mode::resume || mode == Mode::extend;
  if (adds && !found) require_empty(path);
  for (const Inside& inside : kFolders)
    if (fs::is_symlink(fs::path(path) / inside.name, error))
      fail(ExitCode::usage, "{}: its folder {} is a link; name another folder", option("out", path), inside.name);
  ResultFolder folder(claim_output_folder(path, mode == Mode::replace || found), identity, std::move(note));
  std::optional<FolderLock> lock = FolderLock::take(folder.path_);
  if (!lock)
    fail(ExitCode::usage, "{}: another process is writing there; wait for it, or name another folder",
         option("out", folder.path_.string()));
  folder.lock_ = std::move(*lock);
  // Nobody else is writing here now. A new folder may hold the file with which writing was tested.
  remove_leftovers(folder.path_, Others::none,
                   [](const std::string& target) { return target.empty() || ResultFolder::writes(target); });
  for (const Inside& inside : kFolders)
    remove_leftovers(folder.path_ / inside.name, Others::none,
                     [&](const std::string& target) { return target.ends_with(inside.extension); });
  if (mode == Mode::replace) folder.remove_results();
  if (adds && found) folder.check_manifest(mode);
  fs::create_directories(folder.path_ / "parts", error);
  if (error)
    fail(ExitCode::usage, "{}: cannot be created ({}); name a writable folder with {}",
         (folder.path_ / "parts").string(), error.message(), option("out"));
  return folder;
}

ResultFolder ResultFolder::look(const std::string& path, Mode mode, const Identity& identity, DamageNote note) {
  ResultFolder folder(path, identity, std::move(note));
  std::error_code error;
  if (fs::is_directory(path, error) && holds_results(path))
    folder.check_manifest(mode);
  else
    require_empty(path);
  return folder;
}

ResultFolder ResultFolder::read(const std::string& path, DamageNote note) {
  const std::string file = (fs::path(path) / kManifest).string();
  std::error_code ignored;
  if (!fs::exists(file, ignored))
    fail(ExitCode::bad_data, "{}: holds no results (it has no {}); name a folder that `run` wrote", path, kManifest);
  try {
    json manifest = read_manifest(path);
    if (manifest.value("format", json()) != kFormat)
      fail(
          ExitCode::bad_data,
          "{}: was written by another version of the program (format {}, this one reads {}); read it with that one, or "
          "run the study again",
          file, manifest.value("format", json(1)).dump(), kFormat);
    ResultFolder folder(path, identity_in(manifest), std::move(note));
    folder.sessions_ = manifest.value("sessions", json::array());
    folder.manifest_ = std::move(manifest);
    return folder;
  } catch (const Damaged& damage) {
    fail(ExitCode::bad_data, "{}: {}; run it again with {}", file, damage.what(), option("resume"));
  }
}

bool ResultFolder::is_unfinished(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return false;
  try {
    return read_manifest(path).value("state", json()) != "complete";
  } catch (const Damaged&) {
    return holds_leftovers_alone(path);
  }
}

void ResultFolder::remove_results() {
  auto remove = [error = std::error_code()](const fs::path& file) mutable {
    if (fs::is_directory(fs::symlink_status(file, error))) return;  // not one of our files; writing is refused
    fs::remove(file, error);
    if (error)
      fail(ExitCode::output_lost, "{}: could not be removed ({}); remove it, or name another {}", file.string(),
           error.message(), option("out"));
  };
  for (const Inside& inside : kFolders)
    for (const fs::path& entry : found_in(path_ / inside.name))
      if (entry.extension() == inside.extension) remove(entry);
  for (const fs::path& entry : found_in(path_))
    if (const std::string name = entry.filename().string(); writes(name) && !is_folder(name)) remove(entry);
}

void ResultFolder::check_manifest(Mode mode) {
  std::error_code error;
  if (found_in(path_ / "parts").empty() && !fs::exists(path_ / kManifest, error)) return;  // killed before it wrote any
  json manifest;
  try {
    manifest = read_manifest(path_);
  } catch (const Damaged& damage) {
    // Then each part alone says to which study it belongs.
    note_(fmt::format("{}: {}; written again", (path_ / kManifest).string(), damage.what()));
    unknown_ = true;
    return;
  }
  const Identity there = identity_in(manifest);
  const std::vector<std::string> found =
      mode == Mode::extend ? differences_of_fixed(there, identity_) : differences(there, identity_);
  if (!found.empty()) refuse_mismatch(path_.string(), found);
  if (const auto had = there.find("study.replications"); mode == Mode::extend && had != there.end())
    if (const std::string& has = identity_.at("study.replications");
        std::strtoll(had->second.c_str(), nullptr, 10) > std::strtoll(has.c_str(), nullptr, 10))
      fail(ExitCode::mismatch,
           "{}: {} replications there, {} here: results can grow but not shrink; give {} or more, or another {}",
           path_.string(), had->second, has, option("replications", had->second), option("out"));
  grows_ = there != identity_;
  whole_ = !grows_ && manifest.value("state", json()) == "complete";
  sessions_ = manifest.value("sessions", json::array());
}

std::vector<std::string> ResultFolder::lanes_of(const PlannedSetting& planned, const Part& part) const {
  try {
    return lanes_in(read_sealed(kKind, path_ / "parts" / part.name, most_part_bytes(planned, part)));
  } catch (const Unreadable&) {  // load() reports the problem
  } catch (const Damaged&) {
  }
  return {};
}

std::optional<PartContents> ResultFolder::load(const PlannedSetting& planned, const Part& part) {
  const fs::path file = path_ / "parts" / part.name;
  try {
    const json content = read_sealed(kKind, file, most_part_bytes(planned, part));
    const std::vector<std::string> found = differences_of_fixed(identity_in(content), identity_);
    if (!found.empty()) refuse_mismatch(file.string(), found);
    return part_contents(planned, part, content, is_shown);
  } catch (const Unreadable& problem) {
    if (problem.why == Unreadable::Why::absent) return {};
    refuse_unreadable(file, problem.what());
  } catch (const Error& error) {
    if (std::string(error.what()).starts_with(file.string())) throw;
    fail(error.code(), "{}: {}", file.string(), error.marked());
  } catch (const Damaged& damage) {
    if (reported_.insert(part.name).second) note_(fmt::format("{}: {}", file.string(), damage.what()));
    return {};
  }
}

void ResultFolder::store(const PlannedSetting& planned, const Part& part, const std::vector<UnitResult>& results) {
  write_file(path_ / "parts" / part.name, seal(kKind, part_content(planned, part, fixed_part(identity_), results)));
}

void ResultFolder::forget(std::initializer_list<const char*> names) {
  std::error_code ignored;  // a file that stays will be found to differ
  for (const char* name : names) fs::remove(path_ / name, ignored);
}

void ResultFolder::forget_report() {
  if (holds_report(path_ / "report"))  // from the earlier results
    forget({"report/report.html", "report/report.tex", "report/report.json", "report/numbers.json"});
}

bool holds_report(const fs::path& folder) {
  const auto begins_with = [&](const char* name, const char* part) {
    try {
      return InputFile(folder / name).read(1000).find(part) != std::string::npos;
    } catch (const Unreadable&) {
      return false;  // then it is not replaced
    }
  };
  return begins_with("numbers.json", "\"generator\":\"pandora numbers 1\"") ||
         begins_with("report.json", "\"generator\": \"pandora report 1\"") ||
         begins_with("report.html", "<meta name=\"generator\" content=\"pandora\">");
}

void ResultFolder::require_among(const std::vector<Part>& parts) const {
  std::set<std::string> names;
  for (const Part& part : parts) names.insert(part.name);
  for (const fs::path& entry : found_in(path_ / "parts"))
    if (const std::string name = entry.filename().string(); entry.extension() == ".part" && !names.count(name))
      fail(ExitCode::mismatch,
           "{}: is of an environment, regime or replication that the study does not have: results can grow but not "
           "shrink; name it too, or another {}",
           entry.string(), option("out"));
}

void ResultFolder::write(const std::string& name, const std::string& contents) {
  const fs::path file = path_ / name;
  written_[name] = sha256(contents);
  std::error_code error;  // what is missing then, write_file tells
  fs::create_directories(file.parent_path(), error);
  require_replaceable(file);
  bool there = true;
  try {
    if (read_file(file, contents.size()) == contents) return;
  } catch (const Unreadable& problem) {
    if (problem.why == Unreadable::Why::failed) refuse_unreadable(file, problem.what());
    there = problem.why != Unreadable::Why::absent;
  }
  if (there && whole_) note_(fmt::format("{}: differs from the expected contents; written again", file.string()));
  write_file(file, contents);
}

void ResultFolder::write_checksums() {
  std::string text;
  for (const auto& [name, digest] : written_) text += fmt::format("{}  {}\n", digest, name);
  write(kChecksums, text);
}

void ResultFolder::write_manifest(json manifest) {
  manifest["format"] = kFormat;
  manifest["half_widths"] = kHalfWidths;
  manifest["identity"] = identity_;
  manifest["sessions"] = sessions_;
  manifest["sessions"].push_back(manifest["session"]);
  manifest.erase("session");
  write_file(path_ / kManifest, manifest_text(std::move(manifest)));
}

}  // namespace pandora
