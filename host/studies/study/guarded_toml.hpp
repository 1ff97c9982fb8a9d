// The TOML library. toml++ 3.3 asserts what a file may break ("[!]"): without NDEBUG the program would abort, with it clang
// takes the assertion for the truth. Here, the one place that includes it, a broken assertion is a broken file.
#pragma once

#include <stdexcept>
#include <string>

namespace pandora {
struct BrokenAssertion : std::runtime_error {
  BrokenAssertion() : std::runtime_error("it has a character where none can be, such as \"[!]\"") {}
};
constexpr void assert_of_toml(bool holds) {
  if (!holds) throw BrokenAssertion();
}
}  // namespace pandora
#if defined(NDEBUG)
#undef NDEBUG
#define PANDORA_NDEBUG
#endif
#define TOML_ASSERT(expression) ::pandora::assert_of_toml(static_cast<bool>(expression))
#include <toml++/toml.h>
#if defined(PANDORA_NDEBUG)
#define NDEBUG
#endif

namespace pandora {

/// A file's text, once scan_toml (study_keys.hpp) has seen it. Throws Error (usage) with file and line.
toml::table table_of(const std::string& text, const std::string& name);

}  // namespace pandora
