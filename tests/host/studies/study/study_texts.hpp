// Studies from texts, and the errors of texts that are no studies.
#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <vector>

#include "host/studies/study/study_keys.hpp"
#include "pandora/error.hpp"

namespace pandora::test {

inline StudyConfig parsed(const std::string& text) {
  return StudyConfig::parse(text, "study.toml");
}

/// The study of the first setting.
inline Study study_of(const std::string& text) {
  return parsed(text).settings().at(0).study;
}

/// The error's text; it must be a usage error of one line.
inline std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "was accepted";
  return "";
}

inline void expect_refusal(const std::string& text, const std::vector<std::string>& parts) {
  const std::string message = refusal([&] { parsed(text); });
  for (const std::string& part : parts) EXPECT_THAT(message, testing::HasSubstr(part)) << text;
}

}  // namespace pandora::test
