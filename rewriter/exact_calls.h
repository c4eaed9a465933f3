// SPDX-License-Identifier: Apache-2.0
// The argument of kCheckGlobal and kCheckArray: where it has what. They check all accesses from one
// register, count and record mistakes, and answer with a bit for each access: it is to be left out.
#pragma once

#include <cstdint>

namespace gmt::rewriter {

enum CheckPart : std::int64_t {
  // Of kCheckGlobal: the register; where the access says so, begin and bytes of the block or
  // variable that is meant
  kBaseAt = 0,
  kBeginAt = 8,
  kBytesAt = 16,
  // Of kCheckArray, 32 bits each: the register; where a known array begins, in the address's space,
  // and of a generic address in its own
  kSmallAt = 0,
  kFirstAt = 4,
  kOwnFirstAt = 8,
  kLaunchAt = 24,
  kWordsAt = 32,    // the first of its accesses in kAccesses
  kBlockEndAt = 36, // where the block's shared memory ends: kCheckArray, and where kMayBeShared
  kCheckBytes = 40,
};

// Of AccessWords::word, above the bytes of the access.
inline constexpr std::uint32_t kIsAligned = 256;    // in any case
inline constexpr std::uint32_t kIsWholeBlock = 512; // kCheckArray: no array is known, all shared
                                                    // memory of the block is meant
inline constexpr std::uint32_t kMayBeShared = 512;  // kCheckGlobal: then it is kIsWholeBlock
inline constexpr std::uint32_t kIsVariable = 1024;  // kCheckGlobal: what is meant is a variable
inline constexpr std::uint32_t kHasBlock = 2048;    // kCheckGlobal: begin and bytes are there
inline constexpr std::uint32_t kIsLocal = 4096;     // kCheckArray
inline constexpr std::uint32_t kIsLast = 8192;      // of the register
inline constexpr std::uint32_t kIsDynamic = 16384;  // kCheckArray: the launch says its size
inline constexpr std::uint32_t kIsGeneric = 32768;  // kCheckArray

} // namespace gmt::rewriter
