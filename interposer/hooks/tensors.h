// SPDX-License-Identifier: Apache-2.0
// What PyTorch's caching allocator says of itself becomes kTensor records. Its library libc10_cuda
// calls a function of libc10 for each block that it gives out and takes back, with its own lock
// held and often without Python's: nothing in here calls CUDA, waits for another thread or counts
// references.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gmt::interposer {

// PyTorch's c10::Device: 2 bytes, passed by value.
struct TorchDevice {
  std::int8_t type;
  std::int8_t index;
};

// A block of `bytes` is given out, or one of -bytes is taken back. `caller` is who reports, `frame`
// the hook's own.
void record_tensor(const void* address, std::int64_t bytes, TorchDevice device, const void* caller,
                   const void* frame) noexcept;

struct TensorRefusal {
  std::uint64_t asked, allocated, reserved; // bytes
};
void record_tensor_refusal(const TensorRefusal& refusal, TorchDevice device, const void* caller,
                           const void* frame) noexcept;

} // namespace gmt::interposer
