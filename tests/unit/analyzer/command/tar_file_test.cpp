// SPDX-License-Identifier: Apache-2.0
// A file whose size has more digits than a tar header.

#include "analyzer/command/pack/tar_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <streambuf>

namespace gmt {
namespace {

namespace fs = std::filesystem;

// A disk that is full after some bytes, so that no test writes gigabytes.
class FullDisk : public std::streambuf {
public:
  std::string bytes;

protected:
  std::streamsize xsputn(const char* from, std::streamsize size) override {
    if (bytes.size() > 200) return 0;
    bytes.append(from, static_cast<std::size_t>(size));
    return size;
  }
};

TEST(TarFile, SizesOfEightGibibytesAndMore) {
  const fs::path folder = fs::temp_directory_path() / ("tar_file_test." + std::to_string(getpid()));
  fs::create_directories(folder);
  for (const std::uint64_t size :
       {(std::uint64_t{8} << 30) - 1, std::uint64_t{8} << 30, (std::uint64_t{5} << 40) + 12345}) {
    const fs::path large = folder / "large", packed = folder / "packed.tar.zst";
    std::ofstream(large).put('x');
    fs::resize_file(large, size); // nothing of it is on the disk
    FullDisk disk;
    std::ostream out(&disk);
    TarWriter tar(out);
    tar.add("gpumemtrace.app.host.1", "t1-0.0.log", open_in_folder(large));
    std::ofstream(packed, std::ios::binary) << disk.bytes;
    TarEntry found;
    const std::string problem = read_tar(
      packed,
      [&found](const TarEntry& entry) {
        found = entry;
        return std::string("seen");
      },
      [](std::span<const char>) { return std::string("not asked for"); });
    EXPECT_EQ(problem, "seen");
    EXPECT_EQ(found.bytes, size);
    EXPECT_EQ(found.name, "t1-0.0.log");
  }
  fs::remove_all(folder);
}

} // namespace
} // namespace gmt
