// Reads datasets of results.h5.
#pragma once

#include <gtest/gtest.h>
#include <hdf5.h>

#include <filesystem>
#include <string>
#include <vector>

namespace pandora::test {

/// The numbers of a dataset, with its shape. `type` is that of T in memory.
template <class T = double>
std::vector<T> dataset(const std::filesystem::path& file, const std::string& name, std::vector<hsize_t>& shape,
                       hid_t type = H5T_NATIVE_DOUBLE) {
  const hid_t f = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), d = H5Dopen2(f, name.c_str(), H5P_DEFAULT),
              space = H5Dget_space(d);
  EXPECT_GE(d, 0) << name;
  shape.resize(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, shape.data(), nullptr);
  std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  EXPECT_GE(H5Dread(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0) << name;
  for (const char* about : {"description", "units", "dimensions"}) EXPECT_GT(H5Aexists(d, about), 0) << name << about;
  H5Sclose(space);
  H5Dclose(d);
  H5Fclose(f);
  return values;
}

inline bool has_dataset(const std::filesystem::path& file, const char* name) {
  const hid_t f = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const bool there = H5Lexists(f, name, H5P_DEFAULT) > 0;
  H5Fclose(f);
  return there;
}

/// The value of an attribute; `type` is that of T in memory.
template <class T>
T attribute(const std::filesystem::path& file, const std::string& object, const char* name, hid_t type) {
  const hid_t f = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT),
              a = H5Aopen_by_name(f, object.c_str(), name, H5P_DEFAULT, H5P_DEFAULT);
  T out{};
  EXPECT_GE(H5Aread(a, type, &out), 0) << object << " " << name;
  H5Aclose(a);
  H5Fclose(f);
  return out;
}

/// An attribute that is a text of any length in UTF-8.
inline std::string text_attribute(const std::filesystem::path& file, const std::string& object, const char* name) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  char* const text = attribute<char*>(file, object, name, type);
  const std::string out = text == nullptr ? "" : text;
  H5free_memory(text);
  H5Tclose(type);
  return out;
}

}  // namespace pandora::test
