// HDF5 files hold the given data with its meaning, and have the same bytes every time.
#include "host/ground/files/hdf5_file.hpp"

#include <gmock/gmock.h>
#include <hdf5.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "host/ground/files/output_folder.hpp"
#include "pandora/error.hpp"
#include "tests/host/folder_test.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;
using testing::HasSubstr;

const std::vector<double> kDoubles = {1.5, -0.0, INFINITY, 1.0 / 3.0, std::nan(""), -5e-324};

void fill(Hdf5File& file) {
  file.group("/lanes");
  file.dataset("/lanes/regret", kDoubles, {3, 2}, {"regret of a lane", "1", "lane x replication"});
  file.dataset("/lanes/deep/count", std::vector<std::int32_t>{-1, 2147483647}, {2}, {"a count", "1", "lane"});
  file.dataset("/queries", std::vector<double>{0x1p40}, {}, {"all queries", "queries", "scalar"});
  file.dataset("/lanes/policy", std::vector<std::string>{"dow", "", "β-plug-in"}, {3}, {"its name", "", "lane"});
  file.dataset("/empty", std::vector<double>{}, {0, 4}, {"nothing yet", "1", "row x column"});
  file.attribute("/", "version", "0.1.0");
  file.attribute("/lanes", "u", 0.23);
  file.attribute("/lanes/regret", "seed", std::int64_t{-7});
}

class Hdf5FileTest : public test::FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    path_ = base_ / "tables.h5";
  }
  int entries() const {
    return static_cast<int>(std::distance(fs::directory_iterator(base_), fs::directory_iterator()));
  }
  fs::path path_;
};

// A file that the HDF5 library itself opens.
struct Reader {
  explicit Reader(const fs::path& path) : file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)) {}
  ~Reader() { H5Fclose(file); }
  template <class T>
  std::vector<T> values(const char* name, hid_t type, std::vector<hsize_t> shape) const {
    const hid_t set = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(set);
    std::vector<hsize_t> sizes(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
    H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
    EXPECT_EQ(sizes, shape) << name;
    std::vector<T> out(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    EXPECT_GE(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out.data()), 0);
    H5Sclose(space);
    H5Dclose(set);
    return out;
  }
  std::string text_attribute(const char* object, const char* name) const {
    const hid_t attribute = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0) return "none";
    const hid_t type = H5Aget_type(attribute);
    EXPECT_EQ(H5Tget_cset(type), H5T_CSET_UTF8);
    EXPECT_GT(H5Tis_variable_str(type), 0);
    char* text = nullptr;
    EXPECT_GE(H5Aread(attribute, type, &text), 0);
    const std::string out = text;
    H5free_memory(text);
    H5Tclose(type);
    H5Aclose(attribute);
    return out;
  }
  template <class T>
  T attribute(const char* object, const char* name, hid_t type) const {
    T out{};
    const hid_t attribute = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT);
    EXPECT_GE(H5Aread(attribute, type, &out), 0);
    H5Aclose(attribute);
    return out;
  }
  hid_t file;
};

TEST_F(Hdf5FileTest, HoldsValuesShapesAndMeaning) {
  Hdf5File file;
  fill(file);
  write_file(path_, file.bytes());
  EXPECT_EQ(entries(), 1);
  const Reader reader(path_);
  ASSERT_GE(reader.file, 0);
  const std::vector<double> doubles = reader.values<double>("/lanes/regret", H5T_NATIVE_DOUBLE, {3, 2});
  ASSERT_EQ(doubles.size(), kDoubles.size());
  for (std::size_t i = 0; i < doubles.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(doubles[i]), std::bit_cast<std::uint64_t>(kDoubles[i])) << i;
  EXPECT_EQ(reader.values<std::int32_t>("/lanes/deep/count", H5T_NATIVE_INT32, {2}),
            (std::vector<std::int32_t>{-1, 2147483647}));
  EXPECT_EQ(reader.values<double>("/queries", H5T_NATIVE_DOUBLE, {}), std::vector<double>{0x1p40});
  EXPECT_TRUE(reader.values<double>("/empty", H5T_NATIVE_DOUBLE, {0, 4}).empty());
  const hid_t name = H5Tcopy(H5T_C_S1);
  H5Tset_size(name, 10);  // the length of "β-plug-in" in UTF-8
  H5Tset_cset(name, H5T_CSET_UTF8);
  H5Tset_strpad(name, H5T_STR_NULLPAD);
  struct Name {
    char text[10];
  };
  const std::vector<Name> names = reader.values<Name>("/lanes/policy", name, {3});
  EXPECT_EQ(std::string(names[0].text), "dow");
  EXPECT_EQ(names[1].text[0], '\0');
  EXPECT_EQ(std::string(names[2].text, 10), "β-plug-in");
  H5Tclose(name);
  EXPECT_EQ(reader.text_attribute("/lanes/regret", "description"), "regret of a lane");
  EXPECT_EQ(reader.text_attribute("/lanes/regret", "units"), "1");
  EXPECT_EQ(reader.text_attribute("/lanes/regret", "dimensions"), "lane x replication");
  for (const char* set : {"/lanes/deep/count", "/queries", "/lanes/policy", "/empty"})
    for (const char* attribute : {"description", "units", "dimensions"})
      EXPECT_NE(reader.text_attribute(set, attribute), "none") << set << " " << attribute;
  EXPECT_EQ(reader.text_attribute("/", "version"), "0.1.0");
  EXPECT_EQ(reader.attribute<double>("/lanes", "u", H5T_NATIVE_DOUBLE), 0.23);
  EXPECT_EQ(reader.attribute<std::int64_t>("/lanes/regret", "seed", H5T_NATIVE_INT64), -7);
}

