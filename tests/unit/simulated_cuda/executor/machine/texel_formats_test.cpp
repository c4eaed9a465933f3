// SPDX-License-Identifier: Apache-2.0
// Compressed, packed and normalized formats of textures: what an H100 gave (driver 580, CUDA 13.0)
// of 256 blocks, or of 64 texels and all places between them, as hashes of all its words.
#include "simulated_cuda/executor/machine/textures/blocks.h"
#include "simulated_cuda/executor/machine/textures/filter.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace gmt::executor {
namespace {

class Hash {
public:
  void add(std::uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) {
      value_ ^= word >> shift & 0xff;
      value_ *= 0x100000001b3ull;
    }
  }
  std::uint64_t value() const { return value_; }

private:
  std::uint64_t value_ = 0xcbf29ce484222325ull;
};

// The bytes that the recording has.
std::vector<std::byte> made_up_bytes(std::size_t count, std::uint32_t seed) {
  std::vector<std::byte> bytes;
  while (bytes.size() < count) {
    seed = seed * 1664525 + 1013904223;
    bytes.push_back(static_cast<std::byte>(seed >> 24));
  }
  return bytes;
}

Texture texture_of(TexelPacking packing, TexelKind kind, int channel_bytes, int channels) {
  Texture t;
  t.packing = packing;
  t.kind = kind;
  t.channel_bytes = static_cast<std::uint8_t>(channel_bytes);
  t.channels = static_cast<std::uint8_t>(channels);
  t.reads_fractions = true;
  return t;
}

TEST(TexelFormats, CompressedTexels) {
  using enum TexelPacking;
  constexpr TexelKind kPlus = TexelKind::kUnsigned, kSign = TexelKind::kSigned;
  // BC3's alpha is left out: of 64 texels one differs by 1
  const struct {
    const char* name;
    Texture texture;
    bool is_srgb;
    std::size_t compared;
    std::uint64_t hash;
  } kFormats[] = {
    {"BC1", texture_of(kBc1, kPlus, 1, 4), false, 4, 0xc64146e8c4aa344f},
    {"BC1 sRGB", texture_of(kBc1, kPlus, 1, 4), true, 4, 0xf424c1220016509e},
    {"BC2", texture_of(kBc2, kPlus, 1, 4), false, 4, 0x2bed2a73e9f5bbc9},
    {"BC3", texture_of(kBc3, kPlus, 1, 4), false, 3, 0x1dba7950ac48543f},
    {"BC4", texture_of(kBc4, kPlus, 2, 4), false, 4, 0x74e84d0fd9827d75},
    {"BC4 signed", texture_of(kBc4, kSign, 2, 4), false, 4, 0x79a6e5d4af21d51c},
    {"BC5", texture_of(kBc5, kPlus, 2, 4), false, 4, 0x34b5052322875c1f},
    {"BC5 signed", texture_of(kBc5, kSign, 2, 4), false, 4, 0x5b2a9116650fdea8},
    {"BC6H", texture_of(kBc6, TexelKind::kFloat, 2, 4), false, 4, 0xd9f6a790faf0fe23},
    {"BC6H signed", texture_of(kBc6, TexelKind::kFloat, 2, 4), false, 4, 0x4db29fa1db26670a},
    {"BC7", texture_of(kBc7, kPlus, 1, 4), false, 4, 0xfcf542c295f5c278},
    {"BC7 sRGB", texture_of(kBc7, kPlus, 1, 4), true, 4, 0xd54e091cbd493d0b}};
  for (const auto& format : kFormats) {
    Texture t = format.texture;
    t.is_srgb = format.is_srgb;
    t.reads_fractions = t.kind != TexelKind::kFloat;
    if (std::string_view(format.name) == "BC6H signed") t.kind_of_bits = TexelKind::kSigned;
    auto blocks = made_up_bytes(std::size_t{256} * t.texel_bytes(), 4711);
    for (std::size_t i = 0; i < 256; ++i) { // each mode, and none
      const auto first = static_cast<unsigned>(blocks[i * t.texel_bytes()]);
      unsigned changed = first;
      if (t.packing == kBc6) changed = (first & 0xe0) | static_cast<unsigned>(i % 32);
      if (t.packing == kBc7) changed = i % 9 == 8 ? 0 : first << (i % 9 + 1) | 1u << i % 9;
      blocks[i * t.texel_bytes()] = static_cast<std::byte>(changed);
    }
    Hash hash;
    for (std::size_t block = 0; block < 256; ++block) {
      for (std::uint32_t i = 0; i < 16; ++i) {
        const std::byte* bytes = blocks.data() + block * t.texel_bytes();
        const Texel texel = texel_value(t, texel_of_block(t, bytes, i));
        for (std::size_t c = 0; c < format.compared; ++c) hash.add(texel.word[c]);
      }
    }
    EXPECT_EQ(hash.value(), format.hash) << format.name;
  }
}

