#include "host/outcomes/tables/record_stream.hpp"

#include <simdjson.h>

#include <algorithm>
#include <cstring>

namespace pandora {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr std::uint64_t kTell = std::uint64_t{16} << 20;

static_assert(RecordStream::kPadding >= simdjson::SIMDJSON_PADDING);

bool is_blank(std::string_view record) {
  return record.find_first_not_of(" \t\r") == std::string_view::npos;
}

template <class Body>
auto readable(const FilePlace& place, const Body& body) {
  try {
    return body();
  } catch (const Unreadable& problem) {
    place.refuse(problem.what());
  }
}

}  // namespace

RecordStream::RecordStream(const std::filesystem::path& path, Progress progress, FilePlace& place)
    : file_(readable(place, [&] { return InputFile(path); })),
      progress_(std::move(progress)),
      place_(place),
      buffer_(kPadding) {
  if (file_.size() > kMostTraceFile)
    place_.refuse("has {:.0f} GiB, and a table has at most {:.0f}; take a part of its rows",
                  static_cast<double>(file_.size()) / (1 << 30), static_cast<double>(kMostTraceFile) / (1 << 30));
}

bool RecordStream::read_on() {
  if (at_end_) return false;
  const std::string piece = readable(place_, [&] { return file_.read(kPiece); });
  at_end_ = piece.size() < kPiece;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    scanned_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() < end_ + piece.size() + kPadding)
    buffer_.resize(std::max(end_ + piece.size() + kPadding, 2 * buffer_.size()));
  std::memcpy(buffer_.data() + end_, piece.data(), piece.size());
  end_ += piece.size();
  done_ += piece.size();
  if (done_ > kMostTraceFile) place_.refuse("grows while it is read; a table's file must be complete");
  if (progress_ && (at_end_ || done_ - told_ >= kTell)) {
    told_ = done_;
    progress_(done_, std::max(done_, file_.size()));
  }
  if (!started_) {
    started_ = true;
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    if (std::string_view(buffer_.data(), end_).starts_with(kMark)) begin_ = scanned_ = kMark.size();
  }
  return true;
}

std::string_view RecordStream::beginning() {
  if (!started_) read_on();
  return {buffer_.data() + begin_, end_ - begin_};
}

// Whether the row's end is in memory; it is then at `end`, its line end or the end of the file.
bool RecordStream::find_end(Form form, std::size_t& end) {
  const char* const bytes = buffer_.data();
  while (scanned_ < end_) {
    const void* const found = std::memchr(bytes + scanned_, '\n', end_ - scanned_);
    end = found == nullptr ? end_ : static_cast<std::size_t>(static_cast<const char*>(found) - bytes);
    if (form == Form::csv && std::count(bytes + scanned_, bytes + end, '"') % 2 == 1) in_quotes_ = !in_quotes_;
    scanned_ = found == nullptr ? end_ : end + 1;
    if (found != nullptr && !in_quotes_) return true;
  }
  end = end_;
  return at_end_ && begin_ < end_;
}

// The row that ends at `end`, without the line end; what comes after it is next.
std::string_view RecordStream::taken(std::size_t end) {
  std::string_view record(buffer_.data() + begin_, end - begin_);
  place_.line = lines_ + 1;
  lines_ += static_cast<std::uint64_t>(std::count(record.begin(), record.end(), '\n')) + 1;
  begin_ = scanned_ = std::min(end + 1, end_);
  in_quotes_ = false;
  if (record.ends_with('\r')) record.remove_suffix(1);
  return record;
}

bool RecordStream::next(Form form, std::string_view& record) {
  if (!started_) read_on();
  while (true) {
    std::size_t end = 0;
    while (!find_end(form, end)) {
      if (end_ - begin_ > kMostRecord) break;
      if (!read_on() && begin_ == end_) return false;
    }
    if (end - begin_ > kMostRecord) {
      ++place_.row;
      place_.line = lines_ + 1;
      place_.refuse_row("is longer than {} MiB{}", kMostRecord >> 20,
                        in_quotes_ ? "; is a quote that was opened closed?" : "");
    }
    record = taken(end);
    if (!is_blank(record)) break;
  }
  ++place_.row;
  if (form == Form::csv && !simdjson::validate_utf8(record))
    place_.refuse_row("has bytes that are not UTF-8; convert the file: iconv -f LATIN1 -t UTF-8, or what it is in");
  return true;
}

}  // namespace pandora
