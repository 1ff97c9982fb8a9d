// Throws an Error with a formatted message, in which option() marks options.
#pragma once

#include <fmt/format.h>

#include "host/ground/base/error.hpp"
#include "host/ground/base/option.hpp"

namespace pandora {

template <class... T>
[[noreturn]] void fail(ExitCode code, fmt::format_string<T...> text, T&&... values) {
  throw Error(code, fmt::format(text, std::forward<T>(values)...));
}

}  // namespace pandora
