#include "host/cascades/serving/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "host/ground/files/output_folder.hpp"
#include "pandora/error.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;

constexpr const char* kElsewhere = "name another folder";

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
  throw Error(ExitCode::output_lost, path.string() + ": " + what + " (" + std::strerror(errno) + ")");
}

// The N of cascade-N.json or calls-N.jsonl; nothing for another file.
bool count_of(const fs::path& path, const std::string& begin, const std::string& end, std::uint64_t& count) {
  const std::string name = path.filename().string();
  if (!name.starts_with(begin) || !name.ends_with(end) || name.size() <= begin.size() + end.size()) return false;
  const std::string digits = name.substr(begin.size(), name.size() - begin.size() - end.size());
  if (digits.find_first_not_of("0123456789") != std::string::npos || digits.size() > 18) return false;
  count = std::stoull(digits);
  return true;
}

bool calls_count(const fs::path& path, std::uint64_t& count) {
  return count_of(path, "calls-", ".jsonl", count);
}

bool snapshot_count(const fs::path& path, std::uint64_t& count) {
  return count_of(path, "cascade-", ".json", count);
}

fs::path snapshot_after(const fs::path& folder, std::uint64_t count) {
  return folder / ("cascade-" + std::to_string(count) + ".json");
}

fs::path calls_after(const fs::path& folder, std::uint64_t count) {
  return folder / ("calls-" + std::to_string(count) + ".jsonl");
}

// A descriptor that is closed with its last owner; nothing for -1.
std::shared_ptr<const int> owned(int file) {
  if (file < 0) return nullptr;
  return {new int(file), [](const int* which) {
            ::close(*which);
            delete which;
          }};
}

// False, with errno, where it cannot be written.
bool write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

// The first line of a file of calls: of what depends on the object that made them.
std::string first_line(Cascade& cascade) {
  return fmt::format("{{\"op\":\"epoch\",\"epoch\":{},\"beside\":{}}}\n", cascade.epoch(), cascade.is_beside());
}

}  // namespace

Journal::Journal(const fs::path& folder, const fs::path& given) : folder_(folder), given_(given) {
  std::error_code problem;
  fs::create_directories(folder_, problem);
  lock_ = owned(open_own_file(folder_ / "lock", kElsewhere));
  if (lock_ == nullptr) fail(folder_, "cannot be used");
  if (::flock(*lock_, LOCK_EX | LOCK_NB) != 0) {
    char text[32] = {};
    const ssize_t size = ::pread(*lock_, text, sizeof text, 0);
    const std::string_view said(text, size > 0 ? static_cast<std::size_t>(size) : 0),
        holder = said.substr(0, said.find('\n'));
    throw Error(ExitCode::usage,
                fmt::format("{}: another store uses it, of process {}; end that one, or name another folder",
                            folder_.string(), holder.empty() ? "unknown" : holder));
  }
  require_own_calls();
  const std::string own = std::to_string(::getpid()) + "\n";
  if (::ftruncate(*lock_, 0) == 0) (void)write_all(*lock_, own);  // for whoever is refused
  for (const auto& entry : fs::directory_iterator(folder_))
    if (std::uint64_t count = 0; snapshot_count(entry.path(), count) && (snapshot_.empty() || count >= done_)) {
      snapshot_ = entry.path();
      done_ = count;
    }
  first_ = written_ = done_;
  if (resumes()) return;
  for (const auto& entry : fs::directory_iterator(folder_))
    if (std::uint64_t count = 0; calls_count(entry.path(), count))
      throw Error(ExitCode::bad_data,
                  fmt::format("{}: has calls and no cascade that they were made on; bring cascade-{}.json back, or "
                              "name another folder",
                              folder_.string(), count));
}

// Before any is read: a pipe would be waited for, and what a link names would be cut.
void Journal::require_own_calls() const {
  for (const auto& entry : fs::directory_iterator(folder_))
    if (std::uint64_t count = 0; calls_count(entry.path(), count)) require_own_file(entry.path(), kElsewhere);
}

// Its owner alone may read it.
void Journal::write_snapshot(const fs::path& path, const std::string& text) const {
  try {
    write_file(path, text, kElsewhere, Readers::owner);
  } catch (const Error& error) {
    if (error.code() != ExitCode::output_lost) throw;
    const std::string what = error.what();
    throw Error(ExitCode::output_lost, what.substr(0, what.find("; ")) + "; make room in the store's folder");
  }
}

// A file for the lines after `first`, which begins with this one; nothing, with errno, where that is not possible.
std::shared_ptr<const int> Journal::opened(std::uint64_t first, const std::string& line) const {
  const fs::path path = calls_after(folder_, first);
  std::shared_ptr<const int> out = owned(open_own_file(path, kElsewhere));
  if (out == nullptr || (::ftruncate(*out, 0) == 0 && write_all(*out, line))) return out;
  const int reason = errno;
  std::error_code ignored;
  fs::remove(path, ignored);
  errno = reason;
  return nullptr;
}

