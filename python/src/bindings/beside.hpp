// Runs work of the library in a thread of its own, without the GIL, while the calling thread shows progress and handles
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

/// The progress of the work, the request to end it, and its messages. Any thread of the work may use it.
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

  /// Runs `body` and returns when it has ended. The calling thread calls `on_progress(done, total)` and
  /// `on_message(text)` about ten times a second; either may be None. `interrupted` becomes true after a signal whose
  /// handler raises, as that of SIGINT does, and when the interpreter ends; end_lane_if_interrupted() in the body sees
  /// it too. Throws what the body throws, otherwise what a handler or one of the two functions raised.
  void run(const std::function<void()>& body, const nb::object& on_progress, const nb::object& on_message);

 private:
  void attend(const nb::object& on_progress, const nb::object& on_message);

  std::atomic<std::size_t> done_{0}, total_{0};
  std::size_t told_ = 0;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  Texts messages_;
};

/// Exists while a thread of such work runs Python code, with the GIL. If the work is interrupted, a KeyboardInterrupt
/// ends that code, even in an endless loop.
class InPython {
 public:
  InPython();
  ~InPython();
  InPython(const InPython&) = delete;

 private:
  const unsigned long thread_;
};

/// Makes all work end, and waits for it, when the interpreter ends.
void end_work_at_exit();
/// A forked child does not have the work of other threads.
void forget_work_after_fork();

/// Returns the result of `body(Beside&)`.
template <class Body>
auto beside(Body&& body, const nb::object& on_progress = nb::none(), const nb::object& on_message = nb::none()) {
  Beside work;
  std::optional<decltype(body(work))> found;
  work.run([&] { found.emplace(body(work)); }, on_progress, on_message);
  return std::move(*found);
}

}  // namespace pandora::python
