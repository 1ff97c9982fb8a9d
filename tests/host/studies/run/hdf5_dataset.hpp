// Reads datasets of results.h5.
#pragma once

#include <gtest/gtest.h>
#include <hdf5.h>

#include <filesystem>
#include <string>
#include <vector>

namespace pandora::test {

/// The doubles of a dataset, with its shape.
inline std::vector<double> dataset(const std::filesystem::path& file, const std::string& name,
                                   std::vector<hsize_t>& shape) {
  const hid_t f = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), d = H5Dopen2(f, name.c_str(), H5P_DEFAULT),
              space = H5Dget_space(d);
  EXPECT_GE(d, 0) << name;
  shape.resize(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, shape.data(), nullptr);
  std::vector<double> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  EXPECT_GE(H5Dread(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0) << name;
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

}  // namespace pandora::test
