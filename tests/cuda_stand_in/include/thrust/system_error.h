#pragma once

#include <system_error>

namespace thrust {
using std::system_error;
}
