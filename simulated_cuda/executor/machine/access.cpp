// SPDX-License-Identifier: Apache-2.0
// The checks of one lane's access: which space it is in, whether its bytes are alive and aligned,
// and whether they are initialised.
#include "simulated_cuda/executor/machine/access.h"

#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/cluster.h"
#include "simulated_cuda/executor/machine/device_bytes.h"
#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/machine/tracking/switch.h"
#include "simulated_cuda/executor/machine/workers/worker.h"
#include "simulated_cuda/executor/program/pointers.h"

#include <cstring>

namespace gmt::executor {
namespace {

constexpr std::uint32_t kInitializedShift = 4;

std::byte* register_at(Warp& w, std::uint32_t operand) {
  return w.base[operand >> 31] + (operand & 0x7fffffffu);
}

// Bits of the low nibbles: whether all bytes are allocated. If not, what the first bad one is.
bool all_allocated(const std::uint8_t* shadow, std::uint32_t first, std::uint32_t bytes,
                   ByteState* bad) {
  for (std::uint32_t i = 0; i < bytes; ++i) {
    const std::uint32_t at = first + i;
    const unsigned all = shadow_at(shadow + at / 4), word = all >> (at % 4);
    if ((word & 1) != 0) {
      if (at % 4 == 0 && (all & 0x0f) == 0x0f) i += 3; // bytes behind the last are no matter
      continue;
    }
    *bad = (word & 0x10) != 0 ? ByteState::kFreed : ByteState::kNothing;
    return false;
  }
  return true;
}

void reserve_races(const Warp& w, const Region& region) {
  if (w.grid->ordering != nullptr) w.grid->memory->reserve_races(region);
  if (w.worker->notes_lines) w.worker->used_lines.add(region);
}

void check_shared_race(Warp& w, const Instruction* in, std::uint32_t lane, const Translation& at,
                       std::uint32_t bytes, Access access, const std::byte* value) {
  if (at.block == w.block) check_race(w, in, lane, at.offset, bytes, access, value);
  else check_remote_race(*at.block, w, in, lane, at.offset, bytes, access);
}

// What is not initialised is reported, and counts as initialised afterwards.
Translation atomic_translation(Warp& w, const Instruction* in, std::uint32_t lane, Space space,
                               std::uint64_t address, std::uint32_t bytes, bool has_result) {
  const Access access = has_result ? Access::kAtomic : Access::kReduction;
  const Translation to = translate(w, in, lane, space, address, bytes, access);
  if (to.host == nullptr || to.shadow == nullptr) return to;
  const std::uint64_t all = (std::uint64_t{1} << bytes) - 1;
  if (initialized_bytes(to.shadow, to.first, bytes) == 0 && w.grid->check_atomics) {
    AccessFacts facts = facts_of(w, in, lane);
    facts.access = access;
    facts.bytes = bytes;
    facts.space = to.space;
    facts.address = to.offset;
    w.worker->checks->uninitialized(facts);
  }
  set_initialized(to.shadow, to.first, bytes, all);
  return to;
}

} // namespace

Space resolve(Space space, std::uint64_t* address) {
  if (space == Space::kShared || space == Space::kLocal || space == Space::kParameter) return space;
  if (*address < kSharedWindow || space == Space::kGlobal || space == Space::kConstant)
    return Space::kGlobal;
  struct Window {
    std::uint64_t base;
    Space space;
  };
  for (const Window& window :
       {Window{kSharedWindow, Space::kShared}, Window{kLocalWindow, Space::kLocal},
        Window{kParameterWindow, Space::kParameter}}) {
    if (*address - window.base >= kWindowBytes) continue;
    *address -= window.base;
    return window.space;
  }
  return Space::kGlobal;
}

AccessFacts facts_of(const Warp& w, const Instruction* in, std::uint32_t lane) {
  AccessFacts facts;
  facts.warp = &w;
  facts.in = in;
  facts.code = w.frame->code;
  facts.lane = lane;
  return facts;
}

std::uint64_t initialized_bytes(const std::uint8_t* shadow, std::uint32_t first,
                                std::uint32_t bytes) {
  std::uint64_t result = 0;
  for (std::uint32_t i = 0; i < bytes; ++i) {
    const std::uint32_t at = first + i;
    const unsigned word =
      static_cast<unsigned>(shadow_at(shadow + at / 4)) >> (at % 4 + kInitializedShift);
    result |= std::uint64_t{word & 1} << i;
  }
  return result;
}

void set_initialized(std::uint8_t* shadow, std::uint32_t first, std::uint32_t bytes,
                     std::uint64_t which) {
  for (std::uint32_t i = 0; i < bytes;) {
    const std::uint32_t word = (first + i) / 4;
    unsigned set = 0, clear = 0;
    for (; i < bytes && (first + i) / 4 == word; ++i)
      ((which >> i & 1) != 0 ? set : clear) |= 1u << ((first + i) % 4 + kInitializedShift);
    change_shadow(shadow + word, set, clear);
  }
}

bool find_region(Warp& w, std::uint64_t address) {
  const Region* region = w.grid->memory->region_of(address);
  if (region == nullptr || !w.grid->reach->all_of(*region)) return false;
  reserve_races(w, *region);
  w.region = region;
  return true;
}

Translation translate(Warp& w, const Instruction* in, std::uint32_t lane, Space space,
                      std::uint64_t address, std::uint32_t bytes, Access access,
                      std::uint32_t alignment) {
  Translation to;
  AccessFacts facts = facts_of(w, in, lane);
  facts.access = access;
  facts.bytes = bytes;
  facts.space = resolve(space, &address);
  facts.address = address;
  to.space = facts.space;
  to.offset = address;
  ReportSink& checks = *w.worker->checks;
  const bool misaligned = (address & ((alignment == 0 ? bytes : alignment) - 1)) != 0;
  if (misaligned) {
    checks.misaligned(facts);
    return to;
  }
  if (facts.space == Space::kShared) {
    Block* block = w.block;
    if (const std::uint64_t above = address >> Cluster::kRankShift; above != 0) {
      block = w.block->cluster->of_rank(above - 1);
      address &= (std::uint64_t{1} << Cluster::kRankShift) - 1;
      to.offset = facts.address = address;
      if (block == nullptr) {
        checks.wrong_rank(facts, above - 1);
        return to;
      }
    }
    const std::uint64_t size = block->shared_bytes;
    ByteState bad = ByteState::kNothing;
    if (address >= size || bytes > size - address ||
        !all_allocated(block->shared_shadow + address / 4, address % 4, bytes, &bad)) {
      checks.refused(facts, ByteState::kNothing);
      return to;
    }
    if (block != w.block) {
      if (block->alive == 0) checks.left_early(facts);
      else w.block->cluster->use(*block, facts);
    }
    to.block = block;
    to.host = block->shared + address;
    to.shadow = block->shared_shadow + address / 4;
    to.first = address % 4;
    return to;
  }
  if (facts.space == Space::kLocal) {
    const std::uint64_t end = w.frame->local_end;
    if (address >= end || bytes > end - address) {
      checks.refused(facts, ByteState::kNothing);
      return to;
    }
    to.host = w.local.data() + std::size_t{lane} * w.local_stride + address;
    return to;
  }
  if (facts.space == Space::kParameter) {
    const std::uint64_t size = w.grid->parameters.size();
    // Generic addresses are those of the kernel's, in functions that it calls, too
    const bool is_of_function = space == Space::kParameter && w.frame->exit != nullptr;
    const bool in_frame = bytes == 0 || access != Access::kLoad;
    if (in_frame || is_of_function || address >= size || bytes > size - address) {
      checks.refused(facts, ByteState::kNothing);
      return to;
    }
    to.host = const_cast<std::byte*>(w.grid->parameters.data()) + address; // a load's
    return to;
  }
  const Region* region = w.region;
  if (!region->holds(address, bytes)) {
    region = w.grid->memory->region_of(address);
    if (region == nullptr || !region->holds(address, bytes) ||
        !w.grid->reach->has(*region, address)) {
      checks.refused(facts, ByteState::kNothing);
      return to;
    }
    reserve_races(w, *region);
    if (w.grid->reach->all_of(*region)) w.region = region;
  }
  const std::uint64_t offset = address - region->base;
  ByteState bad = ByteState::kNothing;
  if (!all_allocated(region->shadow + offset / 4, offset % 4, bytes, &bad)) {
    checks.refused(facts, bad);
    return to;
  }
  to.region = region;
  to.host = region->host + offset;
  to.shadow = region->shadow + offset / 4;
  to.first = offset % 4;
  return to;
}

const Instruction* load_by_lane(Warp& w, const Instruction* in, Space space,
                                const std::uint64_t* addresses, std::uint32_t bytes,
                                std::uint32_t count) {
  const std::uint32_t all = bytes * count;
  const std::uint64_t every = (std::uint64_t{1} << all) - 1;
  UnwrittenLanes unwritten;
  for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<std::uint32_t>(__builtin_ctz(m));
    const std::uint64_t address = addresses[lane] + static_cast<std::uint64_t>(in->immediate);
    const Translation from = translate(w, in, lane, space, address, all, Access::kLoad);
    std::byte value[64] = {};
    std::uint64_t missing = 0;
    if (from.host != nullptr) {
      if (from.space == Space::kShared)
        check_shared_race(w, in, lane, from, all, Access::kLoad, nullptr);
      if (from.region != nullptr && w.grid->never_written[in->extra >> kLoadedThrough] == 0)
        check_global_race(w, in, lane, *from.region, from.offset - from.region->base, all,
                          Access::kLoad, nullptr);
      if (from.region != nullptr) load_device(value, from.host, all);
      else std::memcpy(value, from.host, all);
      if (from.shadow != nullptr)
        missing = ~initialized_bytes(from.shadow, from.first, all) & every;
    }
    for (std::uint32_t i = 0; i < count; ++i)
      std::memcpy(register_at(w, in->r[i]) + std::size_t{lane} * bytes, value + i * bytes, bytes);
    if (missing != 0) unwritten.add(lane, missing, from.space, from.offset);
  }
  if (unwritten.lanes == 0 || !w.grid->check_loads || w.is_tracked) return in + 1;
  return track_from_here(w, in, bytes, count, unwritten);
}

