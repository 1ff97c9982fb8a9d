// A prompt as an object, under its public name.
#pragma once

#include "host/ground/base/prompt.hpp"
