// SPDX-License-Identifier: Apache-2.0
// With --late: memory of the host that a kept copy or set uses, and managed memory that a kept
// launch was given, as it was at the call. Where its bytes are others when the work runs, and no
// work of the device can have written them, the host did, before anything let it know that the work
// was done. Driver lock held.
#pragma once

#include "simulated_cuda/driver/streams/graph.h"
#include "simulated_cuda/executor/machine/used_rows.h"

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace gmt::sim {

// Bytes of linear memory that follow on each other, where the host has them.
struct CopyRow {
  CUdeviceptr address = 0;
  const std::byte* start = nullptr;
  std::size_t bytes = 0;
};
// Of a checked copy, one side. Empty: it is an array. copy.cpp
std::vector<CopyRow> source_rows(const CUDA_MEMCPY3D& copy);
std::vector<CopyRow> destination_rows(const CUDA_MEMCPY3D& copy);
std::vector<CopyRow> set_rows(const CUDA_MEMSET_NODE_PARAMS& set); // of a checked one; set_api.cpp
// Blocks of managed memory into which an argument points, and managed variables.
std::vector<CopyRow> managed_rows(const KernelOperation& kernel);

class LateBytes {
public:
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20; // of all that are kept

  // One side of a copy, or what other work uses. Null if the host cannot write there, or if it is
  // not kept, of which the observer hears.
  static std::unique_ptr<LateBytes> keep(std::vector<CopyRow> rows);
  ~LateBytes();
  LateBytes(const LateBytes&) = delete;
  LateBytes& operator=(const LateBytes&) = delete;

  // Right before the copy or the set runs, as its caller: says it if the host wrote there.
  void look() const;
  // Right before the kernel runs, as its caller: kernel_ran() says it if the host wrote what that
  // uses.
  void look_for_kernel() const;

private:
  explicit LateBytes(std::vector<CopyRow> rows);
  friend void device_wrote(CUdeviceptr address, std::size_t bytes);
  friend void kernel_ran(const executor::Accesses& accesses);

  std::vector<CopyRow> rows_;
  std::vector<std::byte> bytes_;    // of all rows
  CUdeviceptr begin_ = 0, end_ = 0; // what lies outside of these meets no row
  bool is_unsure_ = false; // the device may have written there, or waited for the host to do so
};

// Work of the device has written these bytes.
void device_wrote(CUdeviceptr address, std::size_t bytes);
// One that used memory of the host may have polled what the host sets behind its writes.
void kernel_ran(const executor::Accesses& accesses);

} // namespace gmt::sim
