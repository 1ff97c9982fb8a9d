#include "host/ground/machine/build.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "build_info.hpp"
#include "host/ground/machine/ranks.hpp"

namespace pandora {
namespace {

using nlohmann::json;

// The instruction set that -march=native meant on the machine that compiled this.
constexpr const char* instruction_set() {
#if defined(__AVX512F__)
  return "avx512";
#elif defined(__AVX2__)
  return "avx2";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "baseline";
#endif
}

// The facts that are printed beside the version.
std::vector<std::pair<std::string, std::string>> facts() {
  return {{"revision", build::kRevision}, {"sources", build::kSources}, {"compiler", build::kCompiler},
          {"flags", build::kFlags},       {"cuda", build::kCuda},       {"mpi", mpi_text()}};
}

}  // namespace

std::string build_text() {
  std::string text = fmt::format("pandora {}\n", build::kVersion);
  for (const auto& [name, fact] : facts()) text += fmt::format("{:<8} {}\n", name, fact);
  return text;
}

std::map<std::string, std::string> build_identity() {
  return {{"version", build::kVersion},
          {"sources", build::kSources},
          {"compiler", build::kCompiler},
          {"flags", build::kFlags},
          {"instructions", instruction_set()}};
}

json program_json() {
  json out = {{"name", "pandora"}, {"version", build::kVersion}};
  for (const auto& [name, fact] : facts()) out[name] = fact;
  return out;
}

}  // namespace pandora
