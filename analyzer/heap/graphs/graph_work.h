// SPDX-License-Identifier: Apache-2.0
// What a node of a CUDA graph does each time that the graph is launched: the memory that it uses,
// and the kernel that it runs.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/model/event.h"

namespace gmt {

struct GraphWork {
  enum class Kind : std::uint8_t { kKernel, kCopy, kSet, kOther };
  // Instead of a parameter's number, where it is no kernel that uses the memory.
  enum Part : std::uint8_t { kDestination, kSource, kDestinationArray, kSourceArray };
  Kind kind = Kind::kKernel;
  bool captured = false;
  bool may_run = false;              // of the body of a conditional node: decided on the device
  std::uint16_t api = trace::kNoApi; // of `made`
  StackId made;                      // the captured call, or the one that made or changed the node
  std::uint64_t function = 0;        // a kernel's handle
  std::uint64_t order = 0;           // of `made`
  std::uint64_t added = 0;           // order of the call that gave the graph this node
  // What led into memory, with the parameter or the part.
  std::vector<Argument> pointers = {};

  // Of kernels.
  trace::Index3 grid = {}, block = {};
  std::uint64_t stream = 0; // that was captured, as the call named it
  bool is_blocking = true;  // this stream and the legacy stream wait for each other
  std::uint16_t context = 0;
};

} // namespace gmt
