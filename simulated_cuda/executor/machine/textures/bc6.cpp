// SPDX-License-Identifier: Apache-2.0
// Khronos Data Format Specification 1.3, chapter 21: an H100 gives these bits.
#include "simulated_cuda/executor/machine/textures/bc6.h"

#include "simulated_cuda/executor/machine/textures/bc7_tables.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace gmt::executor {
namespace {

// Of each mode: whether other ends are differences from the first one, their bits, and which bits
// of which end follow each other in the block: r0 is red of the first, d the table of parts. Bits
// of "4:0" begin with the lowest one, those of "10:15" with the highest.
struct Bc6Mode {
  std::uint32_t number;
  bool has_differences;
  int bits, bits_of_others[3];
  std::uint32_t parts;
  const char* layout;
};
constexpr Bc6Mode kBc6Modes[] = {
  {0,
   true,
   10,
   {5, 5, 5},
   2,
   "g2 4 b2 4 b3 4 r0 9:0 g0 9:0 b0 9:0 r1 4:0 g3 4 g2 3:0 g1 4:0 b3 0 g3 3:0 b1 4:0 b3 1 b2 3:0 r2 4:0 b3 2 r3 4:0 b3 3 d 4:0"},
  {1,
   true,
   7,
   {6, 6, 6},
   2,
   "g2 5 g3 4 g3 5 r0 6:0 b3 0 b3 1 b2 4 g0 6:0 b2 5 b3 2 g2 4 b0 6:0 b3 3 b3 5 b3 4 r1 5:0 g2 3:0 g1 5:0 g3 3:0 b1 5:0 b2 3:0 r2 5:0 r3 5:0 d 4:0"},
  {2,
   true,
   11,
   {5, 4, 4},
   2,
   "r0 9:0 g0 9:0 b0 9:0 r1 4:0 r0 10 g2 3:0 g1 3:0 g0 10 b3 0 g3 3:0 b1 3:0 b0 10 b3 1 b2 3:0 r2 4:0 b3 2 r3 4:0 b3 3 d 4:0"},
  {6,
   true,
   11,
   {4, 5, 4},
   2,
   "r0 9:0 g0 9:0 b0 9:0 r1 3:0 r0 10 g3 4 g2 3:0 g1 4:0 g0 10 g3 3:0 b1 3:0 b0 10 b3 1 b2 3:0 r2 3:0 b3 0 b3 2 r3 3:0 g2 4 b3 3 d 4:0"},
  {10,
   true,
   11,
   {4, 4, 5},
   2,
   "r0 9:0 g0 9:0 b0 9:0 r1 3:0 r0 10 b2 4 g2 3:0 g1 3:0 g0 10 b3 0 g3 3:0 b1 4:0 b0 10 b2 3:0 r2 3:0 b3 1 b3 2 r3 3:0 b3 4 b3 3 d 4:0"},
  {14,
   true,
   9,
   {5, 5, 5},
   2,
   "r0 8:0 b2 4 g0 8:0 g2 4 b0 8:0 b3 4 r1 4:0 g3 4 g2 3:0 g1 4:0 b3 0 g3 3:0 b1 4:0 b3 1 b2 3:0 r2 4:0 b3 2 r3 4:0 b3 3 d 4:0"},
  {18,
   true,
   8,
   {6, 5, 5},
   2,
   "r0 7:0 g3 4 b2 4 g0 7:0 b3 2 g2 4 b0 7:0 b3 3 b3 4 r1 5:0 g2 3:0 g1 4:0 b3 0 g3 3:0 b1 4:0 b3 1 b2 3:0 r2 5:0 r3 5:0 d 4:0"},
  {22,
   true,
   8,
   {5, 6, 5},
   2,
   "r0 7:0 b3 0 b2 4 g0 7:0 g2 5 g2 4 b0 7:0 g3 5 b3 4 r1 4:0 g3 4 g2 3:0 g1 5:0 g3 3:0 b1 4:0 b3 1 b2 3:0 r2 4:0 b3 2 r3 4:0 b3 3 d 4:0"},
  {26,
   true,
   8,
   {5, 5, 6},
   2,
   "r0 7:0 b3 1 b2 4 g0 7:0 b2 5 g2 4 b0 7:0 b3 5 b3 4 r1 4:0 g3 4 g2 3:0 g1 4:0 b3 0 g3 3:0 b1 5:0 b2 3:0 r2 4:0 b3 2 r3 4:0 b3 3 d 4:0"},
  {30,
   false,
   6,
   {6, 6, 6},
   2,
   "r0 5:0 g3 4 b3 0 b3 1 b2 4 g0 5:0 g2 5 b2 5 b3 2 g2 4 b0 5:0 g3 5 b3 3 b3 5 b3 4 r1 5:0 g2 3:0 g1 5:0 g3 3:0 b1 5:0 b2 3:0 r2 5:0 r3 5:0 d 4:0"},
  {3, false, 10, {10, 10, 10}, 1, "r0 9:0 g0 9:0 b0 9:0 r1 9:0 g1 9:0 b1 9:0"},
  {7, true, 11, {9, 9, 9}, 1, "r0 9:0 g0 9:0 b0 9:0 r1 8:0 r0 10 g1 8:0 g0 10 b1 8:0 b0 10"},
  {11,
   true,
   12,
   {8, 8, 8},
   1,
   "r0 9:0 g0 9:0 b0 9:0 r1 7:0 r0 10:11 g1 7:0 g0 10:11 b1 7:0 b0 10:11"},
  {15,
   true,
   16,
   {4, 4, 4},
   1,
   "r0 9:0 g0 9:0 b0 9:0 r1 3:0 r0 10:15 g1 3:0 g0 10:15 b1 3:0 b0 10:15"}};

std::size_t number_of(char channel) {
  if (channel == 'r') return 0;
  return channel == 'g' ? 1 : 2;
}

int extended(int value, int bits) {
  return (value >> (bits - 1) & 1) != 0 ? value - (1 << bits) : value;
}

class Bc6Block {
public:
  Bc6Block(const std::byte* bytes, const Bc6Mode& mode, bool is_signed)
      : mode_(mode), is_signed_(is_signed) {
    std::memcpy(words_, bytes, sizeof words_);
    at_ = mode.number < 2 ? 2 : 5;
    for (const char* layout = mode.layout; *layout != 0;) layout = take_field(layout);
    finish_ends();
  }

