// SPDX-License-Identifier: Apache-2.0
// Symbols of a real library (symbols_target.cpp): inlined functions, stripped copies with
// and without their separate debug file, files that changed or are gone.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "analyzer/symbols/demangle.h"
#include "analyzer/symbols/elf_file.h"
#include "analyzer/symbols/symbols.h"

namespace gmt {
namespace {
namespace fs = std::filesystem;

std::vector<std::uint64_t> reported; // inner-middle-outer, hidden, plain

void remember(void* address) { reported.push_back(reinterpret_cast<std::uint64_t>(address)); }

std::uint32_t line_of(const std::string& mark) {
  std::ifstream in(GMT_SYMBOLS_TARGET_SOURCE);
  std::uint32_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.ends_with("// @" + mark)) return number;
  }
  return 0;
}

bool run(const std::string& command) { return std::system(command.c_str()) == 0; }

class SymbolsTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "gmt-symbols-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    void* library = ::dlopen(GMT_SYMBOLS_TARGET, RTLD_NOW);
    ASSERT_NE(library, nullptr) << ::dlerror();
    link_map* map = nullptr;
    ASSERT_EQ(::dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    module_.path = GMT_SYMBOLS_TARGET;
    module_.bias = map->l_addr;
    module_.start = map->l_addr;
    module_.end = map->l_addr + fs::file_size(GMT_SYMBOLS_TARGET);
    module_.build_id = ElfFile::open(GMT_SYMBOLS_TARGET)->build_id();
    ASSERT_FALSE(module_.build_id.empty());
    using Target = void (*)(void (*)(void*));
    reported.clear();
    reinterpret_cast<Target>(::dlsym(library, "gmt_symbols_target"))(remember);
    ASSERT_EQ(reported.size(), 3u);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<Frame> resolve(std::uint64_t address) {
    resolver_.want(module_, address);
    resolver_.resolve();
    return resolver_.frames(module_, address);
  }
  void use_debug_root() { resolver_ = SymbolResolver({.debug_roots = {folder_ / "debug"}}); }
  // A copy of the library that the recording is now said to have been made with.
  void use_copy(const std::string& objcopy_options) {
    const std::string copy = (folder_ / "libtarget.so").string();
    ASSERT_TRUE(run("objcopy " + objcopy_options + " " + GMT_SYMBOLS_TARGET + " " + copy));
    module_.path = copy;
  }
  void expect_inlined_chain(const std::vector<Frame>& frames) {
    ASSERT_EQ(frames.size(), 3u);
    EXPECT_EQ(bare_function(frames[0].function), "target::inner<long>");
    EXPECT_EQ(frames[0].line, line_of("inner"));
    EXPECT_TRUE(frames[0].inlined);
    EXPECT_NE(frames[1].function.find("middle"), std::string::npos) << frames[1].function;
    EXPECT_EQ(frames[1].line, line_of("middle"));
    EXPECT_TRUE(frames[1].inlined);
    EXPECT_EQ(bare_function(frames[2].function), "target::Model::outer");
    EXPECT_EQ(frames[2].line, line_of("outer"));
    EXPECT_FALSE(frames[2].inlined);
    for (const Frame& f : frames) {
      EXPECT_EQ(f.file, GMT_SYMBOLS_TARGET_SOURCE);
      EXPECT_EQ(f.address, reported[0]); // as captured
      EXPECT_EQ(f.module_offset, reported[0] - module_.bias);
      EXPECT_EQ(f.module, module_.path);
    }
  }

  fs::path folder_;
  Module module_;
  SymbolResolver resolver_;
};

TEST_F(SymbolsTest, InlinedFunctionsAreFramesOfTheirOwn) {
  expect_inlined_chain(resolve(reported[0]));
  EXPECT_TRUE(resolver_.answered(module_));
  EXPECT_TRUE(resolver_.not_checked().empty());
}

TEST_F(SymbolsTest, InternalFunctionsHaveScopeAndParameters) {
  const std::vector<Frame> frames = resolve(reported[1]);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(bare_function(frames[0].function), "target::(anonymous namespace)::hidden");
  EXPECT_EQ(frames[0].line, line_of("hidden"));
}

TEST_F(SymbolsTest, FunctionsOfCLinkageAreFoundToo) {
  const std::vector<Frame> frames = resolve(reported[2]);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, "gmt_symbols_target");
  EXPECT_EQ(frames[0].line, line_of("plain"));
}

TEST_F(SymbolsTest, WithoutDebugInformationTheSymbolTableNamesTheFunction) {
  use_copy("--strip-debug");
  const std::vector<Frame> frames = resolve(reported[1]);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(bare_function(frames[0].function), "target::(anonymous namespace)::hidden");
  EXPECT_EQ(frames[0].file, "");
  EXPECT_EQ(frames[0].line, 0u);
}

