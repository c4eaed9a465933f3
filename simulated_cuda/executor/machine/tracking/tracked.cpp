// SPDX-License-Identifier: Apache-2.0
// A report names the load from which the value may come: the last one that gave unwritten bits and
// whose result reaches the value.
#include "simulated_cuda/executor/machine/tracking/tracked.h"

#include "simulated_cuda/executor/machine/access.h"
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/device_bytes.h"
#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/machine/tracking/reaching.h"
#include "simulated_cuda/executor/machine/workers/worker.h"
#include "simulated_cuda/executor/program/tracking.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace gmt::executor {
namespace {

// The shadow of the word that holds a byte, if all bytes of the access are allocated there.
struct StateSlot {
  std::uint8_t* shadow = nullptr; // null: the access was refused
  std::uint32_t first = 0;
  bool is_host = false; // in memory of the host
};

StateSlot state_slot(Warp& w, Space space, std::uint64_t address, std::uint32_t bytes) {
  StateSlot slot;
  std::uint64_t offset = address;
  std::uint8_t* shadow = nullptr;
  if (space == Space::kShared) {
    if (address >= w.block->shared_bytes || bytes > w.block->shared_bytes - address) return slot;
    shadow = w.block->shared_shadow;
  } else {
    const Region* region =
      w.region->holds(address, bytes) ? w.region : w.grid->memory->region_of(address);
    if (region == nullptr || !region->holds(address, bytes)) return slot;
    shadow = region->shadow;
    offset = address - region->base;
    slot.is_host = region->is_host;
  }
  for (std::uint64_t i = offset; i < offset + bytes; ++i) {
    if ((shadow_at(shadow + i / 4) >> (i % 4) & 1) == 0) return slot;
  }
  slot.shadow = shadow + offset / 4;
  slot.first = offset % 4;
  return slot;
}

std::byte* local_shadow(Warp& w, std::uint32_t lane, std::uint64_t address, std::uint32_t bytes) {
  const std::uint64_t end = w.frame->local_end;
  if (address >= end || bytes > end - address) return nullptr;
  return w.local_shadow.data() + std::size_t{lane} * w.local_stride + address;
}

// A shuffle from a lane that is not there: no memory has the value.
bool is_of_lane(const UnwrittenLoad& load) { return load.bytes == 0; }

// The last load of unwritten bits that `gave` holds for, of the lane itself if it did one.
template <class Gave>
const UnwrittenLoad* origin_of(const Warp& w, std::uint32_t lane, Gave gave) {
  const Code& code = *w.frame->code;
  const Instruction* begin = code.instructions.data();
  const UnwrittenLoad* from = nullptr;
  for (const UnwrittenLoad& load : w.unwritten) {
    const bool is_here = load.in >= begin && load.in < begin + code.instructions.size();
    if (!is_here || (from != nullptr && from->lane == lane && load.lane != lane)) continue;
    if (gave(load)) from = &load;
  }
  return from;
}

void report_use(Warp& w, const Instruction* in, std::uint32_t lane, const UnwrittenLoad* from) {
  const AccessFacts use = facts_of(w, in, lane);
  if (from == nullptr) return w.worker->checks->unwritten_use(use, nullptr);
  AccessFacts load = facts_of(w, from->in, from->lane);
  load.access = Access::kLoad;
  load.bytes = from->bytes;
  load.space = from->space;
  load.address = from->address;
  w.worker->checks->unwritten_use(use, &load);
}

} // namespace

void load_shadow(Warp& w, std::uint32_t lane, Space space, std::uint64_t address,
                 std::uint32_t bytes, std::byte* shadow) {
  std::memset(shadow, 0, bytes);
  const Space where = resolve(space, &address);
  if ((address & (bytes - 1)) != 0 || where == Space::kParameter) return;
  if (where == Space::kLocal) {
    const std::byte* from = local_shadow(w, lane, address, bytes);
    if (from != nullptr) std::memcpy(shadow, from, bytes);
    return;
  }
  const StateSlot slot = state_slot(w, where, address, bytes);
  if (slot.shadow == nullptr) return;
  const std::uint64_t written = initialized_bytes(slot.shadow, slot.first, bytes);
  for (std::uint32_t i = 0; i < bytes; ++i)
    shadow[i] = (written >> i & 1) != 0 ? std::byte{0} : std::byte{0xff};
}

