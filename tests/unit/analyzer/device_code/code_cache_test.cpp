// SPDX-License-Identifier: Apache-2.0
// The trace's `code` file: what goes in comes out, and nothing that stands there can hurt.

#include <gtest/gtest.h>

#include "analyzer/device_code/code_cache.h"
#include "tests/unit/analyzer/support/trace_writer.h"

namespace gmt {
namespace {

FunctionCode odd_code() {
  FunctionCode code;
  code.name = "_Z4stepPf";
  code.module = "/opt/a\tb\\c.so";
  code.has_lines = true;
  Instruction& load = code.instructions.emplace_back();
  load = {.offset = 0x1f0, .bytes = 16, .address_register = 12, .address_offset = -64, .lines = {}};
  load.lines = {{"_Z3getPf", "/src/new\nline.cuh", 7}, {"_Z4stepPf", "/src/é.cu", 4000000000u}};
  Instruction& copy = code.instructions.emplace_back();
  copy.offset = 0x200;
  copy.op = MemoryOp::kBulkCopy;
  copy.space = MemorySpace::kGeneric;
  return code;
}

std::uint64_t damaged_lines_of(const std::string& text, const CodeFile** keep = nullptr) {
  const test::TemporaryDirectory trace;
  test::write_file(trace.path() / "code", text);
  static CodeFile file;
  file = CodeFile::read(trace.path());
  if (keep != nullptr) *keep = &file;
  return file.damaged_lines();
}

TEST(CodeFile, ReturnsWhatWasWritten) {
  const test::TemporaryDirectory trace;
  CodeFile file;
  file.add(odd_code());
  test::write_file(trace.path() / "info", "");
  ASSERT_EQ(file.write(trace.path()), std::nullopt);
  const CodeFile read = CodeFile::read(trace.path());
  EXPECT_EQ(read.damaged_lines(), 0u);
  const std::uint32_t offsets[] = {0x200, 0x1f0};
  const FunctionCode* code = read.find("_Z4stepPf", offsets);
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(code->name, odd_code().name);
  EXPECT_EQ(code->module, odd_code().module);
  EXPECT_TRUE(code->has_lines);
  EXPECT_EQ(code->instructions, odd_code().instructions);
}

TEST(CodeFile, FindsByNameAndEveryOffset) {
  CodeFile file;
  FunctionCode other = odd_code();
  other.instructions[1].offset = 0x300;
  file.add(odd_code());
  file.add(other);
  const std::uint32_t first[] = {0x200}, second[] = {0x1f0, 0x300}, neither[] = {0x200, 0x300};
  ASSERT_NE(file.find("_Z4stepPf", first), nullptr);
  EXPECT_EQ(file.find("_Z4stepPf", first)->instructions, odd_code().instructions);
  ASSERT_NE(file.find("_Z4stepPf", second), nullptr);
  EXPECT_EQ(file.find("_Z4stepPf", second)->instructions, other.instructions);
  EXPECT_EQ(file.find("_Z4stepPf", neither), nullptr);
  EXPECT_EQ(file.find("_Z4step", {}), nullptr);
}

TEST(CodeFile, LeavesOutFunctionsWithDamage) {
  const CodeFile* file = nullptr;
  const std::string sound = "function\t0\tsound\t/a\naccess\t10\tload\tglobal\t4\t2\t0\n";
  const std::string line = "function\t1\tbad\t/a\naccess\t10\tload\tglobal\t4\t2\t0\n";
  for (const char* bad :
       {"access\t10\tload\tglobal\t4\t2\t0\n", "access\tzz\tload\tglobal\t4\t2\t0\n",
        "access\t20\tload\n", "access\t20\tburn\tglobal\t4\t2\t0\n",
        "access\t20\tload\tmoon\t4\t2\t0\n", "place\t-1\tf\tg\n", "place\t1\n",
        "access\t20\tload\tglobal\t4\t2\t99999999999\n"}) {
    EXPECT_EQ(damaged_lines_of(sound + line + bad + sound, &file), 1u) << bad;
    EXPECT_EQ(file->find("bad", {}), nullptr) << bad;
    EXPECT_NE(file->find("sound", {}), nullptr) << bad;
  }
  EXPECT_EQ(damaged_lines_of("place\t1\tf\tg\n"), 1u);
  EXPECT_EQ(damaged_lines_of("function\t2\tname\t/a\n"), 1u);
  EXPECT_EQ(damaged_lines_of(std::string("\0\xff\n\n\t\t\n", 7)), 0u); // lines of no known kind
}

TEST(CodeFile, SkipsWhatLaterVersionsAppend) {
  const CodeFile* file = nullptr;
  EXPECT_EQ(damaged_lines_of("function\t0\tname\t/a\tmore\nlater\t1\n"
                             "access\t10\tload\tglobal\t4\t2\t0\tmore\nplace\t5\tf\tg\tmore\n",
                             &file),
            0u);
  ASSERT_NE(file->find("name", {}), nullptr);
  EXPECT_EQ(file->find("name", {})->instructions.at(0).lines.at(0), (SourceLine{"f", "g", 5}));
}

TEST(CodeFile, SaysWhyItCannotBeWritten) {
  const std::optional<std::string> failure = CodeFile{}.write("/nowhere/at/all");
  ASSERT_TRUE(failure);
  EXPECT_NE(failure->find("/nowhere/at/all/code"), std::string::npos) << *failure;
  EXPECT_EQ(CodeFile::read("/nowhere/at/all").damaged_lines(), 0u);
}

} // namespace
} // namespace gmt
