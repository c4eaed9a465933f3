// SPDX-License-Identifier: Apache-2.0
// A call that began or ended the life of one of CUDA's objects.
#pragma once

#include <cstdint>

#include "analyzer/model/event.h"

namespace gmt {

struct LifeCall {
  StackId stack;
  std::uint16_t api = trace::kNoApi; // the runtime's name if one led there
  std::uint16_t context = 0;
  std::uint64_t order = 0;
};

inline LifeCall life_call(const Event& e) {
  return {e.stack, e.via != trace::kNoApi ? e.via : e.api, e.context, e.order};
}

} // namespace gmt
