// SPDX-License-Identifier: Apache-2.0
// Which accesses of a launch's blocks happen before which of other blocks. A block lets others know
// what it did, and what it knows itself, by an atomic or a strong store to global memory behind a
// fence. Another one learns that by an atomic with a result or a strong load of the same words.
// Clocks are those of the blocks. What a thread learns, others of its block know behind a barrier;
// what it lets others know is all that its block has learnt. Where there are many words, those that
// come last are one, so that order is overestimated rather than missed.
// Without a fence such a store is a flag: it orders nothing, but what the block loaded before a
// barrier in front of it has been read.
#pragma once

#include "simulated_cuda/executor/machine/accesses.h"
#include "simulated_cuda/executor/machine/delays.h"
#include "simulated_cuda/executor/machine/flag_words.h"
#include "simulated_cuda/executor/machine/known_releases.h"
#include "simulated_cuda/executor/machine/launch_tree.h"
#include "simulated_cuda/executor/machine/memory.h"
#include "simulated_cuda/executor/machine/primary_launch.h"
#include "simulated_cuda/executor/machine/race_tables.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace gmt::executor {

struct Block;
struct Warp;

// The clock of the block's last fence for other blocks, by any of its warps.
std::uint32_t last_device_fence(const Block& block);

namespace global_race {
// The thread of an entry: several stored the same value there.
inline constexpr std::uint32_t kEqualThreads = kManyThreads - 1;
} // namespace global_race

class GridOrdering {
public:
  // Runs for the blocks of a launch. `most_sites`: numbers of its instructions; `most_bytes`: that
  // tables may take.
  GridOrdering(Memory& memory, std::uint64_t blocks, std::uint64_t most_sites,
               std::uint64_t most_bytes);
  ~GridOrdering();
  GridOrdering(const GridOrdering&) = delete;
  GridOrdering& operator=(const GridOrdering&) = delete;

  bool is_on() const { return launch_.first != 0; } // else there are no runs for so many blocks
  // What was not looked at, half a sentence; empty: all was.
  std::string left_out() const;
  void start(Block& block);   // another block begins
  void advance(Block& block); // its clock or its last barrier has changed

  // Whether some block has let others know anything.
  bool has_releases() const { return first_release_.load(std::memory_order_acquire) != 0; }
  // What the block did before the warp's last fence, and before its last barrier.
  void release(const Warp& w, const FlagWords& words);
  // Relaxed: known behind the block's next fence. Other accesses may be followed by none, as where
  // programs poll a volatile flag or count by atomics which block is the last.
  void acquire(const Warp& w, const FlagWords& words, bool is_relaxed);
  void acquire_all(Block& block); // by whatever words
  // A fence for other blocks, or half of one. What the block learns before one that acquires it may
  // let others know behind one that releases.
  void fence(const Warp& w, bool acquires, bool releases);
  Delays& delays() { return delays_; }
  // A plain store that no other block can know of yet, behind which an atomic of the same block
  // takes its entry of the table: the entry is weak, and others that meet it race with the store.
  void hide_store(const std::uint64_t* entry, std::uint64_t store);
  std::uint64_t hidden_store(const std::uint64_t* entry) const; // 0: there is none
  // A warp of the block is about to store a flag.
  void raise(const Warp& w);
  // The block saw what a warp of another one stored as a flag, by no strong access. What that block
  // did at clocks before counts as known, as if it had been.
  void see(Block& block, std::uint32_t other, std::uint32_t warp, std::uint32_t clock);

  // Before the first block starts: the launch may run beside the one in front of it, if `primary`
  // is that one and not null; and whether its own blocks may let the next one begin.
  void follow(std::shared_ptr<const PrimaryLaunch> primary);
  // The same for the launches by kernels that the launch is one of.
  void follow(LaunchTree& tree);
  void expect_triggers(std::uint32_t warps);               // of a block
  void let_next_begin(const Warp& w);                      // griddepcontrol.launch_dependents
  void wait_for_primary(Block& block);                     // griddepcontrol.wait
  const LaunchesBeside* beside() const { return beside_; } // null: none is known
  const EarlierLaunch* earlier_of_run(std::uint32_t run) const {
    return beside_ == nullptr ? nullptr : beside_->of_run(run);
  }
  // What launches beside this one did to a line, as the launch's own mark of that line keeps it.
  std::uint16_t kept_of_earlier(std::uint16_t line) const {
    constexpr auto kFlags = static_cast<std::uint16_t>((1u << global_race::kLineFlags) - 1);
    if (beside_ == nullptr || line < beside_->first().epoch || (line & ~kFlags) > launch_.epoch)
      return 0;
    return line & (global_race::kLineLoaded | global_race::kLineStored);
  }
  // Behind the last block: for the next launch. Null if no block let it begin.
  std::shared_ptr<PrimaryLaunch> as_primary();
  void name_runs(EarlierLaunch& launch) const; // its runs and its epoch, behind the last block

