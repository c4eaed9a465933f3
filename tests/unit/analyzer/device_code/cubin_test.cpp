// SPDX-License-Identifier: Apache-2.0
// Cubins of tests/fixtures/cubins/kernels.cu for several architectures, with and without line
// information: what their functions do to memory and which lines that came from. Damaged ones must
// give nothing wrong.

#include <gtest/gtest.h>

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

#include "analyzer/device_code/cubin.h"
#include "tests/unit/analyzer/support/trace_writer.h"

namespace gmt {
namespace {

namespace fs = std::filesystem;
constexpr unsigned kArchitectures[] = {75, 80, 90, 100};

std::string fixture(const char* kind, unsigned architecture) {
  return test::read_file(fs::path(GMT_CUBINS) / ("kernels." + std::string(kind) + ".sm_" +
                                                 std::to_string(architecture) + ".cubin"));
}

// "element:9 pair:20 inlined:0" without mangling: function and line of each.
std::string chain(const Instruction& instruction) {
  std::string text;
  for (const SourceLine& source : instruction.lines) {
    EXPECT_TRUE(source.file == "kernels.cu" || source.file.ends_with("/kernels.cu") ||
                source.file.ends_with("include/device_atomic_functions.hpp"))
      << source.file;
    std::string name = source.function;
    for (const char* plain : {"element", "pair", "apart", "atomicAdd"}) {
      if (name.starts_with("_Z") && name.find(plain) != std::string::npos) name = plain;
    }
    const bool header = source.file.ends_with(".hpp"); // another toolkit has other lines there
    text += (text.empty() ? "" : " ") + name + ":" + (header ? "?" : std::to_string(source.line));
  }
  return text;
}

struct Expected {
  MemoryOp op;
  MemorySpace space;
  std::uint32_t bytes;
  const char* chain;
};

void expect_code(const Cubin& cubin, std::string_view name, const std::vector<Expected>& expected,
                 bool lines) {
  SCOPED_TRACE(testing::Message() << name << " sm_" << cubin.architecture());
  const std::optional<FunctionCode> code = cubin.function(name);
  ASSERT_TRUE(code);
  EXPECT_EQ(code->name, name);
  EXPECT_EQ(code->has_lines, lines);
  ASSERT_EQ(code->instructions.size(), expected.size());
  EXPECT_TRUE(std::ranges::is_sorted(code->instructions, {}, &Instruction::offset));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Instruction& instruction = code->instructions[i];
    EXPECT_EQ(instruction.op, expected[i].op) << i;
    EXPECT_EQ(instruction.space, expected[i].space) << i;
    EXPECT_EQ(instruction.bytes, expected[i].bytes) << i;
    EXPECT_EQ(chain(instruction), lines ? expected[i].chain : "") << i;
  }
}

void expect_kernels(const Cubin& cubin, bool lines) {
  using enum MemoryOp;
  using enum MemorySpace;
  expect_code(cubin, "inlined",
              {{kLoad, kGlobal, 4, "element:5 pair:9 inlined:20"},
               {kLoad, kGlobal, 4, "element:5 pair:10 inlined:20"},
               {kStore, kGlobal, 4, "inlined:19"}},
              lines);
  expect_code(cubin, "tile",
              {{kLoad, kGlobal, 16, "tile:29"},
               {kStore, kShared, 16, "tile:29"},
               {kLoad, kShared, 4, "tile:31"},
               {kStore, kGlobal, 8, "tile:31"},
               {kReduction, kGlobal, 4, "atomicAdd:? tile:32"}},
              lines);
  // A function that was not inlined lies behind the kernel that calls it, in the same section.
  const std::vector<Expected> apart{{kLoad, kGlobal, 4, "element:5 pair:9 apart:14"},
                                    {kLoad, kGlobal, 4, "element:5 pair:10 apart:14"}};
  std::vector<Expected> called{{kStore, kGlobal, 4, "called:24"}};
  called.insert(called.end(), apart.begin(), apart.end());
  expect_code(cubin, "called", called, lines);
  expect_code(cubin, "_Z5apartPKfi", apart, lines);
}

TEST(Cubin, GivesTheLinesOfEveryAccess) {
  for (const unsigned architecture : kArchitectures) {
    const std::string image = fixture("lines", architecture);
    const std::optional<Cubin> cubin = Cubin::open(image);
    ASSERT_TRUE(cubin);
    EXPECT_EQ(cubin->architecture(), architecture);
    std::vector<std::string_view> functions = cubin->functions();
    std::ranges::sort(functions);
    EXPECT_EQ(functions,
              (std::vector<std::string_view>{"_Z5apartPKfi", "called", "inlined", "tile"}));
    expect_kernels(*cubin, true);
  }
}

TEST(Cubin, HasInstructionsWithoutLineInformation) {
  for (const unsigned architecture : kArchitectures) {
    const std::string image = fixture("plain", architecture);
    const std::optional<Cubin> cubin = Cubin::open(image);
    ASSERT_TRUE(cubin);
    expect_kernels(*cubin, false);
  }
}

#ifdef GMT_COMPILED_CUBIN
TEST(Cubin, GivesTheLinesOfWhatNvccCompilesNow) {
  const std::string image = test::read_file(GMT_COMPILED_CUBIN);
  const std::optional<Cubin> cubin = Cubin::open(image);
  ASSERT_TRUE(cubin);
  expect_kernels(*cubin, true);
}
#endif

TEST(Cubin, AddressesOfTheTable) {
  const std::string image = fixture("lines", 90);
  const FunctionCode code = Cubin::open(image)->function("inlined").value();
  EXPECT_EQ(code.instructions[0].address_register, code.instructions[1].address_register);
  EXPECT_EQ(code.instructions[0].address_offset, 0);
  EXPECT_EQ(code.instructions[1].address_offset, 4);
}

// Before CUDA 13 the architecture stood in the lowest byte of the flags.
TEST(Cubin, ReadsTheOlderLayout) {
  std::string image = fixture("lines", 80);
  image[EI_ABIVERSION] = 7;
  const std::uint32_t flags = 0x00500550;
  std::memcpy(image.data() + offsetof(Elf64_Ehdr, e_flags), &flags, sizeof flags);
  const std::optional<Cubin> cubin = Cubin::open(image);
  ASSERT_TRUE(cubin);
  EXPECT_EQ(cubin->architecture(), 80u);
  expect_kernels(*cubin, true);
}

TEST(Cubin, OthersAreNone) {
  EXPECT_FALSE(Cubin::open({}));
  std::string image = fixture("lines", 90);
  EXPECT_FALSE(Cubin::open(image)->function("absent"));
  EXPECT_FALSE(Cubin::open(image)->function(""));
  EXPECT_FALSE(Cubin::open(image)->function("nlined")); // the end of a name is no name
  image[offsetof(Elf64_Ehdr, e_machine)] = EM_X86_64;
  EXPECT_FALSE(Cubin::open(image));
}

TEST(Cubin, DamageEndsNothing) {
  const std::string whole = fixture("lines", 90);
  const auto look = [](const std::string& image) {
    const std::optional<Cubin> cubin = Cubin::open(image);
    if (!cubin) return;
    for (const std::string_view name : cubin->functions()) (void)cubin->function(name);
    (void)cubin->function("_Z5apartPKfi");
  };
  for (std::size_t cut = 0; cut < whole.size(); cut += 97) look(whole.substr(0, cut));
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string bad = whole;
    for (int n = 0; n < 8; ++n) bad[random() % bad.size()] = static_cast<char>(random());
    look(bad);
  }
}

} // namespace
} // namespace gmt
