// Runs the program as a subprocess in its own working directory.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/host/folder_test.hpp"

namespace pandora {

/// The words of all lists, one list after the other.
inline std::vector<std::string> joined(std::vector<std::string> first, const std::vector<std::string>& second,
                                       const std::vector<std::string>& third = {},
                                       const std::vector<std::string>& fourth = {}) {
  for (const std::vector<std::string>* more : {&second, &third, &fourth})
    first.insert(first.end(), more->begin(), more->end());
  return first;
}

}  // namespace pandora

namespace pandora::test {

using Words = std::vector<std::string>;

struct ProgramResult {
  int exit_code = -1;  ///< -1 if a signal ended it
  std::string out, err;

  int error_lines() const { return static_cast<int>(std::count(err.begin(), err.end(), '\n')); }
};

/// A test with a fresh directory in which the program runs. Standard output and error go to files beside the directory.
class ProgramTest : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    std::filesystem::create_directory(base_ / "work");
  }

  std::filesystem::path work() const { return base_ / "work"; }

  /// Starts the program. `file_limit` bounds the size of files that it writes; 0: no bound.
  pid_t start(const Words& arguments, rlim_t file_limit = 0, const char* program = PANDORA_PROGRAM) {
    Words words = {program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string out = (base_ / ("out" + beside_)).string(), err = (base_ / ("err" + beside_)).string(),
                      folder = work().string();
    std::filesystem::remove(out);  // an earlier run's output must not count for this run
    std::filesystem::remove(err);
    const pid_t child = ::fork();
    if (child != 0) return child;
    const int out_file = ::open(out.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
    const int err_file = ::open(err.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
    ::dup2(out_file, STDOUT_FILENO);
    ::dup2(err_file, STDERR_FILENO);
    ::signal(SIGINT, SIG_DFL);
    if (file_limit > 0) {
      ::signal(SIGXFSZ, SIG_IGN);  // so that writes fail instead
      const rlimit limit{file_limit, file_limit};
      ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (most_descriptors_ > 0) {
      ::close_range(3, ~0U, 0);  // files that a runner of tests leaves open
      const rlimit limit{most_descriptors_, most_descriptors_};
      ::setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (::chdir(folder.c_str()) == 0) ::execvp(argv[0], argv.data());
    ::_exit(127);
  }

  /// Waits until the process has a handler for the signal, which takes longer on a busy machine. Returns false if it
  /// has ended before.
  static bool wait_until_it_catches(pid_t child, int signal) {
    for (; !has_ended(child); std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
      std::istringstream status(read_file("/proc/" + std::to_string(child) + "/status"));
      for (std::string name, mask; status >> name;)
        if (name == "SigCgt:" && status >> mask && (std::stoull(mask, nullptr, 16) >> (signal - 1) & 1) != 0)
          return true;
    }
    return false;
  }

  /// Whether the process has ended. The caller must still wait for it.
  static bool has_ended(pid_t child) {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == child;
  }

  ProgramResult wait_for(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(base_ / ("out" + beside_)),
            read_file(base_ / ("err" + beside_))};
  }

  ProgramResult run(const Words& arguments, rlim_t file_limit = 0) { return wait_for(start(arguments, file_limit)); }

  /// Standard output of a command that succeeds.
  std::string output(const Words& arguments) {
    const ProgramResult result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }

  /// Expects one line on standard error that has every part, and nothing on standard output.
  void expect_refusal(const Words& arguments, int exit_code, const Words& parts) {
    const ProgramResult result = run(arguments);
    SCOPED_TRACE(testing::PrintToString(arguments));
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_EQ(result.error_lines(), 1) << result.err;
    EXPECT_THAT(result.err, testing::StartsWith("pandora: "));
    for (const std::string& part : parts) EXPECT_THAT(result.err, testing::HasSubstr(part));
    EXPECT_EQ(result.out, "");
  }

  std::string beside_;           ///< is added to the names of output files, so that two programs can run at a time
  rlim_t most_descriptors_ = 0;  ///< the limit for started programs; 0: no bound
};

}  // namespace pandora::test
