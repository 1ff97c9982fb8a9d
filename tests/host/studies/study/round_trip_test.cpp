// A study that the program writes is read back bit for bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "host/studies/study/study_toml.hpp"

namespace pandora {
namespace {

using Kind = StudyValue::Kind;

template <class Content>
StudyValue with(Kind kind, Content StudyValue::*member, const std::type_identity_t<Content>& content) {
  StudyValue value;
  value.kind = kind;
  value.*member = content;
  return value;
}

StudyValue again(const StudyValue& value) {
  StudyKey key = general_keys().front();
  key.kind = value.kind;
  return value_from_word(key, value.toml(), "test");
}

void expect_itself(double x) {
  for (const Kind kind : {Kind::number, Kind::numbers}) {
    const StudyValue value = with(kind, &StudyValue::numbers, {x}), back = again(value);
    ASSERT_EQ(back.numbers.size(), 1u);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(back.numbers[0]), std::bit_cast<std::uint64_t>(x)) << value.toml();
    EXPECT_EQ(back.toml(), value.toml());
  }
}

TEST(RoundTrip, DoublesOfAllExponents) {
  using Limits = std::numeric_limits<double>;
  for (const double x :
       {0.0, 1.0, 0.1, 1e15, 1e16, 1e17, 9007199254740993.0, 1e22, 1e-5, 1e-4, Limits::max(), Limits::min(),
        Limits::denorm_min(), Limits::infinity(), 9223372036854775807.0, 18446744073709551616.0, 1.0 / 3.0}) {
    expect_itself(x);
    expect_itself(-x);
  }
  std::mt19937_64 engine(5);
  for (int i = 0; i < 10000; ++i) {
    const std::uint64_t exponent = static_cast<std::uint64_t>(i) % 2047;  // 2047 are infinities and NaN
    const std::uint64_t bits = (engine() & 0x800fffffffffffffu) | exponent << 52;
    expect_itself(std::bit_cast<double>(bits));
  }
  for (int i = 0; i < 2000; ++i) expect_itself(std::round(std::ldexp(1.0, i % 70) * (i % 2 ? 1.0 : -1.7)));
}

TEST(RoundTrip, NotANumberStaysOne) {
  for (const double x : {std::nan(""), -std::nan("")}) {
    const StudyValue value = with(Kind::number, &StudyValue::numbers, {x});
    EXPECT_TRUE(std::isnan(again(value).numbers[0]));
    EXPECT_EQ(again(value).toml(), value.toml());
  }
}

TEST(RoundTrip, IntegersAndSeeds) {
  std::mt19937_64 engine(6);
  std::vector<std::int64_t> integers = {0, 1, -1, INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN};
  for (int i = 0; i < 1000; ++i) integers.push_back(static_cast<std::int64_t>(engine() >> (i % 64)) * (i % 2 ? 1 : -1));
  for (const std::int64_t x : integers) {
    for (const StudyValue& value :
         {with(Kind::integers, &StudyValue::integers, {x, x}), with(Kind::integer, &StudyValue::integers, {x}),
          with(Kind::seed, &StudyValue::seed, static_cast<std::uint64_t>(x))}) {
      EXPECT_EQ(again(value).integers, value.integers) << value.toml();
      EXPECT_EQ(again(value).seed, value.seed) << value.toml();
    }
  }
}

TEST(RoundTrip, Texts) {
  for (std::string text :
       {"", "a\"b", "back\\slash", "tab\tand\nline", "\x01\x1f\x7f", "β", "'", "1", "true", "\\u0041"}) {
    const StudyValue value = with(Kind::texts, &StudyValue::texts, {text, text});
    EXPECT_EQ(again(value).texts, value.texts) << value.toml();
  }
}

}  // namespace
}  // namespace pandora
