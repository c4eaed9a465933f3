// SPDX-License-Identifier: Apache-2.0
// The streams that the program has made and not destroyed, by handle. Default streams are not among
// them.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "analyzer/cuda_state/contexts.h"
#include "analyzer/model/event.h"

namespace gmt {

struct Stream {
  std::uint16_t context = 0; // 0 unknown
  std::int32_t device = -1;  // -1 unknown
  bool is_blocking = true;   // it and the legacy stream wait for each other
};

class StreamTable {
public:
  void on_life(const Event& e, const ContextTable& contexts); // of any object, accepted
  const Stream* find(std::uint64_t handle) const {            // null if its creation went unseen
    const auto at = streams_.find(handle);
    return at != streams_.end() ? &at->second : nullptr;
  }

private:
  std::unordered_map<std::uint64_t, Stream> streams_;
};

} // namespace gmt
