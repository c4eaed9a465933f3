// SPDX-License-Identifier: Apache-2.0
// What the heap consists of. Each call is applied to these parts by one function of heap_calls.h.
//
// Invariants: a failed call changes nothing; calls nested in another recorded driver call change
// nothing (the outer one does); a live block is in exactly one live index. Verdicts are reached
// before the call changes anything that they look at, and change nothing themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/cuda_state/cuda_state.h"
#include "analyzer/heap/access_list.h"
#include "analyzer/heap/arrays.h"
#include "analyzer/heap/graphs/graph_replay.h"
#include "analyzer/heap/store/host_memory.h"
#include "analyzer/heap/user_pools.h"
#include "analyzer/heap/verdicts/argument_verdicts.h"
#include "analyzer/heap/verdicts/range_verdicts.h"
#include "analyzer/heap/verdicts/release_verdicts.h"
#include "analyzer/heap/vmm_mappings.h"

namespace gmt {

struct HeapParts {
  CudaState cuda;
  BlockStore store;
  Arrays arrays{store, cuda.contexts};
  UserPools user_pools{store};
  VmmMappings mappings{store};
  EndParameters ends;
  HostMemory host_memory;
  const PointerReadings readings{store, user_pools};
  const Bounds bounds{store, cuda.contexts};
  const PoolVerdicts pool_verdicts{store, user_pools, bounds, readings};
  const RangeVerdicts range_verdicts{store,  cuda.contexts, user_pools, arrays,
                                     bounds, pool_verdicts, host_memory};
  const ArgumentVerdicts argument_verdicts{store, user_pools, pool_verdicts, readings, host_memory};
  const ReleaseVerdicts release_verdicts{store, cuda.contexts};
  GraphReplay graphs{store, cuda, arrays, readings, host_memory};
  // Of the newest event
  CallVerdicts verdicts;
  AccessList accesses{store};
  AccessList tensor_accesses{store}; // of the same calls
  // Of a launch during a capture: the block that each word points into
  std::vector<BlockStore::Id> argument_blocks;
  std::uint64_t newest_order = 0, last_kernel = 0, last_blind_call = 0; // see Heap
  std::uint64_t unseen_allocations = 0;
  bool has_poison = false; // behind blocks of device memory
};

} // namespace gmt
