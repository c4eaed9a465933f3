// SPDX-License-Identifier: Apache-2.0
// The code that counts and records a mistake, behind the exact check of an access.
#include "rewriter/checks.h"

namespace gmt::rewriter {

using ptx::Operand;
using ptx::OperandKind;
using ptx::SpecialRegister;
using ptx::Type;

// One counter for each site and kind; the first of each kind are recorded. Branches keep the code
// of several accesses apart: mixed, it would need more registers than the kernel has by itself.
void Checks::report(Into& into, const Mistake& mistake, const Address& address, std::uint32_t site,
                    std::vector<Mark>& marks) {
  const std::uint32_t end = code_.new_label();
  const Operand behind = Code::of(OperandKind::kLabel, end);
  code_.add(into, "bra", {behind}, {mistake.any, true});
  const std::uint32_t which = reg(Type::kB32), counts = reg(Type::kB64), count = reg(Type::kB64);
  const std::uint32_t counter = reg(Type::kB64), is_late = reg(Type::kPred);
  code_.add(into, "selp.b32",
            {Code::reg(which), Code::number(kMisalignedCount), Code::number(kOutOfBoundsCount),
             Code::reg(mistake.misaligned)});
  code_.add(into, "mov.u64",
            {Code::reg(counts), Code::of(OperandKind::kVariable, control_.counts)});
  code_.add(into, "mad.wide.u32",
            {Code::reg(counter), Code::reg(which), Code::number(8), Code::reg(counts)});
  code_.add(into, "atom.global.add.u64",
            {Code::reg(count), code_.address(counter, std::int64_t{8} * kCountKinds * site),
             Code::number(1)});
  code_.add(into, "setp.ge.u64",
            {Code::reg(is_late), Code::reg(count),
             Code::number(static_cast<std::int64_t>(kRecordsOfSite))});
  code_.add(into, "bra", {behind}, {is_late, false});
  const std::uint32_t index = reg(Type::kB32), used = reg(Type::kB64), records = reg(Type::kB64);
  const std::uint32_t is_full = reg(Type::kPred), at = reg(Type::kB64);
  code_.add(into, "mov.u64", {Code::reg(used), Code::of(OperandKind::kVariable, control_.used)});
  code_.add(into, "atom.global.add.u32",
            {Code::reg(index), code_.address(used, 0), Code::number(1)});
  code_.add(into, "setp.ge.u32",
            {Code::reg(is_full), Code::reg(index), Code::number(options_.records)});
  code_.add(into, "bra", {behind}, {is_full, false});
  code_.add(into, "mov.u64",
            {Code::reg(records), Code::of(OperandKind::kVariable, control_.records)});
  code_.add(into, "mad.wide.u32",
            {Code::reg(at), Code::reg(index), Code::number(sizeof(Record)), Code::reg(records)});
  write_record(into, mistake, address, {at, site, which});
  marks.push_back({end, into.size()});
}

// Its last word says that all others are there: the host may read while the kernel runs.
void Checks::write_record(Into& into, const Mistake& mistake, const Address& address,
                          const RecordAt& record) {
  const auto read = [&](SpecialRegister special) {
    const std::uint32_t result = reg(Type::kB32);
    code_.add(into, "mov.u32", {Code::reg(result), Code::special(special)});
    return Code::reg(result);
  };
  const auto store = [&](std::int64_t offset, const Operand& a, const Operand& b, const Operand& c,
                         const Operand& d) {
    code_.add(into, "st.global.v4.u32",
              {code_.address(record.at, offset), code_.vector({a, b, c, d})});
  };
  const std::uint32_t number = reg(Type::kB32), launch = reg(Type::kB64);
  const std::uint32_t is_whole = reg(Type::kB32);
  code_.add(into, "mov.u32", {Code::reg(number), Code::number(record.site)});
  store(0, Code::reg(number), Code::reg(mistake.entry), Code::reg(address.low),
        Code::reg(address.high));
  const Operand bx = read(SpecialRegister::kCtaidX), by = read(SpecialRegister::kCtaidY);
  const Operand bz = read(SpecialRegister::kCtaidZ);
  const std::uint32_t kind = reg(Type::kB32);
  code_.add(into, "or.b32", {Code::reg(kind), Code::reg(record.which), mistake.space});
  store(16, bx, by, bz, Code::reg(kind));
  const auto store_number = [&](std::int64_t offset, std::uint32_t value) {
    code_.add(into, "st.global.u32", {code_.address(record.at, offset), Code::reg(value)});
  };
  store_number(32, read(SpecialRegister::kTidX).id);
  store_number(36, read(SpecialRegister::kTidY).id);
  store_number(40, read(SpecialRegister::kTidZ).id);
  if (launch_)
    code_.add(into, "ld.param.b64",
              {Code::reg(launch), code_.address(Code::of(OperandKind::kLocal, *launch_))});
  else code_.add(into, "mov.b64", {Code::reg(launch), Code::number(0)});
  code_.add(into, "st.global.u64", {code_.address(record.at, 48), Code::reg(launch)});
  const std::uint32_t meant = reg(Type::kB64);
  code_.add(into, "mov.b64", {Code::reg(meant), mistake.meant});
  code_.add(into, "st.global.u64", {code_.address(record.at, 56), Code::reg(meant)});
  code_.add(into, "membar.sys", {});
  code_.add(into, "mov.u32", {Code::reg(is_whole), Code::number(1)});
  store_number(44, is_whole);
}

} // namespace gmt::rewriter
