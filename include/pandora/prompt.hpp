// A prompt by itself, under its public name.
#pragma once

#include "host/ground/base/prompt.hpp"
