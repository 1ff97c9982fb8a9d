#include "host/ground/files/sealed_file.hpp"

#include <fmt/format.h>

// OpenSSL declares the following functions obsolete. They need no memory and cannot fail; the newer ones crash (3.0)
// when there is no memory.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "host/ground/files/input_file.hpp"

namespace pandora {
namespace {

constexpr int kFormat = 1;
constexpr int kMaxDepth = 32;
constexpr std::size_t kMostHeader = 128;  // bytes of the header after its beginning

static_assert(std::endian::native == std::endian::little, "packed doubles are stored as they lie in memory");

std::string beginning(std::string_view kind) {
  return fmt::format("pandora {} ", kind);
}

std::string header(std::string_view kind, std::string_view payload) {
  return fmt::format("{}{} sha256 {} {}", beginning(kind), kFormat, sha256(payload), payload.size());
}

// Whether `bytes` are one CBOR item of the forms that to_cbor writes: known lengths within the bytes, no tags, at most
// kMaxDepth levels. nlohmann's parser recurses for every level (also for strings of unknown length), so its input must
// be shallow.
bool is_shallow_cbor(std::string_view bytes) {
  std::uint64_t open[kMaxDepth + 1] = {1};  // items still to come at each level
  int depth = 0;
  std::size_t at = 0;
  const auto left = [&] { return bytes.size() - at; };
  while (true) {
    while (open[depth] == 0) {
      if (depth == 0) return left() == 0;
      --depth;
    }
    --open[depth];
    if (left() == 0) return false;
    const unsigned first = static_cast<unsigned char>(bytes[at++]), major = first >> 5, info = first & 31;
    if (info > 27) return false;  // 31 is an unknown length
    const std::size_t extra = info < 24 ? 0 : std::size_t{1} << (info - 24);
    if (left() < extra) return false;
    std::uint64_t value = info;
    if (extra > 0) value = 0;
    for (std::size_t i = 0; i < extra; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at++]);
    if (major == 6) return false;
    if (major == 2 || major == 3) {
      if (value > left()) return false;
      at += value;
    } else if (major == 4 || major == 5) {
      if (value > left() || depth == kMaxDepth) return false;  // every item has at least one byte
      open[++depth] = major == 5 ? 2 * value : value;
    }
  }
}

// The last number of a header; nothing if there is none.
std::optional<std::uint64_t> payload_size(std::string_view line) {
  const std::string_view digits = line.substr(line.rfind(' ') + 1);
  std::uint64_t size = 0;
  const auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
  if (error != std::errc() || last != digits.data() + digits.size()) return std::nullopt;
  return size;
}

// `bytes` are the beginning of the file, or all of it.
[[noreturn]] void refuse_header(std::string_view kind, std::string_view bytes, std::uint64_t file_size) {
  const std::string start = beginning(kind);
  if (bytes.size() < start.size() && start.starts_with(bytes)) throw Damaged("is truncated");
  if (!bytes.starts_with(start)) throw Damaged(fmt::format("is not a pandora {}", kind));
  const std::size_t end = bytes.find('\n');
  std::string_view rest = bytes.substr(0, end).substr(start.size());
  const std::string_view version = rest.substr(0, rest.find(' '));
  if (version.size() < rest.size() && version != std::to_string(kFormat))
    throw Damaged("was written by another version of the format");
  if (end == std::string_view::npos) throw Damaged("is truncated");
  const std::uint64_t payload = file_size - (end + 1);
  if (const auto size = payload_size(rest)) {
    if (*size > payload) throw Damaged("is truncated");
    if (*size < payload) throw Damaged("goes on after its end");
  }
  throw Damaged("its checksum differs");
}

}  // namespace

std::string sha256(std::string_view bytes) {
  SHA256_CTX state;
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256_Init(&state);
  SHA256_Update(&state, bytes.data(), bytes.size());
  SHA256_Final(digest, &state);
  std::string text;
  for (const unsigned byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::string seal(std::string_view kind, const nlohmann::json& content) {
  std::string payload;
  nlohmann::json::to_cbor(content, payload);
  if (!is_shallow_cbor(payload)) throw std::invalid_argument("content of a sealed file nests too deeply");
  return header(kind, payload) + '\n' + payload;
}

nlohmann::json unseal(std::string_view kind, std::string_view bytes) {
  // The header must be, byte for byte, the header that seal() writes for this payload.
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos || end > beginning(kind).size() + kMostHeader)
    refuse_header(kind, bytes, bytes.size());
  const std::string_view payload = bytes.substr(end + 1);
  if (bytes.substr(0, end) != header(kind, payload)) refuse_header(kind, bytes, bytes.size());
  // From here on only a forged file fails.
  if (!is_shallow_cbor(payload)) throw Damaged("its content is malformed");
  nlohmann::json content = nlohmann::json::from_cbor(payload, true, false);
  std::string again;
  if (!content.is_discarded()) nlohmann::json::to_cbor(content, again);
  if (again != payload) throw Damaged("its content is malformed");
  return content;
}

nlohmann::json read_sealed(std::string_view kind, const std::filesystem::path& path, std::uint64_t most) {
  InputFile file(path);
  std::string bytes = file.read(beginning(kind).size() + kMostHeader);
  // The beginning is enough to find that a file has another size than its header says, however large it is.
  const std::size_t end = bytes.find('\n');
  if (end == std::string::npos || file.size() < end + 1 ||
      payload_size(bytes.substr(0, end)) != file.size() - (end + 1))
    refuse_header(kind, bytes, file.size());
  if (file.size() > most)
    throw Damaged(fmt::format("has {} bytes, more than a pandora {} has here", file.size(), kind));
  bytes += file.read(file.size() - bytes.size());
  return unseal(kind, bytes);
}

template <class T>
nlohmann::json pack(std::span<const std::type_identity_t<T>> values) {
  std::vector<std::uint8_t> bytes(values.size_bytes());
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return nlohmann::json::binary_t(std::move(bytes));  // json::binary() would crash if there is no memory for it
}

template <class T>
std::vector<T> unpack(const nlohmann::json& packed, std::optional<std::size_t> count) {
  if (!packed.is_binary()) throw Damaged("its content has a value of another type where numbers belong");
  const auto& bytes = packed.get_binary();
  if (bytes.size() % sizeof(T) != 0) throw Damaged("its content has a part of a number");
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  if (count && values.size() != *count)
    throw Damaged(fmt::format("its content has {} numbers where {} belong", values.size(), *count));
  return values;
}

template nlohmann::json pack<double>(std::span<const double>);
template nlohmann::json pack<float>(std::span<const float>);
template nlohmann::json pack<std::uint8_t>(std::span<const std::uint8_t>);
template nlohmann::json pack<std::uint32_t>(std::span<const std::uint32_t>);
template std::vector<double> unpack<double>(const nlohmann::json&, std::optional<std::size_t>);
template std::vector<float> unpack<float>(const nlohmann::json&, std::optional<std::size_t>);
template std::vector<std::uint8_t> unpack<std::uint8_t>(const nlohmann::json&, std::optional<std::size_t>);
template std::vector<std::uint32_t> unpack<std::uint32_t>(const nlohmann::json&, std::optional<std::size_t>);

}  // namespace pandora
