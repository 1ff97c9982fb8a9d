#include "host/outcomes/tables/record_stream.hpp"

#include <simdjson.h>

#include <algorithm>

namespace pandora {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr std::uint64_t kTell = std::uint64_t{16} << 20;

static_assert(RecordStream::kPadding >= simdjson::SIMDJSON_PADDING);

}  // namespace

RecordStream::RecordStream(const std::filesystem::path& path, Progress progress, FilePlace& place)
    : file_(readable(place, [&] { return InflatedFile(path); })), progress_(std::move(progress)), place_(place) {
  if (file_.size() > kMostTraceFile)
    place_.refuse("has {:.0f} GiB, but a table can have at most {:.0f}; use fewer rows",
                  static_cast<double>(file_.size()) / (1 << 30), static_cast<double>(kMostTraceFile) / (1 << 30));
  read_on();
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (buffer_.starts_with(kMark)) begin_ = scanned_ = kMark.size();
}

bool RecordStream::read_on() {
  if (at_end_) return false;
  const std::string piece = readable(place_, [&] { return file_.read(kPiece); });
  at_end_ = piece.size() < kPiece;
  buffer_.erase(0, begin_);
  scanned_ -= begin_;
  begin_ = 0;
  buffer_ += piece;
  buffer_.reserve(buffer_.size() + kPadding);
  done_ += piece.size();
  if (done_ > kMostTraceFile) place_.refuse("grows while it is read; a table's file must be complete");
  if (progress_ && (at_end_ || file_.done() - told_ >= kTell)) {
    told_ = file_.done();
    progress_(told_, std::max(told_, file_.size()));
  }
  return true;
}

// Whether the row's end is in memory; `end` is then its line end or the end of the file.
bool RecordStream::find_end(Form form, std::size_t& end) {
  while (scanned_ < buffer_.size()) {
    end = std::min(buffer_.find('\n', scanned_), buffer_.size());
    const auto quotes = form == Form::csv ? std::count(&buffer_[scanned_], buffer_.data() + end, '"') : 0;
    if (quotes % 2 == 1) in_quotes_ = !in_quotes_;
    scanned_ = std::min(end + 1, buffer_.size());
    if (end < buffer_.size() && !in_quotes_) return true;
  }
  end = buffer_.size();
  return at_end_ && begin_ < end;
}

bool RecordStream::next(Form form, std::string_view& record) {
  while (true) {
    std::size_t end = 0;
    while (!find_end(form, end)) {
      if (end - begin_ > kMostRecord) break;
      if (!read_on() && begin_ == buffer_.size()) return false;
    }
    if (end - begin_ > kMostRecord) {
      ++place_.row;
      place_.line = lines_ + 1;
      place_.refuse_row("is longer than {} MiB{}", kMostRecord >> 20,
                        in_quotes_ ? "; is a quote that was opened closed?" : "");
    }
    record = std::string_view(buffer_).substr(begin_, end - begin_);
    place_.line = lines_ + 1;
    lines_ += static_cast<std::uint64_t>(std::count(record.begin(), record.end(), '\n')) + 1;
    cut_ = end == buffer_.size();
    begin_ = scanned_ = std::min(end + 1, buffer_.size());  // the rest of the buffer comes next
    in_quotes_ = false;
    if (record.ends_with('\r')) record.remove_suffix(1);
    if (record.find_first_not_of(" \t\r") != std::string_view::npos) break;
  }
  ++place_.row;
  if (form == Form::csv && !simdjson::validate_utf8(record))
    place_.refuse_row("has bytes that are not UTF-8; convert the file: iconv -f LATIN1 -t UTF-8, or what it is in");
  return true;
}

}  // namespace pandora