void store_by_lane(Warp& w, const Instruction* in, Space space, const std::uint64_t* addresses,
                   std::uint32_t bytes, std::uint32_t count) {
  const std::uint32_t all = bytes * count;
  const auto first = static_cast<std::uint32_t>(__builtin_ctz(w.mask));
  bool is_one = w.mask == w.alive;
  for (std::uint32_t m = w.mask; m != 0; m &= m - 1)
    is_one = is_one && addresses[__builtin_ctz(m)] == addresses[first];
  w.worker->stores_as_one = is_one;
  for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<std::uint32_t>(__builtin_ctz(m));
    const std::uint64_t address = addresses[lane] + static_cast<std::uint64_t>(in->immediate);
    const Translation to = translate(w, in, lane, space, address, all, Access::kStore);
    if (to.host == nullptr) continue;
    std::byte value[64];
    for (std::uint32_t i = 0; i < count; ++i)
      std::memcpy(value + i * bytes, register_at(w, in->r[i]) + std::size_t{lane} * bytes, bytes);
    if (to.space == Space::kShared) check_shared_race(w, in, lane, to, all, Access::kStore, value);
    if (to.region != nullptr)
      check_global_race(w, in, lane, *to.region, to.offset - to.region->base, all, Access::kStore,
                        value);
    if (to.region != nullptr) store_device(to.host, value, all);
    else std::memcpy(to.host, value, all);
    if (to.shadow != nullptr) set_initialized(to.shadow, to.first, all, ~std::uint64_t{0});
  }
}

std::byte* atomic_target(Warp& w, const Instruction* in, std::uint32_t lane, Space space,
                         std::uint64_t address, std::uint32_t bytes, bool has_result) {
  const Translation to = atomic_translation(w, in, lane, space, address, bytes, has_result);
  const Access access = has_result ? Access::kAtomic : Access::kReduction;
  if (to.host != nullptr && to.space == Space::kShared)
    check_shared_race(w, in, lane, to, bytes, access, nullptr);
  if (to.host != nullptr && to.region != nullptr)
    check_global_race(w, in, lane, *to.region, to.offset - to.region->base, bytes, access, nullptr);
  return to.host;
}

Translation object_target(Warp& w, const Instruction* in, std::uint32_t lane, Space space,
                          std::uint64_t address, std::uint32_t bytes, bool has_result) {
  return atomic_translation(w, in, lane, space, address, bytes, has_result);
}

} // namespace gmt::executor
