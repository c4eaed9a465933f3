// SPDX-License-Identifier: Apache-2.0
// The function that counts and records a mistake, and its calls behind the exact checks. It is one
// for all accesses: code of its own at each would be most of what an assembler has to compile.
#include "rewriter/checks.h"

#include <cstddef>

#include "rewriter/heap_table.h"

namespace gmt::rewriter {

using ptx::Operand;
using ptx::OperandKind;
using ptx::Type;

namespace {

// Where the argument of kReport has its parts.
enum ReportPart : std::int64_t {
  kAddressPart = 0,
  kMeantPart = 8,
  kLaunchPart = 16,
  kSitePart = 24,
  kKindPart = 28,
  kEntryPart = 32,
  kReportBytes = 40,
};

} // namespace

void Checks::report(Into& into, const Details& details, std::uint32_t misaligned,
                    std::uint32_t site) {
  if (report_argument_ == ptx::kNone)
    report_argument_ = code_.new_argument("__gmt_mistake", kReportBytes);
  const auto set = [&](Type type, std::int64_t at, const Operand& value) {
    const bool is_wide = type == Type::kB64;
    Operand from = value;
    if (value.kind == OperandKind::kImmediate) {
      from = Code::reg(reg(type));
      code_.add(into, is_wide ? "mov.b64" : "mov.b32", {from, value});
    }
    code_.add(into, is_wide ? "st.param.b64" : "st.param.b32",
              {code_.address(Code::of(OperandKind::kLocal, report_argument_, at)), from});
  };
  const std::uint32_t launch = reg(Type::kB64), address = reg(Type::kB64);
  Operand kind = details.space;
  if (misaligned != ptx::kNone) {
    const auto which = select(into, Type::kB32, Code::number(kMisalignedCount),
                              Code::number(kOutOfBoundsCount), misaligned);
    kind = Code::reg(reg(Type::kB32));
    code_.add(into, "or.b32", {kind, Code::reg(which), details.space});
  }
  if (launch_)
    code_.add(into, "ld.param.b64",
              {Code::reg(launch), code_.address(Code::of(OperandKind::kLocal, *launch_))});
  else code_.add(into, "mov.b64", {Code::reg(launch), Code::number(0)});
  code_.add(into, "mov.b64",
            {Code::reg(address),
             code_.vector({Code::reg(details.address.low), Code::reg(details.address.high)})});
  set(Type::kB64, kAddressPart, Code::reg(address));
  set(Type::kB64, kMeantPart, details.meant);
  set(Type::kB64, kLaunchPart, Code::reg(launch));
  set(Type::kB32, kSitePart, Code::number(site));
  set(Type::kB32, kKindPart, kind);
  set(Type::kB32, kEntryPart, details.entry);
  code_.add(into, "call",
            {Code::of(OperandKind::kFunction, control_.report),
             code_.list({Code::of(OperandKind::kLocal, report_argument_)})});
}

// There is no address, and no memory is meant.
void Checks::report_assert(Into& into, std::uint32_t site) {
  const std::uint32_t none = reg(Type::kB32);
  code_.add(into, "mov.b32", {Code::reg(none), Code::number(0)});
  const Operand zero = Code::number(0);
  report(into, {{ptx::kNone, none, none}, zero, zero, zero, ptx::kNone}, ptx::kNone, site);
}

// Of the heap of kernels the HeapTable decides, by the units in which the access has bytes. An
// access that gets here because of a kHeapEntry alone is right if the table says so. The entry that
// is recorded says what is wrong.
static std::string heap_part() {
  static_assert(offsetof(Placed, heap) == 24 && kHeapEntry == -3 && kUnitBytes == 16);
  static_assert(offsetof(HeapTable, units) == 0 && offsetof(HeapTable, unit_count) == 8);
  static_assert(offsetof(HeapTable, first) == 16 && offsetof(HeapTable, is_off) == 48);
  static_assert(kPoisonUnit + kFreedUnit == 192 && kUnitCount == 31 && kFreedUnit == 128);
  static_assert(kFreedHeapBlock == -5 && kBesideHeapBlock == -4);
  return R"(and.b32 %r3, %r2, 65535;
setp.ne.s32 %p1, %r5, -3;
setp.ne.or.u32 %p1, %r3, 0, %p1;
ld.param.b64 %d6, [mistake+8];
setp.ne.or.u64 %p1, %d6, 0, %p1;
@%p1 bra $mistake;
ld.const.u64 %d10, [__gmt_table+24];
setp.eq.u64 %p1, %d10, 0;
@%p1 bra $right;
ld.global.u64 %d1, [%d10+16];
ld.global.v2.u64 {%d3, %d4}, [%d10];
setp.eq.u64 %p1, %d1, 0;
@%p1 bra $right;
ld.param.b64 %d2, [mistake];
sub.s64 %d2, %d2, %d1;
cvt.u32.u64 %r7, %d2;
and.b32 %r7, %r7, 15;
shr.u32 %r8, %r2, 24;
add.u32 %r7, %r7, %r8;
shr.u64 %d2, %d2, 4;
$unit:
setp.ge.u64 %p1, %d2, %d4;
@%p1 bra $right;
add.s64 %d7, %d3, %d2;
ld.volatile.global.u8 %r9, [%d7];
setp.eq.u32 %p1, %r9, 0;
@%p1 bra $next;
and.b32 %r10, %r9, 192;
setp.ne.u32 %p1, %r10, 0;
and.b32 %r10, %r9, 31;
min.u32 %r11, %r7, 16;
setp.gt.or.u32 %p1, %r11, %r10, %p1;
@%p1 bra $wrong;
$next:
setp.le.u32 %p1, %r7, 16;
@%p1 bra $right;
sub.u32 %r7, %r7, 16;
add.s64 %d2, %d2, 1;
bra $unit;
$wrong:
ld.volatile.global.u32 %r6, [%d10+48];
setp.ne.u32 %p1, %r6, 0;
@%p1 bra $right;
and.b32 %r9, %r9, 128;
setp.ne.u32 %p1, %r9, 0;
selp.b32 %r5, -5, -4, %p1;
$mistake:
)";
}

