// SPDX-License-Identifier: Apache-2.0
// The table of opcodes beside the manual's list, beside what compilers write, and what it says of
// the operands of single instructions.
#include "ptx/opcodes/opcodes.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/unit/ptx/support/ptx_fixtures.h"
#include "tests/unit/ptx/support/ptx_text.h"

namespace gmt::ptx {
namespace {

std::set<std::string> instructions_of_manual() {
  std::ifstream file(GMT_PTX_ISA);
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.starts_with('#') ? "" : line);
    for (std::string name; words >> name;) names.insert(name);
  }
  return names;
}

TEST(PtxOpcodes, AreThoseOfTheManual) {
  const std::set<std::string> manual = instructions_of_manual();
  ASSERT_GT(manual.size(), 180u);
  std::set<std::string> table;
  for (const Opcode& opcode : opcodes())
    EXPECT_TRUE(table.emplace(opcode.name).second) << opcode.name << " has two rows";
  for (const std::string& name : manual)
    EXPECT_TRUE(table.contains(name)) << "ptx/opcodes/ has no row for " << name;
  for (const std::string& name : table)
    EXPECT_TRUE(manual.contains(name)) << "the manual has no instruction " << name;
}

TEST(PtxOpcodes, EachNameFindsItsOwnRow) {
  for (const Opcode& opcode : opcodes()) {
    const Opcode* found = find_opcode(mnemonic_of(opcode.name));
    ASSERT_NE(found, nullptr) << opcode.name;
    EXPECT_EQ(found->name, opcode.name);
  }
  EXPECT_EQ(find_opcode(mnemonic_of("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group"))->name,
            "cp.async.bulk.tensor");
  EXPECT_EQ(find_opcode(mnemonic_of("bar.cta.sync"))->name, "bar.sync");
  EXPECT_EQ(find_opcode(mnemonic_of("cp.asynchronous")), nullptr);
  EXPECT_EQ(find_opcode(mnemonic_of("frobnicate.u32")), nullptr);
}