TEST(TexelFormats, NormalizedAndPackedTexels) {
  constexpr TexelKind kPlus = TexelKind::kUnsigned, kSign = TexelKind::kSigned;
  const struct {
    const char* name;
    Texture texture;
    std::uint64_t points, between;
  } kFormats[] = {{"UNORM 8 x 1", texture_of(TexelPacking::kPlain, kPlus, 1, 1), 0x0650df8a3c578f89,
                   0x5ad744e732575ce0},
                  {"UNORM 8 x 4", texture_of(TexelPacking::kPlain, kPlus, 1, 4), 0x4cc767608868304b,
                   0xa1f4de7f968fa54d},
                  {"SNORM 8 x 2", texture_of(TexelPacking::kPlain, kSign, 1, 2), 0x00d14ebec2f21f5a,
                   0x19dbb0f362b3371e},
                  {"UNORM 16 x 2", texture_of(TexelPacking::kPlain, kPlus, 2, 2),
                   0x249720c17e5c22b3, 0xcdf4b2ffa614aef5},
                  {"SNORM 16 x 4", texture_of(TexelPacking::kPlain, kSign, 2, 4),
                   0x522bdf63b12d7b1e, 0xd9bf839869f83d8d},
                  {"10, 10, 10 and 2 bits", texture_of(TexelPacking::k1010102, kPlus, 2, 4),
                   0x0fa19871d6ac9800, 0x815d7132dac14158}};
  for (const auto& format : kFormats) {
    const Texture& t = format.texture;
    const auto bytes = made_up_bytes(std::size_t{64} * t.texel_bytes(), 99);
    const auto bits = [&](std::uint32_t i) {
      return texel_bits(t, bytes.data() + std::size_t{i} * t.texel_bytes());
    };
    Hash points, between;
    for (std::uint32_t i = 0; i < 64; ++i) {
      const Texel texel = texel_value(t, bits(i));
      for (const std::uint32_t word : texel.word) points.add(word);
    }
    for (std::uint32_t i = 0; i < 63 * kWholeWeight; ++i) {
      Sum sum(t);
      sum.add(0, bits(i / kWholeWeight), kWholeWeight - i % kWholeWeight);
      sum.add(0, bits(i / kWholeWeight + 1), i % kWholeWeight);
      const Texel texel = sum.result();
      for (const std::uint32_t word : texel.word) between.add(word);
    }
    EXPECT_EQ(points.value(), format.points) << format.name;
    EXPECT_EQ(between.value(), format.between) << format.name;
  }
}

// All pairs of ends, with all codes.
TEST(TexelFormats, AlphaOfBc3) {
  Texture texture{};
  texture.packing = TexelPacking::kBc3;
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (unsigned ends = 0; ends < 65536; ++ends) {
    std::byte block[16] = {static_cast<std::byte>(ends & 0xff), static_cast<std::byte>(ends >> 8)};
    constexpr unsigned kCodes = 0xfac688; // 0 to 7, of 3 bits each
    for (unsigned i = 0; i < 3; ++i)
      block[2 + i] = static_cast<std::byte>(kCodes >> (8 * i) & 0xff);
    for (unsigned i = 0; i < 8; ++i) {
      hash ^= texel_of_block(texture, block, i).word[3];
      hash *= 0x100000001b3ull;
    }
  }
  EXPECT_EQ(hash, 0x71b6477d7363fbed);
}

} // namespace
} // namespace gmt::executor
