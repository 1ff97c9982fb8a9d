// TOML as text: checks before parsing, and values as the program writes them. Only this file includes the library.
#pragma once

#include <stdexcept>
#include <string>

namespace pandora {

// toml++ 3.3 asserts conditions that a file can break ("[!]"). Without NDEBUG the program would abort; with NDEBUG
// clang assumes the condition. Here a failed assertion means an invalid file.
struct BrokenAssertion : std::runtime_error {
  BrokenAssertion() : std::runtime_error("it has a character where none can be, such as \"[!]\"") {}
};
constexpr void assert_of_toml(bool holds) {
  if (!holds) throw BrokenAssertion();
}

/// The most bytes of a study, the deepest nesting of values and dotted keys, and the most bytes of a dotted key.
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

/// Parses a file's text. Throws Error (usage) with file and line.
toml::table table_of(const std::string& text, const std::string& name);

/// Parses a word of the command line as the value `v`; a word that is not TOML is a text. Throws Error (usage) if it is
/// too long or nests too deep; `where` names it.
toml::table table_of_word(const std::string& word, const std::string& where);

}  // namespace pandora
