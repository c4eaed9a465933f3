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

} // namespace gmt::trace
