// Studies from texts, and the errors of texts that are no studies.
#pragma once

#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
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

/// Expects that the study's own text is read back to the same.
inline void expect_kept(const StudyConfig& config) {
  const StudyConfig again = parsed(config.toml());
  EXPECT_EQ(again.toml(), config.toml());
  EXPECT_EQ(again.identity(), config.identity());
}

inline void expect_refusal(const std::string& text, const std::vector<std::string>& parts) {
  const std::string message = refusal([&] { parsed(text); });
  for (const std::string& part : parts) EXPECT_THAT(message, testing::HasSubstr(part)) << text;
}

/// Runs the body in a process of its own. Failed expectations set the exit status.
template <class Body>
[[noreturn]] void alone(Body&& body) {
  try {
    body();
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
  const testing::TestResult& result = *testing::UnitTest::GetInstance()->current_test_info()->result();
  for (int k = 0; k < result.total_part_count(); ++k)
    std::fprintf(stderr, "%s\n", result.GetTestPartResult(k).message());
  std::exit(result.Failed() ? 1 : 0);
}
#define EXPECT_ALONE(...) EXPECT_EXIT(::pandora::test::alone([] __VA_ARGS__), testing::ExitedWithCode(0), "")

}  // namespace pandora::test
