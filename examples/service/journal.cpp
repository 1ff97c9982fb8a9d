#include "journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <vector>

#include "pandora/error.hpp"

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kCallsOfASnapshot = 100'000, kCallsUntilAgain = 1'000;
constexpr auto kAtMost = std::chrono::milliseconds(500);

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
  throw std::runtime_error(path.string() + ": " + what + " (" + std::strerror(errno) + ")");
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

bool snapshot_count(const fs::path& path, std::uint64_t& count) {
  return count_of(path, "cascade-", ".json", count);
}

fs::path snapshot_after(const fs::path& folder, std::uint64_t count) {
  return folder / ("cascade-" + std::to_string(count) + ".json");
}

fs::path calls_after(const fs::path& folder, std::uint64_t count) {
  return folder / ("calls-" + std::to_string(count) + ".jsonl");
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

}  // namespace

Journal::Journal(const fs::path& folder, const fs::path& given) : folder_(folder), given_(given) {
  fs::create_directories(folder_);
  lock_ = ::open((folder_ / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) fail(folder_, "cannot be used");
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) fail(folder_, "another service uses it");
  for (const auto& entry : fs::directory_iterator(folder_))
    if (std::uint64_t count = 0; snapshot_count(entry.path(), count) && (snapshot_.empty() || count >= done_)) {
      snapshot_ = entry.path();
      done_ = count;
    }
}

Journal::~Journal() {
  if (calls_ >= 0) ::close(calls_);
  if (lock_ >= 0) ::close(lock_);
}

int Journal::open_calls(const fs::path& path, int flags) const {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | flags, 0666);
}

void Journal::replay(const Call& call) {
  if (!resumes()) return;
  const fs::path path = calls_after(folder_, done_);
  std::ifstream in(path, std::ios::binary);
  std::uint64_t lines = 0;
  std::string refused;
  for (std::string line; std::getline(in, line) && !in.eof();) {  // a line without its end was cut off
    if (!refused.empty())
      throw std::runtime_error(path.string() + ": line " + std::to_string(lines + 1) + " cannot be made again (" +
                               refused + "); it is not of this snapshot");
    try {
      call(line);
      ++lines;
      length_ += static_cast<std::int64_t>(line.size()) + 1;
    } catch (const pandora::Error& error) {
      refused = error.what();
    }
  }
  in.close();
  calls_ = open_calls(path, 0);
  if (calls_ < 0 || ::ftruncate(calls_, length_) != 0) fail(path, "cannot be written");
  since_snapshot_ = lines;
}

// What was before goes when the new snapshot is whole, can be loaded, and has a file for its calls.
void Journal::start(pandora::Cascade& cascade) {
  const std::uint64_t done = done_ + since_snapshot_;
  const fs::path snapshot = snapshot_after(folder_, done), path = calls_after(folder_, done);
  next_snapshot_ = since_snapshot_ + kCallsUntilAgain;  // if this one fails
  const std::string epoch = "{\"op\":\"epoch\",\"epoch\":" + std::to_string(cascade.epoch()) + "}\n";
  if (snapshot == snapshot_) {  // nothing has happened but a start, under another epoch
    if (calls_ < 0 || !write_all(calls_, epoch) || ::fdatasync(calls_) != 0) fail(path, "cannot be written");
    ++since_snapshot_, length_ += static_cast<std::int64_t>(epoch.size());
    next_snapshot_ = kCallsOfASnapshot;
    return;
  }
  try {
    (void)pandora::Cascade::parse(cascade.text(), snapshot.string());
    cascade.save(snapshot);
  } catch (const pandora::Error& error) {
    const std::string what = error.what();
    throw std::runtime_error(what.substr(0, what.find("; ")) + "; make room in the service's folder");
  }
  const int calls = open_calls(path, O_EXCL);
  if (calls < 0 || !write_all(calls, epoch) || ::fdatasync(calls) != 0) {
    const int reason = errno;
    std::error_code ignored;
    fs::remove(snapshot, ignored);
    if (calls >= 0) ::close(calls), fs::remove(path, ignored);
    errno = reason;
    fail(path, "cannot be written; make room in the service's folder");
  }
  if (calls_ >= 0) ::close(calls_);
  calls_ = calls;
  snapshot_ = snapshot, done_ = done;
  since_snapshot_ = 1, next_snapshot_ = kCallsOfASnapshot;
  length_ = static_cast<std::int64_t>(epoch.size());
  unsynced_ = false;
  remove_older();
}

// Snapshots and calls of before, and what a kill left of files that were to become such.
void Journal::remove_older() const {
  std::error_code ignored;
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    const fs::path whole = name.substr(0, name.find(".tmp."));
    std::uint64_t count = 0;
    if ((snapshot_count(whole, count) || count_of(whole, "calls-", ".jsonl", count)) &&
        (count < done_ || whole.string() != name) && !fs::equivalent(entry.path(), given_, ignored))
      old.push_back(entry.path());
  }
  for (const fs::path& file : old) fs::remove(file, ignored);
}

void Journal::write(const std::string& line) {
  const std::string whole = line + '\n';
  if (cut_is_due_ && ::ftruncate(calls_, length_) != 0) fail(calls_after(folder_, done_), "cannot be cut");
  cut_is_due_ = false;
  if (!write_all(calls_, whole)) {
    const int reason = errno;
    cut_is_due_ = ::ftruncate(calls_, length_) != 0;
    errno = reason;
    fail(calls_after(folder_, done_), "cannot be written; make room in the service's folder and call again");
  }
  before_ = length_;
  length_ += static_cast<std::int64_t>(whole.size());
  ++since_snapshot_;
  unsynced_ = true;
}

void Journal::take_back() noexcept {
  length_ = before_;
  cut_is_due_ = ::ftruncate(calls_, length_) != 0;
  --since_snapshot_;
}

void Journal::sync_in_time() {
  if (!unsynced_ || std::chrono::steady_clock::now() - synced_ < kAtMost) return;
  synced_ = std::chrono::steady_clock::now();
  unsynced_ = ::fdatasync(calls_) != 0;
  if (unsynced_)
    std::cerr << "cascade-service: " << calls_after(folder_, done_).string() << ": is not on the disk yet ("
              << std::strerror(errno) << ")\n";
}
