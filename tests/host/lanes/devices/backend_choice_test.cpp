// The choice of the backend, for every machine that a user may have.
#include "host/lanes/devices/backend_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pandora/error.hpp"

namespace pandora {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

DeviceReport two_devices() {
  DeviceReport report;
  report.driver = "13.0";
  report.runtime = "13.0";
  report.devices = {{0, "NVIDIA H200", 9, 0, 132, std::uint64_t{150} << 30, ""},
                    {1, "NVIDIA H200", 9, 0, 132, std::uint64_t{150} << 30, ""},
                    {2, "Tesla K80", 3, 7, 13, std::uint64_t{12} << 30, "no code for it in this build"}};
  return report;
}

DeviceReport nothing() {
  DeviceReport report;
  report.none = "no NVIDIA driver is installed";
  return report;
}

std::vector<FoundDevices> found(const DeviceReport& report) {
  return {{&backends()[0], report}};
}

void expect_refused(ExitCode code, const std::string& part, const std::string& backend, const std::string& devices,
                    const EngineSettings& engine, const DeviceReport& report) {
  try {
    choose_backend(backend, devices, engine, found(report));
    FAIL() << "accepted " << backend << " " << devices;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

TEST(BackendChoice, AutoTakesAllUsableDevicesAndSaysSo) {
  const BackendChoice choice = choose_backend("auto", "all", {}, found(two_devices()));
  EXPECT_EQ(choice.name, "cuda");
  EXPECT_THAT(choice.devices.ids, ElementsAre(0, 1));
  EXPECT_EQ(choice.reason, "0: NVIDIA H200, 1: NVIDIA H200, driver 13.0");
}

TEST(BackendChoice, AutoWithoutADeviceSaysWhy) {
  const BackendChoice choice = choose_backend("auto", "all", {}, found(nothing()));
  EXPECT_EQ(choice.name, "cpu");
  EXPECT_EQ(choice.reason, "no NVIDIA driver is installed");
  EXPECT_TRUE(choice.devices.empty());
}

TEST(BackendChoice, CpuIsNeverQuestioned) {
  EXPECT_EQ(choose_backend("cpu", "all", {}, found(two_devices())).name, "cpu");
  expect_refused(ExitCode::usage, "--devices 0", "cpu", "0", {}, two_devices());
}

TEST(BackendChoice, CudaWithoutADeviceIsAnErrorWithTheReason) {
  expect_refused(ExitCode::device, "--backend cuda: no NVIDIA driver is installed", "cuda", "all", {}, nothing());
  expect_refused(ExitCode::device, "no NVIDIA driver is installed", "auto", "0", {}, nothing());
}

TEST(BackendChoice, ListsOfDevices) {
  EXPECT_THAT(choose_backend("cuda", "1", {}, found(two_devices())).devices.ids, ElementsAre(1));
  EXPECT_THAT(choose_backend("cuda", "1,0", {}, found(two_devices())).devices.ids, ElementsAre(1, 0));
  for (const char* bad : {"", "x", "0,", ",0", "0;1", "-1", "1.5"})
    expect_refused(ExitCode::usage, std::string("--devices ") + bad, "cuda", bad, {}, two_devices());
  expect_refused(ExitCode::usage, "named twice", "cuda", "0,0", {}, two_devices());
  expect_refused(ExitCode::device, "there is no device 7", "cuda", "7", {}, two_devices());
  expect_refused(ExitCode::device, "no code for it in this build", "cuda", "2", {}, two_devices());
}

// Engines that no device has run on the CPU under `auto`, and are refused under `cuda`.
TEST(BackendChoice, EnginesThatOnlyTheCpuHas) {
  EngineSettings reference, precise;
  reference.kind = EngineSettings::Kind::reference;
  precise.precision = EngineSettings::Precision::fp64;
  for (const EngineSettings& engine : {reference, precise}) {
    EXPECT_EQ(choose_backend("auto", "all", engine, found(two_devices())).name, "cpu");
    expect_refused(ExitCode::usage, "--backend cuda", "cuda", "all", engine, two_devices());
  }
}

TEST(BackendChoice, UnknownNames) {
  expect_refused(ExitCode::usage, "--backend tpu: unknown", "tpu", "all", {}, nothing());
}

// If there are several backends, `auto` takes the first one that has a device. Each can be named.
TEST(BackendChoice, OfSeveralBackends) {
  const Backend other{"other", nullptr, nullptr, nullptr};
  const std::vector<FoundDevices> first_has_none = {{&backends()[0], nothing()}, {&other, two_devices()}},
                                  both = {{&backends()[0], two_devices()}, {&other, two_devices()}},
                                  none = {{&backends()[0], nothing()}, {&other, nothing()}};
  EXPECT_EQ(choose_backend("auto", "all", {}, first_has_none).devices.backend, &other);
  EXPECT_EQ(choose_backend("auto", "all", {}, first_has_none).name, "other");
  EXPECT_EQ(choose_backend("auto", "all", {}, both).name, "cuda");
  EXPECT_EQ(choose_backend("other", "1", {}, both).devices.backend, &other);
  EXPECT_EQ(choose_backend("auto", "all", {}, none).name, "cpu");
  EXPECT_THROW(choose_backend("cuda", "all", {}, first_has_none), Error);
}

TEST(BackendChoice, TheListOfDevicesNamesWhatIsUsableAndWhatNot) {
  const std::string text = devices_text(two_devices());
  EXPECT_THAT(text, HasSubstr("0  NVIDIA H200, compute capability 9.0, 132 multiprocessors, 150.0 GiB: usable\n"));
  EXPECT_THAT(text, HasSubstr("Tesla K80"));
  EXPECT_THAT(text, HasSubstr("no code for it in this build"));
  EXPECT_THAT(devices_text(nothing()), HasSubstr("no usable GPU: no NVIDIA driver is installed"));
}

// CUDA's rules: machine code serves later minor versions of the same major version, and PTX serves every later version.
TEST(BackendChoice, WhatABuildHasCodeFor) {
  EXPECT_TRUE(has_code_for("80-real,90", 8, 0));
  EXPECT_TRUE(has_code_for("80-real,90", 8, 9));
  EXPECT_TRUE(has_code_for("80-real,90", 9, 0));
  EXPECT_TRUE(has_code_for("80-real,90", 12, 0));
  EXPECT_FALSE(has_code_for("80-real,90", 7, 5));
  EXPECT_FALSE(has_code_for("86-real", 8, 0));
  EXPECT_FALSE(has_code_for("80-real", 9, 0));
  EXPECT_TRUE(has_code_for("80-virtual", 9, 0));
  EXPECT_FALSE(has_code_for("90-virtual", 8, 9));
  EXPECT_TRUE(has_code_for("100a-real", 10, 0));
  EXPECT_TRUE(has_code_for("native", 7, 5));
}

}  // namespace
}  // namespace pandora
