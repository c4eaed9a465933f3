// SPDX-License-Identifier: Apache-2.0
// Registers that live at the same time have different slots, and few slots are enough.
#include "simulated_cuda/executor/program/slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "ptx/flow/accesses.h"
#include "tests/unit/ptx/support/ptx_fixtures.h"
#include "tests/unit/ptx/support/ptx_text.h"

namespace gmt::executor {
namespace {

using namespace ptx;

struct Allocated {
  explicit Allocated(const std::string& code, const std::string& before = "")
      : kernel(code, before), flow(flow_of(kernel.module, kernel.body)),
        slots(allocate_slots(kernel.body, flow)) {}

  Slot slot(std::string_view name) const {
    for (std::size_t i = 0; i < slots.of.size(); ++i) {
      if (kernel.body.registers[i].name == name) return slots.of[i];
    }
    return {};
  }

  ptx::test::Kernel kernel;
  Flow flow;
  Slots slots;
};

constexpr const char* kRegisters =
  ".reg .b32 %r<40>; .reg .b64 %rd<9>; .reg .pred %p<9>; .reg .b16 %rs<9>;\n";

TEST(PtxSlots, FilesBySize) {
  EXPECT_EQ(file_of(Type::kPred), SlotFile::kPredicate);
  EXPECT_EQ(file_of(Type::kB8), SlotFile::k32);
  EXPECT_EQ(file_of(Type::kF16x2), SlotFile::k32);
  EXPECT_EQ(file_of(Type::kF64), SlotFile::k64);
  EXPECT_EQ(file_of(Type::kB128), SlotFile::k128);
}

TEST(PtxSlots, DeadOnesAreUsedAgain) {
  std::string code = kRegisters;
  for (int i = 1; i < 40; ++i) {
    code += "add.u32 %r" + std::to_string(i) + ", %r" + std::to_string(i - 1) + ", 1;\n";
  }
  const Allocated found(code + "st.u32 [p], %r39;");
  EXPECT_EQ(found.slots.count[1], 2u); // a result is never where a source of it is
}

TEST(PtxSlots, AResultNeverLiesWhereASourceDoes) {
  const Allocated found(std::string(kRegisters) +
                        "mov.u32 %r1, 1;\nshfl.sync.bfly.b32 %r2|%p1, %r1, 1, 31, -1;\n"
                        "ld.v2.u32 {%r3, %r4}, [%rd1];\nst.u32 [%rd1], %r2;");
  EXPECT_NE(found.slot("%r1").index, found.slot("%r2").index);
  EXPECT_NE(found.slot("%r3").index, found.slot("%r4").index);
}

TEST(PtxSlots, ALoopKeepsWhatItNeedsNextTime) {
  const Allocated found(std::string(kRegisters) +
                        "mov.u32 %r1, 1;\nL: mov.u32 %r2, 5;\nst.u32 [p], %r2;\n"
                        "mov.u32 %r3, 6;\nst.u32 [p], %r3;\nst.u32 [p], %r1;\n@%p1 bra L;\nret;");
  EXPECT_EQ(found.slot("%r2").index, found.slot("%r3").index);
  EXPECT_NE(found.slot("%r1").index, found.slot("%r2").index);
}

TEST(PtxSlots, AGuardedWriteKeepsTheOldValue) {
  const Allocated found(std::string(kRegisters) +
                        "mov.u32 %r1, 1;\nmov.u32 %r2, 2;\nst.u32 [p], %r2;\n"
                        "@%p1 mov.u32 %r1, 3;\nst.u32 [p], %r1;");
  EXPECT_NE(found.slot("%r1").index, found.slot("%r2").index);
}

// Lanes in different branches hold different registers of one slot at the same time.
TEST(PtxSlots, WidthsShareNoSlot) {
  const Allocated found(std::string(kRegisters) +
                        "@%p1 bra ELSE;\nmov.u32 %r1, 1;\nst.u32 [p], %r1;\nbra END;\n"
                        "ELSE: mov.u16 %rs1, 1;\nst.u16 [p], %rs1;\nEND: ret;");
  EXPECT_NE(found.slot("%r1").index, found.slot("%rs1").index);
  EXPECT_EQ(found.slots.count[1], 2u);
}

TEST(PtxSlots, UnusedRegistersHaveNone) {
  const Allocated found(std::string(kRegisters) + "ret;");
  EXPECT_EQ(found.slots.of.size(), 0u);
  EXPECT_EQ(found.slots.count[1], 0u);
}

TEST(PtxSlots, ParametersInRegistersLiveAllTheTime) {
  const ptx::Module module = parse_module(ptx::test::module_text(
    ".func (.reg .u32 r) f(.reg .u32 a) { .reg .u32 x; mov.u32 x, a; mov.u32 r, 1; st.u32 [a], x; ret; }"));
  const Body body = parse_body(module, module.functions()[0]);
  const Slots slots = allocate_slots(body, flow_of(module, body));
  std::set<std::uint32_t> different;
  for (const Slot& slot : slots.of) different.insert(slot.index);
  EXPECT_EQ(different.size(), 3u);
}

// Registers alive before each instruction, by repeating until nothing changes.
std::vector<std::set<std::uint32_t>> alive_before(const Body& body, const Flow& flow) {
  std::vector<std::set<std::uint32_t>> alive(body.instructions.size() + 1);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = body.instructions.size(); i-- > 0;) {
      const BasicBlock& block = flow.blocks[flow.block_of[i]];
      std::set<std::uint32_t> now;
      if (i + 1 < block.last) now = alive[i + 1];
      if (i + 1 == block.last) {
        for (const std::uint32_t next : block.successors) {
          const auto& there = alive[flow.blocks[next].first];
          now.insert(there.begin(), there.end());
        }
      }
      ptx::Accesses accesses;
      accesses_of(body, body.instructions[i], accesses);
      if (body.instructions[i].guard == kNone) {
        for (const std::uint32_t r : accesses.writes) now.erase(r);
      }
      now.insert(accesses.reads.begin(), accesses.reads.end());
      if (now == alive[i]) continue;
      alive[i] = now;
      changed = true;
    }
  }
  return alive;
}

