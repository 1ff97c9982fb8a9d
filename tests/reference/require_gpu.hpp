// Every test that needs a GPU starts with this.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "host/lanes/devices/device.hpp"

/// If there is no usable device, skips the test with the reason. With REQUIRE_GPU=1 in the environment the test fails
/// instead.
#define PANDORA_REQUIRE_GPU()                                                    \
  if (const std::string none = pandora::find_devices().none; !none.empty()) {    \
    const char* const required = std::getenv("REQUIRE_GPU");                     \
    if (required != nullptr && required[0] == '1') FAIL() << "no GPU: " << none; \
    GTEST_SKIP() << "no GPU: " << none;                                          \
  }
