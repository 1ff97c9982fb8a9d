// Reads the prices of models from a file.
#pragma once

#include <filesystem>

#include "host/outcomes/tables/read_trace.hpp"

namespace pandora {

/// TOML with a line for each model, "NAME" = { in = 0.15, out = 0.6 } or [0.15, 0.6]: dollars per million tokens of
/// prompts and of answers. cached, cache_write, reasoning and batch (a share, or [in, out]) may be added, or all may
/// have LiteLLM's names (price_named). The lines may be in a table [prices]. Throws Error (usage) with file, model and
/// remedy.
TokenPrices read_price_list(const std::filesystem::path& path);

}  // namespace pandora
