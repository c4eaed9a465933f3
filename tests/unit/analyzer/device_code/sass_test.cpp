// SPDX-License-Identifier: Apache-2.0
// The decoder of machine code against what nvdisasm says of the same encodings.

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "analyzer/device_code/sass.h"
#include "tests/unit/analyzer/support/sass_encodings.h"

namespace gmt {
namespace {

TEST(Sass, DecodesWhatAccessesMemory) {
  for (const test::MemoryEncoding& e : test::kMemoryEncodings) {
    SCOPED_TRACE(testing::Message()
                 << "sm_" << e.architecture << std::hex << " 0x" << e.high << " 0x" << e.low);
    const std::optional<Instruction> decoded = decode_instruction(e.low, e.high, e.architecture);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->op, e.op);
    EXPECT_EQ(decoded->space, e.space);
    EXPECT_EQ(decoded->bytes, e.bytes);
    EXPECT_EQ(decoded->address_register, e.address_register);
    EXPECT_EQ(decoded->address_offset, e.address_offset);
  }
}

TEST(Sass, PassesOverTheRest) {
  for (const test::Encoding& e : test::kOtherEncodings) {
    EXPECT_FALSE(decode_instruction(e.low, e.high, e.architecture))
      << "sm_" << e.architecture << std::hex << " 0x" << e.high << " 0x" << e.low;
  }
}

TEST(Sass, DecodesFunctionsByOffset) {
  const test::Encoding& other = test::kOtherEncodings.front();
  const test::MemoryEncoding& memory = test::kMemoryEncodings.front();
  std::string code;
  const auto add = [&code](std::uint64_t low, std::uint64_t high) {
    code.append(reinterpret_cast<const char*>(&low), sizeof low);
    code.append(reinterpret_cast<const char*>(&high), sizeof high);
  };
  add(other.low, other.high);
  add(memory.low, memory.high);
  add(other.low, other.high);
  add(memory.low, memory.high);
  const std::vector<Instruction> whole = decode_function(code, memory.architecture);
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_EQ(whole[0].offset, 16u);
  EXPECT_EQ(whole[1].offset, 48u);
  code.pop_back();
  EXPECT_EQ(decode_function(code, memory.architecture).size(), 1u); // the last one is cut
  EXPECT_TRUE(decode_function({}, memory.architecture).empty());
}

} // namespace
} // namespace gmt
