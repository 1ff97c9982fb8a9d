// The start of every test that needs a GPU.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "host/lanes/devices/device.hpp"

/// Skips the test where there is no usable device and says why; with REQUIRE_GPU=1 in the environment it fails instead.
#define PANDORA_REQUIRE_GPU()                                                    \
  if (const std::string none = pandora::find_devices().none; !none.empty()) {    \
    const char* const required = std::getenv("REQUIRE_GPU");                     \
    if (required != nullptr && required[0] == '1') FAIL() << "no GPU: " << none; \
    GTEST_SKIP() << "no GPU: " << none;                                          \
  }
