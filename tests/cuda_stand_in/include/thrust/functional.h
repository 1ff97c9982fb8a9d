// The stand-in's Thrust: what is used of it.
#pragma once

#include <functional>

namespace thrust {
using std::greater;
}
