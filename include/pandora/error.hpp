// Errors that reach the user, under their public name: whoever builds on pandora throws and catches these.
#pragma once

#include "host/ground/base/error.hpp"
