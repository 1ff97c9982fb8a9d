// Quotas on a made-up tree of groups, and the limits that follow from them.
#include "host/ground/base/quotas.hpp"

#include "host/ground/files/system_limits.hpp"
#include "host/ground/machine/ranks.hpp"
#include "tests/host/folder_test.hpp"

namespace pandora {
namespace {
namespace fs = std::filesystem;

class QuotasTest : public test::FolderTest {
 protected:
  void write(const std::string& file, const std::string& text) {
    fs::create_directories((base_ / file).parent_path());
    std::ofstream(base_ / file) << text << "\n";
  }
  void expect(double cores, std::uint64_t memory) {
    const Quotas found = quotas_of(base_);
    EXPECT_EQ(found.cores, cores);
    EXPECT_EQ(found.memory, memory);
  }
};

TEST_F(QuotasTest, AreNoneWhereThereAreNoGroups) {
  expect(0.0, 0);
  write("proc/self/cgroup", "4:memory:/job\n1:cpu:/job");  // version 1 of cgroups
  write("sys/fs/cgroup/job/cpu.max", "100000 100000");
  expect(0.0, 0);
}

TEST_F(QuotasTest, AreTheLeastAlongThePathOfTheProcess) {
  write("proc/self/cgroup", "0::/slice/job/step");
  write("sys/fs/cgroup/slice/cpu.max", "400000 100000");
  write("sys/fs/cgroup/slice/memory.max", "536870912");
  write("sys/fs/cgroup/slice/job/cpu.max", "150000 100000");
  write("sys/fs/cgroup/slice/job/memory.max", "1073741824");
  write("sys/fs/cgroup/slice/job/step/cpu.max", "max 100000");
  write("sys/fs/cgroup/slice/job/step/memory.max", "max");
  write("sys/fs/cgroup/slice/other/cpu.max", "1000 100000");  // another group's quota
  expect(1.5, 536870912);
}

// A container sees its own group as the root, whatever its path on the host.
TEST_F(QuotasTest, AreThoseOfTheRootInAContainer) {
  for (const char* const group : {"0::/", "0::/docker/4f5e", "0::/../../docker/4f5e"}) {
    write("proc/self/cgroup", group);
    write("sys/fs/cgroup/cpu.max", "200000 100000");
    write("sys/fs/cgroup/memory.max", "536870912");
    expect(2.0, 536870912);
  }
}

TEST_F(QuotasTest, AreFoundBesideVersionOneAndSurviveNonsense) {
  write("proc/self/cgroup", "1:cpu:/job\n0::/job");
  write("sys/fs/cgroup/unified/job/cpu.max", "50000 100000");
  write("sys/fs/cgroup/unified/job/memory.max", "lots");
  expect(0.5, 0);
  write("sys/fs/cgroup/unified/job/cpu.max", "50000 0");
  expect(0.0, 0);
}

TEST(Quotas, DecideThreads) {
  EXPECT_EQ(usable_cores(8, {}), 8);
  EXPECT_EQ(usable_cores(0, {}), 1);  // the system does not tell how many
  EXPECT_EQ(usable_cores(8, {2.0, 0}), 2);
  EXPECT_EQ(usable_cores(8, {1.5, 0}), 2);
  EXPECT_EQ(usable_cores(8, {0.25, 0}), 1);
  EXPECT_EQ(usable_cores(2, {4.0, 0}), 2);
  // The ranks of a node always share the quota. They share its cores too, unless they are bound to some.
  EXPECT_EQ(cores_of_rank(8, 8, {}, 4), 2);
  EXPECT_EQ(cores_of_rank(3, 8, {}, 4), 3);
  EXPECT_EQ(cores_of_rank(8, 8, {}, 16), 1);
  EXPECT_EQ(cores_of_rank(8, 8, {4.0, 0}, 1), 4);
  EXPECT_EQ(cores_of_rank(8, 8, {4.0, 0}, 4), 1);
  EXPECT_EQ(cores_of_rank(3, 8, {4.0, 0}, 2), 2);
}

TEST(Quotas, DecideWhatThreadsGet) {
  EXPECT_EQ(cores_for(4, 2, {}), 2.0);
  EXPECT_EQ(cores_for(1, 2, {}), 1.0);
  EXPECT_EQ(cores_for(4, 8, {1.5, 0}), 1.5);
}

TEST(Quotas, BoundMemory) {
  const std::uint64_t all = machine_memory({});
  EXPECT_GT(all, 0u);
  EXPECT_EQ(machine_memory({0.0, 536870912}), std::min<std::uint64_t>(all, 536870912));
  EXPECT_EQ(machine_memory({0.0, std::uint64_t{1} << 60}), all);
}

}  // namespace
}  // namespace pandora
