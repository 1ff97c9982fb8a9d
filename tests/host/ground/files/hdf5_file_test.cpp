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
#include "tests/host/expect_error.hpp"
#include "tests/host/folder_test.hpp"
#include "tests/host/studies/run/hdf5_dataset.hpp"

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
  template <class T>
  std::vector<T> values(const char* name, hid_t type, const std::vector<hsize_t>& shape) const {
    std::vector<hsize_t> found;
    const std::vector<T> out = test::dataset<T>(path_, name, found, type);
    EXPECT_EQ(found, shape) << name;
    return out;
  }
  fs::path path_;
};

TEST_F(Hdf5FileTest, HoldsValuesShapesAndMeaning) {
  Hdf5File file;
  fill(file);
  write_file(path_, file.bytes());
  EXPECT_EQ(test::names_in(base_).size(), 1u);
  const std::vector<double> doubles = values<double>("/lanes/regret", H5T_NATIVE_DOUBLE, {3, 2});
  ASSERT_EQ(doubles.size(), kDoubles.size());
  for (std::size_t i = 0; i < doubles.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(doubles[i]), std::bit_cast<std::uint64_t>(kDoubles[i])) << i;
  EXPECT_EQ(values<std::int32_t>("/lanes/deep/count", H5T_NATIVE_INT32, {2}),
            (std::vector<std::int32_t>{-1, 2147483647}));
  EXPECT_EQ(values<double>("/queries", H5T_NATIVE_DOUBLE, {}), std::vector<double>{0x1p40});
  EXPECT_TRUE(values<double>("/empty", H5T_NATIVE_DOUBLE, {0, 4}).empty());
  const hid_t name = H5Tcopy(H5T_C_S1);
  H5Tset_size(name, 10);  // the length of "β-plug-in" in UTF-8
  H5Tset_cset(name, H5T_CSET_UTF8);
  H5Tset_strpad(name, H5T_STR_NULLPAD);
  struct Name {
    char text[10];
  };
  const std::vector<Name> names = values<Name>("/lanes/policy", name, {3});
  EXPECT_EQ(std::string(names[0].text), "dow");
  EXPECT_EQ(names[1].text[0], '\0');
  EXPECT_EQ(std::string(names[2].text, 10), "β-plug-in");
  H5Tclose(name);
  EXPECT_EQ(test::text_attribute(path_, "/lanes/regret", "description"), "regret of a lane");
  EXPECT_EQ(test::text_attribute(path_, "/lanes/regret", "units"), "1");
  EXPECT_EQ(test::text_attribute(path_, "/lanes/regret", "dimensions"), "lane x replication");
  EXPECT_EQ(test::text_attribute(path_, "/", "version"), "0.1.0");
  EXPECT_EQ(test::attribute<double>(path_, "/lanes", "u", H5T_NATIVE_DOUBLE), 0.23);
  EXPECT_EQ(test::attribute<std::int64_t>(path_, "/lanes/regret", "seed", H5T_NATIVE_INT64), -7);
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
  const hid_t opened = H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  for (const char* name : {"/", "/lanes", "/lanes/regret", "/lanes/deep", "/lanes/deep/count", "/lanes/policy"}) {
#if H5_VERSION_GE(1, 12, 0)
    H5O_info2_t info;
    ASSERT_GE(H5Oget_info_by_name3(opened, name, &info, H5O_INFO_TIME, H5P_DEFAULT), 0);
#else
    H5O_info_t info;
    ASSERT_GE(H5Oget_info_by_name(opened, name, &info, H5P_DEFAULT), 0);
#endif
    EXPECT_EQ(info.atime + info.mtime + info.ctime + info.btime, 0) << name;  // no time of day
  }
  H5Fclose(opened);
}

TEST_F(Hdf5FileTest, RefusesWhatCannotBeWrittenBeforeAnyWork) {
  const fs::path gone = base_ / "gone" / "a.h5";
  for (const auto& [path, part] : {std::pair(gone, gone.string() + ": cannot be written"),
                                   {base_, "folder"},
                                   {fs::path("/proc/a.h5"), "/proc/a.h5"}})
    test::expect_error(ExitCode::usage, part, [&path = path] { claim_output_file(path.string(), true, {}); });
  EXPECT_TRUE(fs::is_empty(base_));
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
  EXPECT_EQ(values<double>("/a", H5T_NATIVE_DOUBLE, {2}), two);
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
