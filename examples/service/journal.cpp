#include "journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <vector>

namespace {

constexpr std::uint64_t kCallsOfASnapshot = 100'000;  // so that a start takes seconds at most
constexpr auto kAtMost = std::chrono::milliseconds(500);

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what) {
  throw std::runtime_error(path.string() + ": " + what + " (" + std::strerror(errno) + ")");
}

// The N of cascade-N.json; nothing for another file.
bool count_of(const std::filesystem::path& path, std::uint64_t& count) {
  const std::string name = path.filename().string(), begin = "cascade-", end = ".json";
  if (!name.starts_with(begin) || !name.ends_with(end) || name.size() <= begin.size() + end.size()) return false;
  const std::string digits = name.substr(begin.size(), name.size() - begin.size() - end.size());
  if (digits.find_first_not_of("0123456789") != std::string::npos || digits.size() > 18) return false;
  count = std::stoull(digits);
  return true;
}

std::filesystem::path calls_after(const std::filesystem::path& folder, std::uint64_t count) {
  return folder / ("calls-" + std::to_string(count) + ".jsonl");
}

}  // namespace

Journal::Journal(const std::filesystem::path& folder) : folder_(folder) {
  std::filesystem::create_directories(folder_);
  lock_ = ::open((folder_ / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) fail(folder_, "cannot be used");
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) fail(folder_, "another service uses it");
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    if (std::uint64_t count = 0; count_of(entry.path(), count) && (snapshot_.empty() || count >= done_)) {
      snapshot_ = entry.path();
      done_ = count;
    }
}

Journal::~Journal() {
  if (calls_ >= 0) ::close(calls_);
  if (lock_ >= 0) ::close(lock_);
}

std::uint64_t Journal::replay(const Call& call) {
  const std::filesystem::path path = calls_after(folder_, done_);
  std::ifstream in(path, std::ios::binary);
  std::uint64_t lines = 0, whole = 0;
  for (std::string line; std::getline(in, line) && !in.eof(); ++lines) {  // a line without its end was cut off
    call(line);
    whole += line.size() + 1;
  }
  in.close();
  if (std::filesystem::exists(path)) std::filesystem::resize_file(path, whole);
  since_snapshot_ = lines;
  return lines;
}

// The new snapshot is whole before anything of the old one goes.
void Journal::start(const pandora::Cascade& cascade) {
  if (calls_ >= 0) ::close(calls_);
  done_ += since_snapshot_;
  since_snapshot_ = 0;
  snapshot_ = folder_ / ("cascade-" + std::to_string(done_) + ".json");
  cascade.save(snapshot_);
  const std::filesystem::path path = calls_after(folder_, done_);
  calls_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (calls_ < 0) fail(path, "cannot be written");
  std::vector<std::filesystem::path> old;
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    if (entry.path() != snapshot_ && entry.path() != path && entry.path().filename() != "lock")
      old.push_back(entry.path());
  for (const std::filesystem::path& file : old) std::filesystem::remove(file);
  unsynced_ = false;
}

void Journal::write(const std::string& line, const pandora::Cascade& cascade) {
  const std::string whole = line + '\n';
  for (std::size_t done = 0; done < whole.size();) {
    const ssize_t written = ::write(calls_, whole.data() + done, whole.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(calls_after(folder_, done_), "cannot be written");
    done += static_cast<std::size_t>(written);
  }
  unsynced_ = true;
  if (++since_snapshot_ >= kCallsOfASnapshot)
    start(cascade);
  else
    sync_in_time();
}

void Journal::sync_in_time() {
  if (unsynced_ && std::chrono::steady_clock::now() - synced_ >= kAtMost) sync();
}

void Journal::sync() {
  if (unsynced_ && ::fdatasync(calls_) != 0) fail(calls_after(folder_, done_), "cannot be written");
  unsynced_ = false;
  synced_ = std::chrono::steady_clock::now();
}
