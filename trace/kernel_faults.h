// SPDX-License-Identifier: Apache-2.0
// What records say of kernels on the simulated device: the flags of kFault and kExecution. Their
// enumerations are in trace/vocabulary.h. C++17, includes nothing of CUDA's.
#pragma once

#include "trace/vocabulary.h"

namespace gmt::trace {

// kFault: which of its words mean something where 0 is a value, too.
inline constexpr std::uint16_t kFaultHasThread = 1;
inline constexpr std::uint16_t kFaultHasAddress = 2;
inline constexpr std::uint16_t kFaultHasOther = 4;
inline constexpr std::uint16_t kFaultOtherHasThread = 8;
inline constexpr std::uint16_t kFaultNeighbourFreed = 16; // what lies at the address is freed
inline constexpr std::uint16_t kFaultChecked = 32;        // found by a check in the kernel's code
inline constexpr std::uint16_t kExecutionExact = 1; // kExecution: the feature is exact, as on a GPU
inline constexpr std::uint16_t kExecutionToHost = 2;  // the copy goes to memory of the host
inline constexpr std::uint16_t kExecutionAsAsked = 4; // an option of the user ended the launch
// Accesses: nothing is missing; its code has atomics or strong loads, by which it may wait for
// other kernels; another record with more of the same follows
inline constexpr std::uint16_t kExecutionWhole = 8;
inline constexpr std::uint16_t kExecutionMayWait = 16;
inline constexpr std::uint16_t kExecutionMore = 32;

// Accesses: of rows, bits of the last of their words.
inline constexpr std::uint64_t kRowsRead = 1, kRowsWritten = 2;
inline constexpr std::uint64_t kRowsStrong = 4; // by atomics or strong accesses alone
inline constexpr std::uint64_t kRowsAllocated = 8, kRowsFreed = 16; // by a graph's node, whole
inline constexpr unsigned kRowsCountShift = 8;                      // above: how many rows
inline constexpr unsigned kWordsOfRows = 4;

} // namespace gmt::trace
