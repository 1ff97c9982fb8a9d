#include "host/files/apart.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace pandora {
namespace {

TEST(RunApart, GivesBackEveryByte) {
  std::string bytes(10000000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7919 % 251);
  EXPECT_EQ(run_apart([&] { return bytes; }), bytes);
  EXPECT_EQ(run_apart([] { return std::string(); }), "");
}

TEST(RunApart, WhateverEndsItEndsItAlone) {
  EXPECT_FALSE(run_apart([]() -> std::string { throw std::runtime_error("no"); }));
  EXPECT_FALSE(run_apart([]() -> std::string { ::_Exit(255); }));
  EXPECT_FALSE(run_apart([]() -> std::string {
    std::raise(SIGKILL);
    return "never";
  }));
}

TEST(RunApart, ChangesNothingHere) {
  int value = 1;
  EXPECT_EQ(run_apart([&] { return std::to_string(++value); }), "2");
  EXPECT_EQ(value, 1);
}

}  // namespace
}  // namespace pandora