TEST(PtxOpcodes, RowsFitWhatCompilersWrite) {
  std::size_t instructions = 0;
  std::map<std::string, std::string> wrong;
  std::vector<OperandUse> uses;
  for (const auto& path : test::fixtures_to_walk()) {
    const Module module = parse_module(test::read_fixture(path));
    for (const Function& function : module.functions()) {
      if (!function.has_body) continue;
      const Body body = parse_body(module, function);
      for (const Instruction& instruction : body.instructions) {
        ++instructions;
        if (uses_of(body, instruction, uses)) continue;
        const Mnemonic& mnemonic = body.mnemonic(instruction);
        wrong[std::string(mnemonic.opcode)] =
          module.text().substr(instruction.text_offset, instruction.text_size);
      }
    }
  }
  EXPECT_GT(instructions, test::at_least(100'000));
  for (const auto& [opcode, text] : wrong) ADD_FAILURE() << text;
}

// "operand: use of memory, space, bytes" for each address, and "operand: written" for results.
std::string shown(const test::Kernel& kernel, const Instruction& instruction) {
  static constexpr const char* kUses[] = {"", "address", "reads", "writes", "updates"};
  std::vector<OperandUse> uses;
  std::ostringstream out;
  if (!uses_of(kernel.body, instruction, uses)) out << "does not fit; ";
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const OperandUse& use = uses[i];
    if (use.writes) out << i << (use.reads ? " changed" : " written") << "; ";
    if (use.memory == MemoryUse::kNoAddress) continue;
    out << i << ' ' << kUses[static_cast<int>(use.memory)] << ' ' << name_of(use.space) << ' ';
    if (use.bytes_operand != kNone) out << "bytes of " << use.bytes_operand;
    else out << use.bytes;
    out << (use.is_row ? " a row; " : "; ");
  }
  return out.str();
}

TEST(PtxOpcodes, WhereInstructionsAccessMemory) {
  struct Case {
    const char *text, *shown;
  };
  static constexpr Case kCases[] = {
    {"ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16]", "0 written; 1 reads global 16; "},
    {"ld.u8 %r1, [%rd1]", "0 written; 1 reads generic 1; "},
    {"ld.acquire.gpu.global.L2::cache_hint.b64 %rd2, [%rd1], %rd3",
     "0 written; 1 reads global 8; "},
    {"st.shared.v2.b64 [%r1], {%rd1, %rd2}", "0 writes shared 16; "},
    {"atom.global.cas.b32 %r1, [%rd1], %r2, %r3", "0 written; 1 updates global 4; "},
    {"atom.global.v4.f32.add {%f1, %f2, %f3, %f4}, [%rd1], {%f1, %f2, %f3, %f4}",
     "0 written; 1 updates global 16; "},
    {"red.shared::cluster.add.u64 [%rd1], %rd2", "0 updates shared 8; "},
    {"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], %r2, "
     "[%r3]",
     "0 updates shared 4; 2 updates shared 8; "},
    {"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%r1], {%r1, %r2, %r3, "
     "%r4}, [%r3]",
     "0 writes shared 16; 2 updates shared 8; "},
    {"st.bulk.weak.shared::cta [%r1], %rd1, 0", "0 writes shared bytes of 1; "},
    {"cp.async.cg.shared.global [%r1], [%rd1], 16", "0 writes shared 16; 1 reads global 16; "},
    {"cp.async.ca.shared::cta.global.L2::128B [%r1], [%rd1], 4, %r2",
     "0 writes shared 4; 1 reads global 4; "},
    {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3]",
     "0 writes shared bytes of 2; 1 reads global bytes of 2; 3 updates shared 8; "},
    {"cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 64",
     "0 writes global 64; 1 reads shared 64; "},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], %r2",
     "0 updates global bytes of 2; 1 reads shared bytes of 2; "},
    {"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, "
     "{%r2, %r3}], [%r4]",
     "0 writes shared 0; 1 reads global 0; 2 updates shared 8; "},
    {"cp.async.bulk.prefetch.L2.global [%rd1], %r1", "0 address global bytes of 1; "},
    {"cp.async.wait_group 1", ""},
    {"cp.async.mbarrier.arrive.noinc.shared.b64 [%r1]", "0 updates shared 8; "},
    {"mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2, %r3",
     "0 written; 1 reads shared 8; "},
    {"mbarrier.arrive.expect_tx.shared.b64 _, [%r1], %r2", "0 written; 1 updates shared 8; "},
    {"mbarrier.arrive.shared.b64 %rd1, [%r1]", "0 written; 1 updates shared 8; "},
    {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1, %r2, %r3, %r4}, [%r5]",
     "0 written; 1 reads shared 16 a row; "},
    {"stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2}", "0 writes shared 16 a row; "},
    {"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, "
     "[%rd1], %r9",
     "0 written; 1 reads global 0 a row; "},
    {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %p1, 1, "
     "1, 0, 0",
     "0 changed; "},
    {"prefetch.global.L2 [%rd1]", "0 address global 0; "},
    {"discard.global.L2 [%rd1], 128", "0 address global 128; "},
    {"multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1]",
     "0 written; 1 reads global 16; "},
    {"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 64", "0 writes shared 4; "},
    {"tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%r2]", "0 written; 1 reads tensor memory 0; "},
    {"tcgen05.mma.cta_group::1.kind::f16 [%r1], [%r2], %rd1, %r3, %p1",
     "0 updates tensor memory 0; 1 reads tensor memory 0; "},
    {"tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd2",
     "0 updates global 128; "},
    {"clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], "
     "[%r2]",
     "0 writes shared 16; 1 updates shared 8; "},
    {"setp.lt.and.u32 %p1|%p2, %r1, %r2, %p1", "0 written; "},
    {"call (%r1), k, (%r2, %rd1)", "0 written; "},
    {"call k, (%r2, %rd1)", ""},
  };
  for (const Case& each : kCases) {
    const test::Kernel kernel(".reg .b32 %r<10>; .reg .b64 %rd<9>; .reg .pred %p<4>; .reg .f32 "
                              "%f<9>;\n" +
                              std::string(each.text) + ";");
    EXPECT_EQ(shown(kernel, kernel.body.instructions[0]), each.shown) << each.text;
  }
}

TEST(PtxOpcodes, WordsOfAccesses) {
  const Opcode& load = *find_opcode(mnemonic_of("ld"));
  for (const char* word : {"acquire", "gpu", "shared::cta", "nc", "ca", "L1::no_allocate",
                           "L2::cache_hint", "v4", "f64"})
    EXPECT_TRUE(names_word(load, word)) << word;
  for (const char* word : {"add", "noftz", "tex", "sem", "v3", "frobnicate"})
    EXPECT_FALSE(names_word(load, word)) << word;
  const Opcode& atomic = *find_opcode(mnemonic_of("atom"));
  EXPECT_TRUE(names_word(atomic, "noftz"));
  EXPECT_FALSE(names_word(atomic, "exch"));
  const Opcode& copy = *find_opcode(mnemonic_of("cp.async"));
  for (const char* word : {"async", "cg", "shared::cta", "global", "L2::128B"})
    EXPECT_TRUE(names_word(copy, word)) << word;
}

TEST(PtxOpcodes, WhatIsInexact) {
  const auto inexact = [](const char* text) {
    const Mnemonic mnemonic = mnemonic_of(text);
    return is_inexact(*find_opcode(mnemonic), mnemonic);
  };
  for (const char* text : {"ex2.approx.ftz.f32", "div.full.f32", "sqrt.approx.f32",
                           "atom.global.add.f32", "red.add.noftz.bf16x2", "sin.approx.f32"})
    EXPECT_TRUE(inexact(text)) << text;
  for (const char* text :
       {"div.rn.f32", "sqrt.rn.f64", "atom.add.u32", "atom.exch.b32", "red.max.f32", "fma.rn.f32"})
    EXPECT_FALSE(inexact(text)) << text;
}

} // namespace
} // namespace gmt::ptx
