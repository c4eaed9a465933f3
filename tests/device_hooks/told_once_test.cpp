// SPDX-License-Identifier: Apache-2.0
// Who describes what many refer to: threads in the place of warps, also ones that die between claiming an entry and
// describing it.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "gpumemtrace/detail/told_once.h"

namespace gmt::device {
namespace {

constexpr std::uint64_t kKey = 42, kOther = 44;

TEST(DeviceRingTold, TheFirstDescribesAndTheOthersNeedNot) {
  std::uint64_t entry = 0;
  EXPECT_EQ(ask(entry, kKey, false), Telling::kMine);
  set_told(entry, kKey);
  EXPECT_EQ(ask(entry, kKey, false), Telling::kDone);
  EXPECT_EQ(ask(entry, kOther, false), Telling::kOfAnother);
}

TEST(DeviceRingTold, WhoFindsThatTheFirstOneNeverDescribedItDoes) {
  std::uint64_t entry = 0;
  EXPECT_EQ(ask(entry, kKey, false), Telling::kMine); // and dies, or finds no room in the ring
  EXPECT_EQ(ask(entry, kOther, false), Telling::kOfAnother);
  EXPECT_EQ(ask(entry, kKey, false), Telling::kMine);
  set_told(entry, kKey);
  EXPECT_EQ(ask(entry, kKey, false), Telling::kDone);
}

TEST(DeviceRingTold, ANewerGridDisplacesAnOlderOne) {
  std::uint64_t entry = kKey | kTold;
  EXPECT_EQ(ask(entry, kOther, true), Telling::kMine);
  EXPECT_EQ(ask(entry, kOther, true), Telling::kMine); // not described yet
  set_told(entry, kOther);
  EXPECT_EQ(ask(entry, kOther, true), Telling::kDone);
  EXPECT_EQ(ask(entry, kKey, true), Telling::kMine); // and is described again when it comes back
}

// Each thread refers to every key. A description stands in `described`; whatever happens, it does so before anybody goes on.
TEST(DeviceRingTold, NobodyGoesOnBeforeTheDescriptionIsThere) {
  constexpr unsigned kThreads = 6, kKeys = 400;
  std::vector<std::uint64_t> entries(kKeys);
  std::vector<std::atomic<unsigned>> described(kKeys);
  std::atomic<unsigned> too_early{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < kKeys; ++i) {
        const std::uint64_t key = 2 * (i + 1);
        const Telling telling = ask(entries[i], key, false);
        EXPECT_NE(telling, Telling::kOfAnother);
        if (telling == Telling::kMine) {
          if (i % 3 == t % 3)
            continue; // dies
          described[i].fetch_add(1, std::memory_order_relaxed);
          set_told(entries[i], key);
        }
        too_early += described[i].load(std::memory_order_relaxed) == 0 ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(too_early, 0u);
  for (unsigned i = 0; i < kKeys; ++i) {
    EXPECT_EQ(entries[i], 2 * (i + 1) | kTold);
    EXPECT_GE(described[i], 1u);
    EXPECT_LE(described[i], kThreads);
  }
}

} // namespace
} // namespace gmt::device
