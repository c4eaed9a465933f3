// SPDX-License-Identifier: Apache-2.0
// Which thread describes what many refer to: threads instead of warps, also ones that die between
// claiming an entry and describing it.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "gpumemtrace/detail/once_table.h"

namespace gmt::device {
namespace {

constexpr std::uint64_t kKey = 42, kOther = 44;

TEST(OnceTable, TheFirstDescribesAndTheOthersNeedNot) {
  std::uint64_t entry = 0;
  EXPECT_EQ(claim(entry, kKey, false), EntryState::kToDescribe);
  set_described(entry, kKey);
  EXPECT_EQ(claim(entry, kKey, false), EntryState::kDescribed);
  EXPECT_EQ(claim(entry, kOther, false), EntryState::kOfOtherKey);
}

TEST(OnceTable, WhatTheFirstOneNeverDescribedTheNextOneDoes) {
  std::uint64_t entry = 0;
  // And dies, or finds no room in the ring
  EXPECT_EQ(claim(entry, kKey, false), EntryState::kToDescribe);
  EXPECT_EQ(claim(entry, kOther, false), EntryState::kOfOtherKey);
  EXPECT_EQ(claim(entry, kKey, false), EntryState::kToDescribe);
  set_described(entry, kKey);
  EXPECT_EQ(claim(entry, kKey, false), EntryState::kDescribed);
}

TEST(OnceTable, ANewerGridDisplacesAnOlderOne) {
  std::uint64_t entry = kKey | kIsDescribed;
  EXPECT_EQ(claim(entry, kOther, true), EntryState::kToDescribe);
  EXPECT_EQ(claim(entry, kOther, true), EntryState::kToDescribe); // not described yet
  set_described(entry, kOther);
  EXPECT_EQ(claim(entry, kOther, true), EntryState::kDescribed);
  // And is described again when it comes back
  EXPECT_EQ(claim(entry, kKey, true), EntryState::kToDescribe);
}

// Each thread refers to every key. A description stands in `described`; whatever happens, it does
// so before any thread goes on.
TEST(OnceTable, NoThreadGoesOnBeforeTheDescriptionIsThere) {
  constexpr unsigned kThreads = 6, kKeys = 400;
  std::vector<std::uint64_t> entries(kKeys);
  std::vector<std::atomic<unsigned>> described(kKeys);
  std::atomic<unsigned> too_early{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < kKeys; ++i) {
        const std::uint64_t key = 2 * (i + 1);
        const EntryState state = claim(entries[i], key, false);
        EXPECT_NE(state, EntryState::kOfOtherKey);
        if (state == EntryState::kToDescribe) {
          if (i % 3 == t % 3) continue; // dies
          described[i].fetch_add(1, std::memory_order_relaxed);
          set_described(entries[i], key);
        }
        too_early += described[i].load(std::memory_order_relaxed) == 0 ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(too_early, 0u);
  for (unsigned i = 0; i < kKeys; ++i) {
    EXPECT_EQ(entries[i], 2 * (i + 1) | kIsDescribed);
    EXPECT_GE(described[i], 1u);
    EXPECT_LE(described[i], kThreads);
  }
}

} // namespace
} // namespace gmt::device
