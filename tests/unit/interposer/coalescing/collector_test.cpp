// SPDX-License-Identifier: Apache-2.0
// The parts of the collector that need no device: which launches are due, the time windows may
// take, the table of slots, sizes of images.
#include <gtest/gtest.h>

#include <cstring>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <lz4.h>
#include <map>
#include <random>
#include <string>
#include <vector>
#include <zstd.h>

#include "interposer/coalescing/collector/core.h"
#include "interposer/coalescing/collector/sampling/code_bound.h"
#include "interposer/coalescing/collector/sampling/images.h"
#include "interposer/coalescing/collector/sampling/sampling_policy.h"
#include "interposer/coalescing/collector/table.h"
#include "ptx/fatbin/fatbin.h"

namespace gmt::interposer::collector {
namespace {

std::vector<std::uint64_t> due_launches(const char* option, std::uint64_t count) {
  const std::uint64_t wanted = launches_wanted(option);
  std::vector<std::uint64_t> due;
  std::uint64_t next = 1;
  for (std::uint64_t number = 1; number <= count; ++number) {
    if (number < next) continue;
    due.push_back(number);
    next = next_due_after(number, wanted);
  }
  return due;
}

TEST(CollectorPolicy, WhichLaunchesAreDue) {
  using Numbers = std::vector<std::uint64_t>;
  EXPECT_EQ(due_launches("auto", 40), (Numbers{1, 2, 4, 8, 16, 32}));
  EXPECT_EQ(due_launches("", 5), (Numbers{1, 2, 4}));
  EXPECT_EQ(due_launches("3", 40), (Numbers{1, 2, 3}));
  EXPECT_EQ(due_launches("all", 4), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(next_due_after(5, 0), 8u); // a launch that had to wait does not move those behind it
}

TEST(CollectorPolicy, MeasuringTakesTwoSecondsAndThenAShare) {
  constexpr std::uint64_t kSecond = 1000 * kMillisecond;
  Governor governor;
  governor.begin(10 * kSecond);
  governor.begin(20 * kSecond); // is not the beginning
  EXPECT_EQ(governor.allowance(10 * kSecond, false), 2 * kSecond);
  EXPECT_EQ(governor.allowance(10 * kSecond, true), kSecond);
  EXPECT_EQ(governor.allowance(20 * kSecond, false), 5 * kSecond);
  governor.charge(kSecond);
  EXPECT_EQ(governor.allowance(10 * kSecond, false), kSecond);
  EXPECT_EQ(governor.allowance(10 * kSecond, true), 0u);
  // Three of the ten that were not spent measuring
  EXPECT_EQ(governor.allowance(21 * kSecond, false), 4 * kSecond);
  governor.charge(100 * kSecond);
  EXPECT_EQ(governor.allowance(21 * kSecond, false), 0u);
}

TEST(CollectorPolicy, FactorsAndWaits) {
  Governor governor;
  EXPECT_EQ(governor.factor(), 60u);
  governor.saw_factor(20);
  EXPECT_EQ(governor.factor(), 60u);
  governor.saw_factor(172);
  EXPECT_EQ(governor.factor(), 172u);
  EXPECT_EQ(governor.longest_wait(200 * kMillisecond), 200 * kMillisecond);
  governor.waited_in_vain(1900 * kMillisecond);
  EXPECT_EQ(governor.longest_wait(200 * kMillisecond), 100 * kMillisecond);
  governor.waited_in_vain(200 * kMillisecond);
  EXPECT_EQ(governor.longest_wait(200 * kMillisecond), 0u);
  EXPECT_FALSE(governor.may_wait());
  EXPECT_EQ(pause_after(0), 500 * kMillisecond);
  EXPECT_EQ(pause_after(1), 1000 * kMillisecond);
  EXPECT_EQ(pause_after(1000), pause_after(8));
}

TEST(CollectorPolicy, LaunchTimesGrowWithTheGrid) {
  LaunchTime time;
  EXPECT_FALSE(time.is_known());
  time.set(1000, 64);
  EXPECT_EQ(time.of(32), 1000u);
  EXPECT_EQ(time.of(64), 1000u);
  EXPECT_EQ(time.of(640), 10'000u);
}

TEST(CollectorTable, FindsWhatWasPut) {
  SlotTable table;
  std::map<std::uint64_t, std::uint32_t> truth;
  std::mt19937_64 random(1);
  for (std::uint32_t i = 0; i < 50000; ++i) {
    const std::uint64_t key = (i % 7 + 1) | (random() % 4000 * 16) << 32; // functions and offsets
    SlotEntry* entry = table.find(key);
    ASSERT_NE(entry, nullptr);
    ASSERT_EQ(entry->used, truth.count(key) != 0);
    if (entry->used) {
      ASSERT_EQ(entry->number, truth[key]);
      continue;
    }
    entry->used = true;
    entry->number = truth[key] = i;
  }
  table.release();
}

int first_device(int* device) { return *device = 0; }
int capability_9_0(int* value, int attribute, int) { // of the attributes that are asked for
  *value = attribute == 75 ? 9 : 0;
  return 0;
}

// Kernels of tests/fixtures/cubins/kernels.cu.
class CollectorCode : public testing::Test {
protected:
  CollectorCode() {
    static CoreFunctions functions{};
    functions.now = [] { return std::uint64_t{0}; };
    functions.is_in_file = [](const void*) { return false; };
    functions.driver_symbol = [](const char* name) {
      if (name == std::string("cuCtxGetDevice")) return reinterpret_cast<void*>(&first_device);
      return name == std::string("cuDeviceGetAttribute") ? reinterpret_cast<void*>(&capability_9_0)
                                                         : nullptr;
    };
    core = &functions;
    forget_code();
  }
  ~CollectorCode() override { core = nullptr; }
  static std::string cubin(const std::string& architecture) {
    std::ifstream file(std::string(GMT_CUBINS) + "/kernels.plain." + architecture + ".cubin",
                       std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

// A fat binary of one cubin for sm_90, packed as the flags say.
std::string fat_binary(const std::string& code, std::size_t plain_bytes, std::uint64_t flags) {
  ptx::FatbinEntryHeader entry{};
  entry.kind = ptx::kFatbinCubin;
  entry.header_bytes = sizeof entry;
  entry.bytes = code.size();
  entry.compressed_bytes = static_cast<std::uint32_t>(code.size());
  entry.architecture = 90;
  entry.flags = flags;
  entry.plain_bytes = plain_bytes;
  ptx::FatbinContainer container{};
  container.magic = ptx::kFatbinMagic;
  container.version = 1;
  container.header_bytes = sizeof container;
  container.bytes = sizeof entry + code.size();
  return std::string(reinterpret_cast<const char*>(&container), sizeof container) +
         std::string(reinterpret_cast<const char*>(&entry), sizeof entry) + code;
}

TEST_F(CollectorCode, PackedCubinsAreRead) {
  const std::string plain = cubin("sm_90");
  std::string lz4(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(plain.size()))),
                  '\0');
  lz4.resize(static_cast<std::size_t>(LZ4_compress_default(
    plain.data(), lz4.data(), static_cast<int>(plain.size()), static_cast<int>(lz4.size()))));
  std::string zstd(ZSTD_compressBound(plain.size()), '\0');
  zstd.resize(ZSTD_compress(zstd.data(), zstd.size(), plain.data(), plain.size(), 3));
  for (const std::string& image :
       {fat_binary(plain, plain.size(), 0), fat_binary(lz4, plain.size(), ptx::kFatbinLz4),
        fat_binary(zstd, plain.size(), ptx::kFatbinZstd)}) {
    forget_code();
    learn_code(image.data(), image.size());
    EXPECT_TRUE(code_bound_of("tile").is_bounded());
  }
  forget_code();
  lz4[lz4.size() / 2] = static_cast<char>(lz4[lz4.size() / 2] ^ 0x55);
  const std::string cut =
    fat_binary(lz4.substr(0, lz4.size() - 9), plain.size(), ptx::kFatbinLz4); // damaged
  learn_code(cut.data(), cut.size());
  EXPECT_FALSE(code_bound_of("tile").is_bounded());
}

// Each architecture that cubins were made for.
class CollectorCubin : public CollectorCode, public testing::WithParamInterface<const char*> {};

TEST_P(CollectorCubin, KernelsWithoutLoopsAreBounded) {
  const std::string image = cubin(GetParam());
  learn_code(image.data(), image.size());
  for (const char* kernel : {"inlined", "called", "tile"}) {
    const CodeBound bound = code_bound_of(kernel);
    EXPECT_TRUE(bound.is_bounded()) << kernel;
    EXPECT_GE(bound.instructions, 16u) << kernel;
    EXPECT_GE(bound.accesses, 2u) << kernel;
    EXPECT_LT(bound.cost(1), 3 * kMillisecond) << kernel;
    // A million warps, two accesses of 8 ns each
    EXPECT_GT(bound.cost(1 << 20), 16 * kMillisecond) << kernel;
  }
  EXPECT_FALSE(code_bound_of("none").is_bounded());
}
INSTANTIATE_TEST_SUITE_P(Each, CollectorCubin, testing::Values("sm_75", "sm_80", "sm_90", "sm_100"),
                         [](const auto& one) { return std::string(one.param); });

// Instructions as cuobjdump lists them.
struct Encoded {
  std::uint64_t low, high;
};
CodeBound bound_of(const std::vector<Encoded>& code, IsRelocated is_relocated = nullptr) {
  return bound_of_code(reinterpret_cast<const unsigned char*>(code.data()),
                       code.size() * sizeof(Encoded), is_relocated, nullptr);
}

TEST(CollectorSass, LoopsAndCallsElsewhereAreNotBounded) {
  constexpr Encoded kExit{0x000000000000794d, 0x000fea0003800000},
    kPad{0xfffffffc00fc7947, 0x000fc0000383ffff}, kOldPad{0xfffffff000007947, 0x000fc0000383ffff},
    kAhead{0x0000000400d40947, 0x000fea0003800000}, kBack{0xfffffffc00d81947, 0x000fea000383ffff},
    kCall{0x0000000400f47944, 0x030fea0003c00000}, kReturn{0xfffffff004dc7950, 0x000fea0003c3ffff},
    kLoad{0x0000000402027981, 0x000ea8000c1e1900};
  EXPECT_TRUE(bound_of({kLoad, kAhead, kExit, kPad}).is_bounded());
  EXPECT_TRUE(bound_of({kLoad, kExit, kOldPad}).is_bounded());
  EXPECT_FALSE(bound_of({kLoad, kBack, kExit, kPad}).is_bounded());
  EXPECT_EQ(bound_of({kLoad, kExit}).accesses, 1u);
  // The part behind the end may run each time
  EXPECT_EQ(bound_of({kCall, kCall, kExit, kLoad, kReturn}).accesses, 3u);
  EXPECT_FALSE(
    bound_of({kCall, kExit}, [](void*, std::uint64_t offset) { return offset == 0; }).is_bounded());
}

TEST(CollectorImages, SizesByTheHeader) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shoff = 1000;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  std::vector<char> image(4096);
  std::memcpy(image.data(), &header, sizeof header);
  EXPECT_EQ(size_of_image(image.data()), 1000 + 2 * sizeof(Elf64_Shdr));
  Elf64_Shdr section{};
  section.sh_type = SHT_PROGBITS;
  section.sh_offset = 2000;
  section.sh_size = 500;
  std::memcpy(image.data() + 1000 + sizeof section, &section, sizeof section);
  EXPECT_EQ(size_of_image(image.data()), 2500u); // sections may lie behind their headers
  section.sh_type = SHT_NOBITS;
  std::memcpy(image.data() + 1000 + sizeof section, &section, sizeof section);
  EXPECT_EQ(size_of_image(image.data()), 1000 + 2 * sizeof(Elf64_Shdr));
  header.e_shoff = std::uint64_t{1} << 40;
  std::memcpy(image.data(), &header, sizeof header);
  EXPECT_EQ(size_of_image(image.data()), 0u);
  std::strcpy(image.data(), ".version 9.0 // PTX is text");
  EXPECT_EQ(size_of_image(image.data()), 0u);
  const std::uint32_t container[4] = {0xba55ed50, 16u << 16 | 1, 100, 0};
  std::memcpy(image.data(), container, sizeof container);
  EXPECT_EQ(size_of_image(image.data()), 116u);
}

} // namespace
} // namespace gmt::interposer::collector
