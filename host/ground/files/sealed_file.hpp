// Files that the program writes and later reads back, either whole or refused with a reason.
//
//   pandora <kind> <format version> sha256 <64 hex digits> <payload bytes>\n<payload in CBOR>
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace pandora {

/// The bytes are not from seal(). what() completes "<path>: ...", such as "is truncated" or "its checksum differs".
struct Damaged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

/// The bytes of a file; `kind` is a word such as "oracle". Equal content gives equal bytes. Throws
/// std::invalid_argument if content nests deeper than 32 levels, which unseal() would refuse.
std::string seal(std::string_view kind, const nlohmann::json& content);

/// Accepts any bytes, also hostile ones. Throws Damaged if they are not exactly the bytes that seal() wrote.
nlohmann::json unseal(std::string_view kind, std::string_view bytes);

/// The same for a file of at most `most` bytes. If the file is larger, or its size differs from its header's, only its
/// beginning is read. Throws Unreadable, too.
nlohmann::json read_sealed(std::string_view kind, const std::filesystem::path& path, std::uint64_t most);

/// Numbers (double, float, std::uint32_t or std::uint8_t) with all their bits (-0, NaN) as one binary string, little-endian. A JSON
/// array would need a value for each.
template <class T = double>
nlohmann::json pack(std::span<const std::type_identity_t<T>> values);

/// Throws Damaged if it did not come from pack(), or has another length than `count`.
template <class T = double>
std::vector<T> unpack(const nlohmann::json& packed, std::optional<std::size_t> count = {});

}  // namespace pandora
