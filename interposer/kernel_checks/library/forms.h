// SPDX-License-Identifier: Apache-2.0
// Which form of a kernel a launch or a node gets.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "interposer/kernel_checks/library/code.h"

namespace gmt::interposer::kernel_checks {

struct Shape {
  std::uint32_t grid[3], block[3];
  CUstream stream;
};

// What the device says where a form needs more than there is, or does not know of it.
inline bool is_refused(int result) noexcept {
  return result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES ||
         result == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE ||
         result == CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

// The table of the context in which what is put into the stream runs, which gets one now unless a
// stream captures; null: it has none.
Table* table_of_stream(CUstream named) noexcept;
// Why a kernel's checked form cannot run now in the table's context; none: it can.
std::optional<PlainReason> why_plain(const Kernel& kernel, Table* table) noexcept;
// The same for a node of a graph: there is no second try when that runs.
std::optional<PlainReason> why_plain_in_graph(const Kernel& kernel, Table* table,
                                              const Shape& shape) noexcept;
// Whether a cooperative node can run the checked form. How many blocks fit at once is asked when
// its graph runs: too late to choose the plain one.
bool can_be_cooperative(const Kernel& kernel, const Table& table, const Shape& shape,
                        std::size_t shared_bytes, bool asks_cluster) noexcept;

// As the call in progress makes it.
Launch describe(const Kernel& kernel, const Table& table, CUfunction function,
                const Shape& shape) noexcept;

} // namespace gmt::interposer::kernel_checks
