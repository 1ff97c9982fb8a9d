#include "host/outcomes/routing/nearest_prompts.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace pandora {
namespace {

// m x prompts of numbers that are rounded to `parts`, so that many distances are equal where there are few.
std::vector<double> drawn(std::size_t count, double parts, double size, unsigned seed) {
  std::mt19937_64 bits(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<double> out(count);
  for (double& x : out) x = size * std::round(uniform(bits) * parts) / parts;
  return out;
}

void expect_as_one_by_one(std::size_t prompts, std::size_t m, double parts, double size) {
  const std::vector<double> all = drawn(prompts * m, parts, size, 1), psi = drawn(70 * m, parts, size, 2);
  for (const std::size_t count : {std::size_t{1}, std::size_t{10}, std::size_t{301}, prompts + 5})
    for (const bool nearest_first : {false, true}) {
      std::size_t told = 0;
      NearestPrompts(all, m).find(psi, count, nearest_first, [&](std::size_t i, std::span<const std::size_t> rows) {
        EXPECT_EQ(i, told++);
        EXPECT_EQ(std::vector<std::size_t>(rows.begin(), rows.end()),
                  nearest_prompts(all, std::span(psi).subspan(i * m, m), count, nearest_first))
            << count << " of " << prompts << ", size " << size;
      });
      EXPECT_EQ(told, 70u);
    }
}

TEST(NearestPrompts, ManyAtOnceAreWhatEachIsByItself) {
  for (const double parts : {2.0, 1e6}) {  // equal distances in plenty, and none
    expect_as_one_by_one(700, 5, parts, 1.0);
    expect_as_one_by_one(40, 17, parts, 1.0);
  }
}

TEST(NearestPrompts, FloatsNeedNotHoldTheNumbers) {
  for (const double size : {1e-40, 1e-12, 1e12, 1e100}) expect_as_one_by_one(350, 3, 1e9, size);
}

}  // namespace
}  // namespace pandora
