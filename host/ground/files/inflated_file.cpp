#include "host/ground/files/inflated_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

namespace pandora {
namespace {

constexpr std::uint64_t kPiece = 1u << 18;
constexpr std::string_view kGzip = "\x1F\x8B";

}  // namespace

struct InflatedFile::Inflater {
  z_stream stream = {};
  std::string bytes;           // compressed; the last stream.avail_in are not used yet
  bool between_parts = false;  // a file may consist of several compressed parts

  Inflater() {
    constexpr int kGzipOnly = 16;
    if (::inflateInit2(&stream, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { ::inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  void feed(std::string piece) {
    bytes = std::move(piece);
    stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
    stream.avail_in = static_cast<uInt>(bytes.size());
  }

  // Decompresses into [out, out + most) and returns how many bytes were written.
  std::size_t inflate(char* out, std::size_t most) {
    if (between_parts && stream.avail_in > 0) {
      ::inflateReset(&stream);
      between_parts = false;
    }
    stream.next_out = reinterpret_cast<Bytef*>(out);
    stream.avail_out = static_cast<uInt>(most);
    const int what = ::inflate(&stream, Z_NO_FLUSH);
    if (what == Z_MEM_ERROR) throw std::bad_alloc();
    if (what != Z_OK && what != Z_STREAM_END && what != Z_BUF_ERROR)
      throw Unreadable(Unreadable::Why::failed, "what gzip compressed is damaged; copy or download the file again");
    between_parts = what == Z_STREAM_END;
    return most - stream.avail_out;
  }
};

InflatedFile::InflatedFile(const std::filesystem::path& path) : file_(path) {
  first_ = read_on(kGzip.size());
  if (first_ == kGzip) inflater_ = std::make_unique<Inflater>();
}

InflatedFile::~InflatedFile() = default;

// Reads from the file without decompressing.
std::string InflatedFile::read_on(std::uint64_t most) {
  std::string bytes = std::exchange(first_, {});
  if (bytes.size() < most) bytes += file_.read(most - bytes.size());
  return bytes;
}

std::string InflatedFile::read(std::uint64_t most) {
  if (inflater_ == nullptr) {
    std::string bytes = read_on(most);
    done_ += bytes.size();
    return bytes;
  }
  std::string out(most, '\0');
  std::size_t n = 0;
  while (n < most) {
    if (inflater_->stream.avail_in == 0) {
      std::string piece = read_on(kPiece);
      done_ += piece.size();
      if (piece.empty() && !inflater_->between_parts)
        throw Unreadable(Unreadable::Why::failed,
                         "it was cut off: what gzip compressed ends before its end; copy or download the file again");
      if (piece.empty()) break;
      inflater_->feed(std::move(piece));
    }
    constexpr std::size_t kMost = 1u << 30;  // the most that zlib counts
    n += inflater_->inflate(out.data() + n, std::min<std::size_t>(most - n, kMost));
  }
  out.resize(n);
  return out;
}

}  // namespace pandora
