// What control groups leave to the process, read from files as the kernel writes them.
#include "kernels/cpu/cgroup.h"

#include <unistd.h>

#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace remora::cpu {
namespace {

class Cgroup : public testing::Test {
 protected:
  Cgroup() { std::filesystem::create_directories(root_); }
  ~Cgroup() override { std::filesystem::remove_all(root_); }
  void write(const std::string& file, const std::string& content) {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << content;
  }
  CgroupLimits limits(const std::string& membership) {
    write("membership", membership);
    return cgroup_limits(root_ / "membership", root_ / "mount");
  }

  const std::filesystem::path root_ =
      std::filesystem::temp_directory_path() / ("remora-cgroup-" + std::to_string(getpid()));
};

TEST_F(Cgroup, without_groups_nothing_is_limited) {
  const CgroupLimits none = limits("0::/\n");
  EXPECT_EQ(none.memory_bytes, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(none.processors, std::numeric_limits<int>::max());
  EXPECT_EQ(cgroup_limits(root_ / "absent", root_).processors, std::numeric_limits<int>::max());
}

TEST_F(Cgroup, version_2_takes_the_lowest_of_the_groups_around_the_process) {
  write("mount/a/memory.max", "1000\n");
  write("mount/a/b/memory.max", "max\n");
  write("mount/a/cpu.max", "max 100000\n");
  write("mount/a/b/cpu.max", "150000 100000\n");
  const CgroupLimits found = limits("0::/a/b\n");
  EXPECT_EQ(found.memory_bytes, 1000);
  EXPECT_EQ(found.processors, 2);
}

TEST_F(Cgroup, a_containers_root_counts_where_its_path_is_the_hosts) {
  write("mount/memory.max", "5000\n");
  write("mount/cpu.max", "50000 100000\n");
  const CgroupLimits found = limits("0::/docker/0123abcd\n");
  EXPECT_EQ(found.memory_bytes, 5000);
  EXPECT_EQ(found.processors, 1);
}

TEST_F(Cgroup, version_1_has_a_folder_for_each_controller) {
  write("mount/memory/g/memory.limit_in_bytes", "7000\n");
  write("mount/cpu,cpuacct/g/cpu.cfs_quota_us", "300000\n");
  write("mount/cpu,cpuacct/g/cpu.cfs_period_us", "100000\n");
  write("mount/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("mount/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  const CgroupLimits found = limits("5:memory:/g\n4:cpu,cpuacct:/g\n1:name=systemd:/\n");
  EXPECT_EQ(found.memory_bytes, 7000);
  EXPECT_EQ(found.processors, 3);
}

TEST_F(Cgroup, lines_and_files_that_are_none_do_not_matter) {
  write("mount/a/memory.max", "lots\n");
  write("mount/a/cpu.max", "100000 0\n");
  const CgroupLimits found = limits("nonsense\n0::/a\n:\n\n");
  EXPECT_EQ(found.memory_bytes, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(found.processors, std::numeric_limits<int>::max());
}

}  // namespace
}  // namespace remora::cpu
