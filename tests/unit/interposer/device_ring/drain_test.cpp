// SPDX-License-Identifier: Apache-2.0
// The drain of device rings under threads that write as kernels do: the real drain thread, its log,
// and the kernels' own code for writing, without a driver. Built with the thread sanitizer in
// scripts/test.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

#include "gpumemtrace/detail/ring_writer.h"
#include "interposer/device_ring/drain.h"
#include "interposer/log/process.h"
#include "interposer/log/thread_log.h"
#include "trace/ring_reader.h"

namespace gmt::interposer {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kSubRings = 4, kSlots = 64, kThreads = 8, kRecords = 20000;

Ring& make_ring(unsigned number) {
  Ring& ring = rings[number];
  EXPECT_TRUE(make_ring_memory(ring.memory, trace::ring_bytes(kSubRings, kSlots), number));
  trace::RingHeader& header = trace::ring_header(ring.memory.base);
  std::memcpy(header.magic, trace::kRingMagic, sizeof header.magic);
  header.version = trace::kRingVersion;
  header.sub_rings = kSubRings;
  header.slots_per_sub_ring = kSlots;
  ring.id = static_cast<std::uint16_t>(number + 1);
  begin_draining(ring);
  return ring;
}

std::unique_ptr<trace::DeviceControl> make_control(const Ring& ring, bool wait) {
  auto control = std::make_unique<trace::DeviceControl>();
  *control = {};
  control->version = trace::kRingVersion;
  control->wait_when_full = wait ? 1 : 0;
  control->sub_rings = kSubRings;
  control->slots_per_sub_ring = kSlots;
  control->ring = reinterpret_cast<std::uint64_t>(ring.memory.base);
  return control;
}

// Every third record has two slots. Returns how many were written.
unsigned write_records(trace::DeviceControl& control, unsigned thread) {
  unsigned written = 0;
  for (unsigned i = 0; i < kRecords; ++i) {
    const auto slots = static_cast<std::uint8_t>(i % 3 == 0 ? 2 : 1);
    device::RingWriter writer(control, thread + i);
    const std::uint64_t ticket = writer.reserve(slots);
    if (ticket == device::kNoTicket) continue;
    ++written;
    writer.publish(ticket, {trace::Kind::kDeviceAlloc, slots, trace::kNoApi, 0, 0}, i,
                   trace::pack_who(1, thread, 0, 0),
                   [&](unsigned word) { return word == 0 ? thread : std::uint64_t{i}; });
  }
  return written;
}

struct Read {
  std::vector<unsigned> records = std::vector<unsigned>(kThreads); // by thread
  std::uint64_t moved = 0, slots = 0, lost = 0, torn = 0;
};

Read read_log(const char* name) {
  Read read;
  char path[4200];
  EXPECT_TRUE(Process::path_of(name, path, sizeof path));
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  for (std::size_t at = trace::kLogHeaderBytes; at + sizeof(trace::Slot) <= bytes.size();) {
    trace::Slot slot;
    std::memcpy(&slot, bytes.data() + at, sizeof slot);
    const trace::Head head = trace::unpack(slot.head);
    at += sizeof slot * (head.slots == 0 ? 1 : head.slots);
    if (head.kind == trace::Kind::kDeviceAlloc) {
      ++read.records.at(slot.a[0]);
      read.slots += head.slots;
    } else if (head.kind == trace::Kind::kDeviceDrained) {
      read.moved += slot.a[0];
      read.lost = slot.a[1];
      read.torn += slot.a[2];
    }
  }
  return read;
}

class InterposerRing : public testing::Test {
protected:
  static void SetUpTestSuite() {
    std::uint32_t epoch = 0, number = 0;
    ASSERT_NE(Process::enter_thread(epoch, number), nullptr);
    ASSERT_TRUE(start_drain_thread());
  }
  static void TearDownTestSuite() {
    char trace[4096];
    ASSERT_TRUE(Process::path_of(".", trace, sizeof trace));
    fs::remove_all(fs::path(trace).parent_path());
  }
  // All threads write to the ring until they are done; what each has written.
  static std::vector<unsigned> write_all(trace::DeviceControl& control) {
    std::vector<unsigned> written(kThreads);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] { written[t] = write_records(control, t); });
    for (std::thread& thread : threads) thread.join();
    return written;
  }
};

TEST_F(InterposerRing, ManyThreadsThatWaitLoseNothing) {
  Ring& ring = make_ring(0);
  const auto written = write_all(*make_control(ring, true));
  end_draining(ring);
  const Read read = read_log("device-0.log");
  EXPECT_EQ(written, std::vector<unsigned>(kThreads, kRecords));
  EXPECT_EQ(read.records, written);
  EXPECT_EQ(read.moved, read.slots);
  EXPECT_EQ(read.lost + read.torn, 0u);
  drop_ring_memory(ring.memory);
}

TEST_F(InterposerRing, WhatIsDroppedIsCounted) {
  Ring& ring = make_ring(1);
  const auto written = write_all(*make_control(ring, false));
  drain_rings(); // beside the thread
  end_draining(ring);
  const Read read = read_log("device-1.log");
  EXPECT_EQ(read.records, written);
  std::uint64_t all = read.lost;
  for (const unsigned n : read.records) all += n;
  EXPECT_EQ(all, std::uint64_t{kThreads} * kRecords);
  EXPECT_EQ(read.torn, 0u);
  drop_ring_memory(ring.memory);
}

} // namespace
} // namespace gmt::interposer
