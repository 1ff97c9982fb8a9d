#include "pandora/store.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <exception>
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
  explicit State(const StoreOptions& asked);
  ~State();

  std::string call(const std::string& line);
  std::string text();
  void save();

  const StoreOptions options;
  const ::pid_t process = ::getpid();
  Journal journal;
  bool resumed = false;
  std::uint64_t again = 0;
  Cascade cascade;
  std::string note;  // passed_over()

 private:
  Cascade first() const;
  Cascade given() const;
  std::string passed_over() const;
  Json made(const Json& call, const std::string& line = "");
  void take_note(const Json& call, const Json& answer);
  void wake();
  void work();
  void sync();
  void cancel_old();
  bool learn();
  void snapshot_if_due(bool asked);
  bool snapshot();
  void require_own_process() const;

  std::mutex mutex_;                                 // of journal and cascade together: calls are made in its order
  std::map<std::uint64_t, Clock::time_point> open_;  // requests, and when they were asked for last
  const std::size_t most_open_ = 2 * cascade.options().most_requests;
  std::mutex working_;  // of what follows
  std::condition_variable wake_, snapped_;
  bool ends_ = false, awake_ = false, save_ = false;  // a snapshot is asked for
  std::uint64_t snapshots_ = 0;                       // that were tried, and what became of the last one
  std::exception_ptr failed_;
  std::exception_ptr unadopted_;  // why what was learned could not be adopted; of the worker
  std::uint64_t tried_ = 0;       // lines at the last one that could not be made
  std::jthread worker_;
};

namespace {

constexpr std::uint64_t kMostWaiting = 10'000;  // lessons; whoever tells more waits

// What a line of the journal does; whether it is a call.
bool make_again(Cascade& cascade, const std::string& line) {
  const Json call = parse_call(line);
  if (call["op"] != "epoch") {
    (void)make_call(cascade, call);
    return true;
  }
  cascade.set_epoch(call.value("epoch", std::uint64_t{0}));
  cascade.set_beside(call.value("beside", false));
  return false;
}

}  // namespace

Store::State::State(const StoreOptions& asked)
    : options(asked), journal(asked.folder, asked.cascade), resumed(journal.resumes()), cascade(first()) {
  if (!(options.sync_seconds >= 0.0 && options.timeout_seconds >= 0.0) || options.calls_of_a_snapshot == 0)
    throw Error(
        ExitCode::usage,
        fmt::format("store: sync_seconds {:g}, timeout_seconds {:g}, snapshots after {} calls: give 0, 0 and 1 or more",
                    options.sync_seconds, options.timeout_seconds, options.calls_of_a_snapshot));
  const std::uint64_t epoch = cascade.epoch();  // of this start
  cascade.set_epoch(0);                         // of calls of before there were any
  journal.replay([&](const std::string& line) { again += make_again(cascade, line) ? 1 : 0; });
  cascade.set_epoch(epoch);
  cascade.set_beside(options.beside);
  note = passed_over();
  journal.start(cascade);
  for (const std::uint64_t request : cascade.open_requests()) open_[request] = Clock::now();
  if (options.decisions) cascade.log_to({.folder = options.folder / "decisions", .prompts = options.prompts});
  worker_ = std::jthread([this] { work(); });
}

Cascade Store::State::first() const {
  if (journal.resumes()) return Cascade::load(journal.snapshot());
  if (options.text.empty() && options.cascade.empty())
    throw Error(ExitCode::usage, options.folder.string() + ": holds no cascade; give one to begin with");
  return given();
}

Cascade Store::State::given() const {
  return options.text.empty() ? Cascade::load(options.cascade) : Cascade::parse(options.text, "the cascade");
}

// What there is to say of a cascade that was given where the folder has one. A restart does not need to read it.
std::string Store::State::passed_over() const {
  if (!resumed || (options.text.empty() && options.cascade.empty())) return "";
  try {
    const std::string differs = difference(cascade, given());
    if (differs.empty()) return "";
    return options.folder.string() + ": goes on with the cascade that it has; the one given has another " + differs +
           ", and needs a folder of its own";
  } catch (const Error&) {
    return "";
  }
}

