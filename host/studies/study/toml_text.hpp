// TOML as text: what a parser may see of it, and values as the program writes them. The one place that includes the library.
#pragma once

#include <stdexcept>
#include <string>

namespace pandora {

// toml++ 3.3 asserts what a file may break ("[!]"): without NDEBUG the program would abort, with it clang takes the
// assertion for the truth. Here a broken assertion is a broken file.
struct BrokenAssertion : std::runtime_error {
  BrokenAssertion() : std::runtime_error("it has a character where none can be, such as \"[!]\"") {}
};
constexpr void assert_of_toml(bool holds) {
  if (!holds) throw BrokenAssertion();
}

/// A study may have so many bytes, and so deep may values nest and dotted keys reach. A dotted key may have so many bytes.
inline constexpr std::size_t kMostStudyBytes = std::size_t{1} << 20;
inline constexpr int kDeepestNesting = 32;
inline constexpr std::size_t kLongestKey = 200;

}  // namespace pandora

#if defined(NDEBUG)
#undef NDEBUG
#define PANDORA_NDEBUG
#endif
#define TOML_ASSERT(expression) ::pandora::assert_of_toml(static_cast<bool>(expression))
#define TOML_MAX_NESTED_VALUES ::pandora::kDeepestNesting
#include <toml++/toml.h>
#if defined(PANDORA_NDEBUG)
#define NDEBUG
#endif

namespace pandora {

/// A file's text. Throws Error (usage) with file and line.
toml::table table_of(const std::string& text, const std::string& name);

/// A word of the command line as the value `v`; what is no TOML is a text. Throws Error (usage) where it is too long or
/// nests too deep; `where` names it.
toml::table table_of_word(const std::string& word, const std::string& where);

}  // namespace pandora
