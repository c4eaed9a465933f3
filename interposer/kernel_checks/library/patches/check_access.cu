// SPDX-License-Identifier: Apache-2.0
// What is put before each access of global memory in machine code that has no PTX. The Sanitizer
// API calls it as it documents for SanitizerCallbackMemoryAccess; the last argument, which is not
// needed, is left out. Nearly all that it costs is that a call saves registers. So it takes few and
// calls nothing, and what records a mistake is behind a branch.
#include "interposer/kernel_checks/library/patches/control.h"

using namespace gmt::interposer::kernel_checks;

namespace {

constexpr int kGoOn = 0;                     // SANITIZER_PATCH_SUCCESS
constexpr std::uint32_t kPrefetch = 1u << 3; // SANITIZER_MEMORY_DEVICE_FLAG_PREFETCH
constexpr std::uint32_t kGranuleBits = 9;    // rewriter/rewriter.h
constexpr std::uint64_t kGranule = 1u << kGranuleBits;

// atomicAdd() would ask first whether it is shared memory, and take registers for that.
__device__ std::uint64_t add_one(unsigned long long& to) {
  std::uint64_t before = 0;
  asm volatile("atom.global.add.u64 %0, [%1], 1;" : "=l"(before) : "l"(&to) : "memory");
  return before;
}

} // namespace

extern "C" __device__ __noinline__ int gmt_check_access(void* data, std::uint64_t pc, void* pointer,
                                                        std::uint32_t bytes, std::uint32_t flags) {
  const auto given = reinterpret_cast<std::uint64_t>(data);
  if (!is_patch_data(given)) return kGoOn;
  PatchControl& control = *reinterpret_cast<PatchControl*>(given & ~(kDataBytes - 1));
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  const uint4 where = __ldg(reinterpret_cast<const uint4*>(&control)); // table, window, its size
  std::uint64_t joined = 0;
  if (!join_windows(address, where.z, where.w, joined)) return kGoOn;
  const auto* table = reinterpret_cast<const short*>(std::uint64_t{where.y} << 32 | where.x);
  const int entry = __ldg(table + (joined >> kGranuleBits));
  const int last = static_cast<int>((address & (kGranule - 1)) + bytes);
  if (last <= entry || (flags & kPrefetch) != 0) return kGoOn; // a prefetch reads nothing
  const std::uint64_t count = add_one(control.counts[site_of(pc)]);
  if (count < kRecordsOfPatchSite) {
    const std::uint32_t at = static_cast<std::uint32_t>(add_one(control.used));
    if (at < kPatchRecords) {
      volatile PatchRecord& to = // in global memory
        reinterpret_cast<PatchRecord*>(control.records)[at];
      to.pc = pc;
      to.address = address;
      to.bytes = bytes;
      to.flags = flags;
      to.entry = entry;
      to.data = static_cast<std::uint32_t>(given);
      to.block[0] = blockIdx.x;
      to.block[1] = blockIdx.y;
      to.block[2] = blockIdx.z;
      to.thread[0] = threadIdx.x;
      to.thread[1] = threadIdx.y;
      to.thread[2] = threadIdx.z;
      __threadfence_system();
      to.is_whole = 1;
    }
  } else if ((count & (count - 1)) != 0) {
    return kGoOn;
  }
  __threadfence_system();
  if (control.flag != 0) *reinterpret_cast<volatile std::uint32_t*>(control.flag) = 1;
  return kGoOn;
}