TEST_F(SymbolsTest, StrippedLibrariesNameWhatTheyExport) {
  use_copy("--strip-all");
  EXPECT_EQ(resolve(reported[2]).at(0).function, "gmt_symbols_target");
  // A local function: no name beats a wrong one
  const std::vector<Frame> frames = resolve(reported[1]);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, "");
  EXPECT_EQ(frames[0].module_offset, reported[1] - module_.bias);
}

TEST_F(SymbolsTest, DebugFileIsFoundByBuildId) {
  use_copy("--strip-all");
  use_debug_root();
  const fs::path folder = folder_ / "debug" / ".build-id" / module_.build_id.substr(0, 2);
  fs::create_directories(folder);
  const std::string debug = (folder / (module_.build_id.substr(2) + ".debug")).string();
  ASSERT_TRUE(run(std::string("objcopy --only-keep-debug ") + GMT_SYMBOLS_TARGET + " " + debug));
  expect_inlined_chain(resolve(reported[0]));
}

TEST_F(SymbolsTest, DebugFileIsFoundByItsLink) {
  const std::string debug = (folder_ / "libtarget.so.debug").string();
  ASSERT_TRUE(run(std::string("objcopy --only-keep-debug ") + GMT_SYMBOLS_TARGET + " " + debug));
  use_copy("--strip-all --add-gnu-debuglink=" + debug);
  expect_inlined_chain(resolve(reported[0]));
}

TEST_F(SymbolsTest, CompressedDebugSectionsAreRead) {
  use_copy("--compress-debug-sections=zlib");
  expect_inlined_chain(resolve(reported[0]));
}

TEST_F(SymbolsTest, ChangedFileGivesNoSymbolsAndOneRemark) {
  module_.build_id = "00ff";
  const std::vector<Frame> frames = resolve(reported[0]);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, "");
  EXPECT_EQ(frames[0].module, module_.path);
  resolve(reported[1]);
  ASSERT_FALSE(resolver_.answered(module_));
  ASSERT_EQ(resolver_.not_checked().size(), 1u);
  EXPECT_EQ(resolver_.not_checked()[0].what, "symbols of " + module_.path);
  EXPECT_EQ(
    resolver_.not_checked()[0].why.rfind("the file has changed since the recording (build id ", 0),
    0u);
}

TEST_F(SymbolsTest, MissingFileGivesOneRemark) {
  module_.path = (folder_ / "nowhere.so").string();
  EXPECT_EQ(resolve(reported[0]).at(0).function, "");
  resolve(reported[1]);
  ASSERT_EQ(resolver_.not_checked().size(), 1u);
  EXPECT_EQ(resolver_.not_checked()[0].why, "the file is not on this machine");
}

TEST_F(SymbolsTest, WhatIsNoElfFileGivesARemark) {
  module_.path = (folder_ / "text.so").string();
  std::ofstream(module_.path) << "just words";
  EXPECT_EQ(resolve(reported[0]).at(0).function, "");
  ASSERT_EQ(resolver_.not_checked().size(), 1u);
  EXPECT_EQ(resolver_.not_checked()[0].why, "the file cannot be read as an ELF file");
}

TEST_F(SymbolsTest, TheKernelsOwnCodeGivesNoRemark) {
  module_.path = "linux-vdso.so.1";
  EXPECT_EQ(resolve(reported[0]).at(0).function, "");
  EXPECT_TRUE(resolver_.not_checked().empty());
}

TEST_F(SymbolsTest, DamagedFilesAreNoDisaster) {
  std::ifstream in(GMT_SYMBOLS_TARGET, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  for (std::size_t step = 1; step < 40; ++step) {
    std::string bytes = whole;
    for (std::size_t at = 64 + step * 7; at < bytes.size(); at += 97 + step * 31)
      bytes[at] = static_cast<char>(at * step);
    if (step % 3 == 0) bytes.resize(bytes.size() * step / 40);
    Module broken = module_;
    broken.path = (folder_ / ("broken" + std::to_string(step))).string();
    broken.build_id.clear();
    std::ofstream(broken.path, std::ios::binary) << bytes;
    for (const std::uint64_t address : reported) resolver_.want(broken, address);
    resolver_.resolve();
    EXPECT_FALSE(resolver_.frames(broken, reported[0]).empty());
  }
}

TEST(FindModule, KnowsWhichModuleHeldAnAddressWhen) {
  const std::vector<Module> modules = {{0x1000, 0x2000, 0x1000, "", "/a", 1, 10},
                                       {0x1000, 0x3000, 0x1000, "", "/b", 20}};
  EXPECT_EQ(find_module(modules, 0x1500, 5)->path, "/a");
  EXPECT_EQ(find_module(modules, 0x1500, 15), nullptr);
  EXPECT_EQ(find_module(modules, 0x1500, 25)->path, "/b");
  EXPECT_EQ(find_module(modules, 0x1500)->path, "/b");
  EXPECT_EQ(find_module(modules, 0x3000)->path, "/b"); // behind a call that never returns
  EXPECT_EQ(find_module(modules, 0x3001), nullptr);
  EXPECT_EQ(find_module(modules, 0x1000), nullptr);
}

} // namespace
} // namespace gmt
