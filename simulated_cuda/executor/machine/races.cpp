// SPDX-License-Identifier: Apache-2.0
// Races in shared memory: what the fast paths passed on, exactly who raced with whom. An entry of
// the table knows the last store and the last load of a granule. Where several threads loaded, it
// is known only in which warp: a race is reported only where it is one with each of them. It is one
// file because accesses of all kinds change the same entries.
#include "simulated_cuda/executor/machine/access.h"
#include "simulated_cuda/executor/machine/async_copies.h"
#include "simulated_cuda/executor/machine/cluster.h"
#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/machine/unread_races.h"
#include "simulated_cuda/executor/machine/workers/worker.h"
#include "simulated_cuda/executor/program/access_strength.h"

#include <algorithm>
#include <cstring>

namespace gmt::executor {
namespace {

// Of a site, beside the number of its instruction: the access was strong.
constexpr std::uint32_t kStrongSite = 1u << 31;
// An atomic behind a plain store of its own block, which other blocks do not know (cluster.h).
constexpr std::uint32_t kHidingSite = 1u << 30;
constexpr std::uint32_t kSiteFlags = kStrongSite | kHidingSite;

// The clock of an access by another block: so late that no barrier of the block alone is behind it,
// and with the clock of the cluster's last barrier.
constexpr std::uint32_t kRemoteClock = 1u << (race::kClockBits - 1);
std::uint32_t remote_clock(const Block& block) {
  return kRemoteClock + (block.cluster_clock & (kRemoteClock - 1));
}

// One look at an entry of the table of races.
struct RaceEntry {
  std::uint64_t& entry;
  const Block& block;
  const Warp& w;
  std::uint32_t lane;
  std::uint32_t store = static_cast<std::uint32_t>(entry);
  std::uint32_t load = static_cast<std::uint32_t>(entry >> 32);

  static std::uint32_t who(std::uint32_t half) { return half & race::kThreadMask; }
  static std::uint32_t clock(std::uint32_t half) { return half >> race::kThreadBits; }
  static std::uint32_t warp_of(std::uint32_t half) {
    return who(half) >= race::kWarpReaders ? who(half) - race::kWarpReaders : who(half) / kLanes;
  }
  static bool is_remote(std::uint32_t half) { return who(half) - race::kRemote < race::kMostRanks; }
  // By another block since the last barrier of the cluster
  bool is_open(std::uint32_t half) const {
    return is_remote(half) && clock(half) == remote_clock(block);
  }
  std::uint32_t thread() const { return w.id * kLanes + lane; }
  bool is_recent(std::uint32_t half) const {
    return is_remote(half) ? is_open(half) : clock(half) >= block.last_barrier;
  }

  // Whether the thread knows what all of those did, or any of them.
  template <bool kAll>
  bool knows(std::uint32_t half) const {
    const Ordering& order = block.order;
    if (who(half) == race::kCopying) return false; // by no thread before its end
    if (is_remote(half)) return !is_open(half);
    if (who(half) < race::kWarpReaders) return order.knows(w, lane, who(half), clock(half));
    if (who(half) != race::kManyReaders)
      return order.knows_warp<kAll>(w, lane, warp_of(half), clock(half));
    return order.knows_others<kAll>(w, lane, clock(half));
  }
  bool conflicts(std::uint32_t half) const { return is_recent(half) && !knows<false>(half); }
  bool may_be_own_load() const { // of several readers it is not known
    const bool several = who(load) >= race::kWarpReaders;
    const bool in_warp = who(load) == race::kManyReaders || warp_of(load) == w.id;
    return is_recent(load) && (several ? in_warp : who(load) == thread());
  }
  std::uint32_t mine() const { return thread() | block.clock << race::kThreadBits; }

