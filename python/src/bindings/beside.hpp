// Work of the library in a thread of its own, without the GIL, while the calling thread shows progress and takes
// signals.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bindings.hpp"

namespace pandora::python {

/// How far the work is, whether it is to end, and what it has to say; for the work, any thread of it.
class Beside {
 public:
  std::atomic<bool> interrupted{false};

  void progress(std::size_t done, std::size_t total) {
    done_ = done;
    total_ = total;
  }
  void say(const std::string& message) {
    const std::lock_guard lock(mutex_);
    messages_.push_back(message);
  }

  /// Runs `body` and returns when it has ended. `on_progress(done, total)` and `on_message(text)`, either may be None,
  /// are called by this thread about ten times a second. After a signal whose handler raises, as that of SIGINT does,
  /// `interrupted` is true, also for end_lane_if_interrupted() in the body, and when the interpreter ends. Throws what
  /// the body throws; else what a handler or one of the two raised.
  void run(const std::function<void()>& body, const nb::object& on_progress, const nb::object& on_message);

 private:
  void attend(const nb::object& on_progress, const nb::object& on_message);

  std::atomic<std::size_t> done_{0}, total_{0};
  std::size_t told_ = 0;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  std::vector<std::string> messages_;
};

/// Stands while a thread of such work runs code in Python, with the GIL: where the work is interrupted, that code is
/// ended by a KeyboardInterrupt, also within an endless loop.
class InPython {
 public:
  InPython();
  ~InPython();
  InPython(const InPython&) = delete;

 private:
  const unsigned long thread_;
};

/// Has all work end, and waits for it, when the interpreter ends.
void end_work_at_exit();
/// Other threads' work is none of a forked child's.
void forget_work_after_fork();

/// What `body(Beside&)` returns.
template <class Body>
auto beside(Body&& body, const nb::object& on_progress = nb::none(), const nb::object& on_message = nb::none()) {
  Beside work;
  std::optional<decltype(body(work))> found;
  work.run([&] { found.emplace(body(work)); }, on_progress, on_message);
  return std::move(*found);
}

}  // namespace pandora::python
