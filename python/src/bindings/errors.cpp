// Turns the library's exceptions into those of pandora/errors.py.
#include <new>
#include <system_error>

#include "beside.hpp"
#include "bindings.hpp"
#include "host/ground/files/system_limits.hpp"
#include "host/lanes/model/kernel_errors.hpp"
#include "pandora/error.hpp"

namespace pandora::python {
namespace {

const char* class_of(ExitCode code) {
  constexpr std::pair<ExitCode, const char*> kClasses[] = {
      {ExitCode::usage, "UsageError"},        {ExitCode::bad_data, "DataError"},
      {ExitCode::device, "ResourceError"},    {ExitCode::mismatch, "MismatchError"},
      {ExitCode::output_lost, "OutputError"}, {ExitCode::interrupted, "Interrupted"}};
  for (const auto& [own, name] : kClasses)
    if (own == code) return name;
  return "Error";
}

void raise(const char* name, const std::string& message) {
  const nb::object type = nb::module_::import_("pandora.errors").attr(name);
  PyErr_SetString(type.ptr(), message.c_str());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    for_the_user([&] { std::rethrow_exception(thrown); });
  } catch (const LaneFailure& failure) {
    raise("LaneFailure", failure.marked());
    nb::python_error error;
    error.value().attr("failure") = static_cast<int>(failure.failure());
    error.restore();
  } catch (const Error& error) {
    raise(class_of(error.code()), error.marked());
  } catch (const std::bad_alloc&) {
    raise("ResourceError", "out of memory; use fewer threads or a smaller periods or oracle.samples");
  } catch (const std::system_error& error) {
    const std::string remedy = remedy_of_limit(error.code().value());
    raise("ResourceError", std::string("the system refuses what is needed (") + error.what() + ")" +
                               (remedy.empty() ? "" : "; " + remedy));
  }
}

}  // namespace

void bind_errors(nb::module_&) {
  nb::register_exception_translator(translate);
}

}  // namespace pandora::python