void store_shadow(Warp& w, std::uint32_t lane, Space space, std::uint64_t address,
                  std::uint32_t bytes, const std::byte* shadow) {
  const Space where = resolve(space, &address);
  if ((address & (bytes - 1)) != 0 || where == Space::kParameter) return;
  if (where == Space::kLocal) {
    std::byte* to = local_shadow(w, lane, address, bytes);
    if (to != nullptr) std::memcpy(to, shadow, bytes);
    return;
  }
  std::uint64_t written = 0;
  for (std::uint32_t i = 0; i < bytes; ++i)
    written |= std::uint64_t{shadow[i] != std::byte{0xff}} << i;
  if (written == (std::uint64_t{1} << bytes) - 1) return; // as the store has said
  const StateSlot slot = state_slot(w, where, address, bytes);
  // The host may write there at any time, unseen
  if (slot.shadow == nullptr || slot.is_host) return;
  set_initialized(slot.shadow, slot.first, bytes, written);
  if (where == Space::kGlobal) w.grid->memory->note_moved(address, bytes);
}

void spoil_frame(Warp& w, std::uint32_t registers) {
  const int spoilt = w.grid->program->is_tracked ? 0xff : 0;
  std::memset(w.base[0] + registers, spoilt, registers);
  const Frame& frame = *w.frame;
  const std::size_t bytes = frame.local_end - frame.local_base;
  if (bytes == 0) return;
  for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<std::size_t>(__builtin_ctz(m));
    std::memset(w.local_shadow.data() + lane * w.local_stride + frame.local_base, spoilt, bytes);
  }
}

void remember_unwritten(Warp& w, const UnwrittenLoad& load) {
  const auto same = [&](const UnwrittenLoad& each) {
    return each.in == load.in && each.lane == load.lane;
  };
  w.unwritten.erase(std::remove_if(w.unwritten.begin(), w.unwritten.end(), same),
                    w.unwritten.end());
  w.unwritten.push_back(load);
}

void report_missing_source(Warp& w, const Instruction* in, std::uint32_t lanes) {
  for (std::uint32_t m = lanes; m != 0; m &= m - 1) {
    const AccessFacts facts = facts_of(w, in, static_cast<std::uint32_t>(__builtin_ctz(m)));
    w.worker->checks->unwritten_use(facts, &facts);
  }
}

void check_stored_lanes(Warp& w, const Instruction* in, std::uint32_t bytes, std::uint32_t count,
                        std::uint32_t lanes) {
  if (std::ranges::none_of(w.unwritten, is_of_lane)) return;
  const auto [known, is_new] = w.worker->traced.try_emplace(in);
  for (std::uint32_t i = 0; i < count && is_new; ++i)
    known->second.merge(reaching_loads(*w.program, *w.frame->code, in, in->r[i]));
  const std::set<const Instruction*>& loads = known->second;
  for (std::uint32_t m = lanes; m != 0; m &= m - 1) {
    const auto lane = static_cast<std::uint32_t>(__builtin_ctz(m));
    const UnwrittenLoad* from = origin_of(w, lane, [&](const UnwrittenLoad& load) {
      return load.lane == lane && is_of_lane(load) && loads.contains(load.in);
    });
    if (from == nullptr) continue;
    report_use(w, in, lane, from);
    for (std::uint32_t i = 0; i < count; ++i) {
      const bool is_constant = (in->r[i] & kConstantOperand) != 0;
      if (!is_constant) std::memset(w.base[0] + in->r[i] + std::size_t{lane} * bytes, 0, bytes);
    }
  }
}

void report_unwritten(Warp& w, const Instruction* in, std::uint32_t lanes) {
  const auto [known, is_new] = w.worker->traced.try_emplace(in);
  if (is_new) known->second = reaching_loads(*w.program, *w.frame->code, in, in->r[0]);
  const std::set<const Instruction*>& loads = known->second;
  const auto gave = [&](const UnwrittenLoad& load) { return loads.contains(load.in); };
  for (std::uint32_t m = lanes; m != 0; m &= m - 1) {
    const auto lane = static_cast<std::uint32_t>(__builtin_ctz(m));
    report_use(w, in, lane, origin_of(w, lane, gave));
  }
}

void use_memory(Warp& w, const Instruction* in, std::uint32_t lane, std::uint64_t address,
                std::uint32_t bytes) {
  std::byte shadow[16] = {};
  if (!w.is_tracked || bytes > sizeof shadow) return;
  load_shadow(w, lane, Space::kGeneric, address, bytes, shadow);
  if (std::all_of(shadow, shadow + bytes, [](std::byte each) { return each == std::byte{0}; }))
    return;
  const auto of_lane = [&](const UnwrittenLoad& load) { return load.lane == lane; };
  report_use(w, in, lane, origin_of(w, lane, of_lane));
  std::memset(shadow, 0, sizeof shadow);
  if (address - kLocalWindow < kWindowBytes)
    store_shadow(w, lane, Space::kGeneric, address, bytes, shadow);
}

} // namespace gmt::executor
