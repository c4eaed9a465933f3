// SPDX-License-Identifier: Apache-2.0
// Which device code calls malloc: fat binaries made by hand as nvcc lays them out, plain,
// compressed and damaged.

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/device_code/fatbin.h"
#include "analyzer/device_code/malloc_scan.h"
#include "analyzer/symbols/elf_file.h"
#include "tests/unit/ptx/support/fatbin_writer.h"
#include "trace/device_ring.h"

namespace gmt {
namespace {

using test::container;
using test::entry;
using test::kCubin;
using test::kPtx;

const std::string kMallocPtx =
  ".version 9.0\n.extern .func (.param .b64 func_retval0) malloc\n(\n.param .b64 p\n)\n;\n";

DeviceMalloc look(const std::string& section) {
  return device_malloc_in(CodeSections{section}, Deadline::max());
}

TEST(Fatbin, FindsMallocInCubinsAndPtx) {
  const std::string cubin = std::string("\177ELF\0.text\0malloc\0free\0", 23);
  EXPECT_EQ(look(container(entry(kCubin, cubin))), DeviceMalloc::kCalled);
  EXPECT_EQ(look(container(entry(kPtx, kMallocPtx))), DeviceMalloc::kCalled);
  EXPECT_EQ(look(container(entry(kPtx, kMallocPtx, true))), DeviceMalloc::kCalled);
  EXPECT_EQ(
    look(container(entry(kCubin, "ELF")) + container(entry(kCubin, "ELF") + entry(kCubin, cubin))),
    DeviceMalloc::kCalled);
}

TEST(Fatbin, OtherNamesAreNotMalloc) {
  EXPECT_EQ(look(container(entry(kCubin, std::string("\0my_malloc\0free_list\0", 21)))),
            DeviceMalloc::kNone);
  EXPECT_EQ(look(container(entry(kPtx, ".visible .entry my_malloc\n(\n)\n"))), DeviceMalloc::kNone);
  EXPECT_EQ(look(""), DeviceMalloc::kNone);
}

TEST(Fatbin, InstrumentedCodeSaysSo) {
  const std::string none = entry(kPtx, ".version 9.0\n"), called = entry(kPtx, kMallocPtx),
                    logged = entry(kPtx, kMallocPtx + trace::kControlSymbol);
  EXPECT_EQ(look(container(none) + container(logged + logged)), DeviceMalloc::kLogged);
  // Another file of the program
  EXPECT_EQ(look(container(logged) + container(called)), DeviceMalloc::kCalled);
  EXPECT_EQ(look(container(called) + container(logged)), DeviceMalloc::kCalled);
}

TEST(Fatbin, AlignedMallocHasANameOfItsOwn) {
  const std::string name = "__cuda_syscall_aligned_malloc";
  EXPECT_EQ(look(container(entry(kCubin, std::string(1, '\0') + name + '\0'))),
            DeviceMalloc::kCalled);
  EXPECT_EQ(look(container(entry(kPtx, ".extern .func (.param .b64 r) " + name + "\n("))),
            DeviceMalloc::kCalled);
}

// A block as LZ4's format has it: literals, a copy of what lies one byte before, literals.
std::string lz4(std::string_view begin, unsigned repeated, std::string_view end) {
  const auto lengths = [](std::size_t rest) {
    std::string bytes;
    for (rest -= 15; rest >= 255; rest -= 255) bytes += '\xff';
    return bytes + static_cast<char>(rest);
  };
  std::string block = "\xff" + lengths(begin.size()) + std::string(begin) + std::string("\1\0", 2);
  block += lengths(repeated - 4);
  return block + "\xf0" + lengths(end.size()) + std::string(end);
}

TEST(Fatbin, UnpacksLz4) {
  const std::string begin = ".version 8.0\n// a comment of some length: ", end = "\n" + kMallocPtx;
  const std::string block = lz4(begin, 300, end), plain = begin + std::string(300, ' ') + end;
  const auto unpacked = [&](const std::string& body, std::size_t bytes) {
    std::string found;
    std::vector<char> buffer;
    const std::string section = container(test::stored_entry(kPtx, body, 0x2011, bytes));
    visit_entries({section}, Deadline::max(), [&](const FatbinEntry& e) {
      const std::span<const char> code = unpack(e, buffer);
      found.assign(code.begin(), code.end());
      return true;
    });
    return found;
  };
  EXPECT_EQ(unpacked(block, plain.size()), plain);
  EXPECT_EQ(look(container(test::stored_entry(kPtx, block, 0x2011, plain.size()))),
            DeviceMalloc::kCalled);
  EXPECT_EQ(unpacked(block, plain.size() + 1), "");
  for (std::size_t cut = 0; cut < block.size(); ++cut)
    EXPECT_EQ(unpacked(block.substr(0, cut), plain.size()), "");
  EXPECT_EQ(unpacked(block, plain.size() - 1), "");
  for (std::size_t at = 0; at < block.size(); ++at) {
    std::string bad = block;
    bad[at] = static_cast<char>(~bad[at]);
    const std::size_t bytes = unpacked(bad, plain.size()).size();
    EXPECT_TRUE(bytes == 0 || bytes == plain.size()) << at;
  }
}

// As compilers do it.
TEST(Fatbin, UnpacksWhatTheLibraryOfLz4Packs) {
  std::string plain;
  for (unsigned i = 0; i < 20'000; ++i)
    plain += "\tadd.s32 %r" + std::to_string(i * 7919 % 1000) + ", 1;\n";
  const std::string block = test::packed_by_lz4(plain);
  FatbinEntry entry;
  entry.packing = FatbinEntry::Packing::kLz4;
  entry.bytes = block;
  entry.plain_bytes = plain.size();
  std::vector<char> buffer;
  const std::span<const char> code = unpack(entry, buffer);
  EXPECT_EQ(std::string(code.begin(), code.end()), plain);
}

TEST(Fatbin, PartsAreReadIfTheDriverLinksThem) {
  const std::string path = GMT_PARTS_TARGET;
  const std::optional<ElfFile> file = ElfFile::open(path);
  ASSERT_TRUE(file);
  const CodeSections sections = device_code_of(file->image());
  ASSERT_EQ(sections.size(), 2u);
  EXPECT_EQ(sections[0].size(), 16u);
  std::vector<std::size_t> containers;
  visit_entries(sections, Deadline::max(), [&](const FatbinEntry& e) {
    EXPECT_EQ(e.kind, FatbinEntry::Kind::kPtx);
    containers.push_back(e.container);
    return true;
  });
  EXPECT_EQ(containers, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(device_malloc_in(std::filesystem::path(path), Deadline::max()), DeviceMalloc::kCalled);
}

TEST(Fatbin, PartsThatWereLinkedAreNoCode) {
  const std::optional<ElfFile> file = ElfFile::open(GMT_LINKED_TARGET);
  ASSERT_TRUE(file);
  EXPECT_NE(file->image().find("__nv_relfatbin"), nullptr);
  EXPECT_EQ(device_code_of(file->image()).size(), 1u);
  EXPECT_EQ(device_malloc_in(std::filesystem::path(GMT_LINKED_TARGET), Deadline::max()),
            DeviceMalloc::kNone);
}

TEST(Fatbin, DamageAndDeadlinesEndTheSearch) {
  std::string whole = container(entry(kPtx, kMallocPtx, true));
  for (std::size_t cut = 0; cut + 1 < whole.size(); ++cut)
    EXPECT_NO_FATAL_FAILURE(look(whole.substr(0, cut)));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string bad = whole;
    bad[at] = static_cast<char>(0xff);
    EXPECT_NO_FATAL_FAILURE(look(bad));
  }
  EXPECT_EQ(device_malloc_in(CodeSections{whole}, Deadline::min()), DeviceMalloc::kNone);
}

} // namespace
} // namespace gmt
