// SPDX-License-Identifier: Apache-2.0
// CUDA arrays and their levels and planes: which array a handle names, how large that part is, and
// whether a copy stays inside of it or names an array that is gone. The handle is a pointer of the
// driver's own, which may be given to another array later, so a dead one is blamed only where CUDA
// did not accept the call.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "analyzer/cuda_state/contexts.h"
#include "analyzer/heap/memory_kinds.h"
#include "analyzer/heap/store/block_store.h"

namespace gmt {

class Arrays {
public:
  using Id = BlockStore::Id;
  using Side = Verdict::Side;

  Arrays(const BlockStore& store, const ContextTable& contexts)
      : store_(store), contexts_(contexts) {}

  void on_life(const Event& e); // of any object, accepted

  // By the array's handle or that of a view of it:
  Id find(std::uint64_t handle) const; // the live array
  const Block* find_dead(std::uint64_t handle) const;
  ArrayPart part(std::uint64_t handle) const;
  bool is_view(std::uint64_t handle) const { return views_.contains(handle); }

  void check_side(const Event& copy, Side side, CallVerdicts& verdicts) const;
  // True if it is a mistake.
  bool check_freed(const Event& e, std::uint64_t handle, std::uint64_t bytes, Side side,
                   CallVerdicts& verdicts) const;

private:
  struct View {              // a level or plane
    std::uint64_t array = 0; // its handle
    std::uint64_t level = 0;
    bool has_level = false;
  };

  const BlockStore& store_;
  const ContextTable& contexts_;
  std::unordered_map<std::uint64_t, View> views_; // by handle
};

} // namespace gmt
