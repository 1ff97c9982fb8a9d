// Words of the command line for tests: small runs, and the files that they write.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "host/ground/base/printable.hpp"
#include "tests/host/run_program.hpp"

namespace pandora::test {

/// The smallest run that writes every file.
inline Words tiny(const Words& more = {}) {
  return joined(
      words_of(
          "reproduce --environment uniform --regime A --periods 50 --samples 2000 --replications 2 --t0 0,5 --policy "
          "online_plugin,frugalgpt --set dimensions.radius_draws=2000 --quiet"),
      more);
}

/// The same run with another value of one option.
inline Words tiny_with(const std::string& option, const std::string& value) {
  Words words = tiny();
  const auto given = std::find(words.begin(), words.end(), option);
  if (given == words.end()) return tiny({option, value});
  *(given + 1) = value;
  return words;
}

/// The files that a run leaves.
inline const std::vector<std::string> kResultFiles = {
    "boxes.csv",  "checksums.sha256", "choices.csv", "curves.csv", "depth.csv",  "failures.csv", "manifest.json",
    "oracle.csv", "oracle_order.csv", "parts",       "results.h5", "study.toml", "summary.csv"};

/// A study with an environment of its own and with fewer than a hundred coordinates.
inline constexpr const char* kOwnStudy =
    "environments = [\"own\"]\nreplications = 2\n[dimensions]\ncontext = 5\noutput = 10\nradius_draws = "
    "2000\n[oracle]\norder_contexts = 20\n"
    "samples = 1000\n[environment.own]\nlaw = \"gaussian\"\nscale = 2\ntruncation_radius = inf\nu = 0.2\nstream = 9\n";

}  // namespace pandora::test
