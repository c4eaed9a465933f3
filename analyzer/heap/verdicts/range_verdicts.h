// SPDX-License-Identifier: Apache-2.0
// Verdicts on copies, sets and other uses: whether what they name lives, and whether they stay
// inside of it.
//
// Host memory is checked with care: once freed or unregistered, its addresses may belong to malloc
// again, so only a call that CUDA refused is called a use after free there.
#pragma once

#include <cstdint>

#include "analyzer/heap/arrays.h"
#include "analyzer/heap/store/host_memory.h"
#include "analyzer/heap/verdicts/bounds.h"
#include "analyzer/heap/verdicts/pool_verdicts.h"

namespace gmt {

// The live memory that one side of a call names, with the part of it.
struct NamedMemory {
  BlockStore::Id block = BlockStore::kNone;
  BlockStore::Id region = BlockStore::kNone; // of an NVTX pool, inside the block
  std::uint64_t address = 0, bytes = 0;
};

class RangeVerdicts {
public:
  using Id = BlockStore::Id;
  using Side = Verdict::Side;
  static constexpr Id kNone = BlockStore::kNone;

  RangeVerdicts(const BlockStore& store, const ContextTable& contexts, const UserPools& user_pools,
                const Arrays& arrays, const Bounds& bounds, const PoolVerdicts& pools,
                const HostMemory& host_memory)
      : store_(store), contexts_(contexts), user_pools_(user_pools), arrays_(arrays),
        bounds_(bounds), pools_(pools), host_memory_(host_memory) {}

  NamedMemory check_copy_side(const Event& copy, Side side, CallVerdicts& verdicts) const;
  NamedMemory check_set(const Event& set, CallVerdicts& verdicts) const;
  NamedMemory check_use(const Event& use, CallVerdicts& verdicts) const;
  // A graph's node: what it copies or sets past the end of its memory is a mistake when the node is
  // made, whatever CUDA answers.
  void check_node(const Event& use, CallVerdicts& verdicts) const;

private:
  NamedMemory check_range(const Event& e, const NamedRange& range, CallVerdicts& verdicts) const;
  void check_freed(const Event& e, const NamedRange& range, CallVerdicts& verdicts) const;
  void check_node_side(const Event& work, Side side, CallVerdicts& verdicts) const;

  const BlockStore& store_;
  const ContextTable& contexts_;
  const UserPools& user_pools_;
  const Arrays& arrays_;
  const Bounds& bounds_;
  const PoolVerdicts& pools_;
  const HostMemory& host_memory_;
};

} // namespace gmt
