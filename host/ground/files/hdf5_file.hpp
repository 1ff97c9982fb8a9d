// A small writer of HDF5 files. Equal content gives equal bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace pandora {

/// Starts the library, once however often it is called. To be called before long work whose results go to an HDF5 file:
/// where memory is too little even for that, a start in the end would lose the way to say so. Throws std::bad_alloc.
void start_hdf5();

/// The file is built in memory, and write_file() writes its bytes, so that a full disk is an error like any other: HDF5
/// itself writes late and ends badly when it cannot. One thread at a time in the process may use objects of this class.
/// Without memory HDF5 1.10 may crash or end the program: make this file last.
class Hdf5File {
 public:
  /// What every dataset says about itself.
  struct Attributes {
    std::string description;
    std::string units;       ///< such as "1" for a pure number
    std::string dimensions;  ///< such as "lane x replication"; "scalar" for one value
  };
  using Shape = std::vector<std::size_t>;  ///< empty: one value
  using Value = std::variant<std::string, double, std::int64_t>;

  Hdf5File();
  ~Hdf5File();
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;

  // Paths are absolute; groups above them come into being. The last dimension of a shape runs fastest. Throws
  // std::invalid_argument where the number of values is not the shape's, or the path is taken.

  void group(const std::string& path);
  void dataset(const std::string& path, std::span<const double> values, const Shape& shape, const Attributes& about);
  void dataset(const std::string& path, std::span<const std::int32_t> values, const Shape& shape,
               const Attributes& about);
  /// Strings of one length in UTF-8, padded with zeros.
  void dataset(const std::string& path, const std::vector<std::string>& values, const Shape& shape,
               const Attributes& about);
  /// An attribute of the group or dataset `object`; "/" is the file.
  void attribute(const std::string& object, const std::string& name, const Value& value);

  std::string bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pandora
