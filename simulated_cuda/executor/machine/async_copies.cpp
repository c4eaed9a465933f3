// SPDX-License-Identifier: Apache-2.0
// It is one file because it is one class: all copies go the same way from their beginning to their
// end.
#include "simulated_cuda/executor/machine/async_copies.h"

#include "simulated_cuda/executor/machine/access.h"
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/cluster.h"
#include "simulated_cuda/executor/machine/device_bytes.h"
#include "simulated_cuda/executor/machine/mbarrier.h"
#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/machine/workers/worker.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

namespace gmt::executor {
namespace {

constexpr std::uint32_t kPart = 16; // bytes that are moved at a time

std::uint32_t thread_number(const Warp& w, std::uint32_t lane) { return w.id * kLanes + lane; }

const std::byte* host_of(const CopyEnd& end) {
  return (end.block != nullptr ? end.block->shared : end.region->host) + end.offset;
}
std::uint8_t* shadow_of(const CopyEnd& end) {
  return (end.block != nullptr ? end.block->shared_shadow : end.region->shadow) + end.offset / 4;
}

CopyEnd moved_by(CopyEnd end, std::uint32_t bytes) {
  end.offset += bytes;
  return end;
}

// Any number of bytes at any address of device memory: in the largest parts that are aligned.
template <class Move>
void in_aligned_parts(std::uint64_t offset, std::uint32_t bytes, Move move) {
  for (std::uint32_t at = 0; at < bytes;) {
    std::uint32_t part = 8;
    while ((offset + at) % part != 0 || part > bytes - at) part /= 2;
    move(at, part);
    at += part;
  }
}

void load(std::byte* to, const CopyEnd& from, std::uint32_t bytes) {
  if (from.block != nullptr) {
    std::memcpy(to, host_of(from), bytes);
    return;
  }
  in_aligned_parts(from.offset, bytes, [&](std::uint32_t at, std::uint32_t part) {
    load_device(to + at, host_of(from) + at, part);
  });
}

void store(const CopyEnd& to, const std::byte* from, std::uint32_t bytes) {
  auto* host = const_cast<std::byte*>(host_of(to));
  if (to.block != nullptr) {
    std::memcpy(host, from, bytes);
    return;
  }
  in_aligned_parts(to.offset, bytes, [&](std::uint32_t at, std::uint32_t part) {
    store_device(host + at, from + at, part);
  });
}

// Other workers may change the element meanwhile.
template <class T>
void combine_atomically(std::byte* at, const Combine& combine, const std::byte* by) {
  auto* word = reinterpret_cast<T*>(at);
  T old = __atomic_load_n(word, __ATOMIC_RELAXED), next;
  do {
    next = old;
    combine.apply(reinterpret_cast<std::byte*>(&next), by);
  } while (
    !__atomic_compare_exchange_n(word, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
}

void combine_at(const CopyEnd& to, const Combine& combine, const std::byte* by) {
  auto* host = const_cast<std::byte*>(host_of(to));
  if (to.block != nullptr) combine.apply(host, by);
  else if (combine.bytes == 2) combine_atomically<std::uint16_t>(host, combine, by);
  else if (combine.bytes == 4) combine_atomically<std::uint32_t>(host, combine, by);
  else combine_atomically<std::uint64_t>(host, combine, by);
}

std::uint32_t words_of(const AsyncCopy& copy) {
  if (copy.loaded == 0 || copy.from.region == nullptr) return 0;
  return static_cast<std::uint32_t>((copy.from.offset + copy.loaded - 1) / 4 -
                                    copy.from.offset / 4 + 1);
}

AccessFacts facts_of_copy(const AsyncCopy& copy) {
  AccessFacts facts;
  facts.warp = copy.warp;
  facts.in = copy.in;
  facts.code = copy.code;
  facts.lane = copy.lane;
  facts.access = Access::kLoad;
  facts.bytes = copy.loaded;
  facts.space = copy.from.region != nullptr ? Space::kGlobal : Space::kShared;
  facts.address = copy.from.offset + (copy.from.region != nullptr ? copy.from.region->base : 0);
  return facts;
}

bool is_asynchronous(std::string_view form) {
  return form.starts_with("cp.") || form.starts_with("st.async");
}

bool is_of_other_block(const AsyncCopy& copy, const Block& block) {
  return copy.warp->block != &block;
}

} // namespace

void AsyncCopies::start() {
  for (auto& threads : threads_) threads.clear();
  counted_.clear();
  arrivals_.clear();
  fenced_ = 0;
  fenced_warps = 0;
  own_fences_.clear();
}

AsyncCopies::Thread& AsyncCopies::thread(Kind kind, std::uint32_t which) {
  auto& threads = threads_[kind];
  if (threads.empty()) threads.resize(block_.threads);
  return threads[which];
}

// Whether another thread has the same bytes on their way to the same place: of a rest that does not
// fill a warp, functions of cooperative groups let several lanes copy the last element.
bool AsyncCopies::is_repeated(const AsyncCopy& copy) const {
  const auto& entry = block_.races[copy.to.offset >> block_.race_shift];
  if (static_cast<std::uint32_t>(entry) != race::kCopy) return false;
  const auto is_same = [&](const AsyncCopy& other) {
    const bool from_same = other.loaded == 0 || (other.from.region == copy.from.region &&
                                                 other.from.block == copy.from.block &&
                                                 other.from.offset == copy.from.offset);
    return other.to.block == copy.to.block && other.to.offset == copy.to.offset &&
           other.bytes == copy.bytes && other.loaded == copy.loaded && from_same &&
           other.combine == nullptr && other.value.empty();
  };
  for (const Thread& each : threads_[kSmall]) {
    if (std::any_of(each.copies.begin(), each.copies.end(), is_same)) return true;
  }
  return false;
}

// Its accesses count as those of its thread at this place.
void AsyncCopies::check_begin(AsyncCopy& copy) {
  Warp& w = *copy.warp;
  copy.number = ++count_;
  if (const std::uint32_t words = words_of(copy); words != 0) {
    if (words > AsyncCopy::kFewWords) copy.stores.resize(words);
    see_stores(w, *copy.from.region, copy.from.offset, copy.loaded,
               copy.stores.empty() ? copy.few_stores.data() : copy.stores.data());
    check_global_race(w, copy.in, copy.lane, *copy.from.region, copy.from.offset, copy.loaded,
                      Access::kLoad, nullptr);
  }
  if (copy.from.block != nullptr && copy.loaded != 0) {
    check_proxy(copy);
    begin_copy(w, copy.in, copy.lane, *copy.from.block, copy.from.offset, copy.loaded,
               Access::kLoad);
  }
  // Several copies may combine their values in the same bytes
  if (copy.to.block == nullptr || copy.combine != nullptr) return;
  if (copy.to.block == &block_ && block_.races != nullptr && copy.value.empty() &&
      is_repeated(copy))
    return;
  begin_copy(w, copy.in, copy.lane, *copy.to.block, copy.to.offset, copy.bytes, Access::kStore);
}

void AsyncCopies::begin(Kind kind, AsyncCopy copy) {
  check_begin(copy);
  Thread& mine = thread(kind, thread_number(*copy.warp, copy.lane));
  copy.group = mine.group;
  mine.copies.push_back(std::move(copy));
}

void AsyncCopies::begin_for_object(AsyncCopy copy) {
  check_begin(copy);
  counted_.push_back(std::move(copy));
}

void AsyncCopies::fence_proxy(const Warp& w) {
  if (!block_.is_ordered) return;
  block_.advance_clock();
  fenced_ = std::max(fenced_, block_.order.is_partial ? block_.clock : block_.last_barrier);
  own_fences_.resize(block_.threads);
  for (std::uint32_t m = w.mask; m != 0; m &= m - 1)
    own_fences_[thread_number(w, static_cast<std::uint32_t>(__builtin_ctz(m)))] = block_.clock;
}

// Bulk copies and wgmma read shared memory in another way than threads write it. Whether what
// asynchronous instructions wrote needs the fence is not known of all of them.
std::optional<OtherThread> AsyncCopies::unfenced_store(std::uint64_t offset,
                                                       std::uint32_t bytes) const {
  const Block& block = block_;
  if (block.races == nullptr) return std::nullopt;
  const std::uint64_t last = (offset + bytes - 1) >> block.race_shift;
  for (std::uint64_t i = offset >> block.race_shift; i <= last; ++i) {
    const auto store = static_cast<std::uint32_t>(block.races[i]);
    const std::uint32_t who = store & race::kThreadMask, clock = store >> race::kThreadBits;
    const bool is_fenced =
      clock < fenced_ || (who < own_fences_.size() && clock < own_fences_[who]);
    if (store == 0 || who >= race::kWarpReaders || is_fenced) continue;
    OtherThread other;
    constexpr std::uint32_t kNumber = 0x7fffffff;
    other.in = &block.grid->program->instruction(block.store_sites[i] & kNumber, &other.code);
    if (is_asynchronous(block.grid->program->forms[other.in->form])) continue;
    other.thread = who;
    other.access = Access::kStore;
    other.is_unsure = true;
    return other;
  }
  return std::nullopt;
}

void AsyncCopies::check_proxy(const AsyncCopy& copy) const {
  if (copy.from.block != &block_) return;
  auto other = unfenced_store(copy.from.offset, copy.loaded);
  if (!other) return;
  other->how = "no proxy fence";
  copy.warp->worker->checks->race(facts_of_copy(copy), *other);
}

void AsyncCopies::read(AsyncCopy& copy) {
  if (copy.is_read) return;
  copy.is_read = true;
  if (words_of(copy) != 0) {
    check_unchanged(facts_of_copy(copy), *copy.from.region, copy.from.offset,
                    copy.stores.empty() ? copy.few_stores.data() : copy.stores.data());
  }
  copy.value.assign(copy.bytes, std::byte{0});
  copy.unwritten.assign(copy.bytes, false);
  for (std::uint32_t at = 0; at < copy.loaded; at += kPart) {
    const std::uint32_t bytes = std::min(copy.loaded - at, kPart);
    const CopyEnd from = moved_by(copy.from, at);
    load(copy.value.data() + at, from, bytes);
    const std::uint64_t there =
      initialized_bytes(shadow_of(from), static_cast<std::uint32_t>(from.offset % 4), bytes);
    for (std::uint32_t i = 0; i < bytes; ++i) copy.unwritten[at + i] = (there >> i & 1) == 0;
  }
  if (copy.rounds_to_tf32) round_to_tf32(std::span(copy.value).first(copy.loaded));
  if (copy.from.block != nullptr && copy.loaded != 0)
    end_copy(*copy.from.block, *copy.warp, copy.lane, copy.from.offset, copy.loaded, Access::kLoad);
}

// Bytes of 16 at a time, of which some may keep their value: others may write them meanwhile.
void AsyncCopies::finish(AsyncCopy& copy) {
  read(copy);
  const std::uint32_t part = copy.left_out != 0 ? 1 : kPart;
  for (std::uint32_t at = 0; at < copy.bytes; at += part) {
    if ((copy.left_out >> (at % kPart) & 1) != 0) continue;
    const std::uint32_t bytes = std::min(copy.bytes - at, part);
    const CopyEnd to = moved_by(copy.to, at);
    const std::byte* value = copy.value.data() + at;
    std::uint64_t written = 0;
    for (std::uint32_t i = 0; i < bytes; ++i)
      written |= std::uint64_t{!copy.unwritten[at + i]} << i;
    if (copy.to.region != nullptr)
      check_global_race(*copy.warp, copy.in, copy.lane, *copy.to.region, to.offset, bytes,
                        copy.combine != nullptr ? Access::kReduction : Access::kStore, value);
    if (copy.combine == nullptr) {
      store(to, value, bytes);
    } else {
      const std::uint32_t size = copy.combine->bytes;
      for (std::uint32_t i = 0; i + size <= bytes; i += size)
        combine_at(moved_by(to, i), *copy.combine, value + i);
    }
    set_initialized(shadow_of(to), static_cast<std::uint32_t>(to.offset % 4), bytes, written);
  }
  if (copy.to.block != nullptr)
    end_copy(*copy.to.block, *copy.warp, copy.lane, copy.to.offset, copy.bytes, Access::kStore);
}

template <class IsDone>
void AsyncCopies::finish_some(std::vector<AsyncCopy>& copies, IsDone is_done) {
  std::vector<AsyncCopy*> done;
  for (AsyncCopy& copy : copies) {
    if (is_done(copy)) done.push_back(&copy);
  }
  if (done.empty()) return;
  if (block_.grid->seed != 0) block_.random.shuffle(done);
  for (AsyncCopy* copy : done) finish(*copy);
  std::erase_if(copies, is_done);
}

void AsyncCopies::commit(Kind kind, std::uint32_t which) { ++thread(kind, which).group; }

void AsyncCopies::wait(Kind kind, std::uint32_t which, std::uint32_t groups_left) {
  Thread& mine = thread(kind, which);
  finish_some(mine.copies, [&](const AsyncCopy& copy) {
    return std::uint64_t{copy.group} + groups_left < mine.group;
  });
}

void AsyncCopies::wait_read(std::uint32_t which, std::uint32_t groups_left) {
  Thread& mine = thread(kBulk, which);
  for (AsyncCopy& copy : mine.copies) {
    if (std::uint64_t{copy.group} + groups_left < mine.group) read(copy);
  }
}

void AsyncCopies::wait_all(Kind kind, std::uint32_t which) {
  finish_some(thread(kind, which).copies, [](const AsyncCopy&) { return true; });
}

void AsyncCopies::arrive_behind(Warp& w, std::uint32_t lane, std::uint64_t object) {
  arrivals_.push_back({&w, lane, object, count_});
}

void AsyncCopies::bring(std::uint64_t object) {
  std::vector<Arrival> due;
  std::erase_if(arrivals_, [&](const Arrival& each) {
    if (each.object == object) due.push_back(each);
    return each.object == object;
  });
  if (block_.grid->seed != 0) block_.random.shuffle(due);
  for (const Arrival& each : due) {
    finish_some(thread(kSmall, thread_number(*each.warp, each.lane)).copies,
                [&](const AsyncCopy& copy) { return copy.number <= each.number; });
    if (block_.is_ordered) block_.order.arrive(block_, {each.warp, 1u << each.lane}, object);
    change_mbarrier(block_, object, {.arrivals = 1});
  }
  std::vector<AsyncCopy> coming;
  std::erase_if(counted_, [&](AsyncCopy& copy) {
    if (copy.object != object) return false;
    coming.push_back(std::move(copy));
    return true;
  });
  if (block_.grid->seed != 0) block_.random.shuffle(coming);
  std::int64_t bytes = 0;
  std::set<std::pair<const Warp*, std::uint32_t>> threads; // that began them
  for (AsyncCopy& copy : coming) {
    finish(copy);
    bytes += copy.bytes;
    if (is_of_other_block(copy, block_)) block_.cluster->note_object(block_, object);
    else threads.insert({copy.warp, copy.lane});
  }
  if (bytes == 0) return;
  for (const auto& [warp, lane] : threads) {
    if (block_.is_ordered) block_.order.arrive(block_, {warp, 1u << lane}, object);
  }
  change_mbarrier(block_, object, {.bytes = -bytes});
}

void AsyncCopies::finish_all() {
  const auto all = [](const AsyncCopy&) { return true; };
  for (auto& threads : threads_) {
    for (Thread& each : threads) finish_some(each.copies, all);
  }
  finish_some(counted_, all);
}

std::uint32_t AsyncCopies::thread_at(std::uint64_t offset) const {
  std::uint32_t found = ~0u;
  const auto look = [&](const std::vector<AsyncCopy>& copies) {
    for (const AsyncCopy& copy : copies) {
      const auto holds = [&](const CopyEnd& end, std::uint32_t bytes) {
        return end.block == &block_ && offset - end.offset < bytes;
      };
      if (holds(copy.to, copy.bytes) || holds(copy.from, copy.loaded))
        found = is_of_other_block(copy, block_) ? ~0u : thread_number(*copy.warp, copy.lane);
    }
  };
  for (const auto& threads : threads_) {
    for (const Thread& each : threads) look(each.copies);
  }
  look(counted_);
  return found;
}

} // namespace gmt::executor
