// SPDX-License-Identifier: Apache-2.0
// The parts of the collector that need no device: which launches are due, the time windows may take, the table of
// places, sizes of images.
#include <gtest/gtest.h>

#include <cstring>
#include <elf.h>
#include <map>
#include <random>
#include <vector>

#include "interposer/cupti/images.h"
#include "interposer/cupti/policy.h"
#include "interposer/cupti/table.h"

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

TEST(CollectorPolicy, WindowsTakeTwoSecondsAndThenAShare) {
  constexpr std::uint64_t kSecond = 1000 * kMillisecond;
  Governor governor;
  governor.begin(10 * kSecond);
  governor.begin(20 * kSecond); // is not the beginning
  EXPECT_TRUE(governor.has_time(10 * kSecond));
  governor.charge(2 * kSecond - 1);
  EXPECT_TRUE(governor.has_time(12 * kSecond));
  governor.charge(1);
  EXPECT_FALSE(governor.has_time(12 * kSecond));
  EXPECT_FALSE(governor.has_time(10 * kSecond + 2 * kSecond * 100 / 15));
  EXPECT_TRUE(governor.has_time(10 * kSecond + 2 * kSecond * 100 / 15 + 10));
}

TEST(CollectorPolicy, ProgramsThatNeverRest) {
  EXPECT_FALSE(is_overdue(64, 300 * kMillisecond, 0));
  EXPECT_FALSE(is_overdue(1000, 200 * kMillisecond, 0));
  EXPECT_TRUE(is_overdue(65, 201 * kMillisecond, 0));
  EXPECT_TRUE(is_overdue(65, 201 * kMillisecond, 7));
  EXPECT_FALSE(is_overdue(65, 201 * kMillisecond, kAllLaunches));
  EXPECT_EQ(rest_after(0), 500 * kMillisecond);
  EXPECT_EQ(rest_after(1), 1000 * kMillisecond);
  EXPECT_EQ(rest_after(1000), rest_after(8));
}

TEST(CollectorTable, FindsWhatWasPut) {
  PlaceTable table;
  std::map<std::uint64_t, std::uint32_t> truth;
  std::mt19937_64 random(1);
  for (std::uint32_t i = 0; i < 50000; ++i) {
    const std::uint64_t key = (i % 7 + 1) | (random() % 4000 * 16) << 32; // functions and offsets
    Place* place = table.find(key);
    ASSERT_NE(place, nullptr);
    ASSERT_EQ(place->used, truth.count(key) != 0);
    if (place->used) {
      ASSERT_EQ(place->number, truth[key]);
      continue;
    }
    place->used = true;
    place->number = truth[key] = i;
  }
  table.release();
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
