// SPDX-License-Identifier: Apache-2.0
// Packing beside a running program, when the command can get no memory.

#include "analyzer/command/run/trace_packer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <vector>

#include "analyzer/trace_reader/trace_dir.h"
#include "trace/format.h"

namespace {
thread_local constinit std::size_t most_bytes = SIZE_MAX; // that operator new gives at once
}

// NOLINTBEGIN(misc-definitions-in-headers)
void* operator new(std::size_t bytes) {
  void* memory = bytes <= most_bytes ? std::malloc(bytes) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
// That of a sanitizer would not meet the operator delete below.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return bytes <= most_bytes ? std::malloc(bytes) : nullptr;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
// NOLINTEND(misc-definitions-in-headers)

namespace gmt {
namespace {

namespace fs = std::filesystem;

void write_log(const fs::path& path, std::size_t slots) {
  std::vector<char> bytes(trace::kLogHeaderBytes + slots * trace::kSlotBytes);
  trace::LogHeader header{};
  std::memcpy(header.magic, trace::kLogMagic, sizeof header.magic);
  header.major = trace::kFormatMajor;
  std::memcpy(bytes.data(), &header, sizeof header);
  std::ofstream(path, std::ios::binary)
    .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

TEST(TracePacker, GoesOnWhereThereWasNoMemory) {
  const fs::path folder =
    fs::temp_directory_path() / ("trace_packer_test." + std::to_string(getpid()));
  const fs::path trace = folder / "gpumemtrace.app.host.1";
  fs::create_directories(trace);
  std::ofstream(trace / "info") << "run=r1\npid=1\n";
  for (int file = 0; file < 3; ++file)
    write_log(trace / ("t1-0." + std::to_string(file) + ".log"), 20'000);
  TracePacker packer(folder, "r1");
  for (const std::size_t most : {std::size_t{100}, std::size_t{100'000}}) {
    most_bytes = most;
    std::chrono::milliseconds pause{0};
    for (int i = 0; i < 10 && pause.count() == 0; ++i) pause = packer.work();
    most_bytes = SIZE_MAX;
    EXPECT_EQ(pause, std::chrono::seconds(30)) << most;
    EXPECT_TRUE(fs::exists(trace / "t1-0.0.log")) << most;
    EXPECT_FALSE(fs::exists(trace / "t1-0.0.log.zst.new")) << most;
  }
  while (packer.work().count() == 0) {
  }
  EXPECT_FALSE(fs::exists(trace / "t1-0.0.log"));
  EXPECT_TRUE(fs::exists(trace / "t1-0.0.log.zst"));
  EXPECT_TRUE(fs::exists(trace / "t1-0.1.log")) << "calls in flight may be in it";
  fs::remove_all(folder);
}

// File 10 is younger than file 2.
TEST(TracePacker, PacksTheOldestFilesFirst) {
  const fs::path folder =
    fs::temp_directory_path() / ("trace_packer_order." + std::to_string(getpid()));
  const fs::path trace = folder / "gpumemtrace.app.host.1";
  fs::create_directories(trace);
  std::ofstream(trace / "info") << "run=r1\npid=1\n";
  constexpr int kFiles = 14;
  const auto log = [&trace](int file) { return trace / ("t1-0." + std::to_string(file) + ".log"); };
  for (int file = 0; file < kFiles; ++file) write_log(log(file), 10);
  TracePacker packer(folder, "r1");
  int packed = 0;
  while (packer.work().count() == 0) {
    if (packed < kFiles && !fs::exists(log(packed))) ++packed;
    for (int file = packed; file < kFiles; ++file) ASSERT_TRUE(fs::exists(log(file))) << packed;
  }
  EXPECT_EQ(packed, kFiles - 2);
  fs::remove_all(folder);
}

} // namespace
} // namespace gmt
