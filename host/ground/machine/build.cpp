#include "host/ground/machine/build.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "build_info.hpp"
#include "host/ground/machine/ranks.hpp"

namespace pandora {
namespace {

using nlohmann::json;

// What -march=native meant where this was compiled.
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

}  // namespace

std::string build_text() {
  return fmt::format("pandora {}\nrevision {}\nsources  {}\ncompiler {}\nflags    {}\ncuda     {}\nmpi      {}\n",
                     build::kVersion, build::kRevision, build::kSources, build::kCompiler, build::kFlags, build::kCuda,
                     mpi_text());
}

std::map<std::string, std::string> build_identity() {
  return {{"version", build::kVersion},
          {"sources", build::kSources},
          {"compiler", build::kCompiler},
          {"flags", build::kFlags},
          {"instructions", instruction_set()}};
}

json program_json() {
  return {{"name", "pandora"},
          {"version", build::kVersion},
          {"revision", build::kRevision},
          {"sources", build::kSources},
          {"compiler", build::kCompiler},
          {"flags", build::kFlags},
          {"cuda", build::kCuda},
          {"mpi", mpi_text()}};
}

}  // namespace pandora
