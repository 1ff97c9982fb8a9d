// Work that must not take the program with it.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace pandora {

/// What `body` returns, from a process of its own: a copy of this one, which must have a single thread. Throws the
/// pandora::Error that body throws. Empty if that process was killed, crashed, or its body threw anything else. Throws
/// std::bad_alloc if there is no memory for it, LimitReached if the system starts no further process.
std::optional<std::string> run_apart(const std::function<std::string()>& body);

}  // namespace pandora
