// SPDX-License-Identifier: Apache-2.0
// What the patches of machine code and the host share: where the table lies, and what patches count
// and record. Both compilers read it, so it includes nothing of ours.
//
// A launch gives its patches one address, in steps of kDataStep behind the control, which begins at
// a multiple of kDataBytes: the step is the launch's number modulo kDataNumbers. With anything else
// nothing is checked: a launch that no host has prepared, as those that kernels make, gives what
// its memory held before.
#pragma once

#include <cstdint>

namespace gmt::interposer::kernel_checks {

inline constexpr std::uint64_t kDataStep = 16, kDataNumbers = 65536;
inline constexpr std::uint64_t kDataBytes = kDataStep * kDataNumbers;
inline constexpr std::uint32_t kDataUpper = 0x5000, kDataUppers = 4; // of its upper half
constexpr bool is_patch_data(std::uint64_t data) {
  return static_cast<std::uint32_t>(data >> 32) - kDataUpper < kDataUppers;
}
inline constexpr std::uint32_t kPatchCounts = 65536; // by site_of(); two instructions may share one
inline constexpr std::uint32_t kPatchRecords = 4096;
inline constexpr std::uint64_t kRecordsOfPatchSite = 64;

// Which counter an instruction has. `pc` is a multiple of 16.
constexpr std::uint32_t site_of(std::uint64_t pc) {
  return ((static_cast<std::uint32_t>(pc) >> 4) * 0x9e3779b1u) >> 16;
}

// The address as if both windows lay side by side, as their entries do in the table. `window` and
// `size` are as in PatchControl. False: it is in neither, and every access there is right.
constexpr bool join_windows(std::uint64_t address, std::uint32_t window, std::uint32_t size,
                            std::uint64_t& joined) {
  auto above = static_cast<std::uint32_t>(address >> 32);
  if (above >= size) {
    above -= window;
    if (above >= size) return false;
    above += size;
  }
  joined = std::uint64_t{above} << 32 | static_cast<std::uint32_t>(address);
  return true;
}

// In memory of the host, so that it is there when the device has stopped at a fault. Until
// `is_whole` is 1 other words may be missing.
struct PatchRecord {
  std::uint64_t pc = 0, address = 0;
  std::uint32_t bytes = 0, flags = 0; // as the Sanitizer API gives them to a patch
  std::uint32_t block[3] = {}, thread[3] = {};
  std::int32_t entry = 0; // of the table
  std::uint32_t data = 0; // the lower half of what the launch gave
  std::uint32_t is_whole = 0, unused = 0;
};
static_assert(sizeof(PatchRecord) == 64);

struct alignas(16) PatchControl {
  // The table's first entry; where the upper window begins, and how many addresses each has, both
  // in units of 2^32, so that the upper half of an address says which window it is in.
  unsigned long long table = 0;
  std::uint32_t window = 0, window_size = 0;
  unsigned long long records = 0; // PatchRecord[kPatchRecords]
  // The address of a word of the host's, which is set to 1 behind the first mistakes of an
  // instruction, and whenever their number is a power of 2.
  unsigned long long flag = 0;
  unsigned long long used = 0; // records that were wanted
  unsigned long long counts[kPatchCounts] = {};
};
static_assert(sizeof(PatchControl) <= kDataBytes);

} // namespace gmt::interposer::kernel_checks
