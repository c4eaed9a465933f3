// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/marks.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/news_flag.h"
#include "rewriter/table.h"

namespace gmt::interposer::kernel_checks {

namespace {

// The entry of granule i: of `bytes` that begin with the first one, what is left there; `full`
// where the next granule is full, too, and `behind` where nothing is left. The first thread writes
// the block's bounds, if `slot` is an address. If `distrust` is the address of a word that is not
// 0, entries say that nothing is known. It is asked again behind them: who sets it and then writes
// the entries has the last word.
constexpr char kText[] = R"(
.version 6.4
.target sm_70
.address_size 64
.visible .entry gmt_mark(.param .u64 entries, .param .u64 count, .param .s64 bytes,
                         .param .u32 full, .param .u32 behind, .param .u64 slot, .param .u64 begin,
                         .param .u64 distrust)
{
  .reg .pred %p<9>;
  .reg .b32 %r<12>;
  .reg .b64 %d<20>;
  ld.param.u64 %d1, [entries];
  ld.param.u64 %d2, [count];
  ld.param.s64 %d3, [bytes];
  ld.param.u32 %r1, [full];
  ld.param.u32 %r2, [behind];
  ld.param.u64 %d4, [slot];
  ld.param.u64 %d16, [distrust];
  mov.u32 %r10, 0;
  setp.eq.s64 %p6, %d16, 0;
  @!%p6 ld.volatile.global.u32 %r10, [%d16];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mov.u32 %r6, %nctaid.x;
  mul.wide.u32 %d5, %r3, %r4;
  cvt.u64.u32 %d6, %r5;
  add.s64 %d7, %d5, %d6;
  mov.u64 %d17, %d7;
  mul.wide.u32 %d8, %r4, %r6;
  setp.ne.s64 %p1, %d7, 0;
  setp.eq.or.s64 %p2, %d4, 0, %p1;
  @%p2 bra ENTRIES;
  ld.param.u64 %d9, [begin];
  add.s64 %d10, %d9, %d3;
  st.global.v2.u64 [%d4], {%d9, %d10};
ENTRIES:
  setp.ge.u64 %p3, %d7, %d2;
  @%p3 bra DONE;
  shl.b64 %d11, %d7, 9;
  sub.s64 %d12, %d3, %d11;
  min.s64 %d13, %d12, 512;
  cvt.u32.u64 %r7, %d13;
  setp.ge.s64 %p4, %d12, 1024;
  selp.b32 %r8, %r1, %r7, %p4;
  setp.gt.s64 %p5, %d12, 0;
  selp.b32 %r9, %r8, %r2, %p5;
  setp.ne.s32 %p7, %r10, 0;
  selp.b32 %r9, 32767, %r9, %p7;
  shl.b64 %d14, %d7, 1;
  add.s64 %d15, %d1, %d14;
  st.global.u16 [%d15], %r9;
  add.s64 %d7, %d7, %d8;
  bra ENTRIES;
DONE:
  setp.ne.or.s32 %p8, %r10, 0, %p6;
  @%p8 ret;
  membar.sys;
  ld.volatile.global.u32 %r10, [%d16];
  mov.u64 %d7, %d17;
  setp.ne.s32 %p8, %r10, 0;
  @%p8 bra ENTRIES;
  ret;
}
)";

constexpr unsigned kThreads = 256;
constexpr std::uint64_t kMostBlocks = 512;
constexpr std::uint64_t kMarkedBytes = std::uint64_t{1} << rewriter::kGranuleBits;

constinit std::array<std::atomic<CUfunction>, kMostTables> kernels{}; // by table

} // namespace

bool load_marks(const Table& table) noexcept {
  if (Table::has_other_devices() && table.flag() == 0) return false;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  if (driver.load_module(&module, kText) != 0) return false;
  if (driver.function(&function, module, kMarkKernel) != 0) return false;
  kernels[table.index()].store(function, std::memory_order_release);
  return true;
}

bool has_marks(const Table& table) noexcept {
  return kernels[table.index()].load(std::memory_order_acquire) != nullptr;
}

void forget_marks(unsigned table) noexcept { kernels[table].store(nullptr); }

bool put_mark(const Table& table, const Mark& mark, CUstream stream) noexcept {
  const CUfunction function = kernels[table.index()].load(std::memory_order_acquire);
  if (function == nullptr) return false;
  const rewriter::Block& block = mark.block;
  const rewriter::Options& placed = table.placed();
  std::uint64_t first = rewriter::entry_address(placed, block.begin);
  std::uint64_t count = (block.end - block.begin + kMarkedBytes - 1) / kMarkedBytes + mark.more;
  std::uint64_t distrust = mark.distrust;
  if (distrust == 0 && Table::has_other_devices()) distrust = table.flag() + kBetweenFlags;
  if (!mark.is_live && count <= kMostOfSet && (distrust == 0 || mark.behind == rewriter::kNoBlock))
    return driver.set_16(first, static_cast<unsigned short>(mark.behind), count, stream) == 0;
  std::int64_t bytes = mark.is_live ? static_cast<std::int64_t>(block.end - block.begin) : 0;
  std::int32_t full = rewriter::kFirstBlock + static_cast<std::int32_t>(mark.slot);
  std::int32_t behind = mark.behind;
  const bool has_slot = mark.slot != rewriter::kBlockSlots - 1 && !mark.are_bounds_there;
  std::uint64_t slot = mark.is_live && has_slot ? rewriter::slot_address(placed, mark.slot)
                                                : 0; // the last one stands for unknown memory
  std::uint64_t begin = block.begin;
  void* arguments[] = {&first, &count, &bytes, &full, &behind, &slot, &begin, &distrust};
  const std::uint64_t blocks = std::min((count + kThreads - 1) / kThreads, kMostBlocks);
  return driver.launch(function, static_cast<unsigned>(blocks), 1, 1, kThreads, 1, 1, 0, stream,
                       arguments, nullptr) == 0;
}

} // namespace gmt::interposer::kernel_checks
