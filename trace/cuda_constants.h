// SPDX-License-Identifier: Apache-2.0
// Constants of cuda.h, for code that is built without CUDA's headers. Their own names are macros
// there.
#pragma once

#include <cstdint>

namespace gmt::cuda {

// Handles that name a stream without pointing to one; 0 is the default stream as the program was
// compiled for it.
inline constexpr std::uint64_t kStreamLegacy = 1;    // CU_STREAM_LEGACY
inline constexpr std::uint64_t kStreamPerThread = 2; // CU_STREAM_PER_THREAD: one for each thread

inline constexpr std::uint64_t kStreamNonBlocking = 1;    // CU_STREAM_NON_BLOCKING
inline constexpr std::uint64_t kEventInterprocess = 4;    // CU_EVENT_INTERPROCESS
inline constexpr std::uint64_t kLimitMallocHeapSize = 2;  // CU_LIMIT_MALLOC_HEAP_SIZE
inline constexpr std::uint64_t kPoolReleaseThreshold = 4; // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
// CU_GRAPH_NODE_TYPE_MEMCPY, _MEMSET
inline constexpr std::uint64_t kNodeTypeCopy = 1, kNodeTypeSet = 2;

} // namespace gmt::cuda
