// SPDX-License-Identifier: Apache-2.0
// The functions of a module that check accesses exactly. Each is one for all accesses.
#include <cstddef>
#include <string>

#include "rewriter/checks.h"
#include "rewriter/exact_calls.h"
#include "rewriter/table.h"

namespace gmt::rewriter {

namespace {

// What has to be there: %d1 the launch, %d2 the address, %d3 where what was meant begins, %r1 the
// site, %r2 space and kind, %r3 the entry or size, %p9: the access is left out.
std::string call_of_report() {
  return "{\n.param .align 8 .b8 mistake[40];\n"
         "st.param.b64 [mistake], %d2;\nst.param.b64 [mistake+8], %d3;\n"
         "st.param.b64 [mistake+16], %d1;\nst.param.b32 [mistake+24], %r1;\n"
         "st.param.b32 [mistake+28], %r2;\nst.param.b32 [mistake+32], %r3;\ncall " +
         std::string(kReport) + ", (mistake);\n}\n@%p9 or.b32 %r16, %r16, %r19;\n";
}

// Of the next access: %r20 its offset, %r6 its word, %r1 its site, %r21 the array's bytes, %r10 its
// own; %r19 its bit.
std::string begin_of(std::string_view name) {
  static_assert(kCheckBytes == 40 && kLaunchAt == 24 && kWordsAt == 32);
  static_assert(sizeof(AccessWords) == 16 && offsetof(AccessWords, word) == 4 &&
                offsetof(AccessWords, site) == 8 && offsetof(AccessWords, array_bytes) == 12);
  return ".func (.param .align 8 .b8 result[8]) " + std::string(name) +
         "(.param .align 8 .b8 what[40])\n{\n"
         ".reg .pred %p<12>;\n.reg .b32 %r<24>;\n.reg .b64 %d<12>;\n"
         "ld.param.b64 %d1, [what+24];\nld.param.b32 %r5, [what+32];\nmov.u64 %d11, " +
         std::string(kAccesses) + R"(;
mad.wide.u32 %d11, %r5, 16, %d11;
mov.u32 %r16, 0;
mov.u32 %r19, 1;
$access:
ld.global.nc.v4.u32 {%r20, %r6, %r1, %r21}, [%d11];
and.b32 %r10, %r6, 255;
)";
}

std::string end_of() {
  static_assert(kIsLast == 8192);
  return call_of_report() + R"($next:
shl.b32 %r19, %r19, 1;
add.s64 %d11, %d11, 16;
and.b32 %r15, %r6, 8192;
setp.eq.u32 %p10, %r15, 0;
@%p10 bra $access;
st.param.b32 [result], %r16;
ret;
}
)";
}

} // namespace

// Of shared and local memory, by 32 bits: the array, or all shared memory of the block. Nothing
// says where local memory ends, so a mistaken access there is left out.
std::string array_check_function() {
  static_assert(kSmallAt == 0 && kFirstAt == 4 && kOwnFirstAt == 8 && kBlockEndAt == 36);
  static_assert(kIsAligned == 256 && kIsWholeBlock == 512 && kIsLocal == 4096);
  static_assert(kIsDynamic == 16384 && kIsGeneric == 32768);
  static_assert(kMisalignedCount == 1 && static_cast<unsigned>(RecordSpace::kShared) == 1 &&
                static_cast<unsigned>(RecordSpace::kLocal) == 2);
  return begin_of(kCheckArray) + R"(ld.param.b32 %r4, [what+36];
ld.param.b32 %r7, [what];
add.u32 %r7, %r7, %r20;
mov.u32 %r8, 0;
mov.u32 %r9, 0;
mov.u32 %r3, %r4;
and.b32 %r11, %r6, 512;
setp.ne.u32 %p1, %r11, 0;
@%p1 bra $whole;
ld.param.b32 %r8, [what+4];
mov.u32 %r9, %r8;
mov.u32 %r3, %r21;
and.b32 %r11, %r6, 16384;
setp.ne.u32 %p1, %r11, 0;
@%p1 mov.u32 %r3, %dynamic_smem_size;
and.b32 %r11, %r6, 32768;
setp.eq.u32 %p1, %r11, 0;
@%p1 bra $whole;
ld.param.b32 %r9, [what+8];
$whole:
sub.u32 %r12, %r7, %r8;
sub.u32 %r13, %r3, %r10;
setp.lt.u32 %p2, %r3, %r10;
setp.gt.or.u32 %p2, %r12, %r13, %p2;
sub.u32 %r14, %r10, 1;
and.b32 %r14, %r7, %r14;
and.b32 %r15, %r6, 256;
setp.ne.u32 %p3, %r14, 0;
setp.eq.and.u32 %p3, %r15, 0, %p3;
or.pred %p4, %p2, %p3;
@!%p4 bra $next;
add.u32 %r17, %r9, %r12;
sub.u32 %r18, %r4, %r10;
and.b32 %r11, %r6, 4096;
setp.gt.u32 %p9, %r17, %r18;
setp.ne.or.u32 %p9, %r11, 0, %p9;
and.pred %p9, %p9, %p2;
or.pred %p9, %p9, %p3;
setp.ne.u32 %p5, %r11, 0;
selp.b32 %r2, 131072, 65536, %p5;
selp.b32 %r18, 1, 0, %p3;
or.b32 %r2, %r2, %r18;
cvt.u64.u32 %d2, %r17;
cvt.u64.u32 %d3, %r9;
)" + end_of();
}

