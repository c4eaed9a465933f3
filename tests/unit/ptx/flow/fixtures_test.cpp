// SPDX-License-Identifier: Apache-2.0
// All PTX of the fixtures is read, with what follows from it: flow, accesses, lines.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "ptx/flow/accesses.h"
#include "ptx/flow/flow.h"
#include "ptx/syntax/link.h"
#include "tests/unit/ptx/support/ptx_fixtures.h"
#include "tests/unit/ptx/support/ptx_text.h"

namespace gmt::ptx {
namespace {

bool built_in(std::string_view name) {
  const std::string_view names[] = {"vprintf", "malloc", "free", "__assertfail"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::shared_ptr<const Module> module_of(const std::string& name) {
  const std::filesystem::path path = test::fixtures().front().parent_path() / (name + ".ptx.zst");
  return std::make_shared<const Module>(parse_module(test::read_fixture(path)));
}

struct Totals {
  std::size_t kernels = 0, instructions = 0, inlined = 0, branches = 0;
};

void read_function(const Module& module, const Function& function, Totals& totals) {
  const Body body = parse_body(module, function);
  const Flow flow = flow_of(module, body);
  totals.kernels += function.is_entry;
  totals.instructions += body.instructions.size();
  ASSERT_EQ(flow.block_of.size(), body.instructions.size());
  for (const BasicBlock& block : flow.blocks)
    totals.branches += block.end == BlockEnd::kConditional;
  std::set<std::uint32_t> written;
  Accesses accesses;
  for (const Instruction& instruction : body.instructions) {
    accesses_of(body, instruction, accesses);
    written.insert(accesses.writes.begin(), accesses.writes.end());
    const auto stack = body.lines.stack(module, instruction.line);
    totals.inlined += stack.size() > 1;
    if (!stack.empty() && module.debug() == false) {
      EXPECT_FALSE(stack.front().file.empty());
    }
    for (std::size_t i = 0; i + 1 < stack.size(); ++i) EXPECT_FALSE(stack[i].function.empty());
  }
  // Compilers read no register that nothing writes, but for padding between lanes: so an opcode
  // whose result this parser does not know shows here.
  for (const Instruction& instruction : body.instructions) {
    if (body.mnemonic(instruction).opcode == "shfl") continue;
    accesses_of(body, instruction, accesses);
    for (const std::uint32_t r : accesses.reads) {
      EXPECT_TRUE(written.contains(r))
        << function.name << ": " << body.registers[r].name << " in "
        << module.text().substr(instruction.text_offset, instruction.text_size);
      written.insert(r); // once
    }
  }
}

TEST(PtxFixtures, AreAllRead) {
  Totals totals;
  for (const auto& path : test::fixtures_to_walk()) {
    SCOPED_TRACE(path.filename().string());
    try {
      const auto module = std::make_shared<const Module>(parse_module(test::read_fixture(path)));
      for (const Function& function : module->functions()) {
        if (function.has_body) read_function(*module, function, totals);
      }
      if (!path.filename().string().starts_with("separable")) Linked::link({module}, built_in);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  EXPECT_GT(totals.kernels, test::at_least(400));
  EXPECT_GT(totals.instructions, test::at_least(100'000));
  EXPECT_GT(totals.inlined, test::at_least(10'000));
  EXPECT_GT(totals.branches, test::at_least(5'000));
}

TEST(PtxFixtures, CompilersOfAllVersions) {
  std::map<std::uint32_t, int> versions;
  for (const auto& path : test::fixtures())
    ++versions[parse_module(test::read_fixture(path)).version()];
  EXPECT_TRUE(versions.contains(78)); // CUDA 11.8
  EXPECT_TRUE(versions.contains(84)); // 12.4
  EXPECT_TRUE(versions.contains(90)); // 13.0
}

TEST(PtxFixtures, TwoSourcesAreLinked) {
  const auto first = module_of("separable.sm_90");
  const auto second = module_of("separable_other.sm_90");
  EXPECT_THROW(Linked::link({first}, built_in), LinkError);
  const Linked linked = Linked::link({first, second}, built_in);
  const auto counter = linked.find("shared_counter");
  ASSERT_TRUE(counter.has_value());
  EXPECT_EQ(linked.variables()[counter->index].module, 1u);
  EXPECT_EQ(linked.variables()[counter->index].variable->initial,
            (std::vector<std::uint8_t>{7, 0, 0, 0}));
  const auto shared = linked.find("_Z15from_other_filei");
  ASSERT_TRUE(shared.has_value());
  EXPECT_TRUE(linked.functions()[shared->index].function->has_body);
  EXPECT_EQ(linked.functions()[shared->index].module, 1u);
  for (const LinkedFunction& function : linked.functions())
    EXPECT_TRUE(function.function->has_body);
}

TEST(PtxFixtures, LinesNameInlinedFunctions) {
  const auto module = module_of("scans.sm_90");
  const Function* function = nullptr;
  for (const Function& candidate : module->functions()) {
    if (candidate.name.find("scan_shuffled") != std::string_view::npos) function = &candidate;
  }
  ASSERT_NE(function, nullptr);
  const Body body = parse_body(*module, *function);
  std::size_t deepest = 0;
  bool named = false;
  for (const Instruction& instruction : body.instructions) {
    if (body.mnemonic(instruction).opcode != "shfl") continue;
    const auto stack = body.lines.stack(*module, instruction.line);
    deepest = std::max(deepest, stack.size());
    for (const SourceFrame& frame : stack)
      named = named || frame.function.find("warp_scan") != std::string_view::npos;
    EXPECT_TRUE(stack.back().file.ends_with("scans.cu"));
    EXPECT_EQ(stack.back().function, "");
  }
  EXPECT_GE(deepest, 3u);
  EXPECT_TRUE(named);
}

} // namespace
} // namespace gmt::ptx