  // What other blocks did before the last barrier of the cluster looks new to the fast paths.
  void forget_closed() {
    if (is_remote(store) && !is_open(store)) entry &= 0xffffffff00000000ull;
    if (is_remote(load) && !is_open(load)) entry &= 0xffffffffull;
    store = static_cast<std::uint32_t>(entry);
    load = static_cast<std::uint32_t>(entry >> 32);
  }
  void note_store() { entry = (entry & 0xffffffff00000000ull) | mine(); }
  void note_load() {
    if (who(load) == race::kCopying || (is_remote(load) && conflicts(load))) return;
    std::uint32_t reader = mine();
    if (is_recent(load) && !knows<true>(load)) {
      reader = (warp_of(load) == w.id ? race::kWarpReaders + w.id : race::kManyReaders) |
               clock(load) << race::kThreadBits;
    }
    entry = (entry & 0xffffffffull) | std::uint64_t{reader} << 32;
  }
};

// Threads that stored the value themselves, as all others did that stored there.
std::uint32_t warps_of_value(const RaceEntry& at) {
  const auto& known = at.w.worker->same_values;
  const auto found = known.find(&at.entry);
  return found != known.end() && found->second.entry == at.store ? found->second.warps : 0;
}
// Before the store. `is_equal`: the value is there already. `by_all` threads of the warp.
void note_value(const RaceEntry& at, bool is_equal, bool by_all) {
  auto& known = at.w.worker->same_values;
  const bool is_first = !at.is_recent(at.store);
  std::uint32_t warps = is_equal && !is_first ? warps_of_value(at) : 0;
  if (by_all && (is_first || is_equal)) warps |= 1u << at.w.id;
  if (warps != 0) known[&at.entry] = {at.mine(), warps};
  else if (!known.empty()) known.erase(&at.entry);
}

// What an access does to a granule, beside the table.
struct CheckedAccess {
  Access access;
  bool is_strong, is_volatile;
  bool is_equal;        // a store of the value that is there
  std::uint32_t number; // of the instruction
};

const Instruction& instruction_at(const Warp& w, const std::uint32_t* sites, std::uint64_t at,
                                  const Code** code) {
  return w.grid->program->instruction(sites[at] & ~kSiteFlags, code);
}

// Volatile accesses on both sides are no race, and order nothing: threads that have no fence take
// `volatile` for more than it is. A fence makes one of them a flag.
bool takes_for_order(const RaceEntry& at, std::uint32_t half, const std::uint32_t* sites,
                     std::uint64_t i) {
  const Ordering& order = at.block.order;
  const std::uint32_t who = RaceEntry::who(half);
  const bool has_fence =
    order.has_fence(at.block, at.thread()) ||
    (who < race::kWarpReaders ? order.has_fence(at.block, who) : order.has_fenced);
  const Code* code = nullptr;
  return !has_fence && is_volatile(*at.w.grid->program, instruction_at(at.w, sites, i, &code));
}

// The kind of the earlier access that races; kUnknown: none does. Equal values do not race, since
// flags are set so on purpose: only among writers, and readers that are writers as well.
Access raced_with(const RaceEntry& at, std::uint64_t i, const CheckedAccess& now) {
  const Block& block = at.block;
  const bool is_load = now.access == Access::kLoad;
  const auto conflicts = [&](std::uint32_t half, const std::uint32_t* sites) {
    if (!now.is_strong || (sites[i] & kStrongSite) == 0) return at.conflicts(half);
    return now.is_volatile && at.conflicts(half) && takes_for_order(at, half, sites, i);
  };
  if (conflicts(at.store, block.store_sites)) {
    const bool is_own = is_load && (warps_of_value(at) >> at.w.id & 1) != 0;
    if (RaceEntry::who(at.store) == race::kCopying) return Access::kStore;
    // Another instruction's may be equal in this run alone
    const bool is_same = (at.block.store_sites[i] & ~kSiteFlags) == now.number;
    return is_own || (now.is_equal && is_same) ? Access::kUnknown : Access::kStore;
  }
  if (is_load || !conflicts(at.load, block.load_sites)) return Access::kUnknown;
  const bool stored_before = at.is_recent(at.store) && warps_of_value(at) != 0;
  return now.is_equal && stored_before ? Access::kUnknown : Access::kLoad;
}

// A strong access behind a plain store of the same thread: the store races with more, and stays, as
// does what another block did.
bool hides_own_store(const RaceEntry& at, std::uint64_t i) {
  return at.is_recent(at.store) && RaceEntry::who(at.store) == at.thread() &&
         (at.block.store_sites[i] & kStrongSite) == 0;
}

OtherThread other_of(const RaceEntry& at, std::uint64_t i, const AccessFacts& facts, Access earlier,
                     bool is_equal = false) {
  const Block& block = at.block;
  const std::uint32_t earlier_half = earlier == Access::kStore ? at.store : at.load;
  const std::uint32_t who = RaceEntry::who(earlier_half);
  OtherThread other;
  other.thread = who < race::kWarpReaders ? who : ~0u;
  if (who == race::kCopying) {
    other.how = "not waited for";
    other.thread = block.copies ? block.copies->thread_at(i << block.race_shift) : ~0u;
  } else if (block.number != at.w.block->number || RaceEntry::is_remote(earlier_half)) {
    other.how = "cluster";
  }
  if (block.number != at.w.block->number) other.block = block.number;
  const std::uint32_t* sites = earlier == Access::kStore ? block.store_sites : block.load_sites;
  std::uint32_t site = sites[i] & ~kSiteFlags;
  if ((sites[i] & kHidingSite) != 0) {
    site = block.cluster->hidden_store(&at.entry, site);
    other.thread = ~0u;
  }
  other.in = &at.w.grid->program->instruction(site, &other.code);
  if (is_equal && earlier == Access::kStore) other.habit = RaceHabit::kSameValue;
  const bool by_atomic =
    at.w.grid->program->shapes[other.in->form].memory == Shape::Memory::kAtomic;
  other.access = by_atomic ? Access::kAtomic : earlier;
  if (facts.access == Access::kStore && at.may_be_own_load())
    other.own_load = &instruction_at(at.w, block.load_sites, i, &other.own_code);
  return other;
}

// Both are plain stores of threads of the block, and this thread has not loaded the value before.
bool are_stores(const RaceEntry& at, std::uint64_t i, const CheckedAccess& now, Access earlier) {
  return now.access == Access::kStore && !now.is_strong && earlier == Access::kStore &&
         (at.block.store_sites[i] & kSiteFlags) == 0 &&
         RaceEntry::who(at.store) < race::kWarpReaders && !at.may_be_own_load();
}

// Strong accesses of the words order those of others behind fences.
void note_strong(Warp& w, std::uint32_t lane, std::uint64_t offset, std::uint32_t bytes,
                 Access access) {
  Ordering& order = w.block->order;
  for (std::uint64_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word) {
    if (access != Access::kStore) order.strong_load(*w.block, {&w, 1u << lane}, word);
    if (access != Access::kLoad) order.strong_store(*w.block, {&w, 1u << lane}, word);
  }
}

// Whether an atomic must not hide a store of its block from others of the cluster: a plain one,
// behind the last barrier of the cluster.
bool hides_store(const RaceEntry& at, std::uint64_t i) {
  const Block& block = at.block;
  const std::uint32_t site = block.store_sites[i];
  if (block.cluster->size() == 1 || at.store == 0 || RaceEntry::is_remote(at.store) ||
      RaceEntry::who(at.store) == race::kCopying ||
      RaceEntry::clock(at.store) < block.cluster_clock)
    return false;
  if ((site & kStrongSite) == 0) block.cluster->hide_store(&at.entry, site);
  return (site & kStrongSite) == 0 || (site & kHidingSite) != 0;
}

// A strong load, or an atomic, of what another block of the cluster stored strongly: it may be a
// flag. Who counts by an atomic that all have come is believed without a fence behind it, as
// between blocks of a grid.
void read_strongly(const RaceEntry& at, std::uint64_t i, Access access) {
  const bool is_remote = RaceEntry::is_remote(at.store);
  const bool is_new =
    is_remote ? at.is_open(at.store) : RaceEntry::clock(at.store) >= at.block.cluster_clock;
  if (!is_new || (at.block.store_sites[i] & kStrongSite) == 0) return;
  Cluster& cluster = *at.block.cluster;
  const Block& storer =
    is_remote ? *cluster.of_rank(RaceEntry::who(at.store) - race::kRemote) : at.block;
  cluster.see_flag(storer, *at.w.block);
  if (access != Access::kLoad) cluster.acquire(*at.w.block);
}

} // namespace

void check_race(Warp& w, const Instruction* in, std::uint32_t lane, std::uint64_t offset,
                std::uint32_t bytes, Access access, const std::byte* value) {
  Block& block = *w.block;
  if (block.races == nullptr) return;
  const bool is_load = access == Access::kLoad;
  CheckedAccess now{access, is_strong(*w.program, *in), is_volatile(*w.program, *in), false,
                    in->number};
  // Functions of the system order threads by atomics there, and never race
  const std::uint32_t reserved = w.grid->program->reserved_shared;
  if (reserved != kNoOperand && offset - reserved < kReservedSharedBytes) {
    if (now.is_strong) note_strong(w, lane, offset, bytes, access);
    return;
  }
  const std::uint64_t end = (offset + bytes - 1) >> block.race_shift;
  const std::uint64_t granule = std::uint64_t{1} << block.race_shift;
  for (std::uint64_t i = offset >> block.race_shift; i <= end; ++i) {
    UnreadRaces::look(block, i, access != Access::kStore, *w.worker->checks);
    RaceEntry at{block.races[i], block, w, lane};
    at.forget_closed();
    const std::uint64_t begin = std::max(i * granule, offset);
    const std::uint64_t size = std::min((i + 1) * granule, offset + bytes) - begin;
    now.is_equal = access == Access::kStore && value != nullptr &&
                   std::memcmp(block.shared + begin, value + (begin - offset), size) == 0;
    if (access != Access::kStore && now.is_strong && RaceEntry::is_remote(at.store))
      read_strongly(at, i, access);
    const Access earlier = raced_with(at, i, now);
    const bool is_unread = are_stores(at, i, now, earlier);
    AccessFacts facts;
    OtherThread other;
    if (earlier != Access::kUnknown) {
      facts = facts_of(w, in, lane);
      facts.access = access;
      facts.bytes = bytes;
      facts.space = Space::kShared;
      facts.address = offset;
      other = other_of(at, i, facts, earlier, now.is_equal);
      if (!is_unread) w.worker->checks->race(facts, other);
    }
    if (now.is_strong && !is_load && (hides_own_store(at, i) || at.is_open(at.store))) continue;
    std::uint32_t site = in->number | (now.is_strong ? kStrongSite : 0);
    if (now.is_strong && !is_load && hides_store(at, i)) site |= kHidingSite;
    (is_load ? block.load_sites : block.store_sites)[i] = site;
    if (is_load) {
      at.note_load();
      continue;
    }
    if (access == Access::kStore && value != nullptr)
      note_value(at, now.is_equal, w.worker->stores_as_one);
    at.note_store();
    if (is_unread) UnreadRaces::keep(block, i, facts, other);
  }
  if (now.is_strong) note_strong(w, lane, offset, bytes, access);
}

void check_made(Warp& w, const Instruction* in, std::uint32_t lane, std::uint64_t offset,
                Access access) {
  const Block& block = *w.block;
  if (block.races == nullptr) return;
  const std::uint64_t i = offset >> block.race_shift;
  const RaceEntry at{block.races[i], block, w, lane};
  if (at.store == 0 || RaceEntry::who(at.store) >= race::kWarpReaders || !at.conflicts(at.store))
    return;
  const Program& program = *w.grid->program;
  const Code* code = nullptr;
  const Instruction& store = instruction_at(w, block.store_sites, i, &code);
  if (!program.forms[store.form].starts_with("mbarrier.init")) return;
  AccessFacts facts = facts_of(w, in, lane);
  facts.access = access;
  facts.bytes = sizeof(std::uint64_t);
  facts.space = Space::kShared;
  facts.address = offset;
  w.worker->checks->race(facts, other_of(at, i, facts, Access::kStore));
  at.entry &= 0xffffffff00000000ull; // once: threads ask again and again
}

void check_remote_race(Block& target, Warp& w, const Instruction* in, std::uint32_t lane,
                       std::uint64_t offset, std::uint32_t bytes, Access access) {
  if (target.races == nullptr) return;
  const bool is_load = access == Access::kLoad;
  const bool strong = is_strong(*w.program, *in);
  const std::uint32_t me = race::kRemote + w.block->rank;
  const std::uint64_t end = (offset + bytes - 1) >> target.race_shift;
  const auto conflicts = [&](std::uint32_t half, std::uint32_t site) {
    if (half == 0 || RaceEntry::who(half) == me) return false;
    const bool is_open = RaceEntry::is_remote(half)
                           ? RaceEntry::clock(half) == remote_clock(target)
                           : RaceEntry::clock(half) >= target.cluster_clock;
    return is_open && !(strong && (site & kSiteFlags) == kStrongSite);
  };
  for (std::uint64_t i = offset >> target.race_shift; i <= end; ++i) {
    UnreadRaces::look(target, i, access != Access::kStore, *w.worker->checks);
    RaceEntry at{target.races[i], target, w, lane};
    if (access != Access::kStore && strong && at.store != 0 && RaceEntry::who(at.store) != me)
      read_strongly(at, i, access);
    const bool by_store = conflicts(at.store, target.store_sites[i]);
    if (by_store || (!is_load && conflicts(at.load, target.load_sites[i]))) {
      AccessFacts facts = facts_of(w, in, lane);
      facts.access = access;
      facts.bytes = bytes;
      facts.space = Space::kShared;
      facts.address = offset;
      const Access earlier = by_store ? Access::kStore : Access::kLoad;
      w.worker->checks->race(facts, other_of(at, i, facts, earlier));
    }
    const std::uint32_t now = me | remote_clock(target) << race::kThreadBits;
    (is_load ? target.load_sites : target.store_sites)[i] = in->number | (strong ? kStrongSite : 0);
    const std::uint32_t shift = is_load ? 32 : 0;
    at.entry = (at.entry & ~(std::uint64_t{0xffffffff} << shift)) | std::uint64_t{now} << shift;
  }
}

void begin_copy(Warp& w, const Instruction* in, std::uint32_t lane, Block& target,
                std::uint64_t offset, std::uint32_t bytes, Access access) {
  if (target.races == nullptr) return;
  if (w.block == &target) check_race(w, in, lane, offset, bytes, access, nullptr);
  else check_remote_race(target, w, in, lane, offset, bytes, access);
  const bool is_load = access == Access::kLoad;
  const std::uint64_t end = (offset + bytes - 1) >> target.race_shift;
  for (std::uint64_t i = offset >> target.race_shift; i <= end; ++i) {
    std::uint64_t& entry = target.races[i];
    if (is_load) entry = (entry & 0xffffffffull) | std::uint64_t{race::kCopy} << 32;
    else entry = (entry & 0xffffffff00000000ull) | race::kCopy;
  }
  // Who reads it too early hears of the race alone
  if (is_load) return;
  std::uint8_t* shadow = target.shared_shadow;
  for (std::uint64_t at = offset; at < offset + bytes;) {
    const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(offset + bytes - at, 32));
    set_initialized(shadow + at / 4, at % 4, part, ~std::uint64_t{0});
    at += part;
  }
}

void end_copy(Block& target, const Warp& w, std::uint32_t lane, std::uint64_t offset,
              std::uint32_t bytes, Access access) {
  if (target.races == nullptr) return;
  const std::uint32_t shift = access == Access::kLoad ? 32 : 0;
  const bool is_own = w.block == &target;
  const std::uint32_t who = is_own ? w.id * kLanes + lane : race::kRemote + w.block->rank;
  const std::uint32_t clock = is_own ? target.clock : remote_clock(target);
  const std::uint32_t now = who | clock << race::kThreadBits;
  const std::uint64_t end = (offset + bytes - 1) >> target.race_shift;
  for (std::uint64_t i = offset >> target.race_shift; i <= end; ++i) {
    std::uint64_t& entry = target.races[i];
    if (static_cast<std::uint32_t>(entry >> shift) != race::kCopy) continue;
    entry = (entry & ~(std::uint64_t{0xffffffff} << shift)) | std::uint64_t{now} << shift;
  }
}

} // namespace gmt::executor
