// SPDX-License-Identifier: Apache-2.0
// Entries of the cache: what comes back is what was kept, or nothing.
#include "interposer/kernel_checks/library/code_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/entry_text.h"
#include "made_up_cubin.h"
#include "made_up_linker.h"

namespace gmt::interposer::kernel_checks {
namespace {

namespace fs = std::filesystem;

CodeKey key_of(std::string_view text) {
  CodeKey key;
  key.add(text);
  return key;
}

CachedCode code_of(const std::string& machine) {
  CachedCode code;
  code.code.kernels = {"k", "other"};
  code.code.launch_parameters = {{true, 2, 16}, {}};
  rewriter::Site site;
  site.function = "k";
  site.ptx_line = 12;
  site.instruction = "ld.global.u32 %r1, [%d1]";
  site.lines = {{"a.cu", 7, "inlined"}, {"a.cu", 9, ""}};
  site.kind = rewriter::AccessKind::kAtomic;
  site.bytes = 4;
  site.is_generic = true;
  site.array = "tile";
  code.code.sites = {site, {}};
  code.code.unchecked = {{"k", "a reason"}};
  code.heap_use = HeapUse::kMarked;
  code.machine = machine;
  return code;
}

struct KernelCheckCodeCache : testing::Test {
  void SetUp() override {
    char name[] = "/tmp/gpumemtrace-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root = name;
    folder = root / "cache" / "code"; // which is not there yet
    cache.begin(folder.string(), 1 << 20);
  }
  void TearDown() override { fs::remove_all(root); }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& one : fs::directory_iterator(folder)) names.push_back(one.path().filename());
    return names;
  }
  fs::path file_of(const CodeKey& key) const { return folder / key.name(); }

  fs::path root, folder;
  CodeCache cache;
};

TEST_F(KernelCheckCodeCache, APipeIsNoEntry) {
  const CodeKey key = key_of("text");
  fs::create_directories(folder);
  ASSERT_EQ(mkfifo(file_of(key).c_str(), 0600), 0);
  EXPECT_FALSE(cache.find(key).has_value()); // without waiting for a writer
}

TEST_F(KernelCheckCodeCache, WhatWasKeptComesBack) {
  const CodeKey key = key_of("text");
  EXPECT_FALSE(cache.find(key).has_value());
  const CachedCode given = code_of(std::string("machine\0code", 12));
  cache.keep(key, given);
  const auto found = cache.find(key);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->machine, given.machine);
  EXPECT_EQ(found->heap_use, HeapUse::kMarked);
  EXPECT_EQ(entry_of(*found, key), entry_of(given, key)); // all else
  EXPECT_EQ(found->code.sites[0].lines[0].function, "inlined");
  EXPECT_EQ(found->code.launch_parameters[0].offset, 16u);
  EXPECT_EQ(files().size(), 1u); // nothing beside it
  EXPECT_FALSE(cache.find(key_of("texu")).has_value());
  cache.remove(key);
  EXPECT_FALSE(cache.find(key).has_value());
  CachedCode refused;
  refused.why_plain = "a reason";
  cache.keep(key, refused);
  ASSERT_TRUE(cache.find(key).has_value());
  EXPECT_EQ(cache.find(key)->why_plain, "a reason");
}

