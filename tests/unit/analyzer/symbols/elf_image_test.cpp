// SPDX-License-Identifier: Apache-2.0
// An ELF file's headers, whole, unusual and damaged.
#include "analyzer/symbols/elf_image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "analyzer/base/mapped_file.h"

namespace gmt {
namespace {

class ElfImageTest : public testing::Test {
protected:
  void SetUp() override {
    const MappedFile file(GMT_SYMBOLS_TARGET);
    ASSERT_FALSE(file.bytes().empty());
    bytes_.assign(file.bytes().begin(), file.bytes().end());
    std::memcpy(&header_, bytes_.data(), sizeof header_);
  }
  void put_header() { std::memcpy(bytes_.data(), &header_, sizeof header_); }

  std::string bytes_;
  Elf64_Ehdr header_{};
};

TEST_F(ElfImageTest, HasSectionsSegmentsAndTexts) {
  const ElfImage image = ElfImage::open(bytes_).value();
  EXPECT_EQ(image.header().e_type, ET_DYN);
  EXPECT_EQ(image.sections().size(), header_.e_shnum);
  const ElfImage::Section* symbols = image.find(".dynsym");
  ASSERT_NE(symbols, nullptr);
  EXPECT_EQ(symbols->type, SHT_DYNSYM);
  EXPECT_EQ(image.sections().at(symbols->link).name, ".dynstr");
  EXPECT_EQ(symbols->data.size() % sizeof(Elf64_Sym), 0u);
  EXPECT_EQ(image.linked_text(*symbols, 1).find('\0'), std::string_view::npos);
  EXPECT_FALSE(image.linked_text(*symbols, 1).empty());
  EXPECT_EQ(image.linked_text(*symbols, UINT64_MAX), "");
  EXPECT_EQ(image.find(".absent"), nullptr);
  const std::vector<Elf64_Phdr> segments = image.segments();
  EXPECT_EQ(segments.size(), header_.e_phnum);
  EXPECT_TRUE(
    std::ranges::any_of(segments, [](const Elf64_Phdr& s) { return s.p_type == PT_DYNAMIC; }));
}

TEST_F(ElfImageTest, WhatIsNotInTheFileHasNoData) {
  const ElfImage image = ElfImage::open(bytes_).value();
  ASSERT_NE(image.find(".bss"), nullptr);
  EXPECT_TRUE(image.find(".bss")->data.empty());
  EXPECT_TRUE(image.part(bytes_.size() + 1, 1).empty());
  EXPECT_EQ(image.part(bytes_.size() - 3, UINT64_MAX).size(), 3u);
}

// More than 65,279 sections: their number and the names' stand in the first of them.
TEST_F(ElfImageTest, CountsThatTheHeaderIsTooSmallFor) {
  const std::size_t count = header_.e_shnum;
  Elf64_Shdr first;
  std::memcpy(&first, bytes_.data() + header_.e_shoff, sizeof first);
  first.sh_size = count;
  first.sh_link = header_.e_shstrndx;
  std::memcpy(bytes_.data() + header_.e_shoff, &first, sizeof first);
  header_.e_shnum = 0;
  header_.e_shstrndx = SHN_XINDEX;
  put_header();
  const ElfImage image = ElfImage::open(bytes_).value();
  EXPECT_EQ(image.sections().size(), count);
  EXPECT_NE(image.find(".dynsym"), nullptr);
}

TEST_F(ElfImageTest, OtherClassesAndByteOrdersAreNone) {
  EXPECT_FALSE(ElfImage::open({}));
  EXPECT_FALSE(ElfImage::open(std::span<const char>(bytes_).first(sizeof(Elf64_Ehdr) - 1)));
  std::string other = bytes_;
  other[EI_CLASS] = ELFCLASS32;
  EXPECT_FALSE(ElfImage::open(other));
  other = bytes_;
  other[EI_DATA] = ELFDATA2MSB;
  EXPECT_FALSE(ElfImage::open(other));
}

// As sstrip leaves it, or a copy that broke off: the program still runs, so what is there counts.
TEST_F(ElfImageTest, AFileWithoutItsTableOfSectionsStillHasSegments) {
  const auto expect_segments_alone = [this](std::span<const char> bytes) {
    const ElfImage image = ElfImage::open(bytes).value();
    EXPECT_TRUE(image.sections().empty());
    EXPECT_EQ(image.segments().size(), header_.e_phnum);
  };
  expect_segments_alone(std::span<const char>(bytes_).first(header_.e_shoff + 10));
  header_.e_shoff = 0;
  put_header();
  expect_segments_alone(bytes_);
}

TEST_F(ElfImageTest, DamageEndsNothing) {
  std::mt19937 random(1);
  const auto any = [&random](std::size_t below) {
    return static_cast<std::size_t>(random()) % below;
  };
  const std::size_t table = header_.e_shnum * sizeof(Elf64_Shdr);
  for (int i = 0; i < 20'000; ++i) {
    std::string bad = bytes_;
    for (int n = 0; n < 4; ++n) {
      const std::size_t at = any(2) == 0 ? any(sizeof header_) : header_.e_shoff + any(table);
      bad[at] = static_cast<char>(random());
    }
    const std::optional<ElfImage> image = ElfImage::open(bad);
    if (!image) continue;
    std::size_t seen = image->segments().size();
    for (const ElfImage::Section& section : image->sections()) {
      seen += section.name.size() + image->linked_text(section, any(64)).size();
      if (!section.data.empty()) seen += static_cast<unsigned char>(section.data.back());
    }
    EXPECT_NE(seen, SIZE_MAX);
  }
}

TEST(MappedFile, HasNoBytesOfWhatIsNoFile) {
  EXPECT_TRUE(MappedFile("/proc/self").bytes().empty());
  EXPECT_TRUE(MappedFile("/absent").bytes().empty());
  EXPECT_TRUE(MappedFile("/dev/null").bytes().empty());
}

} // namespace
} // namespace gmt
