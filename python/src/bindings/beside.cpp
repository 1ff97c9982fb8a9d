#include "beside.hpp"

#include <chrono>
#include <thread>

#include "pandora/error.hpp"

namespace pandora::python {
namespace {

bool is_interruption(const std::exception_ptr& raised) {
  try {
    std::rethrow_exception(raised);
  } catch (nb::python_error& error) {
    return error.matches(PyExc_KeyboardInterrupt);
  } catch (...) {
    return false;
  }
}

}  // namespace

void Beside::attend(const nb::object& on_progress, const nb::object& on_message) {
  if (PyErr_CheckSignals() != 0) nb::raise_python_error();
  std::vector<std::string> messages;
  {
    const std::lock_guard lock(mutex_);
    messages.swap(messages_);
  }
  for (const std::string& message : messages)
    if (!on_message.is_none()) on_message(message);
  if (const std::size_t done = done_, total = total_; done != told_ && !on_progress.is_none()) {
    told_ = done;
    on_progress(done, total);
  }
}

void Beside::run(const std::function<void()>& body, const nb::object& on_progress, const nb::object& on_message) {
  std::exception_ptr failure, raised;
  std::thread worker([&] {
    try {
      body();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    ended_.notify_all();
  });
  for (bool over = false; !over;) {
    {
      const nb::gil_scoped_release release;
      std::unique_lock lock(mutex_);
      over = ended_.wait_for(lock, std::chrono::milliseconds(100), [this] { return has_ended_; });
      if (over) {
        lock.unlock();
        worker.join();
      }
    }
    try {
      if (!raised) attend(on_progress, on_message);
    } catch (...) {
      raised = std::current_exception();
      interrupted = true;
    }
  }
  // What ended the work is told by the work, which knows how to go on; unless it was no interruption.
  if (raised && (!failure || !is_interruption(raised))) std::rethrow_exception(raised);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace pandora::python