TEST_F(Hdf5FileTest, EqualContentGivesEqualBytes) {
  std::string bytes[2];
  for (std::string& each : bytes) {
    Hdf5File file;
    fill(file);
    write_file(path_, file.bytes());
    each = test::read_file(path_);
    fs::remove(path_);
  }
  EXPECT_EQ(bytes[0], bytes[1]);
  Hdf5File file;
  fill(file);
  write_file(path_, file.bytes());
  const Reader reader(path_);
  for (const char* name : {"/", "/lanes", "/lanes/regret", "/lanes/deep", "/lanes/deep/count", "/lanes/policy"}) {
#if H5_VERSION_GE(1, 12, 0)
    H5O_info2_t info;
    ASSERT_GE(H5Oget_info_by_name3(reader.file, name, &info, H5O_INFO_TIME, H5P_DEFAULT), 0);
#else
    H5O_info_t info;
    ASSERT_GE(H5Oget_info_by_name(reader.file, name, &info, H5P_DEFAULT), 0);
#endif
    EXPECT_EQ(info.atime + info.mtime + info.ctime + info.btime, 0) << name;  // no time of day
  }
}

TEST_F(Hdf5FileTest, RefusesWhatCannotBeWrittenBeforeAnyWork) {
  const auto refusal = [](const fs::path& path) {
    try {
      claim_output_file(path.string(), true, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal(base_ / "gone" / "a.h5"), HasSubstr((base_ / "gone" / "a.h5").string() + ": cannot be written"));
  EXPECT_THAT(refusal(base_), HasSubstr("folder"));
  EXPECT_THAT(refusal("/proc/a.h5"), HasSubstr("/proc/a.h5"));
  EXPECT_EQ(entries(), 0);
}

TEST_F(Hdf5FileTest, WrongUseIsRefused) {
  Hdf5File file;
  const std::vector<double> two = {1.0, 2.0};
  EXPECT_THROW(file.dataset("/a", two, {3}, {"", "", ""}), std::invalid_argument);
  EXPECT_THROW(file.dataset("/a", two, {}, {"", "", ""}), std::invalid_argument);
  file.dataset("/a", two, {2}, {"", "", ""});
  EXPECT_THROW(file.dataset("/a", two, {2}, {"", "", ""}), std::invalid_argument);
  EXPECT_THROW(file.group("/a"), std::invalid_argument);
  EXPECT_THROW(file.attribute("/gone", "name", 1.0), std::invalid_argument);
  write_file(path_, file.bytes());
  EXPECT_EQ(Reader(path_).values<double>("/a", H5T_NATIVE_DOUBLE, {2}), two);
}

TEST_F(Hdf5FileTest, OtherProgramsReadIt) {
  Hdf5File file;
  fill(file);
  write_file(path_, file.bytes());
  const auto succeeds = [&](const std::string& command) {
    return std::system((command + " > " + (base_ / "out").string() + " 2>&1").c_str()) == 0;
  };
  EXPECT_TRUE(succeeds("h5dump " + path_.string())) << test::read_file(base_ / "out");
  EXPECT_THAT(test::read_file(base_ / "out"), HasSubstr("lane x replication"));
  EXPECT_TRUE(succeeds("/usr/bin/python3 -c \"import h5py; f = h5py.File('" + path_.string() +
                       "', 'r'); d = f['lanes/regret']; assert d.shape == (3, 2) and d[0, 0] == 1.5; "
                       "assert d.attrs['units'] == '1', d.attrs['units']; "
                       "assert f['lanes/policy'].asstr()[2] == '\\u03b2-plug-in'; assert f['queries'][()] == 2**40\""))
      << test::read_file(base_ / "out");
}

}  // namespace
}  // namespace pandora
