// SPDX-License-Identifier: Apache-2.0
// CUDA's memory pools: those that the program made, on which device each lies, which one a device
// takes memory from, and what became of them. A destroyed pool is remembered until its handle is
// used again.
//
// Pools that CUDA made itself, a default one for each device, count as one: blocks do not name
// them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

#include "analyzer/cuda_state/life_call.h"
#include "analyzer/model/event.h"

namespace gmt {

struct Pool {
  std::int32_t device = -1;          // -1: of the host's memory
  std::optional<LifeCall> created;   // nothing where that went unseen
  std::optional<LifeCall> destroyed; // nothing while it lives

  bool is_alive() const { return created && !destroyed; }
};

class PoolTable {
public:
  using Handle = std::uint64_t;
  static constexpr Handle kDefault = 0; // stands for all pools that CUDA made itself

  void on_life(const Event& e); // of any object, accepted

  const Pool* find(Handle pool) const { // null if nothing is known of it
    const auto at = pools_.find(pool);
    return at != pools_.end() ? &at->second : nullptr;
  }
  template <class Visit> void for_each_alive(Visit visit) const { // by handle
    for (const auto& [handle, pool] : pools_) {
      if (pool.is_alive()) visit(handle, pool);
    }
  }
  // The pool itself if the program has made it, at whatever time, else kDefault.
  Handle made_or_default(Handle pool) const {
    const Pool* known = find(pool);
    return known != nullptr && known->created ? pool : kDefault;
  }
  // The pool that the program gave the device to allocate from; 0 while that is the device's
  // default one.
  Handle current_of(std::int64_t device) const {
    const auto at = current_.find(device);
    return at != current_.end() ? at->second : 0;
  }

  // Of a pool as made_or_default() names it:
  // Nothing if the program never set it
  std::optional<std::uint64_t> release_threshold(Handle pool) const;
  // Order of the last call that made it give all free memory back, 0 none
  std::uint64_t emptied(Handle pool) const;

private:
  struct Settings {
    std::optional<std::uint64_t> release_threshold;
    std::uint64_t emptied = 0;
  };
  std::map<Handle, Pool> pools_;
  std::unordered_map<std::int64_t, Handle> current_; // by device
  std::unordered_map<Handle, Settings> settings_;    // by made_or_default()
};

} // namespace gmt