// Behind a record: a copy of it in memory of the host, which outlives the context. It is there
// before the thread goes on, whose next instruction may fault. The record is read again: what stays
// in registers until here, each checked kernel needs more.
static std::string copy_part() {
  static_assert(offsetof(Placed, host_records) == 40 && offsetof(Placed, module) == 48);
  static_assert(offsetof(HostRecords, records) == 64 && kHostRecords == 4095);
  return R"(ld.const.u64 %d5, [__gmt_table+40];
setp.eq.u64 %p1, %d5, 0;
@%p1 bra $end;
atom.global.add.u32 %r6, [%d5], 1;
setp.ge.u32 %p1, %r6, 4095;
@%p1 bra $end;
mad.wide.u32 %d5, %r6, 64, %d5;
ld.volatile.global.v2.u32 {%r6, %r7}, [%d4];
st.global.v2.u32 [%d5+64], {%r6, %r7};
ld.volatile.global.v2.u32 {%r6, %r7}, [%d4+8];
st.global.v2.u32 [%d5+72], {%r6, %r7};
ld.volatile.global.v2.u32 {%r6, %r7}, [%d4+16];
st.global.v2.u32 [%d5+80], {%r6, %r7};
ld.volatile.global.v2.u32 {%r6, %r7}, [%d4+24];
st.global.v2.u32 [%d5+88], {%r6, %r7};
ld.volatile.global.v2.u32 {%r6, %r7}, [%d4+32];
st.global.v2.u32 [%d5+96], {%r6, %r7};
ld.volatile.global.u32 %r6, [%d4+40];
st.global.u32 [%d5+104], %r6;
ld.volatile.global.v2.u32 {%r6, %r7}, [%d4+48];
st.global.v2.u32 [%d5+112], {%r6, %r7};
ld.volatile.global.v2.u32 {%r6, %r7}, [%d4+56];
st.global.v2.u32 [%d5+120], {%r6, %r7};
membar.sys;
mov.u64 %d6, __gmt_records;
sub.s64 %d4, %d4, %d6;
shr.u64 %d4, %d4, 6;
cvt.u32.u64 %r6, %d4;
ld.const.u32 %r7, [__gmt_table+48];
add.u32 %r6, %r6, %r7;
add.u32 %r6, %r6, 1;
st.global.u32 [%d5+108], %r6;
membar.sys;
)";
}