  void texel(std::uint32_t index, std::uint32_t* words) {
    const bool is_whole = mode_.parts == 1;
    const char* parts = kPartsOfTwo[part_];
    const std::uint32_t bits = is_whole ? 4 : 3,
                        part = is_whole ? 0 : static_cast<std::uint32_t>(parts[index] - '0');
    at_ = is_whole ? 65 : 82; // where the indexes begin
    std::uint32_t found = 0;
    for (std::uint32_t i = 0; i <= index; ++i) {
      const bool is_short = i == 0 || (!is_whole && i == kShortOfTwo[part_]);
      found = 0;
      for (std::uint32_t bit = 0; bit < bits - (is_short ? 1 : 0); ++bit)
        found |= static_cast<std::uint32_t>(take_bit()) << bit;
    }
    static constexpr int kOfThreeBits[] = {0, 9, 18, 27, 37, 46, 55, 64};
    static constexpr int kOfFourBits[] = {0,  4,  9,  13, 17, 21, 26, 30,
                                          34, 38, 43, 47, 51, 55, 60, 64};
    const int weight = is_whole ? kOfFourBits[found] : kOfThreeBits[found];
    for (std::size_t c = 0; c < 3; ++c) {
      const int value =
        (ends_[2 * part][c] * (64 - weight) + ends_[2 * part + 1][c] * weight + 32) >> 6;
      words[c] = half_of(value);
    }
  }

private:
  int take_bit() {
    const auto bit = static_cast<int>(words_[at_ / 64] >> (at_ % 64) & 1);
    ++at_;
    return bit;
  }
  // One of the layout, such as "r0 4:0"; what follows it.
  const char* take_field(const char* layout) {
    const char channel = *layout++;
    const std::size_t end = channel == 'd' ? 0 : static_cast<std::size_t>(*layout++ - '0');
    char* behind = nullptr;
    const long first = std::strtol(layout, &behind, 10);
    const long last = *behind == ':' ? std::strtol(behind + 1, &behind, 10) : first;
    const bool is_upward = last < first; // 4:0 is 0, 1, 2, 3, 4
    for (long i = 0; i <= std::labs(first - last); ++i) {
      const int bit = take_bit() << (is_upward ? last + i : last - i);
      if (channel == 'd') part_ |= static_cast<std::uint32_t>(bit);
      else ends_[end][number_of(channel)] |= bit;
    }
    return *behind == ' ' ? behind + 1 : behind;
  }

  void finish_ends() {
    for (std::size_t end = 0; end < std::size_t{2} * mode_.parts; ++end) {
      for (std::size_t c = 0; c < 3; ++c) {
        int& value = ends_[end][c];
        if (end != 0 && mode_.has_differences)
          value = (first_[c] + extended(value, mode_.bits_of_others[c])) & ((1 << mode_.bits) - 1);
        if (is_signed_) value = extended(value, mode_.bits);
        if (end == 0) first_[c] = value;
      }
    }
    for (auto& end : ends_) {
      for (int& value : end) value = is_signed_ ? wide_signed(value) : wide(value);
    }
  }
  // As 16 bits.
  int wide(int value) const {
    if (mode_.bits >= 15 || value == 0) return value;
    if (value == (1 << mode_.bits) - 1) return 0xffff;
    return ((value << 15) + 0x4000) >> (mode_.bits - 1);
  }
  int wide_signed(int value) const {
    if (mode_.bits >= 16 || value == 0) return value;
    const int size = std::abs(value);
    const int result =
      size >= (1 << (mode_.bits - 1)) - 1 ? 0x7fff : ((size << 15) + 0x4000) >> (mode_.bits - 1);
    return value < 0 ? -result : result;
  }
  std::uint32_t half_of(int value) const {
    if (!is_signed_) return static_cast<std::uint32_t>(value * 31 >> 6);
    const int size = std::abs(value) * 31 >> 5;
    return static_cast<std::uint32_t>(size) | (value < 0 && size != 0 ? 0x8000u : 0u);
  }

  const Bc6Mode& mode_;
  const bool is_signed_;
  std::uint64_t words_[2];
  std::uint32_t at_ = 0, part_ = 0;
  int ends_[4][3] = {}, first_[3] = {};
};

} // namespace

void bc6_texel(const std::byte* block, bool is_signed, std::uint32_t index, std::uint32_t* words) {
  const auto first = static_cast<std::uint32_t>(block[0]);
  const std::uint32_t number = (first & 3) < 2 ? first & 3 : first & 31;
  const auto* mode = std::find_if(std::begin(kBc6Modes), std::end(kBc6Modes),
                                  [&](const Bc6Mode& each) { return each.number == number; });
  std::memset(words, 0, 3 * sizeof *words);
  if (mode != std::end(kBc6Modes)) Bc6Block(block, *mode, is_signed).texel(index, words);
}

} // namespace gmt::executor
