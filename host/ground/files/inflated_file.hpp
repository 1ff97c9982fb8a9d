// Reads a file, and decompresses it if gzip compressed it.
#pragma once

#include <memory>
#include <string>

#include "host/ground/files/input_file.hpp"

namespace pandora {

class InflatedFile {
 public:
  /// The file's first bytes tell whether it is compressed. Throws like InputFile.
  explicit InflatedFile(const std::filesystem::path& path);
  ~InflatedFile();

  /// The file's size on the disk, and how many of these bytes were read.
  std::uint64_t size() const { return file_.size(); }
  std::uint64_t done() const { return done_; }

  /// The next bytes: fewer than `most` only at the end. Throws Unreadable, also if compressed bytes are damaged or cut
  /// off.
  std::string read(std::uint64_t most);

 private:
  struct Inflater;
  std::string read_on(std::uint64_t most);

  InputFile file_;
  std::uint64_t done_ = 0;
  std::string first_;  // the first bytes, by which compression is recognised
  std::unique_ptr<Inflater> inflater_;
};

}  // namespace pandora
