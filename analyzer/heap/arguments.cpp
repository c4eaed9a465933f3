// SPDX-License-Identifier: Apache-2.0
// Verdicts on what a kernel is given: words of its arguments that lead into memory which lives, or lived. A
// number that happens to look like an address is told from a pointer by nothing but the heap.
//
// The same word may have two meanings. Blocks lie side by side, so one past the end of a block is the base of
// the next one, and one element before a block lies in the one before it. Where that one is freed, both
// readings are told; the one that another launch rules out is left out by who tells.

#include <utility>

#include "analyzer/heap/heap_state.h"

namespace gmt {

using trace::Family;

void Heap::State::judge_launch(const Event& e) {
  arguments.clear();
  const trace::Payload words = trace::LaunchView(e).arguments();
  if (words.empty() || is_dead(e.context)) return;
  const bool is_captured = !capturing.empty();
  for (const std::uint64_t word : words) {
    const std::uint64_t address = trace::argument_address(word);
    const Id id = word == 0 ? kNone : store.find_id(Space::kAddress, address);
    if (id != kNone && !has_regions) { // nearly all
      touch(e, id, Touch::Access::kArgument, address, 0, trace::argument_parameter(word));
    } else if (word != 0) {
      judge_argument(e, word, id);
    }
    if (is_captured) arguments.push_back(id);
  }
}

void Heap::State::judge_argument(const Event& e, std::uint64_t word, Id block) {
  const std::uint64_t address = trace::argument_address(word);
  const unsigned parameter = trace::argument_parameter(word);
  if (block != kNone && has_regions) {
    const Words all = trace::LaunchView(e).arguments();
    judge_in_pool(e, store.range_of(block), {address, 0, Touch::Access::kArgument, Side::kNone, parameter, all});
  }
  if (block == kNone) block = store.find_id(Space::kRegistered, address);
  if (block == kNone) {
    judge_freed_argument(e, word);
  } else {
    touch(e, block, Touch::Access::kArgument, address, 0, parameter);
  }
}

// Pinned and managed memory too: who has got its addresses since then has memory that a kernel cannot read, or
// CUDA knows it.
void Heap::State::judge_freed_argument(const Event& e, std::uint64_t word) {
  if (is_sticky(e.result)) return;
  const std::uint64_t address = trace::argument_address(word);
  const trace::LaunchView launch(e);
  const Words all = launch.arguments();
  const Block* dead = store.find_dead(Space::kAddress, address);
  if (dead == nullptr) {
    if (e.succeeded()) note_end(launch.function(), all, word);
    return;
  }
  // A graph's memory comes back at every launch, static memory with its module.
  if (dead->family == Family::kGraph || dead->family == Family::kModuleGlobal) return;
  Judgement judgement{.verdict = Verdict::kUseAfterFree,
                      .parameter = static_cast<std::uint8_t>(trace::argument_parameter(word)),
                      .block = dead,
                      .offset = address - dead->address,
                      .range_begin = address};
  if (is_mistake(judgement, launch.function(), all)) add(judgement);
}

// The live block that ends at the address, if a word of the same arguments points into it.
bool Heap::State::explain_as_end(Judgement& judgement, Words all) {
  const std::uint64_t address = judgement.range_begin;
  for (const Space space : {Space::kSubAllocation, Space::kAddress, Space::kRegistered}) {
    if (space == Space::kSubAllocation && !has_regions) continue;
    const Id id = store.find_id(space, address - 1);
    if (id == kNone || store[id].bytes == 0 || BlockStore::end_of(store[id]) != address) continue;
    const Block& block = store[id];
    for (const std::uint64_t word : all) {
      if (trace::argument_address(word) - block.address >= block.bytes) continue;
      judgement.reading = Judgement::Reading::kEnd;
      judgement.neighbour = &block;
      judgement.neighbour_parameter = static_cast<std::uint8_t>(trace::argument_parameter(word));
      return true;
    }
  }
  return false;
}

// Somewhere inside a freed block, an end is nothing else: a live block has taken the memory before it.
bool Heap::State::is_mistake(Judgement& judgement, std::uint64_t function, Words all) {
  if (explain_as_end(judgement, all)) {
    if (judgement.offset != 0 && judgement.parameter < trace::kNoParameter) ends[function].set(judgement.parameter);
    return judgement.offset == 0;
  }
  judgement.neighbour = live_just_behind(judgement.range_begin);
  if (judgement.neighbour != nullptr) judgement.reading = Judgement::Reading::kBefore;
  return true;
}

// Nothing is known to be at this word: if it is the end of another argument's block, it is nothing else.
void Heap::State::note_end(std::uint64_t function, Words all, std::uint64_t word) {
  const unsigned parameter = trace::argument_parameter(word);
  Judgement judgement{.range_begin = trace::argument_address(word)};
  if (parameter < trace::kNoParameter && explain_as_end(judgement, all)) ends[function].set(parameter);
}

const Block* Heap::State::live_just_behind(std::uint64_t address) {
  for (const Space space : {Space::kSubAllocation, Space::kAddress, Space::kRegistered}) {
    if (space == Space::kSubAllocation && !has_regions) continue;
    const LiveIndex::Ranges& live = store.ordered(space);
    auto next = live.first_ending_after(address);
    if (next && next.begin <= address) next = live.first_ending_after(next.end); // that one contains it
    if (next && next.begin > address && next.begin - address <= kLargestElement) return &store[next.value];
  }
  return nullptr;
}

bool Heap::takes_end(std::uint64_t function, unsigned parameter) const {
  const auto known = state_->ends.find(function);
  return known != state_->ends.end() && parameter < trace::kNoParameter && known->second.test(parameter);
}

const Block* Heap::find_unregistered(std::uint64_t address) const {
  const Block* dead = std::as_const(state_->store).find_dead(Space::kRegistered, address);
  const bool is_live = dead != nullptr && state_->store.find_id(Space::kRegistered, address) != State::kNone;
  return is_live ? nullptr : dead;
}

const Touch* Heap::argument_ending_at(std::uint64_t address) const {
  for (const Touch& t : touched_) {
    const bool is_sized = t.access == Touch::Access::kArgument && t.block->bytes != 0;
    if (is_sized && BlockStore::end_of(*t.block) == address) return &t;
  }
  return nullptr;
}

const Block* Heap::live_just_behind(std::uint64_t address) const { return state_->live_just_behind(address); }

} // namespace gmt
