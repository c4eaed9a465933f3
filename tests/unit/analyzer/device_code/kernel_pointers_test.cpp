// SPDX-License-Identifier: Apache-2.0
// What kernels do with their pointers, found in a trace's images: PTX and fat binaries.
#include "analyzer/device_code/kernel_pointers.h"

#include <optional>

#include <gtest/gtest.h>

#include "analyzer/symbols/elf_file.h"
#include "tests/unit/analyzer/support/trace_writer.h"
#include "tests/unit/ptx/support/fatbin_writer.h"
#include "tests/unit/ptx/support/ptx_text.h"

namespace gmt {
namespace {

// A kernel that reads `p` and reads or writes `q`.
std::string text_of(const std::string& name, bool writes) {
  return ptx::test::module_text(
    ".visible .entry " + name +
    "(.param .u64 p, .param .u64 q)\n{\n.reg .b32 %r<3>; .reg .b64 %d<3>;\n"
    "ld.param.u64 %d1, [p]; ld.param.u64 %d2, [q];\nld.global.u32 %r1, [%d1];\n" +
    (writes ? "st.global.u32 [%d2], %r1;\n}\n" : "ld.global.u32 %r2, [%d2];\n}\n"));
}

std::string find(const std::vector<std::string>& images, const std::string& kernel) {
  const test::TemporaryDirectory folder;
  TraceDir trace;
  trace.path = folder.path();
  for (std::size_t i = 0; i < images.size(); ++i)
    test::write_file(folder.path() / ("image-" + std::to_string(i)), images[i]);
  const std::string names[] = {"other", kernel};
  const std::vector<PointerUses> found = pointer_uses_of_kernels(trace, names);
  EXPECT_EQ(found.size(), 2u);
  std::string text;
  for (const ptx::PointerUse& use : found.back()) {
    if (!text.empty()) text += " ";
    text += use.is_read ? "r" : "-";
    text += use.is_written ? "w" : "-";
  }
  return text;
}

TEST(KernelPointers, AreFoundInTextsAndFatBinaries) {
  EXPECT_EQ(find({text_of("k", true)}, "k"), "r- -w");
  const std::string packed = test::container(test::entry(test::kCubin, "\177ELF") +
                                             test::entry(test::kPtx, text_of("k", true), true));
  EXPECT_EQ(find({"\177ELF", packed}, "k"), "r- -w");
}

TEST(KernelPointers, OfTwoKernelsOfOneNameOnlyWhatBothDoIsSaid) {
  EXPECT_EQ(find({text_of("k", true), text_of("k", false)}, "k"), "r- --");
}

// nvlink has joined the machine code: only the parts that it was made from have texts.
TEST(KernelPointers, AreFoundInPartsThatWereLinked) {
  const std::optional<ElfFile> file = ElfFile::open(GMT_LINKED_TARGET);
  ASSERT_TRUE(file);
  TraceDir trace;
  trace.modules.emplace_back();
  trace.modules.back().path = GMT_LINKED_TARGET;
  trace.modules.back().build_id = file->build_id();
  const std::string names[] = {"first"};
  const std::vector<PointerUses> found = pointer_uses_of_kernels(trace, names);
  ASSERT_EQ(found.at(0).size(), 1u);
  EXPECT_TRUE(found[0][0].is_read);
  EXPECT_FALSE(found[0][0].is_written);
}

TEST(KernelPointers, WhatCannotBeReadIsUnknown) {
  EXPECT_EQ(find({text_of("l", true)}, "k"), "");
  EXPECT_EQ(find({".version 8.3\n.visible .entry k("}, "k"), "");
  EXPECT_EQ(
    find({ptx::test::module_text(".visible .entry k(.param .u64 p)\n{ nonsense [; }\n")}, "k"), "");
  EXPECT_EQ(find({}, "k"), "");
}

} // namespace
} // namespace gmt
