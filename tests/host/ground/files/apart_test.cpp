#include "host/ground/files/apart.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include "pandora/error.hpp"

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

TEST(RunApart, ErrorsComeBackAsTheyWereThrown) {
  try {
    run_apart([]() -> std::string { throw Error(ExitCode::bad_data, "parts/3.part: no such thing"); });
    ADD_FAILURE() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::bad_data);
    EXPECT_STREQ(error.what(), "parts/3.part: no such thing");
  }
}

TEST(RunApart, ChangesNothingHere) {
  int value = 1;
  EXPECT_EQ(run_apart([&] { return std::to_string(++value); }), "2");
  EXPECT_EQ(value, 1);
}

// A descriptor there would keep a lock on a results folder after the program was killed.
TEST(RunApart, HoldsNoDescriptorOfTheProgram) {
  const int here = ::open("/dev/null", O_RDONLY);
  ASSERT_GE(here, 3);
  EXPECT_EQ(run_apart([&] { return std::string(::fcntl(here, F_GETFD) < 0 ? "closed" : "open"); }), "closed");
  EXPECT_GE(::fcntl(here, F_GETFD), 0);
  ::close(here);
}

}  // namespace
}  // namespace pandora
