#include <gtest/gtest.h>

#include "host/studies/sweep/sweep.hpp"

namespace pandora {
namespace {

// The fingerprint must also show differences in arithmetic that do not change decisions.
TEST(Fingerprint, DependsOnTheEngineAndIsStable) {
  const auto fingerprint = [](const std::string& key, const std::string& value) {
    StudyConfig config = StudyConfig::parse("", "test");
    if (!key.empty()) config.set(key, value, "");
    return fingerprint_of(config.settings(), {});
  };
  const std::string standard = fingerprint("", "");
  EXPECT_EQ(standard.size(), 16u);
  EXPECT_EQ(fingerprint("", ""), standard);
  EXPECT_EQ(fingerprint("seed", "9"), standard);  // it depends on the arithmetic and not on the study
  EXPECT_EQ(fingerprint("engine.chunk", "1"), standard);
  EXPECT_NE(fingerprint("engine.precision", "double"), standard);
  EXPECT_NE(fingerprint("engine.kind", "reference"), fingerprint("engine.precision", "double"));
  EXPECT_NE(fingerprint("engine.block", "8"), standard);
}

}  // namespace
}  // namespace pandora
