#include "host/manifest.hpp"

#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "build_info.hpp"
#include "host/ranks.hpp"

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

json value_json(const StudyValue& value) {
  using Kind = StudyValue::Kind;
  switch (value.kind) {
    case Kind::text:
      return value.texts[0];
    case Kind::seed:
      return value.seed;
    case Kind::integer:
      return value.integers[0];
    case Kind::number:
      return std::isfinite(value.numbers[0]) ? json(value.numbers[0]) : json(value.toml());
    case Kind::boolean:
      return value.boolean;
    case Kind::texts:
      return value.texts;
    case Kind::integers:
      return value.integers;
    default:
      return value.numbers;
  }
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

json study_json(const StudyConfig& config) {
  json out = json::object();
  for (const auto& [key, value] : config.values()) {
    json* at = &out;
    std::size_t begin = 0;
    for (std::size_t dot; (dot = key.find('.', begin)) != std::string::npos; begin = dot + 1)
      at = &(*at)[key.substr(begin, dot - begin)];
    (*at)[key.substr(begin)] = value_json(value);
  }
  for (const auto& [key, values] : config.varying()) {
    json list = json::array();
    for (const StudyValue& value : values) list.push_back(value_json(value));
    out["vary"][key] = std::move(list);
  }
  return out;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace pandora