Store::State::~State() {
  {
    const std::lock_guard lock(working_);
    ends_ = true;
  }
  wake_.notify_all();
  if (worker_.joinable()) worker_.join();
  try {
    (void)text();
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
  Json answer = Json::object();
  if (call["op"] == "save") {
    save();
  } else if (!changes(call)) {
    answer = make_call(cascade, call);
  } else {
    const std::optional<Json> kept = kept_form(cascade, call);
    const std::lock_guard lock(mutex_);
    answer = kept ? made(options.prompts ? call : *kept, kept->dump()) : made(call, line);
    take_note(call, answer);
  }
  if (options.beside && (call["op"] == "deploy" || call["op"] == "feedback")) {
    wake();
    while (cascade.not_adopted() > kMostWaiting) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The call is in the journal before it is made, as this line if it is one. Whatever is thrown leaves both as they were.
Json Store::State::made(const Json& call, const std::string& line) {
  const bool is_line = !line.empty() && line.find('\n') == line.npos;
  journal.write(is_line ? line : call.dump(), options.sync_seconds == 0.0);  // parsed: valid UTF-8
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
  while (open_.size() > most_open_) open_.erase(open_.begin());  // dropped meanwhile
}

void Store::State::wake() {
  const std::lock_guard lock(working_);
  awake_ = true;
  wake_.notify_one();
}

void Store::State::save() {
  require_own_process();
  std::unique_lock lock(working_);
  const std::uint64_t before = snapshots_;
  save_ = awake_ = true;
  wake_.notify_one();
  snapped_.wait(lock, [&] { return snapshots_ > before && !save_; });
  if (failed_ != nullptr) std::rethrow_exception(failed_);
}

// Whether there is one, by the worker: not while something that was told is not adopted, which no file holds.
bool Store::State::snapshot() {
  Journal::Piece piece;
  {
    const std::lock_guard lock(mutex_);
    if (cascade.not_adopted() > 0) return false;
    piece = journal.cut(cascade);
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
  return true;
}

// What was told is learned from, and adopted by a call of its own, so that it is adopted in the same place again. Whether
// all of it is.
bool Store::State::learn() {
  if (cascade.not_adopted() == 0) return true;
  unadopted_ = nullptr;
  const std::uint64_t more = cascade.learn_waiting();
  const std::lock_guard lock(mutex_);
  try {
    (void)made({{"op", "adopt"}, {"more", more}});
  } catch (const Error& error) {  // more was adopted meanwhile, with another call; or the disk is full
    if (error.code() == ExitCode::output_lost) unadopted_ = std::current_exception();
  }
  return cascade.not_adopted() == 0;
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

// By the worker.
void Store::State::snapshot_if_due(bool asked) {
  std::uint64_t lines = 0;
  {
    const std::lock_guard lock(mutex_);
    lines = journal.since_snapshot();
  }
  const bool is_long = lines >= options.calls_of_a_snapshot && lines >= tried_ + options.calls_of_a_snapshot / 10;
  if (!asked && !is_long) return;
  std::exception_ptr failed = unadopted_;
  try {
    if (failed == nullptr && !snapshot()) return;
    tried_ = failed == nullptr ? 0 : lines;
  } catch (const std::exception&) {  // tried again later; calls are kept beside the snapshot of before
    failed = std::current_exception();
    tried_ = lines;
  }
  const std::lock_guard lock(working_);
  failed_ = failed;
  ++snapshots_;
  if (asked) save_ = false;
  snapped_.notify_all();
}

// What is done beside calls.
void Store::State::work() {
  const auto pause = std::chrono::duration<double>(options.sync_seconds > 0.0 ? options.sync_seconds / 2.0 : 1.0);
  for (std::unique_lock lock(working_); !ends_;) {
    if (!save_) wake_.wait_for(lock, pause, [this] { return awake_ || ends_; });
    awake_ = false;
    const bool asked = save_;
    lock.unlock();
    const bool learned = learn();
    sync();
    if (options.timeout_seconds > 0.0) cancel_old();
    snapshot_if_due(asked);
    lock.lock();
    awake_ |= !learned;
  }
}

// After all that was told was adopted.
std::string Store::State::text() {
  require_own_process();
  const std::lock_guard lock(mutex_);
  if (cascade.not_adopted() > 0) (void)made({{"op", "adopt"}, {"more", cascade.not_adopted()}});
  return cascade.text();
}

Store::Store(const StoreOptions& options) : state_(std::make_unique<State>(options)) {}
Store::~Store() {
  if (::getpid() != state_->process) (void)state_.release();  // a forked child has no such thread, and nothing to end
}

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

std::string Store::passed_over() const {
  return state_->note;
}

Cascade Store::cascade() const {
  return Cascade::parse(state_->text(), "the store's cascade");
}

}  // namespace pandora
