// SPDX-License-Identifier: Apache-2.0
// Khronos Data Format Specification 1.3, chapter 20: an H100 gives these bits.
#include "simulated_cuda/executor/machine/textures/bc7.h"

#include "simulated_cuda/executor/machine/textures/bc7_tables.h"

#include <cstring>
#include <utility>

namespace gmt::executor {
namespace {

struct Mode {
  std::uint8_t parts, part_bits, rotation_bits, selection_bits;
  std::uint8_t color_bits, alpha_bits;
  bool has_bit_of_each, has_bit_of_part; // lowest bits that ends share among their channels
  std::uint8_t index_bits, second_index_bits;
};
constexpr std::uint32_t kModes = 8;
constexpr Mode kMode[kModes] = {
  {3, 4, 0, 0, 4, 0, true, false, 3, 0},  {2, 6, 0, 0, 6, 0, false, true, 3, 0},
  {3, 6, 0, 0, 5, 0, false, false, 2, 0}, {2, 6, 0, 0, 7, 0, true, false, 2, 0},
  {1, 0, 2, 1, 5, 6, false, false, 2, 3}, {1, 0, 2, 0, 7, 8, false, false, 2, 2},
  {1, 0, 0, 0, 7, 7, true, false, 4, 0},  {2, 6, 0, 0, 5, 5, true, false, 2, 0}};

// Parts of 64 that the second end has.
constexpr std::uint8_t kOfTwoBits[] = {0, 21, 43, 64},
                       kOfThreeBits[] = {0, 9, 18, 27, 37, 46, 55, 64},
                       kOfFourBits[] = {0,  4,  9,  13, 17, 21, 26, 30,
                                        34, 38, 43, 47, 51, 55, 60, 64};
std::uint32_t weight_of(std::uint32_t index, std::uint32_t bits) {
  if (bits == 2) return kOfTwoBits[index];
  return bits == 3 ? kOfThreeBits[index] : kOfFourBits[index];
}

// The bits of a block from the lowest one on.
class BlockBits {
public:
  BlockBits(const std::byte* block, std::uint32_t at) : at_(at) {
    std::memcpy(words_, block, sizeof words_);
  }
  std::uint32_t take(std::uint32_t count) {
    std::uint32_t value = 0;
    for (std::uint32_t i = 0; i < count; ++i, ++at_)
      value |= static_cast<std::uint32_t>(words_[at_ / 64] >> (at_ % 64) & 1) << i;
    return value;
  }

private:
  std::uint64_t words_[2];
  std::uint32_t at_;
};

std::uint32_t as_byte(std::uint32_t value, std::uint32_t bits) {
  value <<= 8 - bits;
  return value | value >> bits;
}

class Bc7Block {
public:
  Bc7Block(const std::byte* bytes, std::uint32_t number)
      : mode_(kMode[number]), bits_(bytes, number + 1), part_(bits_.take(mode_.part_bits)) {
    rotation_ = bits_.take(mode_.rotation_bits);
    is_swapped_ = bits_.take(mode_.selection_bits) != 0;
    take_ends();
  }

  void texel(std::uint32_t index, std::uint32_t* words) {
    const std::uint32_t first = take_indexes(mode_.index_bits, index);
    std::uint32_t color = weight_of(first, mode_.index_bits), alpha = color;
    if (mode_.second_index_bits != 0) {
      const std::uint32_t second = take_indexes(mode_.second_index_bits, index);
      alpha = weight_of(second, mode_.second_index_bits);
      if (is_swapped_) std::swap(color, alpha);
    }
    const auto* ends = ends_[part_of(index)];
    for (std::uint32_t c = 0; c < 4; ++c) {
      const std::uint32_t weight = c < 3 ? color : alpha;
      words[c] = ((64 - weight) * ends[0][c] + weight * ends[1][c] + 32) >> 6;
    }
    if (rotation_ != 0) std::swap(words[rotation_ - 1], words[3]);
  }

private:
  std::uint32_t part_of(std::uint32_t index) const {
    if (mode_.parts == 1) return 0;
    const char* parts = mode_.parts == 2 ? kPartsOfTwo[part_] : kPartsOfThree[part_];
    return static_cast<std::uint32_t>(parts[index] - '0');
  }
  bool is_short(std::uint32_t index) const {
    if (index == 0) return true;
    if (mode_.parts == 2) return index == kShortOfTwo[part_];
    return mode_.parts == 3 && (index == kShortOfThree[part_] || index == kShortOfThird[part_]);
  }
  // All of the block's, of which one is wanted. Of two sets the second knows no parts.
  std::uint32_t take_indexes(std::uint32_t bits, std::uint32_t wanted) {
    std::uint32_t found = 0;
    for (std::uint32_t i = 0; i < 16; ++i) {
      const std::uint32_t index = bits_.take(is_short(i) ? bits - 1 : bits);
      if (i == wanted) found = index;
    }
    return found;
  }

  void take_ends() {
    const auto each_end = [&](auto function) {
      for (std::uint32_t part = 0; part < mode_.parts; ++part) {
        for (auto& end : ends_[part]) function(end);
      }
    };
    for (std::uint32_t c = 0; c < 4; ++c)
      each_end(
        [&](auto& end) { end[c] = bits_.take(c < 3 ? mode_.color_bits : mode_.alpha_bits); });
    std::uint32_t color_bits = mode_.color_bits, alpha_bits = mode_.alpha_bits;
    const auto append = [](auto& end, std::uint32_t bit) {
      for (std::uint32_t& value : end) value = value << 1 | bit;
    };
    if (mode_.has_bit_of_each) each_end([&](auto& end) { append(end, bits_.take(1)); });
    for (std::uint32_t part = 0; mode_.has_bit_of_part && part < mode_.parts; ++part) {
      const std::uint32_t bit = bits_.take(1);
      for (auto& end : ends_[part]) append(end, bit);
    }
    if (mode_.has_bit_of_each || mode_.has_bit_of_part) ++color_bits, ++alpha_bits;
    each_end([&](auto& end) {
      for (std::uint32_t c = 0; c < 3; ++c) end[c] = as_byte(end[c], color_bits);
      end[3] = mode_.alpha_bits == 0 ? 255 : as_byte(end[3], alpha_bits);
    });
  }

  const Mode& mode_;
  BlockBits bits_;
  std::uint32_t part_, rotation_ = 0;
  bool is_swapped_ = false;
  std::uint32_t ends_[3][2][4] = {};
};

} // namespace

void bc7_texel(const std::byte* block, std::uint32_t index, std::uint32_t* words) {
  const auto first = static_cast<std::uint32_t>(block[0]);
  if (first == 0) { // no mode
    std::memset(words, 0, 4 * sizeof *words);
    return;
  }
  Bc7Block(block, static_cast<std::uint32_t>(__builtin_ctz(first))).texel(index, words);
}

} // namespace gmt::executor
