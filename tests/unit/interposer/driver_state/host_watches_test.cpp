// SPDX-License-Identifier: Apache-2.0
// Which pages --host-races closes while a copy uses them, and what they are when they are open.
#include "interposer/driver_state/host_watches.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interposer/loader/mapped_path.h"

namespace gmt::interposer {
namespace {

constexpr std::size_t kBytes = 3 * 4096;

class HostWatches : public testing::Test {
protected:
  void SetUp() override {
    begin_host_watches({[]() noexcept {}, []() noexcept { return true; }});
  }
  void TearDown() override {
    end_host_watches();
    forget_host_watches();
  }
  static std::uint64_t map(int protection) {
    void* memory = mmap(nullptr, kBytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    return reinterpret_cast<std::uint64_t>(memory);
  }
  static void follow_registered(std::uint64_t address) {
    Record record;
    record.kind = trace::Kind::kAlloc;
    record.use(trace::kFirstPayloadWords);
    trace::AllocFields(record).address(address).bytes(kBytes).memory_kind(
      trace::MemoryKind::kRegistered);
    follow_host_watches(record, 1);
  }
  static void follow_copy_to(std::uint64_t address) {
    Record record;
    record.kind = trace::Kind::kCopy;
    record.flags = trace::kCopyAsync;
    record.use(trace::kFirstPayloadWords);
    trace::CopyFields(record).destination(address).source(0x7f0000000000).bytes(kBytes);
    follow_host_watches(record, 2);
  }
  static bool may_write(std::uint64_t address) { // asked of the kernel
    const int zeros = open("/dev/zero", O_RDONLY);
    const bool could = read(zeros, reinterpret_cast<void*>(address), 1) == 1; // NOLINT: an address
    close(zeros);
    return could;
  }
};

TEST_F(HostWatches, PagesOfACopyAreClosedUntilTheyAreUsed) {
  const std::uint64_t memory = map(PROT_READ | PROT_WRITE);
  follow_registered(memory);
  follow_copy_to(memory);
  EXPECT_FALSE(is_mapped_writable(memory, memory + 4096));
  UsedCopies copies;
  EXPECT_TRUE(open_faulted_page(memory, true, copies));
  EXPECT_EQ(copies.count, 1u);
  EXPECT_TRUE(may_write(memory));
  munmap(reinterpret_cast<void*>(memory), kBytes); // NOLINT: an address
}

TEST_F(HostWatches, MemoryThatMayNotBeWrittenStaysSo) {
  const std::uint64_t memory = map(PROT_READ | PROT_WRITE);
  ASSERT_EQ(mprotect(reinterpret_cast<void*>(memory + 4096), 4096, PROT_READ), 0); // NOLINT
  EXPECT_TRUE(is_mapped_writable(memory, memory + 4096));
  EXPECT_FALSE(is_mapped_writable(memory, memory + kBytes));
  EXPECT_FALSE(is_mapped_writable(memory + kBytes - 4096, memory + (std::uint64_t{1} << 40)));
  follow_registered(memory);
  follow_copy_to(memory);
  UsedCopies copies;
  EXPECT_FALSE(open_faulted_page(memory + 4096, true, copies));
  EXPECT_FALSE(may_write(memory + 4096));
  munmap(reinterpret_cast<void*>(memory), kBytes); // NOLINT: an address
}

} // namespace
} // namespace gmt::interposer
