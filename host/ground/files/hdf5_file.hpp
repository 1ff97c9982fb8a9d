// A small writer of HDF5 files. Equal content gives equal bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace pandora {

/// Starts the library; later calls do nothing. Call it before long work whose results go to an HDF5 file: if there is
/// too little memory even for this, the error comes before the work. Throws std::bad_alloc.
void start_hdf5();

/// The file is built in memory, and write_file() writes its bytes, so that a full disk is an ordinary error. (HDF5
/// writes late, and ends badly when it cannot.) Only one thread of the process at a time may use objects of this class.
/// Without memory, HDF5 1.10 may crash or end the program, so make this file last.
class Hdf5File {
 public:
  /// The attributes of every dataset.
  struct Attributes {
    std::string description;
    std::string units;       ///< such as "1" for a pure number
    std::string dimensions;  ///< such as "lane x replication"; "scalar" for one value
  };
  using Shape = std::vector<std::size_t>;  ///< empty: one value
  using Values = std::variant<std::span<const double>, std::span<const float>, std::span<const std::int32_t>,
                              std::span<const std::uint8_t>, std::span<const std::string>>;
  using Value = std::variant<std::string, double, std::int64_t>;

  Hdf5File();
  ~Hdf5File();
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;

  // Paths are absolute, and missing groups are created. The last dimension of a shape runs fastest. Throws
  // std::invalid_argument if the number of values does not match the shape, or if the path is taken.

  void group(const std::string& path);
  /// Strings are in UTF-8, padded with zeros to one length.
  void dataset(const std::string& path, const Values& values, const Shape& shape, const Attributes& about);
  /// Adds an attribute to the group or dataset `object`; "/" is the file.
  void attribute(const std::string& object, const std::string& name, const Value& value);

  std::string bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pandora
