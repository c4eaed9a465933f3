// SPDX-License-Identifier: Apache-2.0
// The ring between kernels and the host, both sides of it: device_hooks' writer, run by threads of
// the host instead of warps, and trace/ring_reader.h. Under the thread sanitizer this also
// checks that every access is ordered.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "gpumemtrace/detail/ring_writer.h"
#include "trace/ring_reader.h"

namespace gmt {
namespace {

using device::kNoTicket;
using device::RingWriter;
using trace::Kind;
using trace::RingProgress;
using trace::RingRecord;
using trace::SubRingReader;

// A ring in ordinary memory, as the interposer lays it out.
class TestRing {
public:
  TestRing(unsigned sub_rings, unsigned slots, bool wait = false)
      : bytes_(trace::ring_bytes(sub_rings, slots)), memory_(bytes_ / sizeof(Page) + 1),
        control_(std::make_unique<trace::DeviceControl>()) {
    trace::RingHeader& header = trace::ring_header(memory());
    std::memcpy(header.magic, trace::kRingMagic, sizeof header.magic);
    header.version = control_->version = trace::kRingVersion;
    header.sub_rings = control_->sub_rings = sub_rings;
    header.slots_per_sub_ring = control_->slots_per_sub_ring = slots;
    control_->wait_when_full = wait;
    control_->ring = reinterpret_cast<std::uint64_t>(memory());
  }
  void* memory() { return memory_.data(); }
  std::size_t bytes() const { return bytes_; }
  RingWriter writer(unsigned sub_ring) { return RingWriter(*control_, sub_ring); }
  SubRingReader reader(unsigned sub_ring) { return SubRingReader(memory(), sub_ring); }

private:
  struct alignas(4096) Page {
    char bytes[4096];
  };
  std::size_t bytes_;
  std::vector<Page> memory_;
  std::unique_ptr<trace::DeviceControl> control_;
};

// Word i of record `number` of a thread.
std::uint64_t word_of(std::uint64_t thread, std::uint64_t number, unsigned i) {
  return thread << 48 | number << 8 | i;
}

bool put(RingWriter writer, std::uint64_t thread, std::uint64_t number, unsigned slots) {
  const std::uint64_t ticket = writer.reserve(slots);
  if (ticket == kNoTicket) return false;
  writer.publish(ticket,
                 {Kind::kDeviceAlloc, static_cast<std::uint8_t>(slots), trace::kNoApi, 0, 0},
                 number, thread, [=](unsigned i) { return word_of(thread, number, i); });
  return true;
}

// Whether every word is the one that put() wrote.
void expect_whole(const RingRecord& record) {
  std::vector<trace::Slot> slots(record.slots());
  record.copy_to(slots.data());
  trace::DeviceSlot first;
  std::memcpy(&first, slots.data(), sizeof first);
  for (unsigned i = 0; i < trace::kFirstPayloadWords; ++i)
    EXPECT_EQ(first.a[i], word_of(first.who, first.time, i));
  for (unsigned s = 1; s < record.slots(); ++s) {
    trace::MoreSlot more;
    std::memcpy(&more, &slots[s], sizeof more);
    EXPECT_EQ(trace::unpack(more.head).kind, Kind::kMore);
    for (unsigned k = 0; k < trace::kMorePayloadWords; ++k) {
      EXPECT_EQ(more.payload[k],
                word_of(first.who, first.time,
                        trace::kFirstPayloadWords + (s - 1) * trace::kMorePayloadWords + k));
    }
  }
}

std::uint64_t who_of(const RingRecord& record) {
  const trace::Slot first = record[0];
  trace::DeviceSlot written;
  std::memcpy(&written, &first, sizeof written);
  return written.who;
}

std::vector<std::uint64_t> numbers(SubRingReader reader, RingProgress* progress = nullptr) {
  std::vector<std::uint64_t> found;
  const RingProgress p = reader.drain(1000, [&](const RingRecord& record) {
    expect_whole(record);
    found.push_back(record[0].order); // the word where put() leaves the number
  });
  if (progress != nullptr) *progress = p;
  return found;
}

TEST(DeviceRing, IsSoundOnlyWhenWhole) {
  TestRing ring(2, 8);
  EXPECT_TRUE(trace::ring_is_sound(ring.memory(), ring.bytes()));
  EXPECT_FALSE(trace::ring_is_sound(ring.memory(), ring.bytes() - 1));
  trace::ring_header(ring.memory()).slots_per_sub_ring = 7;
  EXPECT_FALSE(trace::ring_is_sound(ring.memory(), ring.bytes()));
}

TEST(DeviceRing, RecordsGoAroundTheEnd) {
  TestRing ring(4, 8);
  using Numbers = std::vector<std::uint64_t>;
  // 3 + 2 slots a round: the beginning moves through all slots
  for (std::uint64_t n = 0; n < 50; n += 2) {
    ASSERT_TRUE(put(ring.writer(3), 1, n, 3));
    ASSERT_TRUE(put(ring.writer(3), 1, n + 1, 2));
    EXPECT_EQ(numbers(ring.reader(3)), (Numbers{n, n + 1}));
  }
  EXPECT_EQ(ring.reader(3).consumed(), 125u);
  EXPECT_TRUE(numbers(ring.reader(2)).empty());
}

TEST(DeviceRing, AFullRingLosesAndCounts) {
  TestRing ring(1, 8);
  for (std::uint64_t n = 0; n < 3; ++n) EXPECT_TRUE(put(ring.writer(0), 1, n, 2));
  EXPECT_FALSE(put(ring.writer(0), 1, 3, 3)); // 2 slots are left
  EXPECT_TRUE(put(ring.writer(0), 1, 4, 2));
  EXPECT_FALSE(put(ring.writer(0), 1, 5, 1));
  EXPECT_EQ(ring.reader(0).lost(), 2u);
  EXPECT_EQ(numbers(ring.reader(0)), (std::vector<std::uint64_t>{0, 1, 2, 4}));
  EXPECT_TRUE(put(ring.writer(0), 1, 6, 8));
  EXPECT_FALSE(put(ring.writer(0), 1, 7, 9)); // never fits: lost even where others would wait
  EXPECT_EQ(ring.reader(0).lost(), 3u);
}

TEST(DeviceRing, AFullSubRingGoesOnToTheNext) {
  TestRing ring(4, 8);
  using Numbers = std::vector<std::uint64_t>;
  for (std::uint64_t n = 0; n < 8; ++n)
    EXPECT_TRUE(put(ring.writer(3), 1, n, 3)) << n; // two in each
  EXPECT_FALSE(put(ring.writer(3), 1, 8, 3));
  EXPECT_TRUE(put(ring.writer(3), 1, 9, 2));
  EXPECT_EQ(ring.reader(3).lost(), 1u);
  EXPECT_EQ(numbers(ring.reader(0)), (Numbers{2, 3}));
  EXPECT_TRUE(put(ring.writer(3), 1, 10, 3));
  EXPECT_EQ(numbers(ring.reader(3)), (Numbers{0, 1, 9}));
  EXPECT_EQ(numbers(ring.reader(0)), Numbers{10});
  EXPECT_EQ(numbers(ring.reader(1)), (Numbers{4, 5}));
  EXPECT_EQ(numbers(ring.reader(2)), (Numbers{6, 7}));
}

// As many warps as a multiprocessor has, in a ring of the usual shape: together they leave far more
// than their sub-ring holds, and the reader does not come in time.
TEST(DeviceRing, ABurstOfOneMultiprocessorLosesNothing) {
  constexpr unsigned kWarps = 16, kRecords = 1000, kSlots = 1024;
  static_assert(kWarps * kRecords > 8 * kSlots);
  TestRing ring(trace::kSubRings, kSlots);
  std::vector<std::thread> warps;
  std::atomic<unsigned> dropped{0};
  for (unsigned warp = 0; warp < kWarps; ++warp) {
    warps.emplace_back([&, warp] {
      for (std::uint64_t n = 0; n < kRecords; ++n)
        dropped += put(ring.writer(30), warp, n, 1) ? 0 : 1;
    });
  }
  for (std::thread& warp : warps) warp.join();
  EXPECT_EQ(dropped, 0u);
  std::vector<unsigned> received(kWarps);
  for (unsigned i = 0; i < trace::kSubRings; ++i) {
    EXPECT_EQ(ring.reader(i).lost(), 0u);
    ring.reader(i).drain(kSlots, [&](const RingRecord& record) {
      expect_whole(record);
      ++received[who_of(record)];
    });
  }
  EXPECT_EQ(received, std::vector<unsigned>(kWarps, kRecords));
}

TEST(DeviceRing, ReaderStopsAtWhatIsNotWrittenAndPassesOverItAtTheEnd) {
  TestRing ring(1, 16);
  EXPECT_TRUE(put(ring.writer(0), 1, 0, 1));
  EXPECT_EQ(ring.writer(0).reserve(2), 1u); // torn
  EXPECT_TRUE(put(ring.writer(0), 1, 1, 3));
  EXPECT_EQ(ring.writer(0).reserve(1), 6u); // torn, and looks like a free slot
  RingProgress progress;
  EXPECT_EQ(numbers(ring.reader(0), &progress), std::vector<std::uint64_t>{0});
  EXPECT_EQ(progress.torn, 0u);
  EXPECT_FALSE(ring.reader(0).ready());
  std::vector<std::uint64_t> found;
  progress =
    ring.reader(0).drain_rest([&](const RingRecord& record) { found.push_back(record[0].order); });
  EXPECT_EQ(found, std::vector<std::uint64_t>{1});
  EXPECT_EQ(progress.slots, 3u);
  EXPECT_EQ(progress.torn, 2u);
  EXPECT_EQ(ring.reader(0).drain_rest([](const RingRecord&) {}).torn, 0u);
}

TEST(DeviceRing, WhatAKilledReaderHadZeroedIsNotTorn) {
  // So many records had been taken when the first two were zeroed
  for (std::uint64_t taken = 0; taken <= 4; ++taken) {
    TestRing ring(1, 16);
    for (std::uint64_t number = 0; number < 4; ++number)
      EXPECT_TRUE(put(ring.writer(0), 1, number, 1));
    std::memset(static_cast<char*>(ring.memory()) + trace::ring_slots_offset(1), 0,
                2 * trace::kSlotBytes);
    std::vector<std::uint64_t> found;
    const auto take = [&](const RingRecord& record) { found.push_back(record[0].order); };
    EXPECT_EQ(ring.reader(0).drain_rest(take, taken).torn, taken < 2 ? 2 - taken : 0);
    EXPECT_EQ(found, (std::vector<std::uint64_t>{2, 3}));
  }
}

// Words may arrive in any order, as their writer does not wait for one before it sends another.
TEST(DeviceRing, ARecordIsTakenWhenAllItsWordsAreThere) {
  TestRing whole(1, 8), ring(1, 8);
  EXPECT_TRUE(put(whole.writer(0), 0, 0, 2)); // its thread and number are words of 0
  EXPECT_TRUE(put(ring.writer(0), 0, 0, 2));
  auto* const from = reinterpret_cast<std::uint64_t*>(static_cast<char*>(whole.memory()) +
                                                      trace::ring_slots_offset(1));
  auto* const to = reinterpret_cast<std::uint64_t*>(static_cast<char*>(ring.memory()) +
                                                    trace::ring_slots_offset(1));
  for (unsigned missing = 0; missing < 16; ++missing) {
    EXPECT_NE(from[missing], 0u);
    to[missing] = 0;
    EXPECT_TRUE(numbers(ring.reader(0)).empty()) << missing;
    EXPECT_EQ(ring.reader(0).consumed(), 0u);
    to[missing] = from[missing];
  }
  to[12] = 0;
  const RingProgress torn = ring.reader(0).drain_rest([](const RingRecord&) { FAIL(); });
  EXPECT_EQ(torn.torn, 2u);
  EXPECT_EQ(numbers(whole.reader(0)), std::vector<std::uint64_t>{0});
  for (unsigned i = 0; i < 16; ++i) EXPECT_EQ(from[i], 0u);
}

TEST(DeviceRing, ReaderPassesOverWhatTheProgramOverwrote) {
  TestRing ring(1, 16);
  for (std::uint64_t n = 0; n < 3; ++n) EXPECT_TRUE(put(ring.writer(0), 1, n, 2));
  auto* slots = reinterpret_cast<trace::DeviceSlot*>(static_cast<char*>(ring.memory()) +
                                                     trace::ring_slots_offset(1));
  slots[2].ticket = 77;
  RingProgress progress;
  EXPECT_EQ(numbers(ring.reader(0), &progress), (std::vector<std::uint64_t>{0, 2}));
  EXPECT_EQ(progress.torn, 2u);
}

// Writers on every sub-ring while one reader drains. With `wait` nothing may be lost; without,
// every loss is counted.
void run_threads(TestRing& ring, unsigned sub_rings, bool wait) {
  constexpr unsigned kThreads = 6;
  const std::uint64_t kRecords = wait ? 500 : 4000; // on a machine with few cores waiting is slow
  std::atomic<unsigned> running{kThreads};
  std::atomic<std::uint64_t> refused{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t n = 0; n < kRecords; ++n) {
        if (!put(ring.writer(t), t, n, 1 + static_cast<unsigned>(n % 5))) ++refused;
      }
      --running;
    });
  }
  // Of each thread in each sub-ring: there its records stay in order.
  std::vector<std::int64_t> last(kThreads * sub_rings, -1);
  std::uint64_t received = 0;
  const auto drain = [&] {
    for (unsigned i = 0; i < sub_rings; ++i) {
      ring.reader(i).drain(64, [&](const RingRecord& record) {
        expect_whole(record);
        const auto number = static_cast<std::int64_t>(record[0].order);
        std::int64_t& before = last[who_of(record) * sub_rings + i];
        EXPECT_GT(number, before);
        before = number;
        ++received;
      });
    }
  };
  while (running != 0) drain();
  for (std::thread& thread : threads) thread.join();
  for (unsigned rounds = 0; rounds < 64; ++rounds) drain();
  std::uint64_t lost = 0;
  for (unsigned i = 0; i < sub_rings; ++i) lost += ring.reader(i).lost();
  EXPECT_EQ(lost, refused);
  EXPECT_EQ(received + lost, kThreads * kRecords);
  if (wait) {
    EXPECT_EQ(lost, 0u);
  }
}

TEST(DeviceRing, ManyThreadsLoseNothingUncounted) {
  TestRing ring(2, 64);
  run_threads(ring, 2, false);
}

TEST(DeviceRing, ManyThreadsLoseNothingWhenTheyWait) {
  TestRing ring(2, 16, true);
  run_threads(ring, 2, true);
}

TEST(DeviceRing, ManyThreadsMeetAtOneRing) {
  TestRing ring(1, 1024, true);
  run_threads(ring, 1, true);
}

} // namespace
} // namespace gmt