TEST_F(KernelCheckCodeCache, KeysDifferInEachPart) {
  std::vector<std::string> names;
  for (const std::string_view text :
       {std::string_view(""), std::string_view("a"), std::string_view("b"),
        std::string_view("aaaaaaaa"), std::string_view("aaaaaaaab"), std::string_view("a\0", 2)}) {
    names.push_back(key_of(text).name());
    CodeKey two = key_of(text);
    two.add(std::uint64_t{0});
    names.push_back(two.name());
  }
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

// Each byte that is another, and each size that is smaller.
TEST_F(KernelCheckCodeCache, ADamagedEntryIsNone) {
  const CodeKey key = key_of("text");
  const std::string entry = entry_of(code_of("machine code"), key);
  ASSERT_TRUE(code_of_entry(entry, key).has_value());
  for (std::size_t i = 0; i < entry.size(); ++i) {
    std::string damaged = entry;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    const bool is_unused = i >= 40 && i < 48;
    EXPECT_EQ(code_of_entry(damaged, key).has_value(), is_unused) << i;
    EXPECT_FALSE(code_of_entry(std::string_view(entry).substr(0, i), key).has_value()) << i;
  }
  cache.keep(key, code_of("machine code"));
  std::ofstream(file_of(key), std::ios::trunc) << entry.substr(0, 100);
  EXPECT_FALSE(cache.find(key).has_value());
  cache.keep(key, code_of("machine code")); // as it is compiled anew
  EXPECT_TRUE(cache.find(key).has_value());
}

// Several processes write one entry again and again, and are killed in the midst of it.
TEST_F(KernelCheckCodeCache, ParallelAndKilledProcessesSpoilNothing) {
  const CodeKey key = key_of("text");
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const CachedCode code = code_of(std::string(50000, static_cast<char>('a' + i)));
      for (;;) cache.keep(key, code);
    }
    children.push_back(child);
  }
  unsigned found = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (found < 100 && std::chrono::steady_clock::now() < deadline) {
    const auto code = cache.find(key);
    if (!code) continue;
    ++found;
    EXPECT_EQ(code->machine, std::string(50000, code->machine[0]));
  }
  for (const pid_t child : children) kill(child, SIGKILL);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  EXPECT_EQ(found, 100u);
  EXPECT_TRUE(cache.find(key).has_value());
  // What they left goes when it is old.
  std::ofstream(folder / ".1.0.code") << "left";
  for (const auto& one : fs::directory_iterator(folder))
    fs::last_write_time(one, fs::file_time_type::clock::now() - std::chrono::hours(2));
  cache.keep(key, code_of("last"));
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(KernelCheckCodeCache, TheOldestAreRemoved) {
  const std::string machine(100000, 'x');
  for (int i = 0; i < 10; ++i) {
    const CodeKey key = key_of(std::to_string(i));
    cache.keep(key, code_of(machine));
    const auto age = std::chrono::minutes(100 - i);
    fs::last_write_time(file_of(key), fs::file_time_type::clock::now() - age);
  }
  EXPECT_EQ(files().size(), 10u);
  ASSERT_TRUE(cache.find(key_of("0")).has_value()); // it is in use
  cache.keep(key_of("10"), code_of(machine));
  EXPECT_EQ(files().size(), 7u); // three quarters of the limit
  EXPECT_TRUE(cache.find(key_of("0")).has_value());
  EXPECT_FALSE(cache.find(key_of("1")).has_value());
  EXPECT_TRUE(cache.find(key_of("10")).has_value());
}

// What another user may have put there is not run.
TEST_F(KernelCheckCodeCache, AFolderThatOthersCanWriteIsNotUsed) {
  const CodeKey key = key_of("text");
  fs::create_directories(folder);
  fs::permissions(folder, fs::perms::all);
  cache.keep(key, code_of("machine"));
  EXPECT_TRUE(files().empty());
  fs::permissions(folder, fs::perms::owner_all);
  cache.keep(key, code_of("machine"));
  EXPECT_TRUE(cache.find(key).has_value());
  fs::permissions(file_of(key), fs::perms::all);
  EXPECT_FALSE(cache.find(key).has_value());
}