void Journal::replay(const Call& call) {
  std::string refused;
  for (bool more = resumes(); more;) {
    const fs::path path = calls_after(folder_, first_);
    std::ifstream in(path, std::ios::binary);
    length_ = 0;
    for (std::string line; std::getline(in, line) && !in.eof();) {  // a line without its end was cut off
      if (!refused.empty())
        throw Error(ExitCode::bad_data, fmt::format("{}: line {} cannot be made again ({}); it is not of this snapshot",
                                                    path.string(), written_ - first_ + 1, refused));
      try {
        call(line);
        ++written_;
        length_ += static_cast<std::int64_t>(line.size()) + 1;
      } catch (const Error& error) {
        refused = error.what();
      }
    }
    in.close();
    more = written_ > first_ && fs::exists(calls_after(folder_, written_));
    if (more) first_ = written_;
  }
  std::error_code problem;
  const fs::path path = calls_after(folder_, first_);
  if (!fs::exists(path, problem)) return;
  const std::shared_ptr<const int> file = owned(open_own_file(path, kElsewhere));
  if (file == nullptr || ::ftruncate(*file, length_) != 0) fail(path, "cannot be written");
}

// What was before goes when the new snapshot is whole, can be loaded, and has a file for its calls.
void Journal::start(Cascade& cascade) {
  const fs::path snapshot = snapshot_after(folder_, written_);
  const bool is_same = snapshot == snapshot_;  // nothing has happened but a start, under another epoch
  require_own_file(calls_after(folder_, written_), kElsewhere);
  if (!is_same) {
    const std::string text = cascade.text();
    try {
      (void)Cascade::parse(text, snapshot.string());
    } catch (const Error& error) {
      throw Error(ExitCode::output_lost, error.marked());
    }
    write_snapshot(snapshot, text);
  }
  const std::string line = first_line(cascade);
  const std::shared_ptr<const int> calls = opened(written_, line);
  if (calls == nullptr || ::fdatasync(*calls) != 0) {
    const int reason = errno;
    std::error_code ignored;
    if (!is_same) fs::remove(snapshot, ignored);
    errno = reason;
    fail(calls_after(folder_, written_), "cannot be written; make room in the store's folder");
  }
  calls_ = calls;
  snapshot_ = snapshot, first_ = done_ = written_, ++written_;
  length_ = static_cast<std::int64_t>(line.size());
  remove_older();
}

// Snapshots and calls of before, and what a kill left of files that were to become such.
void Journal::remove_older() const {
  std::error_code ignored;
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename().string();
    const fs::path whole = name.substr(0, name.find(".tmp."));
    std::uint64_t count = 0;
    if ((snapshot_count(whole, count) || calls_count(whole, count)) &&
        (count < done_ || count > first_ || whole.string() != name) && !fs::equivalent(entry.path(), given_, ignored))
      old.push_back(entry.path());
  }
  for (const fs::path& file : old) fs::remove(file, ignored);
}

void Journal::write(const std::string& line, bool on_disk) {
  const std::string whole = line + '\n';
  const fs::path path = calls_after(folder_, first_);
  if (cut_is_due_ && ::ftruncate(*calls_, length_) != 0) fail(path, "cannot be cut");
  cut_is_due_ = false;
  struct ::stat there {};
  if (::fstat(*calls_, &there) == 0 && there.st_nlink == 0) {
    errno = ENOENT;
    fail(path, "is gone");
  }
  if (!write_all(*calls_, whole) || (on_disk && ::fdatasync(*calls_) != 0)) {
    const int reason = errno;
    cut_is_due_ = ::ftruncate(*calls_, length_) != 0;
    errno = reason;
    fail(path, "cannot be written; make room in the store's folder and call again");
  }
  before_ = length_;
  length_ += static_cast<std::int64_t>(whole.size());
  ++written_;
  unsynced_ = !on_disk;
}

void Journal::take_back() noexcept {
  length_ = before_;
  cut_is_due_ = ::ftruncate(*calls_, length_) != 0;
  --written_;
}

Journal::Piece Journal::cut(Cascade& cascade) {
  const fs::path path = calls_after(folder_, first_);
  if (cut_is_due_ && ::ftruncate(*calls_, length_) != 0) fail(path, "cannot be cut");
  cut_is_due_ = false;
  Piece out{snapshot_, {}, written_};
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder_, problem))
    if (std::uint64_t count = 0; calls_count(entry.path(), count) && count >= done_ && count <= first_)
      out.calls.push_back(calls_after(folder_, count));
  if (problem) {  // lines that are not found would be lost with the files of before
    errno = problem.value();
    fail(folder_, "cannot be read");
  }
  const std::string line = first_line(cascade);
  const auto number = [](const fs::path& file) {
    std::uint64_t count = 0;
    (void)calls_count(file, count);
    return count;
  };
  std::ranges::sort(out.calls, {}, number);
  const std::shared_ptr<const int> calls = opened(written_, line);
  if (calls == nullptr) fail(calls_after(folder_, written_), "cannot be written; make room in the store's folder");
  calls_ = calls;
  first_ = written_++;
  length_ = before_ = static_cast<std::int64_t>(line.size());
  unsynced_ = true;
  return out;
}

void Journal::save(const Piece& piece, const Cascade& cascade) const {
  for (const fs::path& path : piece.calls) {
    const std::shared_ptr<const int> file = owned(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (file == nullptr || ::fdatasync(*file) != 0) fail(path, "cannot be brought to the disk");
  }
  write_snapshot(snapshot_after(folder_, piece.end), cascade.text());
}

void Journal::follow(const Piece& piece) {
  snapshot_ = snapshot_after(folder_, piece.end);
  done_ = piece.end;
  remove_older();
}

}  // namespace pandora
