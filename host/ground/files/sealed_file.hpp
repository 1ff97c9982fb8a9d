// Files that the program writes and later reads back: whole, or refused with the reason.
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

/// Not what seal() wrote. what() completes "<path>: ...", such as "is truncated" or "its checksum differs".
struct Damaged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

/// The bytes of a file; `kind` is a word such as "oracle". Equal content gives equal bytes. Throws
/// std::invalid_argument where content nests deeper than 32 levels, which unseal() would refuse.
std::string seal(std::string_view kind, const nlohmann::json& content);

/// Takes any bytes, hostile ones too; throws Damaged if they are not exactly what seal() wrote.
nlohmann::json unseal(std::string_view kind, std::string_view bytes);

/// The same for a file of at most so many bytes; nothing large is read of one that is larger, or of another size than
/// its header says. Throws Unreadable, too.
nlohmann::json read_sealed(std::string_view kind, const std::filesystem::path& path, std::uint64_t most);

/// Numbers (double, float or std::uint32_t) with all their bits (-0, NaN) as one binary string, little-endian; a JSON array
/// would take a value each.
template <class T = double>
nlohmann::json pack(std::span<const std::type_identity_t<T>> values);

/// Throws Damaged if it is not what pack() returned, or of another length than `count`.
template <class T = double>
std::vector<T> unpack(const nlohmann::json& packed, std::optional<std::size_t> count = {});

}  // namespace pandora