// A file beyond the limit would end the process.
TEST_F(KernelCheckCodeCache, NoFileIsLargerThanTheProcessMayWrite) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    cache.keep(key_of("text"), code_of(std::string(50000, 'x')));
    _exit(files().empty() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// ---------------------------------------------------------------- compiling

class KernelCheckCompiling : public ::testing::Test {
protected:
  void SetUp() override {
    linking_core_.driver_symbol = function_of_linker;
    core = &linking_core_;
  }
  void TearDown() override { core = before_; }

private:
  KernelChecksCore linking_core_{};
  const KernelChecksCore* const before_ = core;
};

TEST_F(KernelCheckCompiling, ByOneThreadWhereTheDriverKnowsNoOther) {
  for (const bool knows : {true, false}) {
    linking = {};
    linking.knows_option = knows;
    EXPECT_EQ(compile("text").machine, "code");
    EXPECT_EQ(linking.tried, knows ? std::vector<unsigned>{1} : (std::vector<unsigned>{1, 0}));
  }
}

TEST_F(KernelCheckCompiling, WhatTheDriverSaysOfATextThatItCannotCompile) {
  linking = {};
  linking.machine.clear();
  linking.log = "ptxas fatal : no such thing\nand more";
  const Compiled compiled = compile("text");
  EXPECT_TRUE(compiled.was_tried);
  EXPECT_EQ(compiled.machine, "");
  EXPECT_EQ(compiled.why_not, "ptxas fatal : no such thing");
  EXPECT_TRUE(compiled.is_final);
}

// Another time there may be more memory.
TEST_F(KernelCheckCompiling, WhatIsNoFaultOfTheText) {
  const auto is_final = [](CUresult refusal, const char* log) {
    linking = {};
    linking.machine.clear();
    linking.refusal = refusal;
    linking.log = log;
    return compile("text").is_final;
  };
  EXPECT_TRUE(is_final(CUDA_ERROR_UNKNOWN, "nvlink error   : Entry function 'k' uses too much "
                                           "shared data (0xd008 bytes, 0xc000 max)"));
  EXPECT_FALSE(is_final(CUDA_ERROR_OUT_OF_MEMORY, "ptxas fatal : no such thing"));
  EXPECT_FALSE(is_final(CUDA_ERROR_INVALID_PTX, "ptxas fatal   : Memory allocation failure"));
  EXPECT_FALSE(is_final(CUDA_ERROR_INVALID_PTX, "ptxas warning : something else\n"
                                                "ptxas fatal   : Memory allocation failure"));
  EXPECT_FALSE(is_final(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "PTX JIT compiler library not found"));
  EXPECT_FALSE(is_final(CUDA_ERROR_INVALID_PTX, ""));
}

// A block of 1,024 threads has 64 registers for each: the checked form is compiled for that, too.
TEST_F(KernelCheckCompiling, CheckedFormsAreLaunchedWithAsManyThreads) {
  const std::string head = ".version 8.0\n.target sm_70\n.address_size 64\n";
  const std::string text = head +
                           ".entry few()\n{ ret; }\n.entry __gmt_checked_few()\n{ ret; }\n"
                           ".entry many()\n{ ret; }\n.entry __gmt_checked_many()\n{ ret; }\n";
  linking = {};
  linking.machine = MadeUpCubin::of(
    {{"few", 60}, {"__gmt_checked_few", 66}, {"many", 100}, {"__gmt_checked_many", 120}});
  EXPECT_EQ(compile(text).machine, linking.machine);
  ASSERT_EQ(linking.texts.size(), 2U);
  EXPECT_EQ(linking.texts[0], text);
  EXPECT_EQ(linking.texts[1], head +
                                ".entry few()\n{ ret; }\n"
                                ".entry __gmt_checked_few()\n .maxnreg 64 { ret; }\n"
                                ".entry many()\n{ ret; }\n.entry __gmt_checked_many()\n{ ret; }\n");
  linking = {};
  linking.machine = MadeUpCubin::of({{"few", 30}, {"__gmt_checked_few", 64}});
  EXPECT_EQ(compile(text).machine, linking.machine);
  EXPECT_EQ(linking.texts.size(), 1U);

  linking = {};
  linking.machine = MadeUpCubin::of({{"few", 60}, {"__gmt_checked_few", 200}});
  EXPECT_EQ(compile(head + ".entry __gmt_checked_few() .maxntid 256\n{ ret; }\n").machine,
            linking.machine);
  EXPECT_EQ(linking.texts.size(), 1U);
}

} // namespace
} // namespace gmt::interposer::kernel_checks
