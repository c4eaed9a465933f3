// SPDX-License-Identifier: Apache-2.0
// What kernels of tests/fixtures/cubins/asserts.cu pass to __assertfail: the text behind the
// constant that constant_in_register() finds for its first argument.

#include <gtest/gtest.h>

#include <elf.h>

#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/base/byte_reader.h"
#include "analyzer/device_code/sass.h"
#include "analyzer/symbols/elf_image.h"
#include "tests/unit/analyzer/support/trace_writer.h"

namespace gmt {
namespace {

constexpr std::uint32_t kFirstArgument = 4;

std::string fixture(unsigned architecture) {
  return test::read_file(std::filesystem::path(GMT_CUBINS) /
                         ("asserts.sm_" + std::to_string(architecture) + ".cubin"));
}

// The text that a linker would put behind this offset of bank 4.
std::string text_behind(const ElfImage& image, std::uint64_t offset) {
  for (const ElfImage::Section& section : image.sections()) {
    if (!section.name.ends_with(".nv.constant4") || section.name == ".nv.constant4") continue;
    const std::uint64_t row = section.type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    Elf64_Rel relocation;
    for (std::uint64_t at = 0; read_at(section.data, at, relocation); at += row) {
      Elf64_Sym symbol;
      const std::uint64_t number = ELF64_R_SYM(relocation.r_info);
      if (relocation.r_offset != offset ||
          !read_at(image.find(".symtab")->data, number * sizeof symbol, symbol))
        continue;
      return image.find(".nv.global.init")->data.data() + symbol.st_value;
    }
  }
  return "(nothing)";
}

// Of each call to an address in a register.
std::vector<std::string> texts_of_calls(const ElfImage& image, const char* kernel,
                                        unsigned architecture) {
  constexpr std::uint64_t kOpcode = 0xfff, kCall = 0x343;
  std::vector<std::string> texts;
  const std::span<const char> code = image.find(std::string(".text.") + kernel)->data;
  std::uint64_t word = 0;
  for (std::uint64_t at = 0; read_at(code, at, word); at += kInstructionBytes) {
    if ((word & kOpcode) != kCall) continue;
    const auto constant = constant_in_register(code, at, kFirstArgument, architecture);
    texts.push_back(constant ? text_behind(image, *constant) : "(unknown)");
  }
  return texts;
}

TEST(SassConstants, WhatIsPassedToAssertfail) {
  for (const unsigned architecture : {80u, 86u, 90u}) {
    SCOPED_TRACE(architecture);
    const std::string bytes = fixture(architecture);
    const auto image = ElfImage::open(bytes);
    ASSERT_TRUE(image);
    EXPECT_EQ(texts_of_calls(*image, "_Z5rootsPKfPfi", architecture),
              (std::vector<std::string>{"values[i] >= 0 && \"no root\"", "roots[i] < 100.0f"}));
    EXPECT_EQ(texts_of_calls(*image, "_Z5outerPKf", architecture),
              (std::vector<std::string>{"value > 1.0f && \"inside\""}));
  }
}

TEST(SassConstants, OtherArchitecturesAndOtherRegistersAreUnknown) {
  const std::string bytes = fixture(90);
  const std::span<const char> code = ElfImage::open(bytes)->find(".text._Z5outerPKf")->data;
  const std::uint64_t call = 0x1e0;
  EXPECT_TRUE(constant_in_register(code, call, kFirstArgument, 90));
  for (const unsigned architecture : {70u, 75u, 100u, 120u})
    EXPECT_FALSE(constant_in_register(code, call, kFirstArgument, architecture));
  EXPECT_FALSE(constant_in_register(code, call, 255, 90)); // RZ
  EXPECT_FALSE(constant_in_register(code, call, 300, 90));
  EXPECT_FALSE(constant_in_register(code, code.size() + 1, kFirstArgument, 90));
  EXPECT_FALSE(constant_in_register(code, 0, kFirstArgument, 90));
  EXPECT_FALSE(constant_in_register({}, 0, kFirstArgument, 90));
}

} // namespace
} // namespace gmt
