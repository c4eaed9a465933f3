// SPDX-License-Identifier: Apache-2.0
// The tables in which races of global memory are looked for: for each word of a region its last
// store and its last load, 64 bits each, and for each line of 32 words what the launch did to it.
// An entry, from its highest bits on: the run of a block, the clock of the block, the thread, the
// instruction, whether the access was strong, and which bytes of the word it had.
// A launch takes a run for each block that it starts, in their order, so that entries of earlier
// launches are less than all of its own, and one run before them for words that several blocks
// read. Invariants: each word of a table says by itself what some thread did, so that workers may
// overwrite each other's; 0 is an access of no launch.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gmt::executor {

namespace global_race {
inline constexpr std::uint32_t kMaskBits = 4, kStrongBits = 1, kSiteBits = 17, kThreadBits = 11,
                               kClockBits = 10, kRunBits = 20; // 63: entries are compared as signed
inline constexpr std::uint32_t kSiteShift = kMaskBits + kStrongBits,
                               kThreadShift = kSiteShift + kSiteBits,
                               kClockShift = kThreadShift + kThreadBits,
                               kRunShift = kClockShift + kClockBits;
inline constexpr std::uint64_t kMask = 15, kStrong = 1u << kMaskBits;
inline constexpr std::uint64_t kRun = std::uint64_t{1} << kRunShift;
inline constexpr std::uint64_t kThreadMask = (std::uint64_t{1} << kThreadBits) - 1;
inline constexpr std::uint64_t kClockMask = (std::uint64_t{1} << kClockBits) - 1;
inline constexpr std::uint64_t kSiteMask = (std::uint64_t{1} << kSiteBits) - 1;
// What says whose access it was: run and thread
inline constexpr std::uint64_t kWho = ~(kRun - 1) | kThreadMask << kThreadShift;
inline constexpr std::uint32_t kMostRuns = 1u << kRunBits, kMostSites = 1u << kSiteBits;
// Threads of a block are less than 1024. From there on: several of one warp, each of which used all
// of the bytes; threads of one warp, each of which used its own of them; several of the block.
inline constexpr std::uint32_t kSeveral = 1024, kParts = kSeveral + 32, kManyThreads = 2047;

inline constexpr std::uint32_t kLineShift = 7; // bytes
// Of a line: the launch's number, and what has been done since it began
inline constexpr std::uint32_t kLineFlags = 3, kMostEpochs = 1u << (16 - kLineFlags);
inline constexpr std::uint16_t kLineLoaded = 1, kLineStored = 2;
inline constexpr std::uint16_t kLineShared = 4; // several blocks have loaded each of its words

constexpr std::uint32_t run_of(std::uint64_t entry) {
  return static_cast<std::uint32_t>(entry >> kRunShift);
}
constexpr std::uint32_t clock_of(std::uint64_t entry) {
  return static_cast<std::uint32_t>(entry >> kClockShift & kClockMask);
}
constexpr std::uint32_t thread_of(std::uint64_t entry) {
  return static_cast<std::uint32_t>(entry >> kThreadShift & kThreadMask);
}
constexpr std::uint32_t site_of(std::uint64_t entry) {
  return static_cast<std::uint32_t>(entry >> kSiteShift & kSiteMask);
}
} // namespace global_race

// Of a region: where its entries begin.
struct RaceTable {
  std::uint64_t* stores = nullptr; // null: there is no table
  std::uint64_t* loads = nullptr;
  std::uint16_t* lines = nullptr;

  static std::size_t words(std::uint64_t bytes) { return bytes / 4 + 16; }
  static std::size_t size(std::uint64_t bytes) {
    return words(bytes) * 16 + ((bytes >> global_race::kLineShift) + 2) * 2;
  }
  // It costs memory when it is first written. False if it cannot be reserved.
  bool reserve(std::uint64_t bytes);
  void release(std::uint64_t bytes);
  void clear(std::uint64_t bytes);
  // What was done to the range is forgotten.
  void forget(std::uint64_t offset, std::uint64_t bytes);
};

// What a block has to know of entries; `launch` 0: it looks for no races.
struct RaceClock {
  std::int64_t launch = 0; // less than this are entries of earlier launches
  std::int64_t own = 0;    // from here on of the block's own run
  std::int64_t floor = 0;  // of the run, less than this are before a barrier of the whole block
  std::int64_t now = 0;    // run and clock
  std::uint16_t loaded = 0, stored = 0; // a line of which nothing else was done
};

// The block and its clock at which a run began.
struct RaceRun {
  std::uint32_t block = 0, clock = 0;
};

// Which runs launches have.
class RaceRuns {
public:
  struct Launch {
    std::uint32_t first = 0; // a run of no block: words that several read. 0: there are no runs
                             // left
    std::uint32_t next = 0;  // behind those of the blocks
    std::uint16_t epoch = 0;
  };
  RaceRuns() = default;
  ~RaceRuns();
  RaceRuns(const RaceRuns&) = delete;
  RaceRuns& operator=(const RaceRuns&) = delete;

  // Runs for so many blocks; false if there cannot be so many, or another launch has them now.
  // `must_clear`: all tables, before the launch begins.
  bool begin(std::uint64_t blocks, Launch* launch, bool* must_clear);
  void end(std::uint32_t next_run);
  RaceRun* of(std::uint32_t run) const { return runs_ + run; }

private:
  RaceRun* runs_ = nullptr;
  std::uint32_t next_ = 1;
  std::uint32_t epoch_ = 0;
  bool is_taken_ = false;
};

} // namespace gmt::executor
