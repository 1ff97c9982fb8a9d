#include "host/lanes/engine/engine_settings.hpp"

#include <fmt/format.h>

namespace pandora {

std::string EngineSettings::text() const {
  if (kind == Kind::reference) return "reference, double precision";
  return fmt::format("blocked, {} precision, blocks of {}", precision == Precision::fp32 ? "single" : "double", block);
}

}  // namespace pandora