  const RaceRun& run(std::uint32_t run) const { return *memory_.race_runs().of(run); }
  std::uint32_t first_run() const { return launch_.first; }
  LaunchEntries entries() const; // of the tables
  // Whether the lane knows what threads of another block did at a clock of that. `thread` may be
  // one of the numbers for several; of all times: at some clock.
  bool knows(const Warp& w, std::uint32_t lane, std::uint32_t other, std::uint32_t thread,
             std::uint32_t clock) const;
  bool knows_some(const Warp& w, std::uint32_t lane, std::uint32_t other) const;
  bool knows_any(const Block& block) const;          // of any block
  bool threads_may_differ(const Block& block) const; // in what they know of other blocks
  // Whether the block saw a flag of another one behind a barrier that followed the clock.
  bool saw_flag(const Block& block, std::uint32_t other, std::uint32_t clock) const;
  bool saw_some_flag(const Block& block, std::uint32_t other) const;

private:
  using Known = KnownReleases;
  struct Learnt {
    Known polled;             // by relaxed loads
    Known now;                // by accesses that may be followed by no fence
    Known acquired;           // by such before a fence that acquires
    Known passed_on;          // and before one that releases
    bool has_polled = false;  // since the last fence
    bool has_acquired = true; // all of `now`
    ThreadsKnowledge by_threads;
    void learn_all(std::uint32_t moment);
  };
  struct Slot {             // words, and what has been released to them
    std::uint32_t last = 0; // moment
    Known known;            // by those who released
  };
  // All of the words that have no slot of their own; and of a release to several slots, which is
  // known to all who acquired anything since.
  static constexpr std::uint32_t kOthers = 0, kSeveralSlots = ~0u, kNoSlot = ~0u - 1;
  struct Release {
    std::uint32_t moment = 0;             // of all of the launch, from 1
    std::uint32_t warp = 0;               // of which all before `fence` is known
    std::uint32_t fence = 0, barrier = 0; // clocks
    std::uint32_t slot = kSeveralSlots;
  };
  using Releases = std::unordered_map<std::uint32_t, std::vector<Release>>; // by block
  // With the mutex, all of these. kNoSlot: nothing was released to the word.
  std::uint32_t slot_of(std::uint64_t word, bool makes);
  bool add(Releases& of, std::uint32_t block, Release release);
  static bool is_known(const Release& release, const Warp& w, std::uint32_t lane,
                       const Learnt* learnt);
  bool saw(const Block& block, std::uint32_t other, std::uint32_t clock) const;
  void begin_run(Block& block, std::uint32_t run);
  std::int64_t own_launch() const; // the first entry of the launch
  // So that of no launch's runs the one before its first is another's: a block that has not waited
  // for the primary launch takes that for the run of words that several blocks have loaded.
  static constexpr std::uint32_t kRunsBetween = 1;

  Memory& memory_;
  const std::uint64_t most_lines_; // that the tables may use
  RaceRuns::Launch launch_;
  std::string why_off_;
  std::atomic<bool> has_no_memory_{false}, has_no_runs_{false}; // for some of the blocks
  std::atomic<std::uint32_t> next_run_{0};
  std::atomic<std::uint32_t> moment_{0};
  std::atomic<std::uint32_t> first_release_{0}; // its moment; 0: there was none
  mutable std::mutex mutex_;
  Releases releases_, flags_;
  std::unordered_map<std::uint64_t, std::uint32_t> slots_of_words_;
  std::vector<Slot> slots_ = std::vector<Slot>(1);  // kOthers first
  std::unordered_map<const Block*, Learnt> learnt_; // by blocks that run
  // Of each block: the barrier before its last flag, or its start. Its own worker alone uses it.
  std::vector<std::uint32_t> flagged_;
  Delays delays_;
  std::unordered_map<const std::uint64_t*, std::uint64_t> hidden_stores_;
  std::unique_ptr<PrimaryBeside> primary_;
  const LaunchesBeside* beside_ = nullptr;
  std::uint32_t warps_ = 0;                      // of a block
  std::vector<PrimaryLaunch::Trigger> triggers_; // as PrimaryLaunch::triggers
};

} // namespace gmt::executor
