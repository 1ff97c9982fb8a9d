#include "pandora/store.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "host/cascades/serving/calls.hpp"
#include "host/cascades/serving/journal.hpp"
#include "pandora/error.hpp"

namespace pandora {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

struct Store::State {
  explicit State(const StoreOptions& given);
  ~State();

  std::string call(const std::string& line);
  void save();

  const StoreOptions options;
  const ::pid_t process = ::getpid();
  Journal journal;
  bool resumed = false;
  std::uint64_t again = 0;
  Cascade cascade;

 private:
  Cascade first() const;
  std::uint64_t replay(Cascade& into, const std::string& line) const;
  Json made(const Json& call);
  void take_note(const Json& call, const Json& answer);
  void work();
  void sync();
  void cancel_old();
  void require_own_process() const;

  std::mutex mutex_;                                 // of journal and cascade together: calls are made in its order
  std::map<std::uint64_t, Clock::time_point> open_;  // requests, and when they were asked for last
  std::mutex saving_;                                // one snapshot at a time
  std::mutex working_;
  std::condition_variable wake_;
  bool ends_ = false;
  std::jthread worker_;
};

namespace {

// What a line of the journal does; whether it is a call.
bool make_again(Cascade& cascade, const std::string& line) {
  const Json call = parse_call(line);
  if (call["op"] != "epoch") {
    (void)make_call(cascade, call);
    return true;
  }
  cascade.set_epoch(call.value("epoch", std::uint64_t{0}));
  return false;
}

}  // namespace

Store::State::State(const StoreOptions& given)
    : options(given), journal(given.folder, given.cascade), resumed(journal.resumes()), cascade(first()) {
  if (!(options.sync_seconds >= 0.0 && options.timeout_seconds >= 0.0) || options.calls_of_a_snapshot == 0)
    throw Error(ExitCode::usage, "store: seconds must not be negative, and a snapshot has at least one call");
  const std::uint64_t epoch = cascade.epoch();  // of this start
  cascade.set_epoch(0);                         // of calls of before there were any
  journal.replay([&](const std::string& line) { again += make_again(cascade, line) ? 1 : 0; });
  cascade.set_epoch(epoch);
  journal.start(cascade);
  for (const std::uint64_t request : cascade.open_requests()) open_[request] = Clock::now();
  if (options.decisions) cascade.log_to({.folder = options.folder / "decisions"});
  worker_ = std::jthread([this] { work(); });
}

Cascade Store::State::first() const {
  if (journal.resumes()) return Cascade::load(journal.snapshot());
  if (!options.text.empty()) return Cascade::parse(options.text, "the cascade");
  if (options.cascade.empty())
    throw Error(ExitCode::usage, options.folder.string() + ": holds no cascade; give one to begin with");
  return Cascade::load(options.cascade);
}

Store::State::~State() {
  if (::getpid() != process) {  // a forked child, which has no such thread
    worker_.detach();
    return;
  }
  {
    const std::lock_guard lock(working_);
    ends_ = true;
  }
  wake_.notify_all();
  if (worker_.joinable()) worker_.join();
  try {
    journal.start(cascade);
  } catch (const std::exception&) {  // calls stay beside the snapshot of before
  }
}

void Store::State::require_own_process() const {
  if (::getpid() != process)
    throw Error(ExitCode::usage,
                fmt::format("{}: is the store of process {}, of which this one was forked; send it your calls",
                            options.folder.string(), process));
}

std::string Store::State::call(const std::string& line) {
  require_own_process();
  const Json call = parse_call(line);
  Json answer;
  if (call["op"] == "save") {
    save();
    answer = Json::object();
  } else if (!changes(call)) {
    answer = make_call(cascade, call);
  } else {
    const std::lock_guard lock(mutex_);
    answer = made(call);
    take_note(call, answer);
    if (journal.since_snapshot() % options.calls_of_a_snapshot == 0) wake_.notify_all();
  }
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The call is in the journal before it is made. Whatever is thrown here leaves cascade and journal as they were.
Json Store::State::made(const Json& call) {
  journal.write(call.dump(-1, ' ', false, Json::error_handler_t::replace), options.sync_seconds == 0.0);
  try {
    return make_call(cascade, call);
  } catch (const std::bad_alloc&) {  // perhaps of an answer to what has happened: a start finds it in the journal
    throw;
  } catch (...) {
    journal.take_back();
    throw;
  }
}

void Store::State::take_note(const Json& call, const Json& answer) {
  if (!answer.contains("request")) return;
  const auto request = answer["request"].get<std::uint64_t>();
  if (call["op"] == "deploy" || call["op"] == "cancel")
    open_.erase(request);
  else if (call["op"] != "feedback")
    open_[request] = Clock::now();
  while (open_.size() > 2 * cascade.options().most_requests) open_.erase(open_.begin());  // dropped meanwhile
}

void Store::State::save() {
  const std::lock_guard one(saving_);
  Journal::Piece piece;
  {
    const std::lock_guard lock(mutex_);
    piece = journal.cut(cascade.epoch());
  }
  Cascade shadow = Cascade::load(piece.snapshot);
  shadow.set_epoch(0);
  for (const std::filesystem::path& path : piece.calls) {
    std::ifstream in(path, std::ios::binary);
    for (std::string line; std::getline(in, line);) (void)make_again(shadow, line);
  }
  journal.save(piece, shadow);
  const std::lock_guard lock(mutex_);
  journal.follow(piece);
}

void Store::State::sync() {
  std::shared_ptr<const int> file;
  {
    const std::lock_guard lock(mutex_);
    if (journal.unsynced()) file = journal.file();
  }
  if (file != nullptr) (void)::fdatasync(*file);
}

void Store::State::cancel_old() {
  const std::lock_guard lock(mutex_);
  const auto since = Clock::now() - std::chrono::duration<double>(options.timeout_seconds);
  for (auto one = open_.begin(); one != open_.end();) {
    const auto [request, asked] = *one++;
    if (asked > since) continue;
    open_.erase(request);
    try {
      (void)made({{"op", "cancel"}, {"request", request}});
    } catch (const Error&) {  // it is forgotten, or the disk is full
    }
  }
}

// What is done beside calls.
void Store::State::work() {
  const auto pause = std::chrono::duration<double>(options.sync_seconds > 0.0 ? options.sync_seconds / 2.0 : 1.0);
  std::uint64_t tried = 0;  // lines at the last snapshot that could not be made
  for (std::unique_lock lock(working_); !ends_;) {
    wake_.wait_for(lock, pause);
    if (ends_) break;
    lock.unlock();
    sync();
    if (options.timeout_seconds > 0.0) cancel_old();
    std::uint64_t lines = 0;
    {
      const std::lock_guard of_journal(mutex_);
      lines = journal.since_snapshot();
    }
    if (lines >= options.calls_of_a_snapshot && lines >= tried + options.calls_of_a_snapshot / 10) try {
        save();
        tried = 0;
      } catch (const Error&) {  // tried again later; calls are kept beside the snapshot of before
        tried = lines;
      }
    lock.lock();
  }
}

Store::Store(const StoreOptions& options) : state_(std::make_unique<State>(options)) {}
Store::~Store() = default;

std::string Store::call(const std::string& line) {
  return state_->call(line);
}

void Store::save() {
  state_->save();
}

bool Store::resumed() const {
  return state_->resumed;
}

std::uint64_t Store::calls_made_again() const {
  return state_->again;
}

std::string Store::caution() const {
  return state_->cascade.caution();
}

Cascade Store::cascade() const {
  return Cascade::parse(state_->cascade.text(), "the store's cascade");
}

}  // namespace pandora
