// Errors that a test expects.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "pandora/error.hpp"

namespace pandora::test {

/// Expects an Error of this code, whose message has the part.
template <class Body>
void expect_error(ExitCode code, const std::string& part, Body&& body) {
  try {
    body();
    ADD_FAILURE() << "no error; wanted one about " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), testing::HasSubstr(part));
  }
}

}  // namespace pandora::test
