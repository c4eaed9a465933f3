// SPDX-License-Identifier: Apache-2.0
// Verdicts on calls that name memory of an NVTX pool: use of a region that was given back, ranges
// that leave their region, and regions that are given back wrongly.
#pragma once

#include <cstdint>

#include "analyzer/heap/user_pools.h"
#include "analyzer/heap/verdicts/bounds.h"
#include "analyzer/heap/verdicts/pointer_readings.h"

namespace gmt {

class PoolVerdicts {
public:
  using Id = BlockStore::Id;

  PoolVerdicts(const BlockStore& store, const UserPools& pools, const Bounds& bounds,
               const PointerReadings& readings)
      : store_(store), pools_(pools), bounds_(bounds), readings_(readings) {}

  // What a call names inside of a block that pools may lie in.
  struct Use {
    NamedRange range; // 0 bytes: length unknown
    unsigned parameter = kNoParameter;
    Arguments arguments = {}; // of the launch
  };
  struct Answer {
    bool is_of_region = false;     // live or gone: then the block around it is not checked
    Id region = BlockStore::kNone; // the live one
  };
  Answer check_use(const Event& e, const BlockStore::Range& backing, const Use& use,
                   CallVerdicts& verdicts) const;

  // The pool took back what it had not given out.
  void check_release(const Event& e, CallVerdicts& verdicts) const;

private:
  bool is_one_tensor(const BlockStore::Range& backing) const; // and has no room for others
  bool may_name_dead_tensor(const Use& use) const;

  const BlockStore& store_;
  const UserPools& pools_;
  const Bounds& bounds_;
  const PointerReadings& readings_;
};

} // namespace gmt
