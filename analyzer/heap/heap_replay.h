// SPDX-License-Identifier: Apache-2.0
// All parts of the heap, and what each call does with them, in which order.
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

class HeapReplay {
public:
  void apply(const Event& e);
  void watch(MemoryWatch* watch) { store_.use().watch(watch); }

  // As of the newest event, of which the verdicts and accesses are.
  const CallVerdicts& verdicts() const { return verdicts_; }
  const AccessList& accesses() const { return accesses_; }
  const CudaState& cuda() const { return cuda_; }
  const BlockStore& store() const { return store_; }
  const Arrays& arrays() const { return arrays_; }
  const GraphReplay& graphs() const { return graphs_; }
  const PointerReadings& readings() const { return readings_; }
  const EndParameters& ends() const { return ends_; }
  const HostMemory& host_memory() const { return host_memory_; }
  std::uint64_t newest_order() const { return newest_order_; }
  std::uint64_t last_kernel() const { return last_kernel_; }
  std::uint64_t last_blind_call() const { return last_blind_call_; }
  std::uint64_t unseen_allocations() const { return unseen_allocations_; }

private:
  using Id = BlockStore::Id;
  using Side = Verdict::Side;
  static constexpr Id kNone = BlockStore::kNone;

  void on_alloc(const Event& e);
  void on_free(const Event& e);
  void accept_free(const Event& e, bool count_unseen);
  void accept_unsure_free(const Event& e);
  void note_refused(const Event& e);
  void on_host_free(const Event& e);
  bool end_block(Space space, std::uint64_t address, const Event& e);
  void unmap(const Event& e);
  void note_unseen(std::uint64_t address);
  void on_copy(const Event& e);
  void on_set(const Event& e);
  void on_use(const Event& e);
  void on_launch(const Event& e);
  void on_sync(const Event& e);
  void on_context(const Event& e);
  void on_host_memory(const Event& e);
  void on_life(const Event& e);
  void on_user_heap(const Event& e);
  void end_contexts(const Event& e, const ContextEnd& end);
  void add_access(const Event& e, const NamedMemory& named, Access::Kind access,
                  unsigned parameter = kNoParameter);

  CudaState cuda_;
  BlockStore store_;
  Arrays arrays_{store_, cuda_.contexts};
  UserPools user_pools_{store_};
  VmmMappings mappings_{store_};
  EndParameters ends_;
  HostMemory host_memory_;
  const PointerReadings readings_{store_, user_pools_};
  const Bounds bounds_{store_, cuda_.contexts};
  const PoolVerdicts pool_verdicts_{store_, user_pools_, bounds_, readings_};
  const RangeVerdicts range_verdicts_{store_,  cuda_.contexts, user_pools_, arrays_,
                                      bounds_, pool_verdicts_, host_memory_};
  const ArgumentVerdicts argument_verdicts_{store_, user_pools_, pool_verdicts_, readings_,
                                            host_memory_};
  const ReleaseVerdicts release_verdicts_{store_, cuda_.contexts};
  GraphReplay graphs_{store_, cuda_, arrays_, readings_, host_memory_};
  CallVerdicts verdicts_;
  AccessList accesses_{store_};
  // Of a launch during a capture: the block that each word points into
  std::vector<Id> argument_blocks_;
  std::uint64_t newest_order_ = 0, last_kernel_ = 0, last_blind_call_ = 0;
  std::uint64_t unseen_allocations_ = 0;
};

} // namespace gmt
