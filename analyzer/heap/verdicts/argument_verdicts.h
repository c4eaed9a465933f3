// SPDX-License-Identifier: Apache-2.0
// Verdicts on what a kernel is given: words of its arguments that lead into memory which lives, or
// lived. A number that happens to look like an address is distinguished from a pointer by nothing
// but the heap.
//
// Where a pointer into freed memory may mean something else, both readings stand in the verdict.
#pragma once

#include <cstdint>

#include "analyzer/heap/store/host_memory.h"
#include "analyzer/heap/verdicts/pointer_readings.h"
#include "analyzer/heap/verdicts/pool_verdicts.h"
#include "analyzer/heap/verdicts/range_verdicts.h"

namespace gmt {

class ArgumentVerdicts {
public:
  using Id = BlockStore::Id;

  ArgumentVerdicts(const BlockStore& store, const UserPools& user_pools, const PoolVerdicts& pools,
                   const PointerReadings& readings, const HostMemory& host_memory)
      : store_(store), user_pools_(user_pools), pools_(pools), readings_(readings),
        host_memory_(host_memory) {}

  // `block`: the live block of the address space that the word leads into, or none.
  NamedMemory check(const Event& launch, Argument word, Id block, CallVerdicts& verdicts) const;

private:
  void check_freed(const Event& launch, Argument word, CallVerdicts& verdicts) const;

  const BlockStore& store_;
  const UserPools& user_pools_;
  const PoolVerdicts& pools_;
  const PointerReadings& readings_;
  const HostMemory& host_memory_;
};

} // namespace gmt
