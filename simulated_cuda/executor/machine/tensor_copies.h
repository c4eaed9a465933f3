// SPDX-License-Identifier: Apache-2.0
// Copies between a box of a tensor in device memory and shared memory, where the box lies densely.
// They consist of asynchronous copies of pieces that lie in a row on both sides.
#pragma once

#include "simulated_cuda/executor/machine/warp.h"
#include "simulated_cuda/executor/program/tensor_map.h"

#include <cstdint>

namespace gmt::executor {

struct TensorCopy {
  std::uint64_t map = 0;    // generic address
  std::uint64_t shared = 0; // of the box
  std::uint64_t object = 0; // the mbarrier that counts the bytes, unless the copy is of a group
  std::uint32_t ranks = 0;  // of blocks of the cluster that get it, a bit each; 0: one
  std::int32_t at[TensorMap::kMostRank] = {};
  std::uint32_t offsets[TensorMap::kMostOffsets] = {};
  bool operator==(const TensorCopy&) const = default;
};
void begin_tensor_copy(Warp& w, const Instruction* in, std::uint32_t lane, const TensorCopy& copy);

} // namespace gmt::executor