// Of global and generic addresses: the block of a pointer or a variable, where one is known, else
// the table. A block has a name only if it has more than 512 bytes; then its bounds decide.
std::string global_check_function(const Options& options, bool knows_block) {
  static_assert(kBaseAt == 0 && kBeginAt == 8 && kBytesAt == 16 && kBlockEndAt == 36);
  static_assert(offsetof(Placed, table) == 0 && offsetof(Placed, shift) == 8);
  static_assert(kMayBeShared == 512 && kIsVariable == 1024 && kHasBlock == 2048);
  static_assert(kUnmappedEntry == 0 && static_cast<unsigned>(RecordSpace::kVariable) == 3);
  const std::string half = std::to_string(std::uint64_t{1} << (options.window_bits - 33));
  const std::string table_name(kTable);
  std::string text = begin_of(kCheckGlobal) + R"(ld.param.b64 %d2, [what];
cvt.s64.s32 %d5, %r20;
add.s64 %d2, %d2, %d5;
sub.u32 %r14, %r10, 1;
)";
  if (knows_block)
    text += R"(and.b32 %r11, %r6, 512;
isspacep.shared %p1, %d2;
setp.ne.and.u32 %p1, %r11, 0, %p1;
@!%p1 bra $global;
cvta.to.shared.u64 %d4, %d2;
cvt.u32.u64 %r7, %d4;
ld.param.b32 %r4, [what+36];
sub.u32 %r13, %r4, %r10;
setp.gt.u32 %p9, %r7, %r13;
and.b32 %r14, %r7, %r14;
setp.ne.u32 %p4, %r14, 0;
or.pred %p9, %p9, %p4;
@!%p9 bra $next;
cvt.u64.u32 %d2, %r7;
mov.u64 %d3, 0;
mov.u32 %r3, %r4;
selp.b32 %r2, 65537, 65536, %p4;
bra $report;
$global:
)";
  text += "mov.b64 {%r7, %r8}, %d2;\n";
  text += options.window != 0
            ? "mov.u32 %r9, " + std::to_string(placed_of(options).shift >> 32) + ";\n"
            : "ld.const.u32 %r9, [" + table_name + "+12];\n";
  text += "sub.s32 %r9, %r8, %r9;\nsub.s32 %r13, %r9, " + half + ";\nsetp.lt.u32 %p1, %r8, " +
          half + ";\nsetp.lt.or.u32 %p2, %r13, " + half +
          ", %p1;\nselp.b32 %r9, %r8, %r9, %p1;\nshf.r.wrap.b32 %r9, %r7, %r9, 9;\n";
  if (options.window_bits < 32 + kGranuleBits)
    text += "and.b32 %r9, %r9, " +
            std::to_string((std::uint64_t{1} << (options.window_bits - kGranuleBits)) - 1) + ";\n";
  text += options.table != 0 ? "mov.u64 %d5, " + std::to_string(options.table) + ";\n"
                             : "ld.const.u64 %d5, [" + table_name + "];\n";
  // The entry in %r3; %p3: there is no memory; %p4: misaligned; %p5: a mistake.
  text += "mad.wide.u32 %d5, %r9, 2, %d5;\nld.global.nc.s16 %r3, [%d5];\nselp.b32 %r3, %r3, " +
          std::to_string(kNoBlock) + ", %p2;\nsetp.lt.u64 %p3, %d2, " +
          std::to_string(options.lowest_address) + ";\nsetp.ge.or.u64 %p3, %d2, " +
          std::to_string(options.address_end) + R"(, %p3;
and.b32 %r14, %r7, %r14;
and.b32 %r15, %r6, 256;
setp.ne.u32 %p4, %r14, 0;
setp.eq.and.u32 %p4, %r15, 0, %p4;
and.b32 %r17, %r7, 511;
add.u32 %r17, %r17, %r10;
setp.gt.or.s32 %p5, %r17, %r3, %p3;
mov.u64 %d3, 0;
shl.b32 %r2, %r10, 24;
and.b32 %r18, %r6, 2048;
setp.eq.u32 %p6, %r18, 0;
@%p6 bra $decided;
ld.param.b64 %d6, [what+8];
ld.param.b64 %d7, [what+16];
and.b32 %r18, %r6, 1024;
setp.ne.u32 %p7, %r18, 0;
setp.gt.u64 %p6, %d7, 512;
setp.gt.and.s64 %p6, %d7, 0, %p6;
or.pred %p6, %p6, %p7;
@!%p6 bra $decided;
sub.s64 %d8, %d2, %d6;
sub.s64 %d9, %d7, %d8;
cvt.u64.u32 %d10, %r10;
setp.ge.u64 %p8, %d8, %d7;
setp.lt.or.u64 %p5, %d9, %d10, %p8;
selp.b64 %d3, %d6, 0, %p5;
@!%p7 bra $decided;
mov.u64 %d3, %d6;
mov.u32 %r2, 196608;
setp.eq.u32 %p9, %r3, 0;
or.pred %p3, %p3, %p9;
cvt.u32.u64 %r3, %d7;
$decided:
or.pred %p9, %p5, %p4;
@!%p9 bra $next;
setp.eq.u32 %p9, %r3, 0;
or.pred %p9, %p9, %p3;
and.pred %p9, %p9, %p5;
or.pred %p9, %p9, %p4;
selp.b32 %r18, 1, 0, %p4;
or.b32 %r2, %r2, %r18;
$report:
)";
  return text + end_of();
}

} // namespace gmt::rewriter
