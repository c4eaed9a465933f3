// SPDX-License-Identifier: Apache-2.0
// The trace's `symbols` file: what goes in comes out, and nothing that stands there can hurt.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "analyzer/symbols/symbols_cache.h"

namespace gmt {
namespace {
namespace fs = std::filesystem;

class SymbolFileTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "gmt-symbols-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

Frame frame(std::uint64_t address, std::string function, std::uint32_t line, bool inlined) {
  Frame f;
  f.address = address;
  f.function = std::move(function);
  f.file = "/src/tab\there\\n/é.cu";
  f.line = line;
  f.module = "/lib/new\nline\r.so";
  f.module_offset = 0xabc;
  f.inlined = inlined;
  return f;
}

TEST_F(SymbolFileTest, RoundTrip) {
  SymbolFile file;
  file.set(0x7fff00001234, 17,
           {frame(0x7fff00001234, "inner<é>(int)", 4'000'000'000u, true),
            frame(0x7fff00001234, "outer\t\\t", 7, false)});
  // The same address in a later module
  file.set(0x7fff00001234, 255, {frame(0x7fff00001234, "", 0, false)});
  ASSERT_EQ(file.write(folder_), std::nullopt);
  const SymbolFile read = SymbolFile::read(folder_);
  EXPECT_EQ(read.size(), 2u);
  const std::vector<Frame>* frames = read.find(0x7fff00001234, 17);
  ASSERT_NE(frames, nullptr);
  ASSERT_EQ(frames->size(), 2u);
  EXPECT_EQ((*frames)[0].address, 0x7fff00001234u);
  EXPECT_EQ((*frames)[0].function, "inner<é>(int)");
  EXPECT_EQ((*frames)[0].file, "/src/tab\there\\n/é.cu");
  EXPECT_EQ((*frames)[0].line, 4'000'000'000u);
  EXPECT_EQ((*frames)[0].module, "/lib/new\nline\r.so");
  EXPECT_EQ((*frames)[0].module_offset, 0xabcu);
  EXPECT_TRUE((*frames)[0].inlined);
  EXPECT_EQ((*frames)[1].function, "outer\t\\t");
  EXPECT_FALSE((*frames)[1].inlined);
  ASSERT_NE(read.find(0x7fff00001234, 255), nullptr);
  EXPECT_EQ(read.find(0x7fff00001234, 255)->at(0).function, "");
  EXPECT_EQ(read.find(0x7fff00001234, 3), nullptr);
  // Written again it is the same, byte for byte, and nothing else is left in the trace.
  ASSERT_EQ(read.write(folder_), std::nullopt);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(SymbolFileTest, KeepsWhatIsCalledFromAFrame) {
  Frame caller = frame(0x2000, "caller()", 7, false);
  caller.callee =
    std::make_shared<const Callee>(Callee{"tab\t(int)", {{0x10, 0x20}, {0xabc000, 0xabc001}}});
  SymbolFile file;
  file.set(0x2000, 1, {frame(0x2000, "inlined()", 8, true), caller});
  ASSERT_EQ(file.write(folder_), std::nullopt);
  const SymbolFile read = SymbolFile::read(folder_);
  const std::vector<Frame>* frames = read.find(0x2000, 1);
  ASSERT_NE(frames, nullptr);
  EXPECT_EQ(frames->at(0).callee, nullptr);
  ASSERT_NE(frames->at(1).callee, nullptr);
  EXPECT_EQ(frames->at(1).callee->function, "tab\t(int)");
  EXPECT_EQ(frames->at(1).callee->code, caller.callee->code);
}

TEST_F(SymbolFileTest, LeavesOutCalleesWhoseCodeMakesNoSense) {
  std::ofstream out(folder_ / "symbols");
  for (const char* code :
       {"", "10", "10-", "-20", "20-10", "10-20,", "10-20,30", "zz-20", "1-2-3"}) {
    out << "10\t1\t0\t1\tf\tf.c\t/m\t10\tg\t" << code << '\n';
  }
  out.close();
  const SymbolFile read = SymbolFile::read(folder_);
  ASSERT_NE(read.find(0x10, 1), nullptr);
  ASSERT_EQ(read.find(0x10, 1)->size(), 9u);
  for (const Frame& f : *read.find(0x10, 1)) {
    const auto expected = std::vector<CodeRange>{{0x10, 0x20}};
    EXPECT_TRUE(!f.callee || f.callee->code == expected);
  }
}

TEST_F(SymbolFileTest, SkipsWhatItCannotRead) {
  std::ofstream(folder_ / "symbols")
    << "nonsense\n\n"
    << "zz\t1\t0\t1\tf\tf.c\t/m\t10\n"  // no address
    << "10\t1\t0\t-1\tf\tf.c\t/m\t10\n" // no line number
    << "10\t1\t0\t1\tf\tf.c\t/m\n"      // a field short
    << "10\t1\t0\t5\tf\tf.c\t/m\t8\tlater versions may add fields\n"
    << "11\t1\t0\t5\tcut off";
  const SymbolFile read = SymbolFile::read(folder_);
  EXPECT_EQ(read.size(), 1u);
  ASSERT_NE(read.find(0x10, 1), nullptr);
  EXPECT_EQ(read.find(0x10, 1)->at(0).line, 5u);
  EXPECT_EQ(read.find(0x10, 1)->at(0).module_offset, 8u);
}

TEST_F(SymbolFileTest, MissingFileIsEmpty) {
  EXPECT_EQ(SymbolFile::read(folder_ / "nowhere").size(), 0u);
}

TEST_F(SymbolFileTest, FailureToWriteIsASentence) {
  SymbolFile file;
  file.set(1, 1, {frame(1, "f", 1, false)});
  const auto failure = file.write(folder_ / "nowhere");
  ASSERT_TRUE(failure.has_value());
  EXPECT_NE(failure->find("No such file"), std::string::npos) << *failure;
}

} // namespace
} // namespace gmt