// One counter for each site and kind; the first of each kind are recorded. The last word says that
// all others are there: the host may read while the kernel runs. What was counted is there before
// kFlagged is read: else the host could clear that and not see the count.
std::string report_function(std::uint32_t most_records, bool is_placed) {
  static_assert(sizeof(Placed) == 56 && offsetof(Placed, flag) == 16);
  static_assert(sizeof(Record) == 64 && kRecordsOfSite == 64 && kCountKinds == 3);
  static_assert(offsetof(Record, address) == 8 && offsetof(Record, block) == 16);
  static_assert(offsetof(Record, kind) == 28 && offsetof(Record, thread) == 32);
  static_assert(offsetof(Record, is_whole) == 44 && offsetof(Record, launch) == 48);
  return ".func " + std::string(kReport) + R"((.param .align 8 .b8 mistake[40])
{
.reg .pred %p<5>;
.reg .b32 %r<16>;
.reg .b64 %d<12>;
ld.param.b32 %r1, [mistake+24];
ld.param.b32 %r2, [mistake+28];
ld.param.b32 %r5, [mistake+32];
)" + (is_placed ? heap_part() : std::string()) +
         R"(and.b32 %r2, %r2, 16777215;
and.b32 %r3, %r2, 65535;
mad.lo.u32 %r3, %r1, 3, %r3;
mov.u64 %d1, __gmt_counts;
mad.wide.u32 %d1, %r3, 8, %d1;
atom.global.add.u64 %d2, [%d1], 1;
setp.ge.u64 %p1, %d2, 64;
@%p1 bra $end;
mov.u64 %d3, __gmt_used;
atom.global.add.u32 %r4, [%d3], 1;
setp.ge.u32 %p2, %r4, )" +
         std::to_string(most_records) + R"(;
@%p2 bra $end;
mov.u64 %d4, __gmt_records;
mad.wide.u32 %d4, %r4, 64, %d4;
ld.param.b64 %d5, [mistake];
ld.param.b64 %d6, [mistake+8];
ld.param.b64 %d7, [mistake+16];
st.global.v2.u32 [%d4], {%r1, %r5};
st.global.u64 [%d4+8], %d5;
mov.u32 %r6, %ctaid.x;
st.global.u32 [%d4+16], %r6;
mov.u32 %r7, %ctaid.y;
st.global.u32 [%d4+20], %r7;
mov.u32 %r8, %ctaid.z;
st.global.u32 [%d4+24], %r8;
st.global.u32 [%d4+28], %r2;
mov.u32 %r9, %tid.x;
st.global.u32 [%d4+32], %r9;
mov.u32 %r10, %tid.y;
st.global.u32 [%d4+36], %r10;
mov.u32 %r11, %tid.z;
st.global.u32 [%d4+40], %r11;
st.global.v2.u64 [%d4+48], {%d7, %d6};
membar.sys;
mov.u32 %r12, 1;
st.global.u32 [%d4+44], %r12;
)" + (is_placed ? copy_part() : std::string()) +
         "$end:\n" +
         (is_placed ? R"(membar.gl;
mov.u64 %d8, __gmt_flagged;
ld.volatile.global.u32 %r13, [%d8];
setp.ne.u32 %p3, %r13, 0;
@%p3 bra $flagged;
ld.const.u64 %d9, [__gmt_table+16];
setp.eq.u64 %p4, %d9, 0;
@%p4 bra $flagged;
mov.u32 %r14, 1;
st.volatile.global.u32 [%d8], %r14;
st.volatile.global.u32 [%d9], %r14;
$flagged:
$right:
)"
                    : "") +
         "ret;\n}\n";
}

} // namespace gmt::rewriter