std::string random_code(std::mt19937& random) {
  std::string code = kRegisters;
  const auto r = [&] { return "%r" + std::to_string(random() % 12); };
  const std::size_t blocks = 1 + random() % 8;
  for (std::size_t b = 0; b < blocks; ++b) {
    code += "L" + std::to_string(b) + ":\n";
    for (std::size_t i = random() % 6; i > 0; --i) {
      const std::string guard = random() % 4 == 0 ? "@%p1 " : "";
      code += guard + "add.u32 " + r() + ", " + r() + ", " + r() + ";\n";
    }
    const std::string target = "L" + std::to_string(random() % blocks);
    if (random() % 3 != 0) code += (random() % 2 == 0 ? "@%p1 bra " : "bra ") + target + ";\n";
  }
  return code + "ret;";
}

TEST(PtxSlots, RandomCodeSharesNoLiveSlot) {
  std::mt19937 random(3);
  std::size_t shared = 0;
  for (int round = 0; round < 400; ++round) {
    const Allocated found(random_code(random));
    const auto alive = alive_before(found.kernel.body, found.flow);
    for (const auto& here : alive) {
      std::set<std::pair<SlotFile, std::uint32_t>> used;
      for (const std::uint32_t r : here) {
        const Slot slot = found.slots.of[r];
        EXPECT_TRUE(used.emplace(slot.file, slot.index).second) << found.kernel.module.text();
      }
    }
    shared += found.slots.of.size() - found.slots.count[0] - found.slots.count[1];
  }
  EXPECT_GT(shared, 100u);
}

TEST(PtxSlots, FixturesNeedFew) {
  std::size_t registers = 0, slots = 0;
  for (const auto& path : ptx::test::fixtures_to_walk()) {
    const ptx::Module module = parse_module(ptx::test::read_fixture(path));
    for (const Function& function : module.functions()) {
      if (!function.has_body) continue;
      const Body body = parse_body(module, function);
      const Slots found = allocate_slots(body, flow_of(module, body));
      registers += body.registers.size();
      for (const std::uint32_t count : found.count) slots += count;
    }
  }
  EXPECT_GT(registers, 0u);
  EXPECT_LT(slots * 2, registers);
}

} // namespace
} // namespace gmt::executor
