// A file as what it holds: of one that gzip compressed, what was compressed.
#pragma once

#include <memory>
#include <string>

#include "host/ground/files/input_file.hpp"

namespace pandora {

class InflatedFile {
 public:
  /// Whether it is compressed, its first bytes say. Throws as InputFile.
  explicit InflatedFile(const std::filesystem::path& path);
  ~InflatedFile();

  /// Bytes on the disk, and how many of them were read.
  std::uint64_t size() const { return file_.size(); }
  std::uint64_t done() const { return done_; }

  /// The next bytes: fewer than `most` only at the end. Throws Unreadable, where compressed bytes are damaged or were
  /// cut off too.
  std::string read(std::uint64_t most);

 private:
  struct Inflater;
  std::string read_on(std::uint64_t most);

  InputFile file_;
  std::uint64_t done_ = 0;
  std::string first_;  // bytes that were read to know what they are
  std::unique_ptr<Inflater> inflater_;
};

}  // namespace pandora
