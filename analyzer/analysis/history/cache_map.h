// SPDX-License-Identifier: Apache-2.0
// PyTorch's cache at one moment: its segments with the tensors in them, and what else the device
// held. What tensors leave of a segment is free: holes that a larger tensor does not fit into.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/model/finding.h"

namespace gmt {

struct CacheMap {
  enum class Moment : std::uint8_t {
    kPeak,    // tensors held most, to a sixty-fourth of it
    kRefusal, // PyTorch's allocator found no memory, for the first time
  };
  struct Tensors { // side by side, from one call stack
    std::uint64_t offset = 0, bytes = 0, blocks = 0;
    StackId stack;
  };
  struct Segment { // or segments that adjoin
    std::uint64_t address = 0, bytes = 0;
    int device = -1; // -1: not known
    std::vector<Tensors> tensors;
  };
  struct Device {
    int number = -1;
    std::uint64_t total_bytes = 0;                 // 0: not known
    std::optional<std::uint64_t> untraced_bytes{}; // contexts, code, other programs; an estimate
    std::vector<std::pair<std::string, std::uint64_t>> others; // by library, the largest first
  };

  Moment moment = Moment::kPeak;
  std::uint64_t time = 0, asked_bytes = 0; // refused
  std::vector<Segment> segments;           // the largest ones, by address
  std::uint64_t other_segments = 0, other_segment_bytes = 0;
  std::vector<Device> devices;
};

} // namespace gmt
