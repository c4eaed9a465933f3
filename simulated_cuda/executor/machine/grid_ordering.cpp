// SPDX-License-Identifier: Apache-2.0
// A block's releases are kept in their order. Where there are many, two become one that lets know
// more, and earlier. It is one file because it is one class, whose lock guards all its tables.
#include "simulated_cuda/executor/machine/grid_ordering.h"

#include "simulated_cuda/executor/machine/block.h"

#include <unistd.h>

#include <algorithm>

namespace gmt::executor {
namespace {

constexpr std::size_t kMostReleases = 64; // of a block
constexpr std::size_t kMostSlots = 512;   // of a launch
constexpr std::uint64_t kManyBlocks = 1'000'000;
constexpr std::size_t kMostHiddenStores = 1 << 16; // else the report names the atomic

std::int64_t entry_of(std::uint32_t run, std::uint32_t clock) {
  return static_cast<std::int64_t>(std::uint64_t{run} << global_race::kRunShift |
                                   std::uint64_t{clock} << global_race::kClockShift);
}

// Tables take four times the memory that kernels use: no more than is allowed, and a quarter of
// what the machine has. Blocks behind that look for no races.
std::uint64_t most_lines(std::uint64_t most_bytes) {
  constexpr std::uint64_t kBytesOfLine = (1u << global_race::kLineShift) * 4;
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return std::min(most_bytes, pages * page / 4) / kBytesOfLine;
}

} // namespace

std::uint32_t last_device_fence(const Block& block) {
  std::uint32_t last = 0;
  for (const auto& warp : block.warps) last = std::max(last, warp->device_fence);
  return last;
}

GridOrdering::GridOrdering(Memory& memory, std::uint64_t blocks, std::uint64_t most_sites,
                           std::uint64_t most_bytes)
    : memory_(memory), most_lines_(most_lines(most_bytes)) {
  bool must_clear = false;
  if (most_sites >= global_race::kMostSites) {
    why_off_ = "the kernel has 131,072 instructions or more";
    return;
  }
  if (!memory.race_runs().begin(blocks, &launch_, &must_clear)) {
    why_off_ = blocks >= kManyBlocks ? "the launch has a million blocks or more"
                                     : "there was no memory for that";
    return;
  }
  if (must_clear || memory.race_lines() > most_lines_ / 2) memory.clear_races();
  next_run_ = launch_.next;
  flagged_.resize(blocks);
  delays_.expect(blocks);
}

GridOrdering::~GridOrdering() {
  if (is_on())
    memory_.race_runs().end(std::min(next_run_.load() + kRunsBetween, global_race::kMostRuns));
}

std::int64_t GridOrdering::own_launch() const { return entry_of(launch_.first, 0); }

LaunchEntries GridOrdering::entries() const { return {own_launch(), launch_.epoch}; }

std::string GridOrdering::left_out() const {
  if (has_no_memory_) return "the memory for that was used up before all blocks had begun";
  if (has_no_runs_) return "its blocks have too many barriers";
  return why_off_;
}

void GridOrdering::begin_run(Block& block, std::uint32_t run) {
  block.run_clock = block.clock;
  RaceRun& of = *memory_.race_runs().of(run);
  __atomic_store_n(&of.block, static_cast<std::uint32_t>(block.number), __ATOMIC_RELAXED);
  __atomic_store_n(&of.clock, block.clock, __ATOMIC_RELAXED);
  block.global.own = entry_of(run, 0);
}

void GridOrdering::start(Block& block) {
  if (memory_.race_lines() > most_lines_) {
    has_no_memory_.store(true, std::memory_order_relaxed);
    return;
  }
  block.global.launch = own_launch();
  if (beside_ != nullptr) // what those did is not over; 0 would mean that races are not looked for
    block.global.launch = std::max<std::int64_t>(1, entry_of(beside_->first().first_run - 1, 0));
  block.global.loaded = launch_.epoch | global_race::kLineLoaded;
  block.global.stored = launch_.epoch | global_race::kLineStored;
  begin_run(block, launch_.first + 1 + static_cast<std::uint32_t>(block.number));
  flagged_[block.number] = block.last_barrier;
  if (has_releases()) {
    const std::lock_guard lock(mutex_);
    learnt_.erase(&block); // of the one that used its place before
  }
  advance(block);
}

// A block whose clock has gone too far has another run. If there is none, it looks for no more
// races.
void GridOrdering::advance(Block& block) {
  if (block.clock - block.run_clock > global_race::kClockMask) {
    const std::uint32_t run = next_run_.fetch_add(1, std::memory_order_relaxed);
    if (run >= global_race::kMostRuns) {
      has_no_runs_.store(true, std::memory_order_relaxed);
      block.global = {};
      return;
    }
    begin_run(block, run);
  }
  const std::uint32_t run = global_race::run_of(static_cast<std::uint64_t>(block.global.own));
  block.global.now = entry_of(run, block.clock - block.run_clock);
  const bool has_barrier = block.last_barrier >= block.run_clock;
  block.global.floor = entry_of(run, has_barrier ? block.last_barrier - block.run_clock : 0);
}

void GridOrdering::Learnt::learn_all(std::uint32_t moment) {
  now.all = acquired.all = passed_on.all = moment;
  by_threads.learn_all(moment);
}

std::uint32_t GridOrdering::slot_of(std::uint64_t word, bool makes) {
  if (word == FlagWords::kOther) return kOthers;
  const auto found = slots_of_words_.find(word);
  if (found != slots_of_words_.end()) return found->second;
  if (slots_.size() == kMostSlots) return kOthers;
  if (!makes) return kNoSlot;
  const auto slot = static_cast<std::uint32_t>(slots_.size());
  slots_.emplace_back();
  slots_of_words_.emplace(word, slot);
  return slot;
}

void GridOrdering::release(const Warp& w, const FlagWords& words) {
  const Block& block = *w.block;
  const std::uint32_t barrier = std::max(block.last_barrier, w.last_sync);
  // Who synchronised otherwise is not asked: all that was done before counts
  const bool is_partial = block.order.is_partial;
  // Each thread may fence what it did before a barrier, and one of them raise the flag behind that
  Release release{
    0, w.id, w.device_fence,
    std::min(is_partial ? std::max(barrier, w.device_fence) : barrier, last_device_fence(block))};
  const std::lock_guard lock(mutex_);
  const auto learnt = learnt_.find(&block);
  for (const FlagWords::Group& group : words.groups()) {
    for (std::uint32_t i = 0; i < words.words_each(); ++i) {
      const bool is_other = group.word == FlagWords::kOther;
      release.slot = slot_of(is_other ? group.word : group.word + i, true);
      Slot& slot = slots_[release.slot];
      const bool is_more = learnt != learnt_.end() && slot.known.join(learnt->second.passed_on);
      if (add(releases_, static_cast<std::uint32_t>(block.number), release)) slot.last = moment_;
      else if (is_more) slot.last = ++moment_;
    }
  }
}

void GridOrdering::see(Block& block, std::uint32_t other, std::uint32_t warp, std::uint32_t clock) {
  {
    const std::lock_guard lock(mutex_);
    add(releases_, other, {0, warp, clock, clock});
  }
  acquire_all(block);
}

void GridOrdering::acquire(const Warp& w, const FlagWords& words, bool is_relaxed) {
  Block& block = *w.block;
  block.known = moment_.load(std::memory_order_acquire);
  if (words.groups().empty() || !has_releases()) return;
  const std::lock_guard lock(mutex_);
  Learnt* learnt = nullptr;
  for (const FlagWords::Group& group : words.groups()) {
    for (std::uint32_t i = 0; i < words.words_each(); ++i) {
      const bool is_other = group.word == FlagWords::kOther;
      const std::uint32_t slot = slot_of(is_other ? group.word : group.word + i, false);
      if (slot == kNoSlot) continue;
      if (learnt == nullptr) learnt = &learnt_[&block];
      const Slot& released = slots_[slot];
      if (released.last == 0) continue;
      learnt->by_threads.learn(w, group.lanes, slot, released.known, released.last, is_relaxed);
      if (learnt->now.of(slot) >= released.last) continue;
      Known& known = is_relaxed ? learnt->polled : learnt->now;
      known.join(released.known);
      known.learn(slot, released.last);
      if (is_relaxed) learnt->has_polled = true;
      else learnt->has_acquired = false;
    }
  }
}

void GridOrdering::acquire_all(Block& block) {
  block.known = moment_.load(std::memory_order_acquire);
  if (!has_releases()) return;
  const std::lock_guard lock(mutex_);
  learnt_[&block].learn_all(block.known);
}

void GridOrdering::fence(const Warp& w, bool acquires, bool releases) {
  const Block& block = *w.block;
  if (block.known == 0 || !has_releases()) return;
  const std::lock_guard lock(mutex_);
  const auto found = learnt_.find(&block);
  if (found == learnt_.end()) return;
  Learnt& learnt = found->second;
  if (acquires) learnt.by_threads.fence(w);
  if (acquires && learnt.has_polled) {
    learnt.now.join(learnt.polled);
    learnt.has_polled = learnt.has_acquired = false;
  }
  if (acquires && !learnt.has_acquired) {
    learnt.acquired = learnt.now;
    learnt.has_acquired = true;
  }
  if (releases) learnt.passed_on = learnt.acquired;
}

void GridOrdering::hide_store(const std::uint64_t* entry, std::uint64_t store) {
  const std::lock_guard lock(mutex_);
  if (hidden_stores_.size() < kMostHiddenStores) hidden_stores_[entry] = store;
}

std::uint64_t GridOrdering::hidden_store(const std::uint64_t* entry) const {
  const std::lock_guard lock(mutex_);
  const auto found = hidden_stores_.find(entry);
  return found == hidden_stores_.end() ? 0 : found->second;
}

// The first flag behind a barrier counts. Others let know no more, and cost nothing.
void GridOrdering::raise(const Warp& w) {
  const Block& block = *w.block;
  const std::uint32_t last = std::max(block.last_barrier, w.last_sync);
  const std::uint32_t barrier = block.order.is_partial ? block.clock : last;
  std::uint32_t& flagged = flagged_[block.number];
  if (barrier <= flagged) return;
  flagged = barrier;
  const std::lock_guard lock(mutex_);
  add(flags_, static_cast<std::uint32_t>(block.number), {0, 0, 0, barrier});
}

// Whether that is more than the block has let know.
bool GridOrdering::add(Releases& of, std::uint32_t block, Release release) {
  std::vector<Release>& all = of[block];
  const auto same = [&](const Release& r) {
    return r.warp == release.warp && r.fence >= release.fence && r.barrier >= release.barrier &&
           (r.slot == release.slot || r.slot == kSeveralSlots);
  };
  if (std::ranges::any_of(all.rbegin(), all.rend(), same)) return false;
  if (all.size() == kMostReleases) {
    Release& second = all[1];
    second.moment = all[0].moment;
    second.barrier = std::max({second.barrier, second.fence, all[0].barrier, all[0].fence});
    if (second.slot != all[0].slot) second.slot = kSeveralSlots;
    all.erase(all.begin());
  }
  release.moment = moment_.load(std::memory_order_relaxed) + 1;
  if (&of == &releases_ && first_release_ == 0) first_release_ = release.moment;
  all.push_back(release);
  moment_.store(release.moment, std::memory_order_release);
  return true;
}

bool GridOrdering::is_known(const Release& release, const Warp& w, std::uint32_t lane,
                            const Learnt* learnt) {
  if (release.slot == kSeveralSlots) return release.moment <= w.block->known;
  return learnt != nullptr && learnt->by_threads.knows(w, lane, release.slot, release.moment);
}

bool GridOrdering::knows(const Warp& w, std::uint32_t lane, std::uint32_t other,
                         std::uint32_t thread, std::uint32_t clock) const {
  if (w.block->known == 0) return false;
  const bool is_one = thread < global_race::kSeveral;
  const bool is_many = thread >= global_race::kEqualThreads;
  const std::uint32_t warp = is_one ? thread / kLanes : thread % kLanes; // of several: as numbered
  const std::lock_guard lock(mutex_);
  const auto found = releases_.find(other);
  if (found == releases_.end()) return false;
  const auto learnt = learnt_.find(w.block);
  const Learnt* by = learnt == learnt_.end() ? nullptr : &learnt->second;
  return std::any_of(found->second.rbegin(), found->second.rend(), [&](const Release& r) {
    const bool holds = clock < r.barrier || ((is_many || warp == r.warp) && clock < r.fence);
    return holds && is_known(r, w, lane, by);
  });
}

bool GridOrdering::knows_some(const Warp& w, std::uint32_t lane, std::uint32_t other) const {
  if (w.block->known == 0) return false;
  const std::lock_guard lock(mutex_);
  const auto found = releases_.find(other);
  if (found == releases_.end()) return false;
  const auto learnt = learnt_.find(w.block);
  const Learnt* by = learnt == learnt_.end() ? nullptr : &learnt->second;
  return std::ranges::any_of(found->second,
                             [&](const Release& r) { return is_known(r, w, lane, by); });
}

bool GridOrdering::threads_may_differ(const Block& block) const {
  if (block.known == 0 || !has_releases()) return false;
  const std::lock_guard lock(mutex_);
  const auto learnt = learnt_.find(&block);
  return learnt != learnt_.end() && learnt->second.by_threads.may_differ(block);
}

// Flags have no slots.
bool GridOrdering::saw(const Block& block, std::uint32_t other, std::uint32_t clock) const {
  if (block.known == 0) return false;
  const std::lock_guard lock(mutex_);
  const auto found = flags_.find(other);
  return found != flags_.end() && std::ranges::any_of(found->second, [&](const Release& r) {
           return r.moment <= block.known && clock < r.barrier;
         });
}

bool GridOrdering::knows_any(const Block& block) const {
  const std::uint32_t first = first_release_;
  return first != 0 && first <= block.known;
}

bool GridOrdering::saw_flag(const Block& block, std::uint32_t other, std::uint32_t clock) const {
  return saw(block, other, clock);
}

bool GridOrdering::saw_some_flag(const Block& block, std::uint32_t other) const {
  return saw(block, other, 0);
}

} // namespace gmt::executor
