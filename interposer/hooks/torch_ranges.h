// SPDX-License-Identifier: Apache-2.0
// Ranges of torch.profiler.record_function are kept as those of NVTX are.
#pragma once

#include <cstdint>

namespace gmt::interposer {

// A range of this name is open on the calling thread from now on. `record` is the object that
// PyTorch has made for it. Ranges that PyTorch's own Python opens (of its optimizers, loaders,
// profilers) are left out.
void open_torch_range(const char* name, const void* record) noexcept;

// The records of this thread's open ranges, outermost first.
struct TorchRanges {
  static constexpr unsigned kMost = 16; // what is opened inside of so many is no range
  std::uint64_t records[kMost];
  unsigned depth;
};
extern constinit thread_local TorchRanges torch_ranges
  __attribute__((tls_model("initial-exec"), visibility("hidden")));

// `part` lies inside of the object whose range ends, if it is one of this thread's; with it end
// those inside of it. PyTorch says so twice, and of all that it profiles.
void end_torch_ranges(const void* part) noexcept;
inline void close_torch_range(const void* part) noexcept {
  if (torch_ranges.depth != 0) end_torch_ranges(part);
}

} // namespace gmt::interposer
