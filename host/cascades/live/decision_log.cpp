#include "host/cascades/live/decision_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "host/cascades/live/cascade_state.hpp"
#include "host/ground/files/temporary_file.hpp"

namespace pandora {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegin = "decisions-", kEnd = ".jsonl";
constexpr std::size_t kDigits = 9;

fs::path file_of(const fs::path& folder, std::uint64_t number) {
  return folder / fmt::format("{}{:0{}}{}", kBegin, number, kDigits, kEnd);
}

// Those that are there, the oldest first.
std::vector<std::uint64_t> numbers_in(const fs::path& folder) {
  std::vector<std::uint64_t> out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.size() != kBegin.size() + kDigits + kEnd.size() || !name.starts_with(kBegin) || !name.ends_with(kEnd))
      continue;
    const std::string digits = name.substr(kBegin.size(), kDigits);
    if (digits.find_first_not_of("0123456789") == std::string::npos) out.push_back(std::stoull(digits));
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

nlohmann::json prompt_json(const Prompt& prompt) {
  nlohmann::json out = nlohmann::json::object();
  if (!prompt.text.empty()) out["prompt"] = prompt.text;
  for (const auto& column : prompt.columns)
    std::visit(
        [&]<class T>(const T& known) {
          if constexpr (std::is_same_v<T, std::monostate>)
            out["columns"][column.first] = nullptr;
          else
            out["columns"][column.first] = known;
        },
        column.second);
  return out;
}

double time_of_day() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

DecisionLog::DecisionLog(const DecisionLogOptions& options) : options_(options) {
  if (options_.file_bytes == 0 || options_.most_bytes < options_.file_bytes)
    throw refusal("a decision log of {} bytes in files of {}: give files of at least 1, and no more than all have",
                  options_.most_bytes, options_.file_bytes);
  std::error_code problem;
  fs::create_directories(options_.folder, problem);
  if (problem || ::access(options_.folder.c_str(), W_OK) != 0)
    throw Error(ExitCode::output_lost,
                fmt::format("{}: cannot keep a decision log ({}); log to another folder", options_.folder.string(),
                            problem ? problem.message() : std::generic_category().message(errno)));
}

DecisionLog::~DecisionLog() {
  if (file_ >= 0) ::close(file_);
}

bool DecisionLog::open_next() {
  if (file_ >= 0) ::close(file_);
  length_ = 0;
  forks_ = forks_before();
  const std::vector<std::uint64_t> there = numbers_in(options_.folder);
  for (std::uint64_t number = there.empty() ? 1 : there.back() + 1;; ++number) {
    file_ = ::open(file_of(options_.folder, number).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (file_ >= 0) break;
    if (errno != EEXIST) return false;
  }
  make_private(file_);
  remove_oldest();
  return true;
}

// So that all files and the one that is begun have room.
void DecisionLog::remove_oldest() const {
  std::error_code ignored;
  const std::vector<std::uint64_t> there = numbers_in(options_.folder);
  std::uint64_t bytes = options_.file_bytes;
  for (auto number = there.rbegin(); number != there.rend(); ++number) {
    const fs::path path = file_of(options_.folder, *number);
    const std::uintmax_t size = fs::file_size(path, ignored);
    if (!ignored) bytes += size;
    if (bytes > options_.most_bytes) fs::remove(path, ignored);
  }
}

bool DecisionLog::write(const nlohmann::json& line) noexcept try {
  const std::string text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  // A forked child has files of its own.
  if ((file_ < 0 || length_ >= options_.file_bytes || forks_ != forks_before()) && !open_next()) return false;
  ssize_t written = 0;
  do written = ::write(file_, text.data(), text.size());
  while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(text.size())) {
    length_ += text.size();
    return true;
  }
  if (written > 0 && ::ftruncate(file_, static_cast<off_t>(length_)) != 0) {  // half a line ends its file
    ::close(file_);
    file_ = -1;
  }
  return false;
} catch (...) {
  return false;
}

}  // namespace pandora
