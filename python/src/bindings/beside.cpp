#include "beside.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "pandora/custom_policy.hpp"
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

// The work for which the end of the interpreter must wait. Read and changed only with the GIL.
struct UnderWay {
  bool ending = false;
  int without_gil = 0;
  std::set<Beside*> work;
  std::map<unsigned long, const std::atomic<bool>*> in_python;  // by thread: the flag of its work
};
UnderWay& under_way() {
  static UnderWay all;
  return all;
}

// Raises an exception in every thread of this work that runs Python code, again and again, because that code may catch
// it.
void end_python_of(const std::atomic<bool>& interrupted) {
  for (const auto& [thread, flag] : under_way().in_python)
    if (flag == &interrupted) PyThreadState_SetAsyncExc(thread, PyExc_KeyboardInterrupt);
}

}  // namespace

WithoutGil::WithoutGil() {
  if (under_way().ending) return;
  ++under_way().without_gil;
  state_ = PyEval_SaveThread();
}

WithoutGil::~WithoutGil() {
  if (state_ == nullptr) return;
  PyEval_RestoreThread(state_);
  --under_way().without_gil;
}

InPython::InPython() : thread_(PyThread_get_thread_ident()) {
  under_way().in_python[thread_] = InterruptOfLane::flag();
}

InPython::~InPython() {
  under_way().in_python.erase(thread_);
}

void end_work_at_exit() {
  UnderWay& all = under_way();
  all.ending = true;
  for (bool before = true;;) {  // once more after the last has ended, because it has to return into Python
    const bool idle = all.work.empty() && all.without_gil <= 0;
    if (idle && before) return;
    before = idle;
    for (Beside* const work : all.work) work->interrupted = true;
    const nb::gil_scoped_release release;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void forget_work_after_fork() {
  under_way() = {};
}

void Beside::attend(const nb::object& on_progress, const nb::object& on_message) {
  if (PyErr_CheckSignals() != 0) nb::raise_python_error();
  Texts messages;
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
  if (under_way().ending) throw Error(ExitCode::interrupted, "the interpreter is ending; nothing was started");
  struct Listed {
    Beside* const work;
    explicit Listed(Beside* of) : work(of) { under_way().work.insert(work); }
    ~Listed() { under_way().work.erase(work); }
  } const listed(this);
  std::exception_ptr failure, raised;
  std::thread worker([&] {
    try {
      const InterruptOfLane interrupt(&interrupted);
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
    if (interrupted && !over) end_python_of(interrupted);
  }
  // The work reports its own end, because it knows how to continue. Only another exception of a handler is rethrown
  // here.
  if (raised && (!failure || !is_interruption(raised))) std::rethrow_exception(raised);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace pandora::python
