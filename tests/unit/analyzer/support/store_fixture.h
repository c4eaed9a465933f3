// SPDX-License-Identifier: Apache-2.0
// What tests of the heap's classes share: a block store, the state of CUDA's objects, and events.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "analyzer/cuda_state/cuda_state.h"
#include "analyzer/heap/store/block_store.h"
#include "analyzer/heap/verdict.h"
#include "tests/unit/analyzer/support/event_maker.h"

namespace gmt::test {

class StoreTest : public testing::Test {
protected:
  using Id = BlockStore::Id;
  using Side = Verdict::Side;
  static constexpr Id kNone = BlockStore::kNone;
  static constexpr std::uint64_t kBase = 0x7f0000000000, kSize = 4096;

  Id live(std::uint64_t address, std::uint64_t bytes,
          trace::MemoryKind memory_kind = trace::MemoryKind::kDevice) {
    Block block;
    block.address = address;
    block.bytes = bytes;
    block.memory_kind = memory_kind;
    block.allocated_at = ++allocations & trace::kOrderMask;
    return store.make_live(store.create(block));
  }
  const Block* free_block(std::uint64_t address, Block::End how = Block::End::kFreed) {
    const Id id = store.find_exact(Space::kAddress, address);
    return store.retire(id, how, BlockStore::By{StackId{9}, 3, ++allocations});
  }
  void describe_context(std::uint16_t id, std::uint64_t handle, std::uint64_t device,
                        bool primary = false) {
    cuda.contexts.describe(
      make(Made<trace::ContextFields>().handle(handle).device(device).is_primary(primary ? 1 : 0),
           {.context = id}));
  }
  Event life(std::uint64_t handle, trace::ObjectClass object, trace::LifeOp op,
             std::uint64_t extra = 0, std::uint64_t value = 0) {
    return make(
      Made<trace::LifeFields>().handle(handle).object(object).op(op).extra(extra).value(value));
  }

  EventMaker make;
  CudaState cuda;
  BlockStore store;
  CallVerdicts verdicts;
  std::uint64_t allocations = 0;
};

} // namespace gmt::test
